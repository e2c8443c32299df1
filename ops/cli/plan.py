"""`digest plan`: one run of the planner on purpose, or what it would do."""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime, timedelta
from typing import Annotated, Any, Final
from zoneinfo import ZoneInfo

import typer

from functions.core.calendar import period_reported
from functions.core.instants import from_text, to_text
from ops.cli.due_schedules import due_by
from ops.cli.output import FAILED, complain, count_of, out, print_json, say, table, utc
from ops.cli.weeks import count_week
from ops.cli.workplace import JsonOption, workplace_of
from ops.deployment import DeploymentError, RegionDeployment

# Clocks differ a little. A digest that is planned before its week has ended would go out without the rest of the week.
_AHEAD: Final = timedelta(minutes=1)


def plan(
    context: typer.Context,
    region: Annotated[
        str, typer.Option("--region", metavar="REGION", help="Data region to plan, such as us.", show_default=False)
    ],
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar="TIME",
            help="Plan what was due at this time, however long ago, such as 2026-11-30T09:00:00Z. Now when left out.",
            show_default=False,
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count what is due; write and send nothing.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Turn schedules that are due into deliveries, and enqueue them; the planner does this by itself every few minutes.

    Safe to run twice: a delivery that is there already stays as it is, and is never sent again for it.

    For example:

    - `digest plan --region us --dry-run` counts what is due, by channel and day
    - `digest plan --region us` plans what is due now
    - `digest plan --region us --at 2026-11-23T15:00:00Z` plans a time that was missed, on purpose
    """
    workplace = workplace_of(context)
    now = workplace.clock()
    until = now if at is None else _time(at, now=now, may_be_ahead=dry_run)
    where = workplace.deployment.region(region)
    if dry_run:
        _preview(where, until, as_json=as_json)
        return
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


def _preview(region: RegionDeployment, until: datetime, *, as_json: bool) -> None:
    counts: Counter[tuple[str, str]] = Counter()
    schedules = 0
    for schedule in due_by(region, until):
        schedules += 1
        counts.update((f"{schedule.next_run_at:%Y-%m-%d}", str(channel)) for channel in schedule.channels)
    if as_json:
        rows = [{"due_on": day, "channel": channel, "deliveries": n} for (day, channel), n in sorted(counts.items())]
        print_json({"data_region": region.data_region, "until": to_text(until), "schedules": schedules, "due": rows})
        return
    deliveries = count_of(counts.total(), "delivery", "deliveries")
    say(
        f"{deliveries} of {count_of(schedules, 'schedule')} due in {region.data_region} by {utc(until)}; "
        "nothing was written"
    )
    if counts:
        shown = table("Due on (UTC)", "Channel", "Deliveries", numbers=["Deliveries"])
        for (day, channel), number in sorted(counts.items()):
            shown.add_row(day, channel, f"{number:,}")
        out().print(shown)
