"""The receipts' Lambdas: events off the queue onto rows and profiles, webhooks through the intake onto the queue."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib import import_module
from types import ModuleType
from typing import Any, Final

import pytest
from botocore.exceptions import ReadTimeoutError
from standardwebhooks import Webhook

from functions import names
from functions.adapters.traffic import DynamoTraffic
from functions.adapters.wiring import dynamodb, secrets_manager
from functions.core.customer import PROFILE
from functions.core.delivery import Delivery, ReceiptState, Status
from functions.core.identity import Channel
from functions.core.receipt_messages import ReceiptMessage
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.environment import ACCOUNT, CONTROL, DELIVERIES, REGION
from tests.fakes.examples import (
    CUSTOMER,
    EMAIL_ADDRESS,
    PHONE_NUMBER,
    a_delivery,
    a_profile,
    a_sending_delivery,
)
from tests.fakes.lambda_context import FakeLambdaContext
from tests.integration.faults import failing
from tests.integration.lambda_poller import LambdaPoller
from tests.integration.region import Clock, Functions, Region, log_lines

QUEUE: Final = f"https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/receipts"
PARKED: Final = QUEUE + "-dead-letters"
BACKOFF_S: Final = (5, 30, 120)
SECRET_NAME: Final = "mail-provider-signing"
OLD, NEW, FOREIGN = (f"whsec_{base64.b64encode(word * 4).decode()}" for word in (b"oldkey", b"newkey", b"nobody"))
ENVIRONMENT: Final = {
    names.ENV_QUEUE_URL: QUEUE,
    names.ENV_RECEIPTS_QUEUE_URL: QUEUE,
    names.ENV_BACKOFF_S: ",".join(str(pause) for pause in BACKOFF_S),
    names.ENV_SOFT_BOUNCES: "3",
    names.ENV_SOFT_BOUNCE_WINDOW_S: str(60 * 24 * 3600),
    names.ENV_WEBHOOK_SECRET: SECRET_NAME,
}


@pytest.fixture(scope="module")
def handlers(functions: Functions) -> Iterator[tuple[ModuleType, ModuleType]]:  # noqa: ARG001 - sets the environment
    with pytest.MonkeyPatch.context() as patch:
        for name, value in ENVIRONMENT.items():
            patch.setenv(name, value)
        yield import_module("functions.receipts.handler"), import_module("functions.receipt_intake.handler")


@dataclass(frozen=True)
class Receipts:
    """The receipts queue of a region, the function behind it and the intake before it."""

    region: Region
    clock: Clock
    poller: LambdaPoller
    intake: Callable[[dict[str, Any]], dict[str, Any]]

    def say(self, kind: str = "Email Delivered", *, of: Delivery | None = None, **differing: Any) -> None:
        """Put an event on the queue as EventBridge does."""
        body = {
            "schema_version": 1,
            "provider": "ses",
            "event_id": f"event-{kind}",
            "kind": kind,
            "reference": "ses-1",
            "tags": {part: [text] for part, text in (of or a_delivery()).delivery_id.as_tags().items()},
            "at": "2026-11-29T20:00:00Z",
            **differing,
        }
        self.region.sqs.send_message(QueueUrl=QUEUE, MessageBody=json.dumps(body))

    def work(self) -> None:
        """Let the function work off what is visible."""
        while self.poller.poll() is not None:
            pass

    def wait(self, seconds: float) -> None:
        self.clock.advance(timedelta(seconds=seconds))

    @property
    def row(self) -> Delivery:
        return self.region.delivery(a_delivery().delivery_id)

    @property
    def suppressed(self) -> Any:
        return self.region.customer_row(CUSTOMER, PROFILE).get("suppressed")


def accepted(**differing: Any) -> Delivery:
    return a_delivery(
        status=Status.ACCEPTED,
        attempt=1,
        attention_at=None,
        accepted_at=SUNDAY_EVENING,
        provider_reference="ses-1",
        **differing,
    )


@pytest.fixture
def receipts(handlers: tuple[ModuleType, ModuleType], tables: Region, clock: Clock) -> Receipts:
    consumer, intake = handlers
    tables.sqs.create_queue(QueueName="receipts-dead-letters")
    redrive = {
        "deadLetterTargetArn": f"arn:aws:sqs:{REGION}:{ACCOUNT}:receipts-dead-letters",
        "maxReceiveCount": len(BACKOFF_S) + 1,
    }
    tables.sqs.create_queue(
        QueueName="receipts", Attributes={"VisibilityTimeout": "180", "RedrivePolicy": json.dumps(redrive)}
    )
    secrets_manager().create_secret(Name=SECRET_NAME, SecretString=NEW)
    intake.intake._secrets._held = None  # another test's
    return Receipts(
        tables,
        clock,
        LambdaPoller(tables.sqs, QUEUE, consumer.handler, clock),
        lambda request: intake.handler(request, FakeLambdaContext(clock)),
    )


# --- from the queue onto rows and profiles ---


def test_a_delivered_email_is_known_to_be(receipts: Receipts) -> None:
    receipts.region.add(a_profile())
    receipts.region.put_deliveries(accepted())
    receipts.say()
    receipts.work()
    assert receipts.row.receipt is not None
    assert receipts.row.receipt.state is ReceiptState.DELIVERED
    (item,) = receipts.region._scan(DELIVERIES)
    assert item[names.RECEIPT_OUTCOME]["S"] == "delivered"
    assert receipts.region.count(QUEUE) == receipts.region.count(PARKED) == 0


def test_a_bounce_keeps_the_next_digest_from_being_sent(receipts: Receipts) -> None:
    receipts.region.add(a_profile())
    receipts.region.put_deliveries(accepted())
    receipts.say("Email Bounced", bounce="Permanent", detail="General", status="5.1.1")
    receipts.work()
    assert receipts.suppressed == {
        "email": {"cause": "hard_bounce", "at": "2026-11-29T20:00:00.000Z", "code": "Permanent/General/5.1.1"}
    }


def test_a_channel_of_which_too_much_comes_back_is_halted_and_told_of(receipts: Receipts, log: io.StringIO) -> None:
    """Two of twenty bounced, and eight of a hundred may."""
    customers = [f"c-{number}" for number in range(20)]
    for number, one in enumerate(customers):
        receipts.region.add(a_profile(one))
        receipts.region.put_deliveries(accepted(customer_id=one))
        kind = {"kind": "Email Bounced", "bounce": "Permanent"} if number < 2 else {}
        receipts.say(of=accepted(customer_id=one), event_id=f"event-{number}", **kind)
    receipts.work()
    assert DynamoTraffic(dynamodb(), CONTROL).gate(Channel.EMAIL).cause == "bounce_rate"
    (told,) = [line for line in log_lines(log) if line["message"] == "channel.braked"]
    assert (told["channel"], told["delivered"], told["bounced"]) == ("email", 18, 2)


def test_receipts_that_the_brake_cannot_count_are_taken_in(receipts: Receipts, log: io.StringIO) -> None:
    receipts.region.add(a_profile())
    receipts.region.put_deliveries(accepted())
    receipts.say()
    with failing(
        dynamodb(), "UpdateItem", ReadTimeoutError(endpoint_url="https://aws.example.com"), when=lambda n: n == 2
    ):
        receipts.work()
    assert receipts.row.receipt is not None
    assert receipts.region.count(QUEUE) == receipts.region.count(PARKED) == 0
    assert "brake.failed" in log.getvalue()


def test_an_event_settles_what_was_uncertain(receipts: Receipts, log: io.StringIO) -> None:
    receipts.region.add(a_profile())
    receipts.region.put_deliveries(a_delivery(status=Status.UNCERTAIN, attempt=1))
    receipts.say()
    receipts.work()
    assert (receipts.row.status, receipts.row.provider_reference) == (Status.ACCEPTED, "ses-1")
    assert [line["confirmed"] for line in log_lines(log) if line["message"] == "receipt.taken"] == ["True"]


def test_an_event_that_comes_before_our_own_write_is_kept_and_taken_after_it(receipts: Receipts) -> None:
    receipts.region.add(a_profile())
    receipts.region.put_deliveries(a_sending_delivery(lease_until=receipts.clock() + timedelta(seconds=20)))
    receipts.say()
    receipts.work()
    assert (receipts.row.status, receipts.row.receipt) == (Status.SENDING, None)
    receipts.region.put_deliveries(accepted())  # our own write
    receipts.wait(22)
    receipts.work()
    assert receipts.row.receipt is not None
    assert receipts.region.count(QUEUE) == 0


def test_an_event_about_nobody_known_is_tried_again_then_parked_and_counted(
    receipts: Receipts, log: io.StringIO, capsys: pytest.CaptureFixture[str]
) -> None:
    receipts.say()
    for pause in (*BACKOFF_S, 0):
        receipts.work()
        receipts.wait(pause + 1)
    receipts.work()
    assert receipts.region.count(QUEUE) == 0
    assert receipts.region.count(PARKED) == 1
    told = [line for line in log_lines(log) if line["message"] == "receipt.unknown_delivery"]
    assert [line["parked"] for line in told] == [False, False, False, True]
    assert counted(capsys, names.METRIC_RECEIPTS_PARKED) == [("email", "unknown_delivery", 1)]


def test_an_event_whose_delivery_appears_while_it_waits_is_taken(receipts: Receipts) -> None:
    receipts.say()
    receipts.work()
    receipts.region.put_deliveries(accepted())
    receipts.wait(BACKOFF_S[0] + 1)
    receipts.work()
    assert receipts.row.receipt is not None
    assert receipts.region.count(QUEUE) == receipts.region.count(PARKED) == 0


@pytest.mark.parametrize("body", ["not json", json.dumps({"schema_version": 7})], ids=["no JSON", "a later version"])
def test_what_cannot_be_read_is_parked_within_seconds(receipts: Receipts, body: str) -> None:
    receipts.region.sqs.send_message(QueueUrl=QUEUE, MessageBody=body)
    for _ in range(len(BACKOFF_S) + 2):
        receipts.work()
        receipts.wait(1)
    assert receipts.region.count(PARKED) == 1


def test_one_event_that_cannot_be_taken_does_not_bring_the_others_back(receipts: Receipts) -> None:
    receipts.region.add(a_profile())
    receipts.region.put_deliveries(accepted())
    receipts.say(of=a_delivery("c-nobody"))
    receipts.say()
    answer = receipts.poller.poll()
    assert answer is not None
    assert len(answer["batchItemFailures"]) == 1
    assert receipts.row.receipt is not None


def test_a_table_that_does_not_answer_puts_the_event_off_and_loses_nothing(
    receipts: Receipts, log: io.StringIO
) -> None:
    receipts.region.add(a_profile())
    receipts.region.put_deliveries(accepted())
    receipts.say()
    with failing(dynamodb(), "BatchGetItem", RuntimeError(EMAIL_ADDRESS)):
        receipts.work()
    assert receipts.row.receipt is None
    assert [line["error"] for line in log_lines(log) if line["message"] == "receipt.failed"] == ["RuntimeError"]
    receipts.wait(BACKOFF_S[0] + 1)
    receipts.work()
    assert receipts.row.receipt is not None


def test_each_event_is_counted_once_by_what_became_of_the_message(
    receipts: Receipts, capsys: pytest.CaptureFixture[str]
) -> None:
    receipts.region.add(a_profile())
    receipts.region.put_deliveries(accepted())
    receipts.say()
    receipts.say()
    receipts.say("Email Complaint Received", detail="abuse")
    receipts.work()
    told = capsys.readouterr().out
    assert counted_in(told, names.METRIC_RECEIPTS) == [("email", "complained", 1), ("email", "delivered", 1)]
    assert counted_in(told, names.METRIC_RECEIPT_EVENTS) == [("email", "duplicate", 1)]
    assert counted_in(told, names.METRIC_SUPPRESSIONS) == [("email", "complaint", 1)]


def test_a_second_message_of_one_delivery_is_told_of_loudly(
    receipts: Receipts, log: io.StringIO, capsys: pytest.CaptureFixture[str]
) -> None:
    receipts.region.put_deliveries(accepted())
    receipts.say(reference="ses-2")
    receipts.work()
    assert counted(capsys, names.METRIC_SECOND_SENDS) == [("email", "delivered", 1)]
    (line,) = [line for line in log_lines(log) if line["message"] == "receipt.second_send"]
    assert (line["level"], line["reference"], line["row_reference"]) == ("ERROR", "ses-2", "ses-1")


# --- through the intake onto the queue ---


def webhook(kind: str = "email.delivered", **data: Any) -> bytes:
    event = {
        "type": kind,
        "created_at": "2026-11-29T20:00:00.000Z",
        "data": {
            "email_id": "http-1",
            "to": [EMAIL_ADDRESS],
            "subject": "Canary subject",
            "tags": a_delivery().delivery_id.as_tags(),
            **data,
        },
    }
    return json.dumps(event).encode()


def request(
    body: bytes,
    *,
    secret: str = NEW,
    at: datetime = SUNDAY_EVENING,
    prefix: str = "svix",
    encoded: bool = False,
    **differing: Any,
) -> dict[str, Any]:
    """What Lambda hands over of a signed request to a function URL."""
    signature = Webhook(secret).sign("msg_1", at, body.decode())
    headers = {
        f"{prefix}-id": "msg_1",
        f"{prefix}-timestamp": str(int(at.timestamp())),
        f"{prefix}-signature": signature,
        "content-type": "application/json",
    }
    return {
        "version": "2.0",
        "requestContext": {"http": {"method": "POST", "path": "/"}},
        "headers": headers,
        "body": base64.b64encode(body).decode() if encoded else body.decode(),
        "isBase64Encoded": encoded,
        **differing,
    }


def waiting(receipts: Receipts) -> list[ReceiptMessage]:
    return [ReceiptMessage.model_validate_json(body) for body in receipts.region.bodies(QUEUE)]


@pytest.mark.parametrize("prefix", ["svix", "webhook"])
@pytest.mark.parametrize("form", ["base64", "text"])
def test_a_signed_webhook_is_stored_with_its_arrival_before_it_is_answered(
    receipts: Receipts, prefix: str, form: str
) -> None:
    answer = receipts.intake(request(webhook(), prefix=prefix, encoded=form == "base64"))
    assert answer == {"statusCode": 204, "headers": {"cache-control": "no-store"}}
    (message,) = waiting(receipts)
    assert (message.provider, message.event_id, message.kind, message.reference) == (
        "http",
        "msg_1",
        "email.delivered",
        "http-1",
    )
    assert message.arrived_at == "2026-11-29T20:00:00.000Z"


def test_a_webhook_s_event_ends_on_its_row(receipts: Receipts) -> None:
    receipts.region.add(a_profile())
    receipts.region.put_deliveries(accepted())
    receipts.intake(request(webhook("email.bounced", bounce={"type": "Permanent", "subType": "General"})))
    receipts.work()
    assert receipts.row.receipt is not None
    assert receipts.row.receipt.state is ReceiptState.BOUNCED
    assert receipts.suppressed["email"]["cause"] == "hard_bounce"


def test_a_genuine_event_that_waited_in_the_queue_for_hours_is_taken_all_the_same(receipts: Receipts) -> None:
    receipts.region.put_deliveries(accepted())
    receipts.intake(request(webhook(email_id="ses-1")))
    receipts.wait(6 * 3600)
    receipts.work()
    assert receipts.row.receipt is not None
    assert receipts.row.receipt.at == SUNDAY_EVENING


@pytest.mark.parametrize("age", [timedelta(minutes=-6), timedelta(minutes=6)], ids=["too new", "too old"])
def test_a_request_from_another_time_is_refused(receipts: Receipts, age: timedelta) -> None:
    assert receipts.intake(request(webhook(), at=SUNDAY_EVENING - age))["statusCode"] == 401
    assert waiting(receipts) == []


def changed(**headers: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda sent: {**sent, "headers": {**sent["headers"], **headers}}


TAMPERED: Final[dict[str, Callable[[dict[str, Any]], dict[str, Any]]]] = {
    "another body": lambda sent: {**sent, "body": sent["body"].replace("delivered", "complained")},
    "a space more": lambda sent: {**sent, "body": sent["body"] + " "},
    "no headers": lambda sent: {**sent, "headers": {}},
    "no signature": lambda sent: {**sent, "headers": {**sent["headers"], "svix-signature": ""}},
    "another id": changed(**{"svix-id": "msg_2"}),
    "another time": changed(**{"svix-timestamp": str(int(SUNDAY_EVENING.timestamp()) + 1)}),
    "no number": changed(**{"svix-timestamp": "now"}),
    "no base64": changed(**{"svix-signature": "v1,%%%"}),
    "no comma": changed(**{"svix-signature": "v1"}),
    "another scheme": lambda sent: changed(
        **{"svix-signature": sent["headers"]["svix-signature"].replace("v1,", "v2,")}
    )(sent),
    "no body": lambda sent: {**sent, "body": None},
    "no bytes": lambda sent: {**sent, "body": "%%%", "isBase64Encoded": True},
    "no UTF-8": lambda sent: {**sent, "body": base64.b64encode(b"\xff\xfe").decode(), "isBase64Encoded": True},
}


@pytest.mark.parametrize("tampered", list(TAMPERED))
def test_what_is_not_signed_as_it_came_is_refused_and_stored_nowhere(receipts: Receipts, tampered: str) -> None:
    assert receipts.intake(TAMPERED[tampered](request(webhook())))["statusCode"] == 401
    assert waiting(receipts) == []


def test_a_stranger_s_signature_is_refused(receipts: Receipts) -> None:
    assert receipts.intake(request(webhook(), secret=FOREIGN))["statusCode"] == 401


def test_while_the_secret_is_rotated_the_old_and_the_new_one_hold(receipts: Receipts) -> None:
    secrets_manager().put_secret_value(SecretId=SECRET_NAME, SecretString=f"{NEW} {OLD}")
    statuses = [receipts.intake(request(webhook(), secret=secret))["statusCode"] for secret in (OLD, NEW, FOREIGN)]
    assert statuses == [204, 204, 401]


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"])
def test_nothing_but_a_post_is_looked_at(receipts: Receipts, method: str) -> None:
    sent = request(webhook(), requestContext={"http": {"method": method, "path": "/"}})
    assert receipts.intake(sent)["statusCode"] == 405


def test_a_body_that_is_too_large_is_not_read(receipts: Receipts) -> None:
    assert receipts.intake(request(webhook(note="x" * 100_000)))["statusCode"] == 413


@pytest.mark.parametrize("kind", ["email.opened", "email.clicked", "contact.created"])
def test_a_genuine_event_that_tells_us_nothing_is_answered_and_not_stored(receipts: Receipts, kind: str) -> None:
    sent = request(webhook(kind)) if kind.startswith("email") else request(json.dumps({"type": kind}).encode())
    assert receipts.intake(sent)["statusCode"] == 204
    assert waiting(receipts) == []


def test_an_event_that_cannot_be_stored_is_asked_for_again(receipts: Receipts) -> None:
    receipts.region.sqs.delete_queue(QueueUrl=QUEUE)
    assert receipts.intake(request(webhook()))["statusCode"] == 503


def test_a_fault_of_our_own_asks_for_the_event_again_and_quotes_nothing(receipts: Receipts, log: io.StringIO) -> None:
    assert receipts.intake({**request(webhook()), "headers": [EMAIL_ADDRESS]})["statusCode"] == 503
    assert "webhook.failed" in [line["message"] for line in log_lines(log)]
    assert EMAIL_ADDRESS not in log.getvalue()


@pytest.mark.parametrize("secret", [None, "", "whsec_", "not base64 at all"], ids=["gone", "empty", "no key", "words"])
def test_without_a_usable_secret_nothing_is_refused_for_good(receipts: Receipts, secret: str | None) -> None:
    secrets_manager().delete_secret(SecretId=SECRET_NAME, ForceDeleteWithoutRecovery=True)
    if secret is not None:
        secrets_manager().create_secret(Name=SECRET_NAME, SecretString=secret or " ")
    assert receipts.intake(request(webhook()))["statusCode"] == 503


# --- nothing of the person ---


def test_nobody_s_address_is_in_a_log_a_metric_a_queue_or_a_dead_letter(
    receipts: Receipts, log: io.StringIO, capsys: pytest.CaptureFixture[str]
) -> None:
    receipts.region.add(a_profile())
    receipts.region.put_deliveries(accepted())
    for sent in (
        request(webhook()),
        request(webhook("email.bounced", bounce={"message": EMAIL_ADDRESS, "type": EMAIL_ADDRESS})),
        request(webhook(tags=[{"name": "customer_id", "value": EMAIL_ADDRESS}])),
        request(webhook(EMAIL_ADDRESS)),
        request(webhook(), secret=FOREIGN),
        request(f"{{{EMAIL_ADDRESS}".encode()),
    ):
        receipts.intake(sent)
    queued = "".join(receipts.region.bodies(QUEUE))
    receipts.wait(200)
    receipts.say("Email Bounced", detail=f"{EMAIL_ADDRESS} is unknown", event_id="words")
    receipts.say(provider=EMAIL_ADDRESS)
    receipts.say(tags={**a_delivery().delivery_id.as_tags(), "customer_id": PHONE_NUMBER})
    for pause in (0, *BACKOFF_S, 0, 0):
        receipts.work()
        receipts.wait(pause + 1)
    told = f"{queued} {log.getvalue()} {capsys.readouterr().out} {list(receipts.region._scan(DELIVERIES))}".lower()
    assert not [word for word in (EMAIL_ADDRESS, "canary", PHONE_NUMBER, NEW, OLD) if word.lower() in told]


# --- what is missing ---


def test_every_six_hours_accepted_deliveries_without_a_receipt_are_counted(
    functions: Functions,
    region: Region,
    clock: Clock,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watch = functions.reconciler.receipt_watch
    monkeypatch.setattr(
        functions.reconciler,
        "receipt_watch",
        type(watch)(watch.awaited, channels=(Channel.EMAIL,), silence=timedelta(hours=72), clock=watch.clock),
    )
    region.put_deliveries(accepted())
    clock.advance(timedelta(hours=73))
    for time_of_day in ("18:00", "18:01", "19:00"):
        event = {"scheduled_time": f"2026-12-02T{time_of_day}:00Z"}
        functions.reconciler.handler(event, FakeLambdaContext(clock, timeout=timedelta(seconds=50)))
    assert counted(capsys, names.METRIC_NO_RECEIPT) == [("email", "awaited", 1)]


def counted(capsys: pytest.CaptureFixture[str], metric: str) -> list[tuple[str, str, float]]:
    return counted_in(capsys.readouterr().out, metric)


def counted_in(told: str, metric: str) -> list[tuple[str, str, float]]:
    """Channel, outcome and sum of a metric, as they were written for CloudWatch."""
    sums: dict[tuple[str, str], float] = {}
    for line in told.splitlines():
        entry = json.loads(line) if line.startswith("{") else {}
        if metric in entry and "channel" in entry:  # not the region's total
            (value,) = entry[metric]
            key = entry["channel"], entry["outcome"]
            sums[key] = sums.get(key, 0) + value
    return [(*key, value) for key, value in sorted(sums.items())]
