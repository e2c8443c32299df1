"""What every command works with."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from typing import Annotated, TypeAlias

import typer

from functions.adapters.clock import utc_now
from functions.core.calendar import monday_of
from ops.deployment import Deployment

# An empty metavar: a switch takes no value, and its help must not look as if it did.
JsonOption: TypeAlias = Annotated[bool, typer.Option("--json", metavar="", help="Print JSON instead of tables.")]
YesOption: TypeAlias = Annotated[bool, typer.Option("--yes", metavar="", help="Do not ask; for scripts.")]
RegionOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--region",
        metavar="REGION",
        help="Data region, such as us; all of them when left out.",
        show_default=False,
    ),
]


PeriodOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--period",
        metavar="DATE",
        help="Monday of the week that is reported, such as 2026-11-16. The last whole week when left out.",
        show_default=False,
    ),
]


@dataclass(frozen=True, slots=True)
class Workplace:
    """The deployment, and the time: what it is, and letting seconds of it pass."""

    deployment: Deployment
    clock: Callable[[], datetime] = utc_now
    sleep: Callable[[float], None] = time.sleep


def workplace_of(context: typer.Context) -> Workplace:
    """What the root command found."""
    found = context.obj
    if not isinstance(found, Workplace):
        raise TypeError("the root command sets the workplace")
    return found


def monday_named(text: str) -> date:
    """The Monday that `--period` names."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter("must be an ISO date such as 2026-11-16", param_hint="--period") from None
    if day != monday_of(day):
        raise typer.BadParameter(
            f"{day} is no Monday; the week that it lies in opens on {monday_of(day)}", param_hint="--period"
        )
    return day
