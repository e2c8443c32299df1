"""Somebody presses "Start DLQ redrive" in the console: whatever lies in the queue, only what its row allows is sent."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from functions.core.delivery import Delivery, SkipReason, Status
from functions.core.identity import Channel
from functions.core.message import DeliveryMessage
from functions.core.outcome import Outcome, OutcomeClass
from tests.fakes.environment import (
    ACCOUNT,
    BACKOFF_S,
    REGION,
    channel_environment,
    dead_letter_url,
    queue_url,
)
from tests.fakes.examples import (
    CUSTOMER,
    a_delivery,
    a_profile,
    a_rejected_delivery,
    a_sending_delivery,
    an_activity,
    an_exhausted_delivery,
)
from tests.fakes.lambda_context import FakeLambdaContext
from tests.fakes.providers import FakeProvider
from tests.integration.lambda_poller import LambdaPoller
from tests.integration.move_tasks import NO_SOURCE, MoveTasks, sources_kept
from tests.integration.region import Clock, Functions, Region

EMAIL = Channel.EMAIL
QUEUE, DEAD = queue_url(EMAIL), dead_letter_url(EMAIL)
ARN, DEAD_ARN = (f"arn:aws:sqs:{REGION}:{ACCOUNT}:{name}" for name in ("email", "email-dead-letters"))
BUSY = Outcome(OutcomeClass.UNAVAILABLE, "ServiceUnavailable")
POISON = '{"text": "canary"}'
SECOND = timedelta(seconds=1)
WEEK = timedelta(days=7)
however_receives_are_counted = pytest.mark.parametrize(
    "console", [True, False], indirect=True, ids=["receives counted anew", "one receive left"]
)


@dataclass
class Console:
    """The queue's page in the console, and the consumer behind the queue."""

    region: Region
    clock: Clock
    provider: FakeProvider
    poller: LambdaPoller
    functions: Functions
    tasks: MoveTasks

    def dead(self, *rows: Delivery) -> None:
        """Rows whose messages lie in the dead-letter queue."""
        for row in rows:
            self.region.add(a_profile(row.delivery_id.customer_id), an_activity())
        self.region.put_deliveries(*rows)
        self.region.bury(EMAIL, *(DeliveryMessage.of(row).to_body() for row in rows))

    def redrive(self) -> dict[str, Any]:
        """Redrive to source, and let the consumer and the reconciler work until every lease has run out."""
        self.tasks.start_message_move_task(SourceArn=DEAD_ARN, MaxNumberOfMessagesPerSecond=10)
        for minutes in (1, 1, 10, 1):
            self.clock.advance(timedelta(minutes=minutes))
            self.tasks.go_on()
            while self.poller.poll():
                self.clock.advance(timedelta(milliseconds=1))  # moto shows what is visible at once a moment later
            self.reconcile()
        return self.task()

    def reconcile(self) -> None:
        self.functions.reconciler.handler({}, FakeLambdaContext(self.clock, timeout=timedelta(seconds=50)))

    def task(self) -> dict[str, Any]:
        """The last task, as the console shows it."""
        found: dict[str, Any] = self.tasks.list_message_move_tasks(SourceArn=DEAD_ARN)["Results"][0]
        return found

    def states(self) -> dict[str, Status]:
        return {row.delivery_id.customer_id: row.status for row in self.region.deliveries().values()}

    def ids(self, url: str) -> set[str]:
        """Ids of the messages that can be received."""
        answer = self.region.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=0)
        return {one["MessageId"] for one in answer.get("Messages", [])}


@pytest.fixture
def console(
    request: pytest.FixtureRequest,
    functions: Functions,
    region: Region,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    log: io.StringIO,  # noqa: ARG001 - what is logged is not shown
) -> Iterator[Console]:
    for name, value in channel_environment(EMAIL).items():
        monkeypatch.setenv(name, value)
    provider = FakeProvider()
    consumer = functions.email.ChannelConsumer.from_environment(provider)
    poller = LambdaPoller(region.sqs, QUEUE, consumer.handle, clock)
    with sources_kept():
        tasks = MoveTasks(region.sqs, clock, receives_restart=getattr(request, "param", True))
        yield Console(region, clock, provider, poller, functions, tasks)


def of_every_kind(clock: Clock) -> list[Delivery]:
    """A row in each state in which its message may be found in the dead-letter queue."""
    now = clock()
    return [
        an_exhausted_delivery(customer_id="exhausted"),
        an_exhausted_delivery(customer_id="late", expires_at=now),
        a_rejected_delivery(customer_id="rejected"),
        a_delivery("accepted", status=Status.ACCEPTED, attempt=1, accepted_at=now, attention_at=None),
        a_delivery("skipped", status=Status.SKIPPED, skip_reason=SkipReason.OPTED_OUT, attention_at=None),
        a_delivery("expired", status=Status.EXPIRED, attention_at=None),
        a_delivery("uncertain", status=Status.UNCERTAIN, attempt=1, attention_at=now),
        a_delivery("queued", status=Status.QUEUED, enqueued_at=now, attention_at=now + timedelta(hours=1)),
        a_delivery("waiting", status=Status.RETRYABLE, next_attempt_at=now + WEEK, attention_at=now + WEEK),
        a_sending_delivery(customer_id="sending", lease_until=now + timedelta(minutes=10)),
    ]


AFTERWARDS = {
    "exhausted": Status.ACCEPTED,
    "late": Status.EXPIRED,
    "rejected": Status.DEAD_LETTER,
    "accepted": Status.ACCEPTED,
    "skipped": Status.SKIPPED,
    "expired": Status.EXPIRED,
    "uncertain": Status.UNCERTAIN,
    "queued": Status.ACCEPTED,
    "waiting": Status.RETRYABLE,
    "sending": Status.UNCERTAIN,  # its lease ran out, and this provider knows no keys: by its rule, not by the redrive
}


@however_receives_are_counted
def test_of_rows_of_every_kind_only_those_that_may_be_are_sent_however_often_they_are_redriven(
    console: Console,
) -> None:
    console.dead(*of_every_kind(console.clock))
    console.region.bury(EMAIL, DeliveryMessage.of(a_delivery("purged")).to_body(), POISON)
    assert console.region.count(DEAD) == 12
    for _ in range(2):
        task = console.redrive()
        assert (task["Status"], console.region.count(QUEUE)) == ("COMPLETED", 0)
        assert console.states() == AFTERWARDS
        assert sorted(console.provider.accepted) == [
            "digest:exhausted:2026-11-16:email",
            "digest:queued:2026-11-16:email",
        ]
        assert console.provider.calls == console.provider.accepted
    # With one receive left, the message of the attempt in hand had to come by a second time.
    assert console.region.bodies(DEAD) == [POISON]


@however_receives_are_counted
def test_last_week_s_digest_is_not_sent_after_this_week_s(console: Console) -> None:
    last_week = an_exhausted_delivery()
    console.dead(last_week)
    console.clock.advance(WEEK)
    this_week = a_delivery(
        status=Status.ACCEPTED, period="2026-11-23", accepted_at=console.clock(), attention_at=None, attempt=1
    )
    this_week = replace(this_week, delivery_id=replace(this_week.delivery_id, occasion="2026-11-23"))
    console.region.put_deliveries(this_week)
    console.redrive()
    assert console.region.delivery(last_week.delivery_id).status is Status.EXPIRED
    assert console.region.delivery(this_week.delivery_id) == this_week
    assert console.provider.calls == []


@however_receives_are_counted
def test_what_is_redriven_before_its_cause_is_mended_is_a_dead_letter_again_and_not_lost(console: Console) -> None:
    console.dead(an_exhausted_delivery())
    console.provider.will(*[BUSY] * 6)
    console.redrive()
    for pause in (*BACKOFF_S, 1):
        console.clock.advance(timedelta(seconds=pause + 1))
        console.poller.poll()
    assert console.region.delivery(an_exhausted_delivery().delivery_id).exhausted()
    assert console.region.count(DEAD) == 1
    console.provider.answers.clear()
    console.redrive()
    assert console.states() == {CUSTOMER: Status.ACCEPTED}
    assert len(console.provider.accepted) == 1


# --- the task itself, as AWS documents it ---


def test_a_redriven_message_is_a_new_one_with_an_id_of_its_own(console: Console) -> None:
    console.region.bury(EMAIL, POISON)
    before = console.ids(DEAD)
    console.tasks.start_message_move_task(SourceArn=DEAD_ARN)
    assert console.task()["ApproximateNumberOfMessagesMoved"] == 1
    after = console.ids(QUEUE)
    assert (len(before), len(after), before & after) == (1, 1, set())


def test_there_is_one_task_for_a_queue_and_it_goes_at_its_rate(console: Console) -> None:
    console.dead(*(an_exhausted_delivery(customer_id=f"c-{number}") for number in range(5)))
    console.tasks.start_message_move_task(SourceArn=DEAD_ARN, MaxNumberOfMessagesPerSecond=2)
    with pytest.raises(ClientError, match="InvalidParameterValue"):
        console.tasks.start_message_move_task(SourceArn=DEAD_ARN)
    console.clock.advance(2 * SECOND)
    assert (console.task()["Status"], console.task()["ApproximateNumberOfMessagesMoved"]) == ("RUNNING", 4)
    console.clock.advance(SECOND)
    assert (console.task()["Status"], console.task()["ApproximateNumberOfMessagesToMove"]) == ("COMPLETED", 5)
    assert "TaskHandle" not in console.task()


def test_a_cancelled_task_leaves_what_it_moved_and_cannot_be_cancelled_again(console: Console) -> None:
    console.dead(*(an_exhausted_delivery(customer_id=f"c-{number}") for number in range(3)))
    handle = console.tasks.start_message_move_task(SourceArn=DEAD_ARN, MaxNumberOfMessagesPerSecond=1)["TaskHandle"]
    console.clock.advance(SECOND)
    told = console.tasks.cancel_message_move_task(TaskHandle=handle)
    console.clock.advance(10 * SECOND)
    assert (told["ApproximateNumberOfMessagesMoved"], console.task()["Status"]) == (1, "CANCELLED")
    assert (console.region.count(QUEUE), console.region.count(DEAD)) == (1, 2)
    with pytest.raises(ClientError, match="UnsupportedOperation"):
        console.tasks.cancel_message_move_task(TaskHandle=handle)


def test_a_message_that_somebody_sent_to_the_dead_letter_queue_fails_the_task(console: Console) -> None:
    console.region.sqs.send_message(QueueUrl=DEAD, MessageBody=POISON)
    console.dead(an_exhausted_delivery())
    console.tasks.start_message_move_task(SourceArn=DEAD_ARN)
    assert (console.task()["Status"], console.task()["FailureReason"]) == ("FAILED", NO_SOURCE)
    assert console.region.count(DEAD) == 2


def test_a_custom_destination_takes_it_along_and_it_is_back_with_its_source_this_time(console: Console) -> None:
    console.region.sqs.send_message(QueueUrl=DEAD, MessageBody=POISON)
    console.dead(an_exhausted_delivery())
    console.tasks.start_message_move_task(SourceArn=DEAD_ARN, DestinationArn=ARN)
    assert console.task()["Status"] == "COMPLETED"
    while console.poller.poll():
        console.clock.advance(timedelta(milliseconds=1))
    assert console.states() == {CUSTOMER: Status.ACCEPTED}
    assert console.region.count(DEAD) == 1
    assert console.redrive()["Status"] == "COMPLETED"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"SourceArn": ARN}, "InvalidParameterValue"),  # nothing moves its messages here
        ({"SourceArn": DEAD_ARN + "-gone"}, "ResourceNotFoundException"),
        ({"SourceArn": DEAD_ARN, "DestinationArn": DEAD_ARN}, "InvalidParameterValue"),
        ({"SourceArn": DEAD_ARN, "DestinationArn": ARN + "-gone"}, "ResourceNotFoundException"),
        ({"SourceArn": DEAD_ARN, "MaxNumberOfMessagesPerSecond": 501}, "InvalidParameterValue"),
    ],
)
def test_a_task_that_cannot_be_is_refused(console: Console, arguments: dict[str, Any], code: str) -> None:
    with pytest.raises(ClientError, match=code):
        console.tasks.start_message_move_task(**arguments)
    assert console.tasks.tasks == []
