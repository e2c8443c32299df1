"""`digest due`: what is due now, and what comes next."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import typer

from functions.adapters.due_schedules import Due, local_run, look_ahead, what
from functions.core.wording import count_of, distance, utc
from ops.cli.output import moment, out, print_json, say, table
from ops.cli.workplace import JsonOption, RegionOption, workplace_of


def due(
    context: typer.Context,
    region: RegionOption = None,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=1, max=1000, help="Schedules to list in each region.")
    ] = 20,
    as_json: JsonOption = False,
) -> None:
    """Show what is due now, how late the oldest is, and what comes next.

    A healthy region has nothing due for longer than its planner's interval, a few minutes. More than that means that
    the planner does not run, or that a schedule cannot be planned: it is the first in the list.

    Example: `digest due --region eu --limit 5`
    """
    workplace = workplace_of(context)
    now = workplace.clock()
    looks = [look_ahead(one, now=now, limit=limit) for one in workplace.deployment.only(region)]
    if as_json:
        print_json({"now": moment(now), "regions": {look.data_region: _as_json(look) for look in looks}})
        return
    for look in looks:
        _tell(look, now)


def _as_json(look: Due) -> dict[str, Any]:
    return {
        "due": look.count,
        "oldest": moment(look.oldest) if look.count else None,
        "next": [
            {
                "customer_id": schedule.customer_id,
                "what": what(schedule),
                "channels": [str(channel) for channel in schedule.channels],
                "next_run_at": moment(schedule.next_run_at),
            }
            for schedule in look.coming
        ],
        "unreadable": [{"customer_id": one.customer_id, "record": one.record} for one in look.unreadable],
    }


def _tell(look: Due, now: datetime) -> None:
    for one in look.unreadable:
        say(f"{look.data_region}: {one.record} of {one.customer_id} makes no sense: import the customer again")
    if look.count and look.oldest is not None:
        say(f"{look.data_region}: {count_of(look.count, 'schedule')} due, the oldest since {utc(look.oldest)}")
    elif look.oldest is not None:
        say(f"{look.data_region}: nothing is due; the next is {distance(look.oldest, now)}")
    else:
        say(f"{look.data_region}: no schedule will run; import customers first: digest customers import FILE")
        return
    shown = table("Customer", "What", "Channels", "Runs at (UTC)", "Local")
    for schedule in look.coming:
        shown.add_row(
            schedule.customer_id,
            what(schedule),
            " ".join(schedule.channels),
            utc(schedule.next_run_at).removesuffix(" UTC"),
            local_run(schedule),
        )
    out().print(shown)
