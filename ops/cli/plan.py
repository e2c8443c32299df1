"""`digest plan`: one run of the planner on purpose, or what it would do."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any, Final
from zoneinfo import ZoneInfo

import typer

from functions.core.calendar import period_reported
from functions.core.identity import Channel
from functions.core.instants import from_text, to_text
from functions.core.wording import count_of, utc
from ops.cli.audience import Audience, audience
from ops.cli.output import FAILED, complain, out, print_json, say, table
from ops.cli.weeks import count_week
from ops.cli.workplace import JsonOption, workplace_of
from ops.deployment import DeploymentError, RegionDeployment

# Clocks differ a little. A digest that is planned before its week has ended would go out without the rest of the week.
_AHEAD: Final = timedelta(minutes=1)


def plan(
    context: typer.Context,
    region: Annotated[
        str | None,
        typer.Option(
            "--region",
            metavar="REGION",
            help="Data region to plan, such as us; with --dry-run, all of them when left out.",
            show_default=False,
        ),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar="TIME",
            help="Plan what was due at this time, however long ago, such as 2026-11-30T09:00:00Z. Now when left out.",
            show_default=False,
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", metavar="", help="Only count what is due, and who would be skipped; write and send nothing."
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Turn schedules that are due into deliveries, and enqueue them; the planner does this by itself every few minutes.

    Safe to run twice: a delivery that is there already stays as it is, and is never sent again for it.

    For example:

    - `digest plan --dry-run` counts what is due, by region, channel and day, and who would be skipped, and why
    - `digest plan --region us` plans what is due now
    - `digest plan --region us --at 2026-11-23T15:00:00Z` plans a time that was missed, on purpose
    """
    workplace = workplace_of(context)
    now = workplace.clock()
    until = now if at is None else _time(at, now=now, may_be_ahead=dry_run)
    if dry_run:
        _preview([audience(one, until) for one in workplace.deployment.only(region)], until, as_json=as_json)
        return
    if region is None:
        raise typer.BadParameter("name the data region to plan", param_hint="--region")
    where = workplace.deployment.region(region)
    report = invoke_planner(where, until, on_purpose=at is not None)
    known = _known(where, until, report)
    if as_json:
        print_json({"data_region": region, **report, "existing": known})
    else:
        _tell(where, report, known)
    if report["failed_count"]:
        raise typer.Exit(FAILED)


def _time(text: str, *, now: datetime, may_be_ahead: bool) -> datetime:
    try:
        instant = from_text(text)
    except (ValueError, OverflowError):
        raise typer.BadParameter(
            "must be an ISO 8601 time with its offset, such as 2026-11-30T09:00:00Z", param_hint="--at"
        ) from None
    if instant > now + _AHEAD and not may_be_ahead:
        raise typer.BadParameter(
            "lies ahead: digests planned before their week has ended would lack a part of it. Wait, or look ahead with "
            "--dry-run",
            param_hint="--at",
        )
    return instant


def invoke_planner(region: RegionDeployment, until: datetime, *, on_purpose: bool) -> dict[str, Any]:
    """Run a region's planner once and return what it says it did. Raises DeploymentError when it fails.

    The function is invoked exactly once: a read timeout of ours must never start a second run.
    """
    event: dict[str, Any] = {"scheduled_time": to_text(until), "shards": list(range(region.shards))}
    if on_purpose:
        event["on_purpose"] = True
    answer = region.functions.invoke(FunctionName=region.planner_function, Payload=json.dumps(event).encode())
    report: dict[str, Any] = json.loads(answer["Payload"].read())
    if failed := answer.get("FunctionError"):
        raise DeploymentError(
            f"the planner in {region.data_region} failed ({report.get('errorType', failed)}): see the log of "
            f"{region.planner_function}. Nothing is lost: planning again goes on from where it stopped"
        )
    return report


def _known(region: RegionDeployment, until: datetime, report: dict[str, Any]) -> int:
    """Deliveries that were there already: those that the planner met, or the week's, where nothing was due any more."""
    if report["planned"] or report["existing"]:
        return int(report["existing"])
    return count_week(region, period_reported(until, ZoneInfo("UTC")).isoformat()).total.planned


def _tell(region: RegionDeployment, report: dict[str, Any], known: int) -> None:
    planned = report["planned"]
    if planned:
        say(
            f"{count_of(planned, 'delivery', 'deliveries')} planned in {region.data_region}, "
            f"{report['enqueued']:,} enqueued"
        )
    elif known:
        say(f"already planned, {known:,} existing; nothing new was due in {region.data_region}")
    else:
        say(f"nothing was due in {region.data_region}; `digest due` shows what comes next")
    if planned and known:
        say(f"{known:,} were there already and stay as they are")
    if report["not_enqueued"]:
        say(f"{report['not_enqueued']:,} were not taken by their queue; the reconciler enqueues them within minutes")
    if report["busy"]:
        say(f"shards {_listed(report['busy'])} are being planned by another run right now")
    if report["unfinished"]:
        say(f"time was up in shards {_listed(report['unfinished'])}; the next wake-up goes on there, or plan again")
    if report["failed_count"]:
        shown = ", ".join(report["failed"][:10])
        complain(f"{count_of(report['failed_count'], 'customer')} could not be planned and stay due: {shown}")


def _listed(shards: list[int]) -> str:
    return ", ".join(str(shard) for shard in shards)


def _preview(audiences: Sequence[Audience], until: datetime, *, as_json: bool) -> None:
    if as_json:
        print_json({"until": to_text(until), "regions": {one.data_region: _as_json(one) for one in audiences}})
        return
    for one in audiences:
        _tell_audience(one, until)


def _as_json(counted: Audience) -> dict[str, Any]:
    return {
        "schedules": counted.schedules,
        "unreadable": counted.unreadable,
        "due": [
            {
                "due_on": day,
                "channel": str(channel),
                "deliveries": number,
                "skipped": {
                    str(reason): count for reason, count in sorted(counted.skipped.get((day, channel), {}).items())
                },
            }
            for (day, channel), number in sorted(counted.deliveries.items())
        ],
    }


def _tell_audience(counted: Audience, until: datetime) -> None:
    deliveries = count_of(counted.deliveries.total(), "delivery", "deliveries")
    say(
        f"{deliveries} of {count_of(counted.schedules, 'schedule')} due in {counted.data_region} by {utc(until)}, "
        f"{counted.skipped_of().total():,} of them to be skipped; nothing was written"
    )
    if counted.deliveries:
        shown = table(
            "Due on (UTC)", "Channel", "Deliveries", "Skipped", "Left", numbers=["Deliveries", "Skipped", "Left"]
        )
        for (day, channel), number in sorted(counted.deliveries.items()):
            skipped = sum(counted.skipped.get((day, channel), {}).values())
            shown.add_row(day, str(channel), f"{number:,}", f"{skipped:,}", f"{number - skipped:,}")
        out().print(shown)
    for channel in Channel:
        if reasons := counted.skipped_of(channel):
            each = ", ".join(f"{reason} {number:,}" for reason, number in reasons.most_common())
            say(f"{channel} skipped: {each}")
    if counted.unreadable:
        shown_ids = ", ".join(counted.unreadable[:10])
        complain(f"{count_of(len(counted.unreadable), 'schedule')} cannot be planned; import again: {shown_ids}")
