"""Publishing ids on SQS, and when a received message may be seen again."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ConnectionClosedError

from functions.adapters.sqs import LONGEST_DELAY_S, LONGEST_VISIBILITY_S, SqsDeliveryQueues, SqsVisibility
from functions.core.identity import Channel
from tests.fakes.environment import queue_url
from tests.fakes.examples import EMAIL_ADDRESS, PHONE_NUMBER, a_delivery
from tests.integration.faults import failing, refused
from tests.integration.region import Clock, Region

EMAIL, SMS = Channel.EMAIL, Channel.SMS
URLS = {channel: queue_url(channel) for channel in Channel}


@pytest.fixture
def queues(region: Region) -> SqsDeliveryQueues:
    return SqsDeliveryQueues(region.sqs, URLS)


def test_each_id_goes_to_its_channels_queue(queues: SqsDeliveryQueues, region: Region) -> None:
    deliveries = [a_delivery(f"c-{number}", channel=channel) for number in range(23) for channel in Channel]
    receipt = queues.publish(deliveries)
    assert len(receipt.sent) == 69
    assert receipt.failed == ()
    for channel in Channel:
        expected = {str(one.delivery_id) for one in deliveries if one.delivery_id.channel is channel}
        assert set(region.waiting_ids(channel)) == expected


def test_a_message_holds_ids_only_and_stays_under_a_kilobyte(queues: SqsDeliveryQueues, region: Region) -> None:
    queues.publish([a_delivery("c" * 64)])
    (body,) = region.bodies(queue_url(EMAIL))
    assert set(json.loads(body)) == {"schema_version", "delivery_id", "channel", "template_id"}
    assert len(body.encode()) < 1024
    assert EMAIL_ADDRESS not in body
    assert PHONE_NUMBER not in body


def test_ids_that_sqs_did_not_take_in_an_otherwise_good_answer_are_told(
    queues: SqsDeliveryQueues, region: Region
) -> None:
    deliveries = [a_delivery(f"c-{number}") for number in range(3)]

    def one_failed(parsed: dict[str, Any], **_: Any) -> None:
        parsed["Failed"] = [{"Id": "1", "Code": "InternalError", "SenderFault": False}]

    event = "after-call.sqs.SendMessageBatch"
    region.sqs.meta.events.register(event, one_failed)
    receipt = queues.publish(deliveries)
    region.sqs.meta.events.unregister(event, one_failed)
    assert receipt.sent == (deliveries[0], deliveries[2])
    assert receipt.failed == ((deliveries[1], "InternalError"),)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (
            refused("SendMessageBatch", "AWS.SimpleQueueService.NonExistentQueue"),
            "AWS.SimpleQueueService.NonExistentQueue",
        ),
        (ConnectionClosedError(endpoint_url="https://sqs.example.com"), "ConnectionClosedError"),
    ],
    ids=["refused", "cut off"],
)
def test_a_batch_that_failed_as_a_whole_does_not_stop_the_others(
    queues: SqsDeliveryQueues, region: Region, error: Exception, code: str
) -> None:
    deliveries = [a_delivery(f"c-{number}") for number in range(25)]
    with failing(region.sqs, "SendMessageBatch", error, when=lambda call: call == 2):
        receipt = queues.publish(deliveries)
    assert len(receipt.sent) == 15
    assert receipt.failed == tuple((one, code) for one in deliveries[10:20])
    assert len(region.waiting_ids(EMAIL)) == 15


def test_nothing_to_publish_asks_nothing(queues: SqsDeliveryQueues, region: Region) -> None:
    with failing(region.sqs, "SendMessageBatch", AssertionError()) as calls:
        assert queues.publish([]).sent == ()
    assert calls == []


def test_a_delayed_id_is_not_seen_before_its_time(queues: SqsDeliveryQueues, region: Region, clock: Clock) -> None:
    queues.publish([a_delivery()], delay_s=17)
    clock.advance(timedelta(seconds=16))
    assert region.waiting_ids(EMAIL) == []
    clock.advance(timedelta(seconds=2))
    assert len(region.waiting_ids(EMAIL)) == 1


def test_no_delay_is_asked_for_that_sqs_would_refuse(queues: SqsDeliveryQueues) -> None:
    assert queues.publish([a_delivery()], delay_s=54_524).failed == ()
    assert LONGEST_DELAY_S == 900


def test_the_backlog_is_what_waits_and_not_what_is_in_hand_or_delayed(
    queues: SqsDeliveryQueues, region: Region
) -> None:
    queues.publish([a_delivery(f"c-{number}") for number in range(3)])
    queues.publish([a_delivery("c-later")], delay_s=60)
    region.sqs.receive_message(QueueUrl=queue_url(EMAIL), MaxNumberOfMessages=1)
    assert queues.backlog(EMAIL) == 2
    assert queues.backlog(SMS) == 0


def test_a_message_comes_back_when_it_was_told_to(queues: SqsDeliveryQueues, region: Region, clock: Clock) -> None:
    queues.publish([a_delivery()])
    (message,) = region.sqs.receive_message(QueueUrl=queue_url(EMAIL))["Messages"]
    SqsVisibility(region.sqs, queue_url(EMAIL)).set(message["ReceiptHandle"], 30)
    clock.advance(timedelta(seconds=29))
    assert region.waiting_ids(EMAIL) == []
    clock.advance(timedelta(seconds=2))
    assert len(region.waiting_ids(EMAIL)) == 1


def test_a_visibility_that_sqs_refuses_is_no_fault_of_ours(region: Region) -> None:
    visibility = SqsVisibility(region.sqs, queue_url(EMAIL))
    visibility.set("a handle that has expired", 30)
    error = ConnectionClosedError(endpoint_url="https://sqs.example.com")
    with failing(region.sqs, "ChangeMessageVisibility", error):
        visibility.set("a handle", LONGEST_VISIBILITY_S + 1)
