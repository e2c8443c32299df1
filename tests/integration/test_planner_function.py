"""The planner's Lambda on a region's tables and queues."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from functions import names
from functions.adapters.schedule_rows import schedule_to_row
from functions.core.delivery import Status
from functions.core.identity import Channel
from functions.core.instants import to_text
from functions.core.planning import TooLateError
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.environment import CUSTOMERS, SHARDS, queue_url
from tests.fakes.examples import BOTH, PERIOD, a_delivery, a_digest_schedule, a_reminder
from tests.fakes.lambda_context import FakeLambdaContext
from tests.fakes.queues import Killed
from tests.integration.faults import failing, refused
from tests.integration.region import Clock, Functions, Region, log_lines

WakeUp = Callable[..., dict[str, Any]]
A_WEEK = timedelta(days=7)


@pytest.fixture
def wake_up(functions: Functions, region: Region, clock: Clock) -> WakeUp:  # noqa: ARG001 - the region must be there
    clock.advance(timedelta(seconds=5))

    def invoke(*, request_id: str = "request-1", timeout: timedelta = timedelta(minutes=4), **event: Any) -> Any:
        context = FakeLambdaContext(clock, request_id=request_id, timeout=timeout)
        everything = {"scheduled_time": to_text(SUNDAY_EVENING), "shards": list(range(SHARDS))} | event
        return functions.planner.handler(everything, context)

    return invoke


def schedule_customers(region: Region, count: int) -> None:
    region.schedule(*(a_digest_schedule(f"c-{number}") for number in range(count)))


def test_a_week_is_planned_and_its_ids_are_on_the_queues(wake_up: WakeUp, region: Region) -> None:
    schedule_customers(region, 15)
    told = wake_up()
    assert (told["planned"], told["enqueued"], told["complete"]) == (30, 30, True)
    rows = region.deliveries()
    assert len(rows) == 30
    assert {row.status for row in rows.values()} == {Status.QUEUED}
    for channel in BOTH:
        waiting = region.waiting_ids(channel)
        assert len(waiting) == len(set(waiting)) == 15
        assert all(one.endswith(f":{PERIOD}:{channel}") for one in waiting)
    assert region.next_run_at(a_digest_schedule("c-7")) == SUNDAY_EVENING + A_WEEK


def test_the_schedule_firing_twice_is_one_run_that_says_so(wake_up: WakeUp, region: Region) -> None:
    schedule_customers(region, 5)
    wake_up()
    told = wake_up(request_id="request-2")
    assert (told["planned"], told["enqueued"], told["complete"]) == (0, 0, True)
    assert len(region.deliveries()) == 10
    assert region.count(queue_url(Channel.EMAIL)) == 5


def test_two_planners_that_read_the_same_page_plan_it_once(
    wake_up: WakeUp, functions: Functions, region: Region
) -> None:
    schedule_customers(region, 3)
    book = functions.planner.planner.book
    (page,) = book.due(0, SUNDAY_EVENING)
    other_page = list(book.due(1, SUNDAY_EVENING))
    wake_up()
    told = functions.planner.PlannerReport()
    functions.planner.planner._plan_page(page, told)
    for late in other_page:
        functions.planner.planner._plan_page(late, told)
    assert (told.planned, told.existing, told.moved) == (0, 6, 3)
    assert len(region.deliveries()) == 6


def test_an_item_that_was_accepted_is_never_set_back_to_planned(wake_up: WakeUp, region: Region) -> None:
    schedule_customers(region, 10)
    accepted = a_delivery("c-7", status=Status.ACCEPTED, attempt=1, attention_at=None, provider_reference="reference")
    region.put_deliveries(accepted)
    told = wake_up()
    assert (told["planned"], told["existing"]) == (19, 1)
    assert region.delivery(accepted.delivery_id) == accepted
    assert str(accepted.delivery_id) not in region.waiting_ids(Channel.EMAIL)


@pytest.mark.parametrize("fatal_call", [1, 2, 3, 4])
def test_a_planner_killed_half_way_is_completed_by_the_next_one(
    wake_up: WakeUp, region: Region, fatal_call: int
) -> None:
    schedule_customers(region, 10)
    with (
        failing(region.dynamodb, "TransactWriteItems", Killed(), when=lambda call: call == fatal_call),
        pytest.raises(Killed),
    ):
        wake_up()
    killed_with = len(region.deliveries())
    assert killed_with < 20 or fatal_call == 4
    assert wake_up()["planned"] == 20 - killed_with
    assert len(region.deliveries()) == 20


def test_a_planner_killed_before_the_queue_leaves_rows_that_are_found_by_their_attention(
    wake_up: WakeUp, functions: Functions, region: Region, clock: Clock
) -> None:
    schedule_customers(region, 4)
    with failing(region.sqs, "SendMessageBatch", Killed()), pytest.raises(Killed):
        wake_up()
    planned = region.deliveries()
    assert {row.status for row in planned.values()} == {Status.PLANNED}
    assert wake_up()["planned"] + len(planned) == 8
    clock.advance(timedelta(minutes=6))
    functions.reconciler.handler({}, FakeLambdaContext(clock, timeout=timedelta(minutes=1)))
    assert {row.status for row in region.deliveries().values()} == {Status.QUEUED}
    assert sorted(set(region.waiting_ids(Channel.EMAIL))) == sorted(
        one for one in region.deliveries() if "email" in one
    )


@pytest.mark.parametrize("throttled_call", [1, 2, 3])
def test_a_throttled_transaction_loses_nothing(wake_up: WakeUp, region: Region, throttled_call: int) -> None:
    schedule_customers(region, 8)
    error = refused("TransactWriteItems")
    with (
        failing(region.dynamodb, "TransactWriteItems", error, when=lambda call: call == throttled_call),
        pytest.raises(type(error)),
    ):
        wake_up()
    wake_up()
    for channel in BOTH:
        assert len(set(region.waiting_ids(channel))) == 8
    assert len(region.deliveries()) == 16


def test_a_queue_that_takes_nothing_is_told_and_the_rows_stay_planned(wake_up: WakeUp, region: Region) -> None:
    schedule_customers(region, 2)
    with failing(region.sqs, "SendMessageBatch", refused("SendMessageBatch", "AccessDenied")):
        told = wake_up()
    assert (told["planned"], told["enqueued"], told["not_enqueued"], told["complete"]) == (4, 0, 4, False)
    assert {row.status for row in region.deliveries().values()} == {Status.PLANNED}


def test_a_wake_up_with_little_time_stops_and_the_next_one_goes_on(
    wake_up: WakeUp, region: Region, clock: Clock
) -> None:
    schedule_customers(region, 8)

    def time_passes(**_: Any) -> None:
        clock.advance(timedelta(seconds=60))

    event = "before-call.dynamodb.TransactWriteItems"
    region.dynamodb.meta.events.register(event, time_passes)
    told = wake_up(timeout=timedelta(seconds=30))
    region.dynamodb.meta.events.unregister(event, time_passes)
    assert told["unfinished"]
    assert not told["complete"]
    planned = told["planned"] + wake_up(request_id="request-2")["planned"]
    assert planned == len(region.deliveries()) == 16


@pytest.mark.parametrize(
    "broken",
    [
        {"time_zone": "Mars/Phobos"},
        {"local_time": "25:00"},
        {"channels": ["pigeon"]},
        {"weekday": None},
        {"time_zone": None},
    ],
    ids=lambda broken: next(iter(broken)),
)
def test_one_broken_schedule_among_many_is_named_and_holds_up_nobody(
    wake_up: WakeUp, region: Region, broken: dict[str, Any]
) -> None:
    schedule_customers(region, 6)
    row = schedule_to_row(a_digest_schedule("c-broken"), shards=SHARDS) | broken
    region.put_raw(CUSTOMERS, row)
    told = wake_up()
    assert (told["planned"], told["failed"], told["complete"]) == (12, ["c-broken"], False)
    again = wake_up(request_id="request-2")
    assert (again["planned"], again["failed"]) == (0, ["c-broken"])


def test_reminders_are_planned_once_beside_digests(wake_up: WakeUp, region: Region) -> None:
    region.schedule(a_reminder("c-1"), a_digest_schedule("c-1"))
    assert wake_up()["planned"] == 4
    assert wake_up(request_id="request-2")["planned"] == 0
    assert names.DUE_SHARD not in region.customer_row("c-1", "SCHEDULE#reminder#invoice-9")


def test_only_the_shards_that_the_schedule_names_are_planned(wake_up: WakeUp, region: Region) -> None:
    schedule_customers(region, 8)
    planned = [wake_up(request_id=f"request-{shard}", shards=[shard])["planned"] for shard in range(SHARDS)]
    assert all(planned)
    assert sum(planned) == 16


def test_a_shard_that_another_planner_works_on_is_left_to_it(
    wake_up: WakeUp, functions: Functions, region: Region, clock: Clock
) -> None:
    schedule_customers(region, 8)
    leases = functions.planner.planner.leases
    assert leases.take(0, owner="request-9", now=clock(), until=clock() + timedelta(minutes=4))
    told = wake_up()
    assert (told["busy"], told["complete"]) == ([0], False)
    assert 0 < told["planned"] < 16


def test_a_wake_up_of_yesterday_is_refused_and_writes_nothing(wake_up: WakeUp, region: Region, clock: Clock) -> None:
    schedule_customers(region, 2)
    clock.advance(timedelta(hours=26))
    with pytest.raises(TooLateError, match="digest plan --at"):
        wake_up()
    assert region.deliveries() == {}
    assert wake_up(on_purpose=True)["planned"] == 4


@pytest.mark.parametrize(
    ("event", "field"),
    [
        ({"scheduled_time": "tomorrow"}, "scheduled_time"),
        ({"scheduled_time": "2026-11-29T20:00:00"}, "scheduled_time"),
        ({"shards": []}, "shards"),
        ({"shards": ["all"]}, "shards"),
        ({"force": True}, "force"),
    ],
    ids=str,
)
def test_a_wake_up_that_makes_no_sense_names_its_field(wake_up: WakeUp, event: dict[str, Any], field: str) -> None:
    with pytest.raises(ValidationError, match=field):
        wake_up(**event)


@pytest.mark.usefixtures("region")
def test_a_run_is_told_in_one_line_and_counted(
    wake_up: WakeUp, region: Region, log: io.StringIO, capsys: pytest.CaptureFixture[str]
) -> None:
    schedule_customers(region, 2)
    wake_up()
    (line,) = [one for one in log_lines(log) if one["message"] == "planner.finished"]
    assert (line["planned"], line["scheduled_time"], line["level"]) == (4, "2026-11-29T20:00:00.000Z", "INFO")
    metrics = capsys.readouterr().out
    for name in (names.METRIC_PLANNER_RUNS, names.METRIC_PLANNED, names.METRIC_PLANNER_LAG):
        assert name in metrics


def test_ids_of_different_weeks_never_collide(wake_up: WakeUp, region: Region, clock: Clock) -> None:
    region.schedule(replace(a_digest_schedule("c-1"), next_run_at=SUNDAY_EVENING - A_WEEK))
    for number in range(3):
        wake_up(request_id=f"request-{number}")
        clock.advance(timedelta(minutes=5))
    assert {row.period for row in region.deliveries().values()} == {"2026-11-09", "2026-11-16"}
