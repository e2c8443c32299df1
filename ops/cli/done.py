"""`digest actions`: what operators did."""

from __future__ import annotations

from typing import Annotated

import typer

from functions.adapters.audit import KEPT_FOR
from functions.core.wording import count_of
from ops.cli.actions import action_as_json, tell_action, trail
from ops.cli.output import print_json, say
from ops.cli.workplace import JsonOption, RegionOption, workplace_of


def actions(
    context: typer.Context,
    region: RegionOption = None,
    about: Annotated[
        str,
        typer.Option(
            "--about", metavar="TEXT", help="Only those about a delivery, a customer or a channel.", show_default=False
        ),
    ] = "",
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=1, max=1000, help="Actions to list in each region.")
    ] = 20,
    as_json: JsonOption = False,
) -> None:
    """List what operators did, newest first: when, what, how many, who and why. Kept for a year.

    Redrives by class name no deliveries: look for the class.

    Example: `digest actions --region us --about digest:c-10428:2026-11-16:email`
    """
    regions = workplace_of(context).deployment.only(region)
    done = {one.data_region: trail(one).latest(limit, about=about) for one in regions}
    if as_json:
        print_json({"regions": {name: [action_as_json(one) for one in held] for name, held in done.items()}})
        return
    for name, held in done.items():
        say(f"{name}: {count_of(len(held), 'action')} in the last {KEPT_FOR.days} days")
        for one in held:
            tell_action(one)
