"""An address, a phone number and what a message says are in no log, metric, queue or error text, on any path."""

from __future__ import annotations

import io
import json
import logging
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ConnectionClosedError

from functions.core.delivery import Delivery, Status
from functions.core.identity import Channel, Topic
from functions.core.instants import to_text
from functions.core.message import DeliveryMessage
from functions.core.outcome import Dedupe, Guarantee, Outcome, OutcomeClass
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.environment import BACKOFF_S, DELIVERIES, SHARDS, channel_environment, dead_letter_url, queue_url
from tests.fakes.examples import (
    AN_ENDPOINT,
    CUSTOMER,
    EMAIL_ADDRESS,
    EXPIRES_AFTER,
    PHONE_NUMBER,
    a_delivery,
    a_digest_schedule,
    a_profile,
    a_reminder,
    an_activity,
)
from tests.fakes.lambda_context import FakeLambdaContext
from tests.fakes.providers import FakeProvider
from tests.integration.faults import failing, refused
from tests.integration.lambda_poller import LambdaPoller
from tests.integration.region import Clock, Functions, Region

# What the customer of the examples is and gets: nothing of it may be seen anywhere but in the customers table.
CANARIES = (
    EMAIL_ADDRESS,
    PHONE_NUMBER,
    PHONE_NUMBER.lstrip("+"),
    "canary",
    "11.77",
    "invoice 9",
    "america/new_york",
    "hooks.",
    "whsec_",
)
QUOTING = f"<{EMAIL_ADDRESS}> {PHONE_NUMBER}: Canary blue lamp"  # as providers and services word their errors


@dataclass
class Watch:
    """Everything that leaves the functions while it is on."""

    region: Region
    log: io.StringIO
    root: io.StringIO
    capsys: pytest.CaptureFixture[str]
    raised: list[BaseException]

    def seen(self) -> Iterator[tuple[str, str]]:
        printed = self.capsys.readouterr()
        yield "log", self.log.getvalue()
        yield "every other logger", self.root.getvalue()
        yield "metrics", printed.out + printed.err
        for channel in Channel:
            yield f"{channel} queue", "\n".join(self.region.bodies(queue_url(channel)))
            yield f"{channel} dead letters", "\n".join(self.region.bodies(dead_letter_url(channel)))
        yield "deliveries table", json.dumps(list(self.region._scan(DELIVERIES)))
        for error in self.raised:
            yield "raised", "".join(traceback.format_exception(error))

    def saw_nothing(self) -> None:
        for place, text in self.seen():
            for canary in CANARIES:
                assert canary not in text.lower(), f"{canary!r} in {place}"


@dataclass(frozen=True)
class Stage:
    """All consumers with providers that do as they are told, and everything that they tell being watched."""

    region: Region
    clock: Clock
    functions: Functions
    providers: dict[Channel, FakeProvider]
    pollers: dict[Channel, LambdaPoller]
    watch: Watch

    def send(self, *rows: Delivery) -> None:
        self.region.put_deliveries(*rows)
        for row in rows:
            self.put(row.delivery_id.channel, DeliveryMessage.of(row).to_body())

    def put(self, channel: Channel, body: str) -> None:
        self.region.sqs.send_message(QueueUrl=queue_url(channel), MessageBody=body)

    def poll(self) -> None:
        for poller in self.pollers.values():
            poller.poll()

    def sweep(self) -> None:
        self.functions.reconciler.handler({}, FakeLambdaContext(self.clock, timeout=timedelta(seconds=50)))

    def plan(self) -> None:
        event = {"scheduled_time": to_text(SUNDAY_EVENING), "shards": list(range(SHARDS))}
        self.functions.planner.handler(event, FakeLambdaContext(self.clock, timeout=timedelta(minutes=4)))

    @contextmanager
    def noting_errors(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # noqa: BLE001 - what it says is what is looked at
            self.watch.raised.append(error)


@pytest.fixture
def stage(
    functions: Functions,
    region: Region,
    clock: Clock,
    log: io.StringIO,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Stage]:
    providers, pollers = {}, {}
    for channel in Channel:
        for name, value in channel_environment(channel).items():
            monkeypatch.setenv(name, value)
        providers[channel] = FakeProvider(guarantee=Guarantee(Dedupe.NONE))
        consumer = functions.email.ChannelConsumer.from_environment(providers[channel])
        pollers[channel] = LambdaPoller(region.sqs, queue_url(channel), consumer.handle, clock)
    region.add(a_profile(webhook=AN_ENDPOINT), an_activity())
    region.schedule(a_digest_schedule(), a_reminder())
    root = io.StringIO()
    handler = logging.StreamHandler(root)
    logging.getLogger().addHandler(handler)  # Lambda's own handler sits here, at WARNING
    handler.setLevel(logging.INFO)
    yield Stage(region, clock, functions, providers, pollers, Watch(region, log, root, capsys, []))
    logging.getLogger().removeHandler(handler)


def all_four() -> list[Delivery]:
    return [
        a_delivery(CUSTOMER, channel=channel, topic=topic, status=Status.QUEUED)
        for topic in Topic
        for channel in Channel
    ]


def test_planning_sending_and_recovering(stage: Stage) -> None:
    stage.plan()
    stage.poll()
    stage.sweep()
    assert {row.status for row in stage.region.deliveries().values()} == {Status.ACCEPTED}
    stage.watch.saw_nothing()


@pytest.mark.parametrize("outcome", OutcomeClass)
def test_every_answer_of_a_provider(stage: Stage, outcome: OutcomeClass) -> None:
    for provider in stage.providers.values():
        provider.will(*[Outcome(outcome, "Code")] * 4)
    stage.send(*all_four())
    stage.poll()
    stage.clock.advance(timedelta(hours=2))
    stage.sweep()
    stage.watch.saw_nothing()


def test_a_provider_that_raises_with_the_address_in_its_words(stage: Stage) -> None:
    for provider in stage.providers.values():
        provider.will(*[RuntimeError(QUOTING)] * 4)
    stage.send(*all_four())
    stage.poll()
    assert {row.status for row in stage.region.deliveries().values()} == {Status.UNCERTAIN}
    stage.watch.saw_nothing()


FAULTS: dict[str, tuple[str, Callable[[str], Exception]]] = {
    "cannot read the row": ("BatchGetItem", lambda name: refused(name, QUOTING)),
    "cannot read the person": ("Query", lambda name: refused(name, QUOTING)),
    "cannot claim": ("UpdateItem", lambda name: refused(name, QUOTING)),
    "is cut off": ("Query", lambda _: ConnectionClosedError(endpoint_url=QUOTING)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_table_whose_errors_quote_what_was_asked(stage: Stage, fault: str) -> None:
    operation, error = FAULTS[fault]
    stage.send(*all_four())
    with failing(stage.region.dynamodb, operation, error(operation)):
        stage.poll()
    with failing(stage.region.dynamodb, operation, error(operation)), stage.noting_errors():
        stage.sweep()
    stage.watch.raised.clear()  # a sweep's own error is the service's text, and the service was never given a person
    stage.watch.saw_nothing()


def test_a_message_that_was_never_finished(stage: Stage) -> None:
    stage.region.add(a_profile(time_zone="Mars/Phobos"))
    stage.send(*all_four())
    for pause in (*BACKOFF_S, 1):
        stage.poll()
        stage.clock.advance(timedelta(seconds=pause + 1))  # the jitter may have chosen the whole pause
    stage.poll()
    assert stage.region.count(dead_letter_url(Channel.EMAIL)) == 1
    stage.watch.saw_nothing()


@pytest.mark.parametrize(
    "differing",
    [
        {"active": False},
        {"addresses": {}},
        {"consent": {}},
        {"suppressed": {Channel.EMAIL: "hard_bounce", Channel.SMS: "stop", Channel.WEBHOOK: "complaint"}},
    ],
    ids=lambda differing: next(iter(differing)),
)
def test_everybody_who_is_skipped(stage: Stage, differing: dict[str, Any]) -> None:
    stage.region.add(a_profile(**differing))
    stage.send(*all_four())
    stage.poll()
    assert {row.status for row in stage.region.deliveries().values()} == {Status.SKIPPED}
    stage.watch.saw_nothing()


def test_what_is_too_late_or_already_done(stage: Stage) -> None:
    stage.send(*all_four())
    stage.send(*(replace(row, status=Status.ACCEPTED, attention_at=None) for row in all_four()[:2]))
    stage.clock.advance(EXPIRES_AFTER)
    stage.poll()
    stage.sweep()
    stage.watch.saw_nothing()


def test_poison_that_holds_a_person(stage: Stage, log: io.StringIO) -> None:
    body = {"schema_version": 1, "channel": "email", "delivery_id": f"digest:{EMAIL_ADDRESS}:2026-11-16:email"}
    poison = [
        QUOTING,
        json.dumps({QUOTING: QUOTING}),
        json.dumps(body | {"template_id": EMAIL_ADDRESS}),
        json.dumps(body | {"template_id": "weekly-digest-v1", EMAIL_ADDRESS: PHONE_NUMBER}),
        json.dumps([EMAIL_ADDRESS]),
    ]
    for one in poison:
        stage.put(Channel.EMAIL, one)
    stage.poll()
    for canary in CANARIES:
        assert canary not in log.getvalue().lower()
        assert canary not in stage.watch.root.getvalue().lower()


def test_a_planner_that_fails(stage: Stage) -> None:
    stage.region.schedule(a_digest_schedule(time_zone="Mars/Phobos"))
    stage.plan()
    stage.region.schedule(a_digest_schedule())
    with failing(stage.region.sqs, "SendMessageBatch", refused("SendMessageBatch")), stage.noting_errors():
        stage.plan()
    with failing(stage.region.dynamodb, "TransactWriteItems", refused("TransactWriteItems")), stage.noting_errors():
        stage.plan()
    stage.watch.saw_nothing()


def test_the_watch_sees_what_it_looks_for(stage: Stage, functions: Functions) -> None:
    functions.telemetry.logger.info("an address", extra={"to": EMAIL_ADDRESS})
    with pytest.raises(AssertionError, match="in log"):
        stage.watch.saw_nothing()
    stage.watch.log.truncate(0)
    stage.put(Channel.SMS, f"to {PHONE_NUMBER}")
    with pytest.raises(AssertionError, match="in sms queue"):
        stage.watch.saw_nothing()
