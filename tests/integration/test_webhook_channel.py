"""The webhook channel's Lambda: what an endpoint's answers mean for the next delivery, and for everybody else's."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest

from functions import names
from functions.adapters.customers import DynamoCustomers
from functions.adapters.endpoints import DynamoEndpoints
from functions.core.delivery import Delivery, FailureClass, SkipReason, Status
from functions.core.envelope import WebhookEnvelope
from functions.core.identity import Channel, Topic
from functions.core.message import DeliveryMessage
from functions.core.outcome import Outcome, OutcomeClass
from functions.core.ports import Endpoints
from functions.core.traffic import GatePosition
from functions.core.webhook_endpoint import (
    DISABLE_AFTER,
    GUARANTEE,
    RESTS_FROM,
    DisabledBecause,
    Health,
    WebhookEndpoint,
    address_mark,
    rotated,
)
from tests.conformance.endpoints import EndpointsConformance
from tests.fakes.environment import BACKOFF_S, CUSTOMERS, channel_environment, queue_url
from tests.fakes.examples import (
    AN_ENDPOINT,
    CUSTOMER,
    PERIOD,
    WEBHOOK_SECRET,
    WEBHOOK_URL,
    a_delivery,
    a_profile,
    a_reminder,
    an_activity,
)
from tests.fakes.lambda_context import FakeLambdaContext
from tests.fakes.providers import FakeProvider
from tests.integration.faults import failing, refused
from tests.integration.lambda_poller import LambdaPoller
from tests.integration.region import Clock, Functions, Region, log_lines

GONE = Outcome(OutcomeClass.REJECTED, "gone")
TIMED_OUT = Outcome(OutcomeClass.UNKNOWN, "timed_out")
NOT_CONNECTED = Outcome(OutcomeClass.UNAVAILABLE, "not_connected")


class TestDynamoEndpoints(EndpointsConformance):
    @pytest.fixture
    def endpoints(self, tables: Region) -> Endpoints:
        tables.add(a_profile(webhook=AN_ENDPOINT))
        return DynamoEndpoints(tables.dynamodb, CUSTOMERS)

    def test_one_that_was_imported_and_never_called_has_no_health_on_record(self, tables: Region) -> None:
        tables.put_raw(CUSTOMERS, {"customer_id": "c-9", "record": "ENDPOINT#webhook", "secrets": [{"text": "whsec_"}]})
        endpoints = DynamoEndpoints(tables.dynamodb, CUSTOMERS)
        assert endpoints.note("c-9", Health("mark"), version=0)
        held = endpoints.read("c-9")
        assert held is not None
        assert (held.version, held.health) == (1, Health("mark"))


@dataclass(frozen=True)
class Scene:
    region: Region
    clock: Clock
    provider: FakeProvider
    poller: LambdaPoller
    reconcile: Callable[[], Any]

    def queue(self, *rows: Delivery) -> None:
        self.region.put_deliveries(*rows)
        for row in rows:
            self.region.sqs.send_message(
                QueueUrl=queue_url(Channel.WEBHOOK), MessageBody=DeliveryMessage.of(row).to_body()
            )

    def send(self, *rows: Delivery, answers: list[Outcome] | None = None) -> None:
        self.provider.will(*(answers or []))
        self.queue(*rows)
        self.poller.poll()

    def health(self, customer: str = CUSTOMER) -> Health:
        endpoint = DynamoEndpoints(self.region.dynamodb, CUSTOMERS).read(customer)
        assert endpoint is not None
        return endpoint.health_at(WEBHOOK_URL)

    def row(self, row: Delivery) -> Delivery:
        return self.region.delivery(row.delivery_id)

    @property
    def sent(self) -> list[WebhookEnvelope]:
        return [one for one in self.provider.envelopes if isinstance(one, WebhookEnvelope)]


@pytest.fixture
def scene(functions: Functions, region: Region, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Scene:
    for name, value in channel_environment(Channel.WEBHOOK).items():
        monkeypatch.setenv(name, value)
    provider = FakeProvider(guarantee=GUARANTEE)
    consumer = functions.webhook.ChannelConsumer.from_environment(provider)
    region.add(a_profile(webhook=AN_ENDPOINT), an_activity())
    return Scene(
        region,
        clock,
        provider,
        LambdaPoller(region.sqs, queue_url(Channel.WEBHOOK), consumer.handle, clock),
        lambda: functions.reconciler.handler({}, FakeLambdaContext(clock, timeout=timedelta(seconds=50))),
    )


def a_digest(customer: str = CUSTOMER, **differing: Any) -> Delivery:
    return a_delivery(customer, channel=Channel.WEBHOOK, status=Status.QUEUED, **differing)


def a_reminder_delivery(event_id: str) -> Delivery:
    row = a_delivery(channel=Channel.WEBHOOK, topic=Topic.REMINDER, status=Status.QUEUED)
    return replace(row, delivery_id=replace(row.delivery_id, occasion=event_id))


def with_reminders(scene: Scene, *event_ids: str) -> list[Delivery]:
    scene.region.schedule(*(a_reminder(event_id=event_id) for event_id in event_ids))
    return [a_reminder_delivery(event_id) for event_id in event_ids]


# --- the straight way -------------------------------------------------------------------------------------------------


def test_a_digest_and_a_reminder_reach_the_customers_endpoint(scene: Scene) -> None:
    (reminder,) = with_reminders(scene, "invoice-9")
    scene.send(a_digest(), reminder)
    assert {one.to for one in scene.sent} == {WEBHOOK_URL}
    assert {json.loads(one.body)["type"] for one in scene.sent} == {"digest.weekly", "reminder.due"}
    assert {row.status for row in scene.region.deliveries().values()} == {Status.ACCEPTED}


def test_the_secrets_come_with_the_very_read_that_renders_the_message(scene: Scene) -> None:
    (reminder,) = with_reminders(scene, "invoice-9")
    calls: list[str] = []
    client = scene.region.dynamodb
    for operation in ("Query", "BatchGetItem", "GetItem"):
        client.meta.events.register(
            f"before-call.dynamodb.{operation}", lambda model, **_: calls.append(model.name), unique_id=operation
        )
    try:
        scene.send(a_digest(), reminder)
    finally:
        for operation in ("Query", "BatchGetItem", "GetItem"):
            client.meta.events.unregister(f"before-call.dynamodb.{operation}", unique_id=operation)
    assert calls.count("Query") == 1  # the digest's material
    assert [one.endpoint.signing(scene.clock()) for one in scene.sent] == [(WEBHOOK_SECRET,)] * 2


def test_an_endpoint_that_answers_well_costs_no_write(scene: Scene) -> None:
    before = scene.region.customer_row(CUSTOMER, "ENDPOINT#webhook")
    scene.send(a_digest())
    assert scene.region.customer_row(CUSTOMER, "ENDPOINT#webhook") == before


def test_a_secret_that_is_rotated_while_deliveries_wait_signs_them_all(scene: Scene) -> None:
    rows = with_reminders(scene, "a", "b", "c")
    scene.queue(*rows)
    endpoints = DynamoEndpoints(scene.region.dynamodb, CUSTOMERS)
    secrets = rotated(AN_ENDPOINT.secrets, "whsec_bmV3", at=scene.clock())
    assert endpoints.keep_secrets(CUSTOMER, secrets, version=0)
    scene.poller.poll()
    assert [one.endpoint.signing(scene.clock()) for one in scene.sent] == [("whsec_bmV3", WEBHOOK_SECRET)] * 3


def test_a_customer_without_an_address_is_skipped(scene: Scene) -> None:
    scene.region.add(a_profile("c-2", addresses={}), an_activity())
    scene.send(a_digest("c-2"))
    assert scene.row(a_digest("c-2")).skip_reason is SkipReason.NO_ADDRESS


# --- an endpoint that is gone, or fails for days ---------------------------------------------------------------------


def test_an_endpoint_that_is_gone_is_disabled_and_said_to_be(
    scene: Scene, log: io.StringIO, capsys: pytest.CaptureFixture[str]
) -> None:
    scene.send(a_digest(), answers=[GONE])
    row = scene.row(a_digest())
    assert row.status is Status.DEAD_LETTER
    assert row.failure is not None
    assert (row.failure.failure_class, row.failure.code) == (FailureClass.REJECTED, "gone")
    assert scene.health().disabled_because is DisabledBecause.GONE
    (line,) = [one for one in log_lines(log) if one["message"] == "endpoint.disabled"]
    assert (line["customer_id"], line["cause"], line["code"]) == (CUSTOMER, "gone", "gone")
    told = capsys.readouterr().out
    assert f'"{names.METRIC_ENDPOINTS_DISABLED}":[1.0]' in told
    assert '"outcome":"gone"' in told


def test_what_comes_after_is_skipped_without_a_call(scene: Scene) -> None:
    scene.send(a_digest(), answers=[GONE])
    (reminder,) = with_reminders(scene, "invoice-9")
    scene.send(reminder)
    assert scene.row(reminder).skip_reason is SkipReason.ENDPOINT_DISABLED
    assert len(scene.provider.calls) == 1


def test_another_customers_endpoint_is_not_touched_by_it(scene: Scene) -> None:
    scene.region.add(a_profile("c-2", webhook=AN_ENDPOINT), an_activity())
    scene.send(a_digest(), a_digest("c-2"), answers=[GONE])
    assert scene.row(a_digest("c-2")).status is Status.ACCEPTED


def test_a_new_address_is_called_although_the_old_one_was_disabled(scene: Scene) -> None:
    scene.send(a_digest(), answers=[GONE])
    moved = {Channel.WEBHOOK: "https://hooks.example.com/moved"}
    row = scene.region.customer_row(CUSTOMER, "ENDPOINT#webhook")
    scene.region.add(a_profile(addresses=moved))
    assert scene.region.customer_row(CUSTOMER, "ENDPOINT#webhook") == row
    (reminder,) = with_reminders(scene, "invoice-9")
    scene.send(reminder)
    assert scene.row(reminder).status is Status.ACCEPTED


def test_days_of_failures_disable_an_endpoint(scene: Scene, log: io.StringIO) -> None:
    since = scene.clock() - DISABLE_AFTER - timedelta(seconds=1)
    failing_for_days = Health(address_mark(WEBHOOK_URL), 2, failing_since=since, last_failure_at=since)
    assert DynamoEndpoints(scene.region.dynamodb, CUSTOMERS).note(CUSTOMER, failing_for_days, version=0)
    scene.send(a_digest(), answers=[NOT_CONNECTED])
    assert scene.health().disabled_because is DisabledBecause.FAILING
    (line,) = [one for one in log_lines(log) if one["message"] == "endpoint.disabled"]
    assert line["cause"] == "failing"
    assert WEBHOOK_URL not in log.getvalue()


# --- an endpoint that is troubled ------------------------------------------------------------------------------------


def test_what_nobody_answered_is_sent_again_under_the_same_id(scene: Scene) -> None:
    scene.send(a_digest(), answers=[TIMED_OUT])
    assert scene.row(a_digest()).status is Status.RETRYABLE
    scene.clock.advance(timedelta(seconds=BACKOFF_S[0] + 1))
    scene.poller.poll()
    assert scene.provider.calls == [f"digest:{CUSTOMER}:{PERIOD}:webhook"] * 2
    assert len({one.body for one in scene.sent}) == 1
    assert scene.row(a_digest()).status is Status.ACCEPTED
    assert scene.health().failures == 0


def test_a_receivers_wish_to_wait_is_its_own_and_closes_nobodys_gate(scene: Scene, functions: Functions) -> None:
    scene.region.add(a_profile("c-2", webhook=AN_ENDPOINT), an_activity())
    wait = Outcome(OutcomeClass.DEFERRED, "http_429", retry_at=scene.clock() + timedelta(minutes=10))
    scene.send(a_digest(), a_digest("c-2"), answers=[wait])
    assert scene.row(a_digest()).next_attempt_at == scene.clock() + timedelta(minutes=10)
    assert scene.row(a_digest("c-2")).status is Status.ACCEPTED
    gate = functions.reconciler.reconciler.traffic.gate(Channel.WEBHOOK)
    assert gate.position(scene.clock()) is GatePosition.OPEN


def test_an_endpoint_that_keeps_failing_rests_and_its_next_deliveries_wait_without_a_call(
    scene: Scene, log: io.StringIO
) -> None:
    rows = with_reminders(scene, *[f"event-{number}" for number in range(RESTS_FROM + 3)])
    scene.send(*rows, answers=[TIMED_OUT] * len(rows))
    assert len(scene.provider.calls) == RESTS_FROM
    waiting = [scene.row(row) for row in rows[RESTS_FROM:]]
    assert {(row.status, row.attempt) for row in waiting} == {(Status.RETRYABLE, 0)}
    assert {row.next_attempt_at for row in waiting} == {scene.clock() + timedelta(minutes=1)}
    assert [one["message"] for one in log_lines(log)].count("message.endpoint_resting") == 3


def test_after_its_rest_an_endpoint_is_called_again_and_everything_arrives(scene: Scene) -> None:
    rows = with_reminders(scene, *[f"event-{number}" for number in range(RESTS_FROM + 1)])
    scene.send(*rows, answers=[TIMED_OUT] * RESTS_FROM)
    for _ in range(6):
        scene.clock.advance(timedelta(minutes=1))
        scene.reconcile()
        scene.poller.poll()
    assert {scene.row(row).status for row in rows} == {Status.ACCEPTED}


def test_a_dead_endpoint_costs_nobody_else_a_call(scene: Scene) -> None:
    scene.region.add(a_profile("c-2", webhook=AN_ENDPOINT), an_activity())
    rows = with_reminders(scene, *[f"event-{number}" for number in range(9)])
    scene.send(*rows, a_digest("c-2"), answers=[TIMED_OUT] * RESTS_FROM)
    assert scene.row(a_digest("c-2")).status is Status.ACCEPTED
    assert len(scene.provider.calls) == RESTS_FROM + 1


# --- what is noted is never in the way -------------------------------------------------------------------------------


def test_a_note_that_dynamodb_does_not_take_changes_nothing_for_the_delivery(scene: Scene, log: io.StringIO) -> None:
    error = refused("UpdateItem", "AccessDenied")
    # The third write is the note: the first two are the claim and the settlement.
    with failing(scene.region.dynamodb, "UpdateItem", error, when=lambda call: call == 4):
        scene.send(a_digest(), answers=[NOT_CONNECTED])
    assert scene.row(a_digest()).status is Status.RETRYABLE
    told = [one["message"] for one in log_lines(log)]
    assert told.count("delivery.attempted") == 1


def test_a_customer_who_was_erased_during_the_send_leaves_no_record(scene: Scene) -> None:
    def erase() -> None:
        scene.provider.while_sending = lambda: None
        for record in ("PROFILE", "ENDPOINT#webhook"):
            key: Any = {names.CUSTOMER_ID: {"S": CUSTOMER}, names.RECORD: {"S": record}}
            scene.region.dynamodb.delete_item(TableName=CUSTOMERS, Key=key)

    scene.provider.while_sending = erase
    scene.send(a_digest(), answers=[GONE])
    assert scene.region.customer_row(CUSTOMER, "ENDPOINT#webhook") == {}


def test_other_channels_read_past_the_endpoint(tables: Region) -> None:
    tables.add(a_profile(webhook=AN_ENDPOINT), an_activity())
    profile, activities = DynamoCustomers(tables.dynamodb, CUSTOMERS).digest_material(CUSTOMER, PERIOD)
    assert profile is not None
    assert profile.webhook == WebhookEndpoint(AN_ENDPOINT.secrets)
    assert [one.activity_id for one in activities] == ["a-1"]
