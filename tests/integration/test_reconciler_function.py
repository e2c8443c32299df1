"""The reconciler's Lambda on a region's tables and queues."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from functions import names
from functions.core.delivery import Delivery, Status
from functions.core.identity import Channel
from functions.core.instants import to_text
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.environment import SHARDS, queue_url
from tests.fakes.examples import EXPIRES_AFTER, a_delivery, a_digest_schedule, a_sending_delivery
from tests.fakes.lambda_context import FakeLambdaContext
from tests.fakes.queues import Killed
from tests.integration.faults import failing
from tests.integration.region import Clock, Functions, Region, log_lines

Sweep = Callable[[], dict[str, Any]]
EMAIL = Channel.EMAIL


@pytest.fixture
def sweep(functions: Functions, region: Region, clock: Clock) -> Sweep:  # noqa: ARG001 - the region must be there
    def invoke() -> dict[str, Any]:
        told: dict[str, Any] = functions.reconciler.handler({}, FakeLambdaContext(clock, timeout=timedelta(seconds=50)))
        return told

    return invoke


def due_now(row: Delivery) -> Delivery:
    return replace(row, attention_at=SUNDAY_EVENING)


def test_everything_that_needs_mending_is_mended_in_one_sweep(sweep: Sweep, region: Region, clock: Clock) -> None:
    region.put_deliveries(
        due_now(a_delivery("c-planned")),
        due_now(a_delivery("c-silent", status=Status.QUEUED, enqueued_at=clock() - timedelta(minutes=5))),
        due_now(replace(a_sending_delivery(lease_until=clock()), delivery_id=a_delivery("c-dead").delivery_id)),
        due_now(a_delivery("c-again", status=Status.RETRYABLE, attempt=1, next_attempt_at=clock())),
        due_now(a_delivery("c-late", status=Status.RETRYABLE, expires_at=clock())),
        a_delivery("c-fine", status=Status.QUEUED, enqueued_at=clock()),
    )
    told = sweep()
    assert told["found"] == {"due_again": 1, "lease_ran_out": 1, "not_enqueued": 1, "silent": 1, "too_late": 1}
    statuses = {row.delivery_id.customer_id: row.status for row in region.deliveries().values()}
    assert statuses == {
        "c-planned": Status.QUEUED,
        "c-silent": Status.QUEUED,
        "c-dead": Status.UNCERTAIN,
        "c-again": Status.QUEUED,
        "c-late": Status.EXPIRED,
        "c-fine": Status.QUEUED,
    }
    assert sorted(one.split(":")[1] for one in region.waiting_ids(EMAIL)) == ["c-again", "c-planned", "c-silent"]


def test_a_second_sweep_finds_nothing_left_to_mend(sweep: Sweep, region: Region, clock: Clock) -> None:
    test_everything_that_needs_mending_is_mended_in_one_sweep(sweep, region, clock)
    assert sweep()["found"] == {}


def test_a_sweep_killed_between_queue_and_row_sends_an_id_twice_and_loses_none(sweep: Sweep, region: Region) -> None:
    region.put_deliveries(*(due_now(a_delivery(f"c-{number}")) for number in range(3)))
    with failing(region.dynamodb, "UpdateItem", Killed()), pytest.raises(Killed):
        sweep()
    assert {row.status for row in region.deliveries().values()} == {Status.PLANNED}
    sweep()
    assert {row.status for row in region.deliveries().values()} == {Status.QUEUED}
    assert len(set(region.waiting_ids(EMAIL))) == 3


def test_an_entry_of_the_index_that_is_out_of_date_is_checked_on_the_row(sweep: Sweep, region: Region) -> None:
    moved_on = a_delivery(status=Status.QUEUED, enqueued_at=SUNDAY_EVENING, attention_at=SUNDAY_EVENING)
    region.put_deliveries(moved_on)

    def accepted_meanwhile(**_: Any) -> None:
        region.dynamodb.meta.events.unregister("before-call.dynamodb.BatchGetItem", accepted_meanwhile)
        region.put_deliveries(a_delivery(status=Status.ACCEPTED, attempt=1, attention_at=None))

    region.dynamodb.meta.events.register("before-call.dynamodb.BatchGetItem", accepted_meanwhile)
    assert sweep()["found"] == {"finished": 1}
    assert region.delivery(moved_on.delivery_id).status is Status.ACCEPTED
    assert region.count(queue_url(EMAIL)) == 0


def test_a_week_is_closed_when_its_last_delivery_has_ended(
    sweep: Sweep, functions: Functions, region: Region, clock: Clock
) -> None:
    region.schedule(a_digest_schedule("c-1", channels=[EMAIL]))
    wake_up = {"scheduled_time": to_text(SUNDAY_EVENING), "shards": list(range(SHARDS))}
    functions.planner.handler(wake_up, FakeLambdaContext(clock, timeout=timedelta(minutes=4)))
    assert sweep()["closed_periods"] == []
    clock.advance(EXPIRES_AFTER)
    assert sweep()["closed_periods"] == []  # this sweep has ended it, and the next one finds none open
    assert sweep()["closed_periods"] == ["2026-11-16"]
    assert sweep()["closed_periods"] == []


def test_a_sweep_is_told_in_one_line_and_counted(
    sweep: Sweep, region: Region, log: io.StringIO, capsys: pytest.CaptureFixture[str]
) -> None:
    region.put_deliveries(due_now(a_delivery()))
    sweep()
    (line,) = [one for one in log_lines(log) if one["message"] == "reconciler.finished"]
    assert line["found"] == {"not_enqueued": 1}
    assert line["oldest_due_at"] == "2026-11-29T20:00:00.000Z"
    told = capsys.readouterr().out
    for name in (names.METRIC_RECOVERED, names.METRIC_OLDEST_DUE_AGE, names.METRIC_CHANNELS_HALTED):
        assert name in told


def test_a_quiet_hour_reads_a_query_a_shard_and_writes_nothing(sweep: Sweep, region: Region) -> None:
    requests: list[str] = []

    def count(model: Any, **_: Any) -> None:
        requests.append(model.name)

    region.dynamodb.meta.events.register("before-call.dynamodb", count)
    sweep()
    region.dynamodb.meta.events.unregister("before-call.dynamodb", count)
    assert set(requests) <= {"Query", "GetItem"}
    assert requests.count("Query") <= 3 * len(Channel) * SHARDS  # open, retryable, uncertain
