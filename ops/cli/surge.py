"""`digest surge show`, `digest surge approve`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any

import typer

from functions import names
from functions.adapters.planned_days import DynamoPlannedDays
from functions.core.calendar import WEEK
from functions.core.surge import SurgeRule
from functions.core.wording import utc
from ops.cli.actions import OneRegionOption, ReasonOption, action_as_json, recorded, tell_action
from ops.cli.output import moment, note, print_json, say
from ops.cli.workplace import JsonOption, RegionOption, YesOption, workplace_of
from ops.deployment import RegionDeployment


@dataclass(frozen=True, slots=True)
class Surge:
    """What a UTC day has of schedules planned, and what it may have."""

    planned: int
    last_week: int
    most: int
    approved_until: datetime | None


def add_commands(app: typer.Typer) -> None:
    """Add the group with its two commands."""
    group = typer.Typer(
        help="The surge guard: planning waits for a person when far more is due than on this day last week.",
        no_args_is_help=True,
        rich_markup_mode="markdown",
    )
    group.command("show")(show)
    group.command("approve")(approve)
    app.add_typer(group, name="surge")


def show(context: typer.Context, region: RegionOption = None, as_json: JsonOption = False) -> None:
    """Show how many schedules ran today (UTC) and on this day last week, and how many may.

    What is due and why is told by `digest due`.

    Example: `digest surge show --region eu`
    """
    workplace = workplace_of(context)
    now = workplace.clock()
    found = {one.data_region: _surge(one, now) for one in workplace.deployment.only(region)}
    if as_json:
        print_json({"now": moment(now), "regions": {name: _as_json(surge) for name, surge in found.items()}})
        return
    for name, surge in found.items():
        say(f"{name}: {_in_words(surge, now)}")


def approve(
    context: typer.Context,
    region: OneRegionOption,
    reason: ReasonOption,
    hours: Annotated[
        int, typer.Option("--hours", metavar="N", min=0, max=48, help="For how long, from now; 0 takes it back.")
    ] = 2,
    yes: YesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Let more be planned than usual, for some hours. What is planned is sent.

    Look first at what is due and where it came from: an import, a restored table, a schedule set back. In force from
    the planner's next wake-up on, within minutes.

    Example: `digest surge approve --region eu --reason "the shop moved in from the old system"`
    """
    workplace = workplace_of(context)
    where, now = workplace.deployment.region(region), workplace.clock()
    note(f"{where.data_region}: {_in_words(_surge(where, now), now)}")
    if not yes:
        typer.confirm("Let more be planned" if hours else "Take the approval back", abort=True, err=True)
    until = now + timedelta(hours=hours)
    _days(where).approve(until)
    what = f"approve surge for {hours} h" if hours else "take back the approval of the surge"
    action = recorded(where, what, reason, now, done="approved" if hours else "taken back")
    if as_json:
        print_json({"region": where.data_region, "approved_until": moment(until), "action": action_as_json(action)})
    else:
        say(f"{where.data_region}: {f'approved until {utc(until)}' if hours else 'the approval is taken back'}")
        tell_action(action)


def _surge(region: RegionDeployment, now: datetime) -> Surge:
    days, today = _days(region), now.date()
    last_week = days.planned(today - WEEK)
    variables = region.planner_variables()
    rule = SurgeRule(float(variables[names.ENV_SURGE_FACTOR]), int(variables[names.ENV_SURGE_FLOOR]))
    return Surge(days.planned(today), last_week, rule.most(last_week), days.approved_until())


def _days(region: RegionDeployment) -> DynamoPlannedDays:
    return DynamoPlannedDays(region.dynamodb, region.control_table)


def _in_words(surge: Surge, now: datetime) -> str:
    limit = f"{surge.most:,} may be"
    if surge.approved_until is not None and surge.approved_until > now:
        limit = f"approved until {utc(surge.approved_until)}"
    return f"{surge.planned:,} planned today, {surge.last_week:,} on this day last week; {limit}"


def _as_json(surge: Surge) -> dict[str, Any]:
    return {
        "planned": surge.planned,
        "last_week": surge.last_week,
        "most": surge.most,
        "approved_until": moment(surge.approved_until),
    }
