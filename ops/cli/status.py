"""`digest status`: the funnel of one week."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from zoneinfo import ZoneInfo

import typer

from functions.adapters.due_schedules import still_to_run
from functions.adapters.periods import DynamoPeriods
from functions.adapters.traffic import DynamoTraffic
from functions.core.calendar import period_reported
from functions.core.identity import Channel
from functions.core.instants import from_text
from functions.core.traffic import Gate, GatePosition
from functions.core.wording import count_of, utc
from ops.cli import weeks
from ops.cli.output import moment, out, print_json, say, table, week
from ops.cli.weeks import Funnel, WeekOfRegion, count_week
from ops.cli.workplace import JsonOption, PeriodOption, RegionOption, monday_named, workplace_of
from ops.deployment import RegionDeployment


@dataclass(frozen=True, slots=True)
class Standing:
    """A region's week, and what holds it up."""

    week: WeekOfRegion
    gates: dict[Channel, Gate]
    closed_at: datetime | None
    last_run_at: datetime | None  # of the schedules that are still to be planned for the week


def status(
    context: typer.Context,
    period: PeriodOption = None,
    region: RegionOption = None,
    as_json: JsonOption = False,
) -> None:
    """Count one week's deliveries: planned, accepted by the provider, skipped and why, and what still needs something.

    **open** comes to an end by itself. **uncertain** may have been sent: the provider's answer was lost, and it
    is not sent again by itself. **dead letter** waits until its cause is mended. A reminder counts in the week that
    it falls due in. **done** is measured against what is planned and what schedules will still bring. A week is closed
    once nothing of it is open.

    Example: `digest status --period 2026-11-16 --region us`
    """
    workplace = workplace_of(context)
    now = workplace.clock()
    monday = period_reported(now, ZoneInfo("UTC")) if period is None else monday_named(period)
    regions = workplace.deployment.only(region)
    standings = [_standing(one, monday) for one in regions]
    if as_json:
        print_json(_as_json(monday, standings, now))
    else:
        _tell(monday, standings, now)


def _standing(region: RegionDeployment, monday: date) -> Standing:
    traffic = DynamoTraffic(region.dynamodb, region.control_table)
    counted, last_run_at = count_week(region, monday.isoformat()), None
    for schedule in still_to_run(region, monday):
        last_run_at = max(last_run_at or schedule.next_run_at, schedule.next_run_at)
        for channel in schedule.channels:
            counted.channels[channel].to_come += 1
    closed_at = DynamoPeriods(region.dynamodb, region.control_table).closed_at().get(monday.isoformat())
    return Standing(
        counted,
        {channel: traffic.gate(channel) for channel in Channel},
        None if closed_at is None else from_text(closed_at),
        last_run_at,
    )


# --- for machines -----------------------------------------------------------------------------------------------------


def _as_json(monday: date, standings: Sequence[Standing], now: datetime) -> dict[str, Any]:
    return {
        "period": monday.isoformat(),
        "now": moment(now),
        "regions": {
            standing.week.data_region: {
                **_numbers(standing.week.total),
                "closed_at": moment(standing.closed_at),
                "last_run_at": moment(standing.last_run_at),
                "channels": {
                    str(channel): {**_numbers(funnel), "gate": str(standing.gates[channel].position(now))}
                    for channel, funnel in standing.week.channels.items()
                },
            }
            for standing in standings
        },
    }


def _numbers(funnel: Funnel) -> dict[str, Any]:
    return {
        "planned": funnel.planned,
        "to_come": funnel.to_come,
        "accepted": funnel.standing[weeks.ACCEPTED],
        "skipped": dict(sorted(funnel.skipped.items())),
        "expired": funnel.standing[weeks.EXPIRED],
        "dead_letter": funnel.standing[weeks.DEAD_LETTER],
        "uncertain": funnel.standing[weeks.UNCERTAIN],
        "open": funnel.standing[weeks.OPEN],
        "percent_complete": int(funnel.percent_settled * 10) / 10,
        "adds_up": funnel.adds_up,
    }


# --- for people -------------------------------------------------------------------------------------------------------

_COLUMNS = ("planned", "accepted", "skipped", "expired", "dead letter", "uncertain", "open", "done")


def _tell(monday: date, standings: Sequence[Standing], now: datetime) -> None:
    total = Funnel()
    for standing in standings:
        total.add(standing.week.total)
    say(f"Week {week(monday.isoformat())}: {_verdict(total)}")
    for standing in standings:
        _tell_region(standing, now)


def _verdict(total: Funnel) -> str:
    if not total.planned:
        rest = f"; {total.to_come:,} deliveries still to be planned" if total.to_come else ""
        return f"nothing is planned{rest}; `digest due` shows what comes"
    words = ((weeks.ACCEPTED, "accepted"), (weeks.SKIPPED, "skipped"), (weeks.EXPIRED, "expired"), (weeks.OPEN, "open"))
    parts = [f"{total.standing[what]:,} {word}" for what, word in words if total.standing[what]]
    verdict = f"{_percent(total)} done; {', '.join(parts)} of {count_of(total.planned, 'delivery', 'deliveries')}"
    waits = [
        count_of(total.standing[what], one, many)
        for what, one, many in (
            (weeks.DEAD_LETTER, "dead letter", "dead letters"),
            (weeks.UNCERTAIN, "uncertain delivery", "uncertain deliveries"),
        )
        if total.standing[what]
    ]
    return f"{verdict}\nNeeds somebody: {', '.join(waits)}" if waits else verdict


def _percent(funnel: Funnel) -> str:
    if not funnel.planned + funnel.to_come:
        return "-"
    # 99.96 must not read as if all were done.
    return f"{int(funnel.percent_settled * 10) / 10:.1f} %"


def _tell_region(standing: Standing, now: datetime) -> None:
    shown = table(standing.week.data_region, *_COLUMNS, numbers=_COLUMNS)
    for channel, funnel in standing.week.channels.items():
        shown.add_row(str(channel), *_cells(funnel))
    shown.add_section()
    shown.add_row("all", *_cells(standing.week.total))
    out().print()
    out().print(shown)
    for channel, funnel in standing.week.channels.items():
        if funnel.skipped:
            reasons = ", ".join(f"{reason} {number:,}" for reason, number in funnel.skipped.most_common())
            say(f"{channel} skipped: {reasons}")
    for channel, gate in standing.gates.items():
        _tell_gate(channel, gate, now)
    _tell_progress(standing)
    _tell_sums(standing)


def _tell_progress(standing: Standing) -> None:
    total = standing.week.total
    if total.to_come and standing.last_run_at is not None:
        each = ", ".join(f"{name} {one.to_come:,}" for name, one in standing.week.channels.items() if one.to_come)
        say(f"Still to be planned: {each}; the last run is at {utc(standing.last_run_at)}")
    if standing.closed_at is not None:
        say(f"{'Nothing open' if total.to_come else 'Closed'} since {utc(standing.closed_at)}")
    elif total.planned:
        say("Not closed")


def _cells(funnel: Funnel) -> list[str]:
    counts = (weeks.ACCEPTED, weeks.SKIPPED, weeks.EXPIRED, weeks.DEAD_LETTER, weeks.UNCERTAIN, weeks.OPEN)
    return [
        f"{funnel.planned:,}",
        *(f"{funnel.standing[name]:,}" for name in counts),
        _percent(funnel),
    ]


def _tell_gate(channel: Channel, gate: Gate, now: datetime) -> None:
    position = gate.position(now)
    cause = f" ({gate.cause})" if gate.cause else ""
    if position is GatePosition.HALTED and gate.halted_at is not None:
        say(f"{channel} has been halted since {utc(gate.halted_at)}{cause}: nothing is sent until it is resumed")
    elif position is GatePosition.CLOSED and gate.closed_until is not None:
        say(f"{channel} pauses until {utc(gate.closed_until)}{cause}; it goes on by itself")


def _tell_sums(standing: Standing) -> None:
    total = standing.week.total
    if not total.adds_up:
        moved = total.standing.total() - total.planned
        say(
            f"The numbers do not add up: {count_of(moved, 'delivery', 'deliveries')} finished while being counted. "
            "Ask again"
        )
    elif standing.closed_at is not None and total.standing[weeks.OPEN]:
        say(
            f"The numbers do not add up: the week was closed at {utc(standing.closed_at)}, and "
            f"{total.standing[weeks.OPEN]:,} are open"
        )
