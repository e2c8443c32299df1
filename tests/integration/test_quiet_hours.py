"""A text that falls due at night, from its queue to the phone in the morning."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
from moto.sns.models import sns_backends

from functions import names
from functions.adapters.channel_consumer import ChannelConsumer
from functions.core.delivery import SkipReason, Status
from functions.core.identity import Channel
from functions.core.instants import to_text
from functions.core.message import DeliveryMessage
from tests.fakes.environment import ACCOUNT, REGION, channel_environment, queue_url
from tests.fakes.examples import a_delivery, a_profile, an_activity
from tests.fakes.lambda_context import FakeLambdaContext
from tests.integration.lambda_poller import LambdaPoller
from tests.integration.region import Clock, Functions, Region

TEXTS: Final = queue_url(Channel.SMS)
ELEVEN_AT_NIGHT: Final = datetime(2026, 11, 30, 4, 0, tzinfo=UTC)  # in New York
EIGHT_IN_THE_MORNING: Final = datetime(2026, 11, 30, 13, 0, tzinfo=UTC)


def consumer(region: Region, clock: Clock, patch: pytest.MonkeyPatch, **environment: str) -> LambdaPoller:
    """The consumer of texts, as a deployment with these settings has it."""
    for name, value in (channel_environment(Channel.SMS) | environment).items():
        patch.setenv(name, value)
    return LambdaPoller(region.sqs, TEXTS, ChannelConsumer.from_environment().handle, clock)


def reconcile(functions: Functions, clock: Clock) -> dict[str, Any]:
    told: dict[str, Any] = functions.reconciler.handler(
        {"scheduled_time": to_text(clock())}, FakeLambdaContext(clock, request_id="sweep")
    )
    return told


def texts() -> list[Any]:
    return list(sns_backends[ACCOUNT][REGION].sms_messages.values())


def test_a_text_of_the_night_arrives_in_the_morning_at_its_first_attempt(
    functions: Functions, region: Region, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    sms = consumer(region, clock, monkeypatch, **{names.ENV_QUIET_HOURS: "21:00-08:00"})
    clock.move_to(ELEVEN_AT_NIGHT)
    region.add(a_profile(), an_activity())
    row = a_delivery(channel=Channel.SMS, status=Status.QUEUED)
    region.put_deliveries(row)
    region.sqs.send_message(QueueUrl=TEXTS, MessageBody=DeliveryMessage.of(row).to_body())

    assert sms.poll() == {"batchItemFailures": []}
    waiting = region.delivery(row.delivery_id)
    assert (waiting.status, waiting.attempt, waiting.next_attempt_at) == (Status.RETRYABLE, 0, EIGHT_IN_THE_MORNING)
    assert (texts(), region.count(TEXTS)) == ([], 0)

    clock.move_to(EIGHT_IN_THE_MORNING - timedelta(minutes=5))
    reconcile(functions, clock)
    assert region.count(TEXTS) == 0

    clock.move_to(EIGHT_IN_THE_MORNING)
    reconcile(functions, clock)
    assert sms.poll() == {"batchItemFailures": []}
    sent = region.delivery(row.delivery_id)
    assert (sent.status, sent.attempt, len(texts())) == (Status.ACCEPTED, 1, 1)


def test_a_staging_deployment_sends_to_its_list_and_skips_everybody_else(
    region: Region, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    sms = consumer(region, clock, monkeypatch, **{names.ENV_RECIPIENTS: json.dumps(["+1202555*"])})
    for customer_id, number in (("staff-1", "+12025550123"), ("c-1", "+15550104171")):
        region.add(a_profile(customer_id, addresses={Channel.SMS: number}), an_activity())
        row = a_delivery(customer_id, channel=Channel.SMS, status=Status.QUEUED)
        region.put_deliveries(row)
        region.sqs.send_message(QueueUrl=TEXTS, MessageBody=DeliveryMessage.of(row).to_body())
    sms.poll()
    ends = {row.delivery_id.customer_id: (row.status, row.skip_reason) for row in region.deliveries().values()}
    assert ends == {
        "staff-1": (Status.ACCEPTED, None),
        "c-1": (Status.SKIPPED, SkipReason.NOT_ON_ALLOW_LIST),
    }
    assert [number for number, *_ in texts()] == ["+12025550123"]
