"""What was broken on purpose is told as it was found, not as it was hoped for."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from functions import names
from functions.core.delivery import Delivery, Status
from functions.core.identity import Channel
from functions.core.message import DeliveryMessage
from ops.local import faults
from ops.local.emulator import QueueMessage
from ops.local.faults import (
    Aftermath,
    KilledConsumer,
    PoisonMessage,
    RepeatedMessages,
    TwinPlanners,
    Verdict,
    message_for,
)
from ops.local.reckoning import Received
from ops.local.running_region import LogLine
from tests.unit.test_demo_reckoning import a_message, a_row

PERIOD = "2026-11-16"
LATER = datetime.now(UTC) + timedelta(seconds=2)


def an_id(customer: str, channel: Channel = Channel.EMAIL) -> str:
    return f"digest:{customer}:{PERIOD}:{channel}"


class FakeWorker:
    def __init__(self) -> None:
        self.killed = 0

    def kill(self) -> None:
        self.killed += 1


class FakeRegion:
    """A region whose queues are lists: what an injection does to it shows, and what it finds there is put there."""

    name = "us"

    def __init__(self) -> None:
        self.queues: dict[str, list[QueueMessage]] = {}
        self.sent: list[tuple[Channel, str]] = []
        self.woken: list[tuple[str, int]] = []
        self.accepted: list[str] = []
        self.worker = FakeWorker()
        self.runs: list[Mapping[str, Any]] = []
        self.answer: Mapping[str, Any] = {"planned": 0}
        self.invoked_for: list[str] = []
        self.deployment = self
        self.ledger = self
        self.held: dict[str, Delivery] = {}

    def queue(self, channel: Channel) -> str:
        return f"{channel}"

    def dead_letter_queue(self, channel: Channel) -> str:
        return f"{channel}-dead"

    def messages(self, queue_url: str) -> list[QueueMessage]:
        return self.queues.get(queue_url, [])

    def backlog(self, queue_url: str) -> int:
        return len(self.messages(queue_url))

    def send(self, channel: Channel, body: str) -> str:
        self.sent.append((channel, body))
        return f"sent-{len(self.sent)}"

    def accepted_ids(self, _period: str, _channel: Channel, limit: int) -> list[str]:
        return self.accepted[:limit]

    def workers(self, _channel: Channel) -> list[FakeWorker]:
        return [self.worker]

    def wake(self, schedule_output: str, *, times: int = 1) -> None:
        self.woken.append((schedule_output, times))

    def planner_runs(self) -> Sequence[Mapping[str, Any]]:
        return self.runs

    def invoke_planner(self, scheduled_time: str) -> Mapping[str, Any]:
        self.invoked_for.append(scheduled_time)
        return self.answer

    def read(self, delivery_ids: Iterable[str]) -> dict[str, Delivery]:
        return {one: self.held[one] for one in delivery_ids if one in self.held}

    def put(self, queue_url: str, message_id: str, body: str, *, visible: bool = False) -> None:
        self.queues.setdefault(queue_url, []).append(
            QueueMessage("us-east-1", queue_url, message_id, body, LATER, LATER, visible, 6)
        )


@pytest.fixture
def region() -> FakeRegion:
    return FakeRegion()


def logged(message: str, **fields: object) -> LogLine:
    return LogLine("group", "stream", LATER, json.dumps({"message": message, **fields}))


def aftermath(
    *rows: Delivery, received: Sequence[Received] = (), lines: Sequence[LogLine] = (), settled: Sequence[str] = ()
) -> Aftermath:
    return Aftermath({str(row.delivery_id): row for row in rows}, received, lines, frozenset(settled))


# --- poison -----------------------------------------------------------------------------------------------------------


def test_a_message_that_ended_in_the_dead_letter_queue_is_as_expected(region: FakeRegion) -> None:
    poison = PoisonMessage.that_does_not_parse(region)  # type: ignore[arg-type]
    poison.step()
    ((channel, body),) = region.sent
    assert channel is Channel.EMAIL
    region.put("email-dead", "sent-1", body)
    poison.step()
    assert poison.is_over
    fault = poison.fault(aftermath(lines=[logged("message.poison", message_id="sent-1")] * 6))
    assert fault.held
    assert "refused 6 times within" in fault.happened
    assert "after 6 receives, unchanged; every message at the provider belongs to a delivery" in fault.happened


def test_a_message_that_did_not_get_there_is_not(region: FakeRegion) -> None:
    poison = PoisonMessage.from_the_future(region, "1", PERIOD)  # type: ignore[arg-type]
    poison.step()
    poison.step()
    assert not poison.is_over
    fault = poison.fault(aftermath())
    assert not fault.held
    assert fault.happened == "it is not in the dead-letter queue; it was refused 0 times"


def test_a_send_that_nobody_can_account_for_is_held_against_the_poison(region: FakeRegion) -> None:
    poison = PoisonMessage.that_does_not_parse(region)  # type: ignore[arg-type]
    poison.step()
    region.put("email-dead", "sent-1", region.sent[0][1])
    poison.step()
    strange = aftermath(received=[a_message("9")], lines=[logged("message.poison", message_id="sent-1")])
    assert not poison.fault(strange).held


def test_the_message_from_the_future_names_a_real_delivery_and_another_version(region: FakeRegion) -> None:
    PoisonMessage.from_the_future(region, "42", PERIOD).step()  # type: ignore[arg-type]
    ((channel, body),) = region.sent
    assert channel is Channel.SMS
    assert json.loads(body)["delivery_id"] == an_id("42", Channel.SMS)
    assert json.loads(body)["schema_version"] == 99


# --- twice ------------------------------------------------------------------------------------------------------------


def test_the_planner_is_woken_twice_at_once_and_called_again_for_the_same_time(region: FakeRegion) -> None:
    twins = TwinPlanners(region)  # type: ignore[arg-type]
    twins.step()
    twins.step()
    assert region.woken == [(names.OUTPUT_PLANNER_SCHEDULE, 2)]
    region.runs = [
        {"planned": 0, "scheduled_time": "2026-11-24T11:59:00.000Z"},
        {"planned": 1, "scheduled_time": "2026-11-24T12:00:07.000Z"},
    ]
    twins.fire_again()
    assert region.invoked_for == ["2026-11-24T12:00:07.000Z"]
    lines = [logged("planner.finished", planned=1), logged("planner.finished", planned=0)]
    assert twins.fault(aftermath(a_row("1"), lines=lines)).held


def test_a_delivery_that_two_planners_planned_is_told(region: FakeRegion) -> None:
    twins = TwinPlanners(region)  # type: ignore[arg-type]
    twins.step()
    lines = [logged("planner.finished", planned=1), logged("planner.finished", planned=1)]
    fault = twins.fault(aftermath(a_row("1"), lines=lines))
    assert not fault.held
    assert "planned 2 deliveries, and 1 rows are there" in fault.happened


def test_messages_in_flight_are_sent_again_and_later_those_of_accepted_deliveries(region: FakeRegion) -> None:
    repeated = RepeatedMessages(region, Channel.EMAIL, PERIOD)  # type: ignore[arg-type]
    repeated.step()
    assert region.sent == []  # nothing is in flight yet
    region.put("email", "poison", '{"half')
    region.put("email", "waiting", message_for(an_id("8"), Channel.EMAIL), visible=True)
    region.put("email", "held", message_for(an_id("1"), Channel.EMAIL))
    repeated.step()
    assert region.sent == [(Channel.EMAIL, message_for(an_id("1"), Channel.EMAIL))]
    region.accepted = [an_id("2")]
    repeated.step()
    assert repeated.is_over
    assert region.sent[1:] == [(Channel.EMAIL, message_for(an_id("2"), Channel.EMAIL))]

    lines = [logged("message.duplicate_suppressed", delivery_id=an_id("1"))]
    fault = repeated.fault(aftermath(a_row("1"), a_row("2"), received=[a_message("1"), a_message("2")], lines=lines))
    assert fault.held
    assert fault.happened.startswith("2 emails for 2 accepted deliveries; 1 messages were dropped as duplicates")


def test_a_message_that_was_sent_twice_is_told(region: FakeRegion) -> None:
    repeated = RepeatedMessages(region, Channel.EMAIL, PERIOD)  # type: ignore[arg-type]
    region.put("email", "held", message_for(an_id("1"), Channel.EMAIL))
    repeated.step()
    fault = repeated.fault(aftermath(a_row("1"), received=[a_message("1"), a_message("1")]))
    assert not fault.held
    assert fault.happened.startswith("2 emails for 1 accepted deliveries")


def test_where_nothing_was_ever_in_flight_nothing_is_claimed(region: FakeRegion) -> None:
    repeated = RepeatedMessages(region, Channel.EMAIL, PERIOD)  # type: ignore[arg-type]
    repeated.step()
    assert repeated.fault(aftermath(a_row("1"))).verdict is Verdict.NOT_DONE


def test_a_repeated_message_is_one_that_consumers_read() -> None:
    body = message_for(an_id("1"), Channel.EMAIL)
    assert DeliveryMessage.model_validate_json(body).delivery_id == an_id("1")


# --- killed -----------------------------------------------------------------------------------------------------------


class FakeClock:
    """Seconds that pass when the scenario says so."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def test_nothing_is_killed_while_nothing_is_in_hand(region: FakeRegion) -> None:
    killed = KilledConsumer(region, Channel.EMAIL)  # type: ignore[arg-type]
    killed.step()
    assert region.worker.killed == 0


def test_a_kill_in_the_middle_shows_by_messages_that_stay_in_flight(region: FakeRegion, clock: FakeClock) -> None:
    killed = KilledConsumer(region, Channel.EMAIL, clock_s=clock)  # type: ignore[arg-type]
    for customer in "123":
        region.put("email", f"m{customer}", message_for(an_id(customer), Channel.EMAIL))
    killed.step()
    assert region.worker.killed == 1
    region.queues["email"] = region.queues["email"][1:]  # the other worker finished the first message
    region.held = {an_id("2"): a_row("2", status=Status.SENDING), an_id("3"): a_row("3", status=Status.QUEUED)}
    clock.now_s += 10
    killed.step()
    assert killed.is_over

    fault = killed.fault(
        aftermath(a_row("2"), a_row("3"), received=[a_message("2"), a_message("3")], settled=[an_id("2")])
    )
    assert fault.held
    assert fault.happened == (
        "2 deliveries were in its hands, 1 sending, 1 queued when it died; in the end 2 accepted; 1 had been "
        "uncertain, until the provider's outbox showed that it had been sent"
    )


def test_a_kill_between_two_batches_is_tried_again(region: FakeRegion, clock: FakeClock) -> None:
    killed = KilledConsumer(region, Channel.EMAIL, clock_s=clock)  # type: ignore[arg-type]
    for _ in range(faults.KILLS_AT_MOST):
        region.put("email", f"m{clock.now_s}", message_for(an_id("1"), Channel.EMAIL))
        killed.step()
        region.queues.clear()
        clock.now_s += 10
        killed.step()
    assert region.worker.killed == faults.KILLS_AT_MOST
    assert killed.is_over
    fault = killed.fault(aftermath(a_row("1")))
    assert fault.verdict is Verdict.NOT_DONE
    assert fault.happened == "6 kills, and each found the worker between two batches"


@pytest.mark.parametrize(
    ("row", "received"),
    [
        (a_row("1", status=Status.QUEUED), []),
        (a_row("1"), [a_message("1"), a_message("1")]),
        (replace(a_row("1"), provider_reference="elsewhere"), []),
    ],
    ids=["lost", "sent twice", "not at the provider"],
)
def test_a_delivery_that_did_not_survive_the_kill_is_told(
    region: FakeRegion, clock: FakeClock, row: Delivery, received: list[Received]
) -> None:
    killed = KilledConsumer(region, Channel.EMAIL, clock_s=clock)  # type: ignore[arg-type]
    region.put("email", "m1", message_for(an_id("1"), Channel.EMAIL))
    killed.step()
    clock.now_s += 10
    killed.step()
    assert not killed.fault(aftermath(row, received=received)).held
