"""What every command works with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, TypeAlias

import typer

from functions.adapters.clock import utc_now
from ops.deployment import Deployment

JsonOption: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
RegionOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--region",
        metavar="REGION",
        help="Data region, such as us; all of them when left out.",
        show_default=False,
    ),
]


@dataclass(frozen=True, slots=True)
class Workplace:
    """The deployment, and the time."""

    deployment: Deployment
    clock: Callable[[], datetime] = utc_now


def workplace_of(context: typer.Context) -> Workplace:
    """What the root command found."""
    found = context.obj
    if not isinstance(found, Workplace):
        raise TypeError("the root command sets the workplace")
    return found
