"""People who leave, by the link in an email and by STOP, between what is planned and what is sent."""

from __future__ import annotations

import io
import json
import re
from dataclasses import dataclass, replace
from datetime import timedelta
from importlib import import_module, reload
from types import ModuleType
from typing import Any, Final

import boto3
import pytest
from moto.ses.models import ses_backends
from moto.sns.models import sns_backends

from functions import names
from functions.adapters.items import to_item
from functions.adapters.opt_out_memory import LEFT, memory_from_row
from functions.adapters.opt_outs import DynamoOptOuts
from functions.adapters.schedule_rows import activity_to_row, consent_attribute, profile_to_row
from functions.core.customer import PROFILE, Consent
from functions.core.delivery import Delivery, SkipReason, Status
from functions.core.identity import Channel, Topic
from functions.core.keyring import KeyRing
from functions.core.message import DeliveryMessage
from functions.core.opt_out_memory import STOPPED, Memory, address_mark, customer_mark
from functions.core.opting_out import number_hash
from functions.core.unsubscribe_token import Subscription
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.environment import (
    ACCOUNT,
    CUSTOMERS,
    KEY_RINGS,
    NUMBER_KEYS,
    OPT_OUT_KEYS,
    REGION,
    UNSUBSCRIBE_URL,
    queue_url,
)
from tests.fakes.examples import CUSTOMER, PHONE_NUMBER, a_delivery, a_profile, a_reminder, an_activity
from tests.fakes.lambda_context import FakeLambdaContext
from tests.integration.lambda_poller import LambdaPoller
from tests.integration.region import Clock, Functions, Region

INBOUND: Final = f"https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/inbound"
HASH: Final = number_hash(PHONE_NUMBER, next(iter(KeyRing.parse(KEY_RINGS[NUMBER_KEYS]))))
ONE_CLICK: Final = "List-Unsubscribe=One-Click"


def load(package: str, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]) -> ModuleType:
    """A handler's module, loaded anew with its own environment, as in a new execution environment."""
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
    return reload(import_module(f"functions.{package}.handler"))


@dataclass(frozen=True)
class Shop:
    """A region's consumers, its page to leave at, and its number to text."""

    region: Region
    clock: Clock
    consumers: dict[Channel, LambdaPoller]
    page: ModuleType
    inbox: LambdaPoller

    def add(self, **differing: Any) -> None:
        """Put the customer on record, as an import does: with the hash of the number."""
        profile = a_profile(**differing)
        self.region.put_raw(CUSTOMERS, {**profile_to_row(profile), names.NUMBER_HASH: HASH})
        self.region.put_raw(CUSTOMERS, activity_to_row(CUSTOMER, an_activity(), purge_at=4_000_000_000))

    def queue(self, *rows: Delivery) -> None:
        self.region.put_deliveries(*rows)
        for row in rows:
            channel = row.delivery_id.channel
            self.region.sqs.send_message(QueueUrl=queue_url(channel), MessageBody=DeliveryMessage.of(row).to_body())

    def work(self) -> None:
        for consumer in self.consumers.values():
            while consumer.poll() is not None:
                pass

    def ends(self) -> dict[str, tuple[Status, SkipReason | None]]:
        return {
            f"{row.delivery_id.topic}:{row.delivery_id.channel}": (row.status, row.skip_reason)
            for row in self.region.deliveries().values()
        }

    def visit(self, method: str, link: str, body: str | None = None) -> dict[str, Any]:
        path = "/" + link.removeprefix(UNSUBSCRIBE_URL)
        event = {
            "rawPath": path,
            "headers": {"content-type": "application/x-www-form-urlencoded"},
            "requestContext": {"http": {"method": method}},
            "body": body,
        }
        answer: dict[str, Any] = self.page.handler(event, FakeLambdaContext(self.clock))
        return answer

    def text(self, words: str, number: str = PHONE_NUMBER) -> dict[str, Any] | None:
        body = {"originationNumber": number, "messageBody": words, "inboundMessageId": "cae173d2-66b9"}
        self.region.sqs.send_message(QueueUrl=INBOUND, MessageBody=json.dumps(body))
        return self.inbox.poll()

    @property
    def profile(self) -> dict[str, Any]:
        return self.region.customer_row(CUSTOMER, PROFILE)


@pytest.fixture
def shop(functions: Functions, region: Region, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Shop:
    boto3.client("sesv2").create_email_identity(EmailIdentity="digest@example.com")
    region.sqs.create_queue(QueueName="inbound", Attributes={"VisibilityTimeout": "180"})
    page = load("unsubscribe", monkeypatch, {})
    inbox = load(
        "inbound",
        monkeypatch,
        {names.ENV_NUMBER_KEYS: NUMBER_KEYS, names.ENV_QUEUE_URL: INBOUND, names.ENV_BACKOFF_S: "30,120,600,1800,3600"},
    )
    consumers = {
        Channel.EMAIL: LambdaPoller(region.sqs, queue_url(Channel.EMAIL), functions.email.handler, clock),
        Channel.SMS: LambdaPoller(region.sqs, queue_url(Channel.SMS), functions.sms.handler, clock),
    }
    shop = Shop(region, clock, consumers, page, LambdaPoller(region.sqs, INBOUND, inbox.handler, clock))
    shop.add()
    return shop


def emails() -> list[Any]:
    return list(ses_backends[ACCOUNT][REGION].sent_messages)


def texts() -> list[Any]:
    return list(sns_backends[ACCOUNT][REGION].sms_messages.values())


def link_in(email: Any) -> str:
    found: set[str] = set(re.findall(rf"{re.escape(UNSUBSCRIBE_URL)}[A-Za-z0-9._-]+", email.body))
    (link,) = found
    return link


DIGEST_EMAIL, DIGEST_TEXT = a_delivery(), a_delivery(channel=Channel.SMS)
NEXT_WEEK = replace(DIGEST_EMAIL.delivery_id, occasion="2026-11-23")


# --- by the link ---


def test_the_link_in_an_email_leaves_that_topic_on_that_channel_for_good(shop: Shop) -> None:
    shop.region.schedule(a_reminder())
    shop.queue(DIGEST_EMAIL)
    shop.work()
    link = link_in(emails()[0])

    assert shop.visit("GET", link)["statusCode"] == 200
    assert shop.visit("HEAD", link)["statusCode"] == 200
    assert consent_attribute(Topic.DIGEST, Channel.EMAIL) + "_at" not in shop.profile

    assert shop.visit("POST", link, ONE_CLICK)["statusCode"] == 200
    planned = replace(DIGEST_EMAIL, delivery_id=NEXT_WEEK, selected_at=SUNDAY_EVENING)
    shop.queue(planned, DIGEST_TEXT, a_delivery(topic=Topic.REMINDER))
    shop.work()
    assert shop.region.delivery(NEXT_WEEK).skip_reason is SkipReason.OPTED_OUT
    assert shop.ends()["reminder:email"][0] is Status.ACCEPTED
    assert shop.ends()["digest:sms"][0] is Status.ACCEPTED
    assert (len(emails()), len(texts())) == (2, 1)


def test_leaving_after_the_message_was_queued_is_in_time(shop: Shop) -> None:
    shop.queue(DIGEST_EMAIL)
    shop.work()
    link = link_in(emails()[0])
    shop.queue(replace(DIGEST_EMAIL, delivery_id=NEXT_WEEK))
    shop.visit("POST", link, ONE_CLICK)
    shop.work()
    assert shop.region.delivery(NEXT_WEEK).skip_reason is SkipReason.OPTED_OUT
    assert len(emails()) == 1


def test_it_is_on_record_when_and_how_somebody_left(shop: Shop) -> None:
    shop.queue(DIGEST_EMAIL)
    shop.work()
    link = link_in(emails()[0])
    shop.visit("POST", link, ONE_CLICK)
    first = shop.profile
    shop.visit("POST", link, ONE_CLICK)
    assert shop.profile == first
    attribute = consent_attribute(Topic.DIGEST, Channel.EMAIL)
    assert {name: first[name] for name in (attribute, f"{attribute}_at", f"{attribute}_by")} == {
        attribute: "opted_out",
        f"{attribute}_at": "2026-11-29T20:00:00.000Z",
        f"{attribute}_by": "link",
    }


def test_the_function_touches_nothing_that_its_role_does_not_allow(shop: Shop) -> None:
    before = shop.profile
    DynamoOptOuts(shop.region.dynamodb, CUSTOMERS).opt_out(
        Subscription(CUSTOMER, Topic.DIGEST, Channel.EMAIL), at=SUNDAY_EVENING
    )
    after = shop.profile
    changed = {name for name in {*before, *after} if before.get(name) != after.get(name)}
    assert changed <= set(names.CONSENT_ATTRIBUTES)
    assert {consent_attribute(topic, channel) for topic in Topic for channel in Channel} <= set(
        names.CONSENT_ATTRIBUTES
    )


def test_a_link_to_somebody_who_was_erased_makes_no_new_row(shop: Shop) -> None:
    shop.queue(DIGEST_EMAIL)
    shop.work()
    key: Any = {names.CUSTOMER_ID: {"S": CUSTOMER}, names.RECORD: {"S": PROFILE}}
    shop.region.dynamodb.delete_item(TableName=CUSTOMERS, Key=key)
    assert shop.visit("POST", link_in(emails()[0]), ONE_CLICK)["statusCode"] == 200
    assert shop.profile == {}


def test_a_table_that_does_not_answer_is_our_fault_and_told_so(shop: Shop, log: io.StringIO) -> None:
    shop.queue(DIGEST_EMAIL)
    shop.work()
    link = link_in(emails()[0])
    shop.region.dynamodb.delete_table(TableName=CUSTOMERS)
    assert shop.visit("POST", link, ONE_CLICK)["statusCode"] == 503
    assert "ResourceNotFoundException" in log.getvalue()


# --- by STOP ---


def test_stop_ends_every_text_and_no_email(shop: Shop) -> None:
    shop.region.schedule(a_reminder())
    assert shop.text("Stop.") == {"batchItemFailures": []}
    shop.queue(DIGEST_EMAIL, DIGEST_TEXT, a_delivery(topic=Topic.REMINDER, channel=Channel.SMS))
    shop.work()
    assert shop.ends() == {
        "digest:email": (Status.ACCEPTED, None),
        "digest:sms": (Status.SKIPPED, SkipReason.SUPPRESSED),
        "reminder:sms": (Status.SKIPPED, SkipReason.SUPPRESSED),
    }
    profile = shop.profile
    assert {profile[consent_attribute(topic, Channel.SMS)] for topic in Topic} == {str(Consent.OPTED_OUT)}
    assert profile["consent_digest_sms_by"] == "stop"
    assert profile["suppressed"]["sms"]["cause"] == "stop"
    assert profile["consent_digest_email"] == str(Consent.OPTED_IN)


def test_stop_that_comes_twice_or_failed_half_way_is_stop(shop: Shop) -> None:
    for _ in range(2):
        assert shop.text("STOP") == {"batchItemFailures": []}
    assert shop.profile["suppressed"]["sms"]["cause"] == "stop"


def test_stop_beside_a_bounced_email_suppresses_both(shop: Shop) -> None:
    shop.add(suppressed={Channel.EMAIL: "hard_bounce"})
    shop.text("STOP")
    assert {channel: held["cause"] for channel, held in shop.profile["suppressed"].items()} == {
        "email": "hard_bounce",
        "sms": "stop",
    }


@pytest.mark.parametrize("words", ["START", "unstop", "yes please"])
def test_no_text_opts_anybody_in(shop: Shop, words: str) -> None:
    shop.text("STOP")
    before = shop.profile
    shop.text(words)
    assert shop.profile == before


def test_stop_from_a_number_that_nobody_has_is_counted_and_done(shop: Shop, log: io.StringIO) -> None:
    before = shop.profile
    assert shop.text("STOP", "+15550109999") == {"batchItemFailures": []}
    assert shop.profile == before
    assert "stop_unknown_number" in log.getvalue()


def test_a_number_that_texts_stop_after_its_owner_was_erased_is_remembered(shop: Shop) -> None:
    shop.region.dynamodb.delete_item(TableName=CUSTOMERS, Key=to_item({"customer_id": CUSTOMER, "record": PROFILE}))
    for _ in range(2):
        assert shop.text("STOP") == {"batchItemFailures": []}
    key = next(iter(KeyRing.parse(KEY_RINGS[OPT_OUT_KEYS])))
    row = shop.region.customer_row(address_mark(Channel.SMS, PHONE_NUMBER, key), LEFT)
    assert memory_from_row(row) == STOPPED
    assert row["since"] == "2026-11-29T20:00:00.000Z"
    assert shop.profile == {}


def test_an_old_link_of_somebody_who_was_erased_is_remembered(shop: Shop) -> None:
    shop.queue(DIGEST_EMAIL)
    shop.work()
    shop.region.dynamodb.delete_item(TableName=CUSTOMERS, Key=to_item({"customer_id": CUSTOMER, "record": PROFILE}))
    assert shop.visit("POST", link_in(emails()[0]), ONE_CLICK)["statusCode"] == 200
    key = next(iter(KeyRing.parse(KEY_RINGS[OPT_OUT_KEYS])))
    row = shop.region.customer_row(customer_mark(CUSTOMER, key), LEFT)
    assert memory_from_row(row) == Memory(frozenset({(Topic.DIGEST, Channel.EMAIL)}))
    assert set(row) - {names.CUSTOMER_ID, names.RECORD} == set(names.LEFT_ATTRIBUTES)  # what its role allows
    assert shop.profile == {}


def test_a_stop_that_cannot_be_noted_comes_back(shop: Shop) -> None:
    rings = boto3.client("secretsmanager")
    rings.put_secret_value(SecretId=NUMBER_KEYS, SecretString="no key ring")
    failed = shop.text("STOP")
    assert failed is not None
    assert len(failed["batchItemFailures"]) == 1
    assert consent_attribute(Topic.DIGEST, Channel.SMS) + "_at" not in shop.profile


def test_what_is_no_text_goes_to_the_dead_letters_at_once(shop: Shop) -> None:
    shop.region.sqs.send_message(QueueUrl=INBOUND, MessageBody="{}")
    failed = shop.inbox.poll()
    assert failed is not None
    assert len(failed["batchItemFailures"]) == 1
    shop.clock.advance(timedelta(seconds=1))
    assert shop.inbox.poll() is not None  # visible again at once: SQS counts its receives and gives it up


# --- privacy ---


def test_neither_log_nor_metric_tells_a_link_a_number_a_word_or_a_key(
    shop: Shop, log: io.StringIO, capsys: pytest.CaptureFixture[str]
) -> None:
    shop.queue(DIGEST_EMAIL)
    shop.work()
    link = link_in(emails()[0])
    token = link.removeprefix(UNSUBSCRIBE_URL)
    for method, body in (("GET", None), ("POST", ONE_CLICK), ("POST", "no"), ("PUT", None)):
        shop.visit(method, link, body)
        shop.visit(method, f"{link}x", body)
    shop.text("STOP canary words")
    shop.text("canary words")
    shop.region.sqs.send_message(QueueUrl=INBOUND, MessageBody=f'{{"originationNumber": "{PHONE_NUMBER} canary"}}')
    shop.inbox.poll()
    shop.region.dynamodb.delete_table(TableName=CUSTOMERS)
    shop.visit("POST", link, ONE_CLICK)
    shop.text("STOP canary words")
    told = log.getvalue() + "".join(capsys.readouterr())
    mac = token.rpartition(".")[2]
    canaries = [token, mac, PHONE_NUMBER, PHONE_NUMBER[1:], "canary", HASH]
    assert [one for one in canaries if one.lower() in told.lower()] == []
    for text in KEY_RINGS.values():
        assert json.loads(text)["0"] not in told
