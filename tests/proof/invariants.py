"""What must hold when everything is quiet, whatever happened before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any, Final

from functions import names
from functions.adapters.delivery_rows import from_row
from functions.core.delivery import FINISHED, HISTORY_LIMIT, Delivery, Status
from functions.core.outcome import Dedupe
from functions.core.planning import PlanningRules, plan_schedule
from tests.proof.carrier import Kind
from tests.proof.stories import Story
from tests.proof.world import World

ENDS: Final = FINISHED | {Status.DEAD_LETTER, Status.UNCERTAIN}
_RULES: Final = PlanningRules(timedelta(hours=72), timedelta(minutes=5))


def violations(world: World, story: Story) -> Iterator[str]:
    """Every way in which a world at rest is not as it must be, in words."""
    rows = {str(row[names.DELIVERY_ID]): row for row in world.raw_rows()}
    expected: set[str] = set()
    for schedule in world.schedules:
        plan = plan_schedule(schedule, now=schedule.next_run_at, rules=_RULES)
        expected |= {str(one.delivery_id) for one in plan.deliveries}
        if world.next_run_at(schedule) != plan.next_run_at:
            yield f"{schedule.customer_id} {schedule.record} runs next at {world.next_run_at(schedule)}"
    yield from (f"{one} was due and has no row" for one in sorted(expected - rows.keys()))
    yield from (f"{one} was never due" for one in sorted(rows.keys() - expected))
    for delivery_id, raw in rows.items():
        row = from_row(raw)
        found = [
            *_of_its_end(raw, row, story, world),
            *_of_its_operations(row, world.carrier.operations[delivery_id], world),
            *_of_its_history(row),
        ]
        yield from (f"{delivery_id} ({row.status}, attempt {row.attempt}): {one}" for one in found)
    if world.open_periods():
        yield f"still open: {world.open_periods()}"
    if not story.may_leave_dead_letters:  # what an operator redrives is sent after its week was closed
        yield from _of_the_weeks_end(rows, world)
    if world.letters.dead_letters and not story.may_leave_dead_letters:
        yield f"{len(world.letters.dead_letters)} dead letters"
    if world.receipts.dead_letters:
        yield f"{len(world.receipts.dead_letters)} events that nobody took in"


def _of_the_weeks_end(rows: Mapping[str, Mapping[str, Any]], world: World) -> Iterator[str]:
    """A week that is closed is over: nothing of it is sent any more."""
    for row in map(from_row, rows.values()):
        key, closed_at = world.carrier.keys.get(str(row.delivery_id)), world.closed_at(str(row.period))
        if key is not None and closed_at is not None and closed_at < key.since:
            yield f"{row.delivery_id} was sent at {key.since}, its week closed at {closed_at}"


def _of_its_end(raw: Mapping[str, Any], row: Delivery, story: Story, world: World) -> Iterator[str]:
    if row.status not in ENDS:
        yield "has no end"
    elif row.status is Status.UNCERTAIN:
        if not _cannot_know(row, story, world):
            yield "uncertain, although the provider could tell"
    elif row.status not in story.ends:
        yield f"ends otherwise than {', '.join(sorted(story.ends))}"
    if (row.status is Status.ACCEPTED) != (row.accepted_at is not None):
        yield "accepted_at and status disagree"
    if row.status in FINISHED and (names.ATTENTION in raw or row.lease_until is not None):
        yield "finished, and open as well"
    if (row.status in FINISHED) != (names.PERIOD_SHARD in raw):
        yield "the funnel counts it wrongly"


def _cannot_know(row: Delivery, story: Story, world: World) -> bool:
    if story.may_be_uncertain or world.carrier.kind in {Kind.NONE, Kind.KEY_PASSED}:
        return True
    # An event settles whatever was accepted; nothing will ever be heard of a send that never happened.
    return world.carrier.kind is Kind.EVENTS and not world.carrier.operations[str(row.delivery_id)]


def _of_its_operations(row: Delivery, operations: int, world: World) -> Iterator[str]:
    if operations > 1:
        yield f"sent {operations} times"
    if row.status is Status.ACCEPTED and not operations:
        yield "accepted, and never sent"
    if operations and row.status not in {Status.ACCEPTED, Status.UNCERTAIN}:
        yield "sent, and nobody knows"
    if operations and world.carrier.guarantee.dedupe is Dedupe.NONE and row.attempt == 0:
        yield "sent without an attempt"


def _of_its_history(row: Delivery) -> Iterator[str]:
    told = [one.attempt for one in row.history]
    wanted = list(range(1, row.attempt + 1))[-HISTORY_LIMIT:]
    if told != wanted:
        yield f"history tells attempts {told}, there were {wanted}"
    if row.attempt and row.enqueued_at is None:
        yield "attempted, but never enqueued"
