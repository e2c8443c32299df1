"""The consumers' Lambdas between their queues and SES and SNS."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import boto3
import pytest
from moto.ses.models import ses_backends
from moto.sns.models import sns_backends

from functions import names
from functions.core.customer import Consent
from functions.core.delivery import Delivery, SkipReason, Status
from functions.core.identity import Channel, Topic
from functions.core.message import DeliveryMessage
from tests.fakes.environment import ACCOUNT, BACKOFF_S, REGION, dead_letter_url, queue_url
from tests.fakes.examples import (
    CUSTOMER,
    EMAIL_ADDRESS,
    PHONE_NUMBER,
    a_delivery,
    a_profile,
    a_reminder,
    an_activity,
)
from tests.integration.lambda_poller import LambdaPoller
from tests.integration.region import Clock, Functions, Region, log_lines


@dataclass(frozen=True)
class Channels:
    """Both consumers behind their queues, and what SES and SNS took."""

    region: Region
    clock: Clock
    email: LambdaPoller
    sms: LambdaPoller

    def send(self, *rows: Delivery) -> None:
        """Put rows there and their ids on the queues."""
        self.region.put_deliveries(*rows)
        for row in rows:
            self.put_message(row.delivery_id.channel, DeliveryMessage.of(row).to_body())

    def put_message(self, channel: Channel, body: str) -> None:
        self.region.sqs.send_message(QueueUrl=queue_url(channel), MessageBody=body)

    @property
    def emails(self) -> list[Any]:
        return list(ses_backends[ACCOUNT][REGION].sent_messages)

    @property
    def texts(self) -> list[tuple[str, str]]:
        return [(number, text) for number, text, *_ in sns_backends[ACCOUNT][REGION].sms_messages.values()]


@pytest.fixture
def channels(functions: Functions, region: Region, clock: Clock) -> Channels:
    boto3.client("sesv2").create_email_identity(EmailIdentity="digest@example.com")
    return Channels(
        region,
        clock,
        LambdaPoller(region.sqs, queue_url(Channel.EMAIL), functions.email.handler, clock),
        LambdaPoller(region.sqs, queue_url(Channel.SMS), functions.sms.handler, clock),
    )


def queued(customer_id: str = CUSTOMER, channel: Channel = Channel.EMAIL) -> Delivery:
    return a_delivery(customer_id, channel=channel, status=Status.QUEUED)


def test_an_email_and_a_text_arrive_and_the_rows_say_so(channels: Channels) -> None:
    channels.region.add(a_profile(), an_activity())
    channels.send(queued(), queued(channel=Channel.SMS))
    assert channels.email.poll() == channels.sms.poll() == {"batchItemFailures": []}
    (email,), (text,) = channels.emails, channels.texts
    assert email.destinations["ToAddresses"] == [EMAIL_ADDRESS]
    assert email.subject == "Your week Nov 16\u2009\u2013\u200922: 1 order"
    assert text[0] == PHONE_NUMBER
    assert text[1].startswith("Your week Nov 16 - 22: 1 order for $11.77.")
    for row in channels.region.deliveries().values():
        assert (row.status, row.attempt, row.accepted_at) == (Status.ACCEPTED, 1, channels.clock())
        assert row.provider_reference
        assert row.fingerprint
        assert row.history[-1].outcome == "accepted"
    assert channels.region.count(queue_url(Channel.EMAIL)) == 0


def test_an_accepted_row_leaves_the_attention_index_and_is_counted_in_its_week(channels: Channels) -> None:
    channels.region.add(a_profile(), an_activity())
    channels.send(queued())
    channels.email.poll()
    (row,) = channels.region._scan("deliveries")
    assert names.ATTENTION not in row
    assert row[names.PERIOD_END]["S"] == "accepted#email"
    assert row[names.PERIOD_SHARD]["S"].startswith("2026-11-16#")


def test_a_reminder_arrives(channels: Channels) -> None:
    channels.region.add(a_profile())
    channels.region.schedule(a_reminder())
    channels.send(a_delivery(topic=Topic.REMINDER, status=Status.QUEUED))
    channels.email.poll()
    assert [email.subject for email in channels.emails] == ["Reminder: Pay invoice 9"]


def test_a_full_batch_is_sent_once_each(channels: Channels) -> None:
    for number in range(10):
        channels.region.add(a_profile(f"c-{number}"), an_activity())
        channels.send(queued(f"c-{number}"))
    while channels.email.poll() is not None:
        pass
    assert len(channels.emails) == 10
    assert {row.status for row in channels.region.deliveries().values()} == {Status.ACCEPTED}


def test_two_equal_messages_in_one_batch_are_one_email(channels: Channels) -> None:
    channels.region.add(a_profile(), an_activity())
    channels.send(queued())
    channels.put_message(Channel.EMAIL, DeliveryMessage.of(queued()).to_body())
    assert channels.email.poll() == {"batchItemFailures": []}
    assert len(channels.emails) == 1


def test_the_same_message_in_two_batches_is_one_email(channels: Channels, log: io.StringIO) -> None:
    channels.region.add(a_profile(), an_activity())
    channels.send(queued())
    channels.email.poll()
    channels.put_message(Channel.EMAIL, DeliveryMessage.of(queued()).to_body())
    assert channels.email.poll() == {"batchItemFailures": []}
    assert len(channels.emails) == 1
    assert [line["message"] for line in log_lines(log)] == ["delivery.attempted", "message.duplicate_suppressed"]


def test_a_customer_who_opts_out_after_planning_gets_nothing(channels: Channels) -> None:
    channels.region.add(a_profile(), an_activity())
    channels.send(queued())
    channels.region.add(a_profile(consent={(Topic.DIGEST, Channel.EMAIL): Consent.OPTED_OUT}))
    assert channels.email.poll() == {"batchItemFailures": []}
    row = channels.region.delivery(queued().delivery_id)
    assert (row.status, row.skip_reason) == (Status.SKIPPED, SkipReason.OPTED_OUT)
    assert channels.emails == []


def test_a_customer_with_an_empty_week_gets_nothing_and_the_row_says_why(channels: Channels) -> None:
    channels.region.add(a_profile())
    channels.send(queued())
    channels.email.poll()
    row = channels.region.delivery(queued().delivery_id)
    assert (row.status, row.skip_reason) == (Status.SKIPPED, SkipReason.EMPTY)
    assert channels.emails == []


def test_a_message_for_a_row_that_was_erased_is_done(channels: Channels) -> None:
    channels.put_message(Channel.EMAIL, DeliveryMessage.of(queued()).to_body())
    assert channels.email.poll() == {"batchItemFailures": []}
    assert channels.emails == []


def test_a_customer_with_six_hundred_activities_gets_a_capped_list_and_so_does_everybody_else(
    channels: Channels,
) -> None:
    begin = an_activity().occurred_at
    many = [an_activity(f"a-{n}", occurred_at=begin + timedelta(minutes=n)) for n in range(600)]
    channels.region.add(a_profile("c-busy"), *many)
    channels.region.add(a_profile("c-quiet"), an_activity())
    channels.send(queued("c-busy"), queued("c-quiet"))
    channels.email.poll()
    assert sorted(email.subject.rpartition(": ")[2] for email in channels.emails) == ["1 order", "600 orders"]
    assert {row.status for row in channels.region.deliveries().values()} == {Status.ACCEPTED}


# --- poison ---


@pytest.mark.parametrize(
    "body",
    [
        "not json",
        "{}",
        json.dumps({"schema_version": 2, "delivery_id": "digest:c-417:2026-11-16:email", "channel": "email"}),
        DeliveryMessage.of(queued(channel=Channel.SMS)).to_body(),
    ],
    ids=["does not parse", "lacks its id", "from a later release", "of another channel"],
)
def test_poison_is_in_the_dead_letter_queue_within_moments_and_reaches_no_provider(
    channels: Channels, body: str
) -> None:
    channels.region.add(a_profile(), an_activity())
    channels.region.put_deliveries(queued())
    channels.put_message(Channel.EMAIL, body)
    for _ in range(len(BACKOFF_S) + 1):
        answer = channels.email.poll()
        assert answer is not None
        assert len(answer["batchItemFailures"]) == 1
        channels.clock.advance(timedelta(seconds=1))
    assert channels.email.poll() is None
    assert channels.region.bodies(dead_letter_url(Channel.EMAIL)) == [body]
    assert channels.region.delivery(queued().delivery_id) == queued()
    assert channels.emails == []


def test_two_messages_without_an_id_are_both_refused_and_neither_passes_for_the_other(channels: Channels) -> None:
    for _ in range(2):
        channels.put_message(Channel.EMAIL, json.dumps({"schema_version": 1, "channel": "email"}))
    answer = channels.email.poll()
    assert answer is not None
    assert len({one["itemIdentifier"] for one in answer["batchItemFailures"]}) == 2


def test_poison_in_a_batch_is_reported_alone(channels: Channels) -> None:
    channels.region.add(a_profile(), an_activity())
    channels.put_message(Channel.EMAIL, "not json")
    channels.send(queued())
    event = channels.email.receive()
    assert event is not None
    (poisoned,) = [one["messageId"] for one in event["Records"] if one["body"] == "not json"]
    answer = channels.email.invoke(event)
    assert answer == {"batchItemFailures": [{"itemIdentifier": poisoned}]}
    assert len(channels.emails) == 1


# --- what is told ---


def test_an_attempt_is_one_line_with_its_outcome(channels: Channels, log: io.StringIO) -> None:
    channels.region.add(a_profile(), an_activity())
    channels.send(queued())
    channels.email.poll()
    (line,) = log_lines(log)
    assert line["message"] == "delivery.attempted"
    assert line["delivery_id"] == "digest:c-417:2026-11-16:email"
    assert (line["channel"], line["attempt"], line["outcome"], line["code"]) == ("email", 1, "accepted", "ok")
    assert line["took_ms"] >= 0


@pytest.mark.usefixtures("log")
def test_metrics_have_no_dimension_beyond_the_four(channels: Channels, capsys: pytest.CaptureFixture[str]) -> None:
    channels.region.add(a_profile(), an_activity())
    channels.region.add(a_profile("c-empty"))
    channels.send(queued(), queued("c-empty"), queued(channel=Channel.SMS))
    channels.put_message(Channel.EMAIL, "not json")
    channels.email.poll()
    channels.sms.poll()
    emitted = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    directives = [directive for line in emitted for directive in line["_aws"]["CloudWatchMetrics"]]
    told = {metric["Name"] for directive in directives for metric in directive["Metrics"]}
    assert {names.METRIC_ATTEMPTS, names.METRIC_MESSAGES, names.METRIC_LATENCY} <= told
    assert {names.METRIC_NOT_SENT, names.METRIC_SEGMENTS} <= told
    for directive in directives:
        assert directive["Namespace"] == names.METRICS_NAMESPACE
        for dimensions in directive["Dimensions"]:
            assert set(dimensions) <= {"service", "region", "channel", "outcome"}


def test_a_quiet_queue_invokes_nothing(channels: Channels) -> None:
    assert channels.email.poll() is None
    assert channels.email.invocations == 0
