"""The way to moto without HTTP is the same way: it keeps to the suites, and queues answer alike on both."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from unittest import mock

import pytest
import time_machine
from botocore.exceptions import ClientError
from moto import mock_aws

from functions.adapters.plan_book import DynamoPlanBook
from functions.adapters.traffic import DynamoTraffic
from functions.adapters.wiring import dynamodb, sqs
from functions.core.identity import Channel
from functions.core.traffic import Traffic
from tests.conformance.ledger import LedgerConformance, World
from tests.conformance.traffic import TrafficConformance
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.environment import CONTROL, CUSTOMERS, DELIVERIES, ENVIRONMENT, queue_url
from tests.integration.region import make_queues
from tests.proof.carrier import Kind
from tests.proof.direct_line import ask
from tests.proof.world import a_world

HERE, NOWHERE = queue_url(Channel.EMAIL), queue_url("nowhere")
LOST = {"ResponseMetadata", "MessageId", "ReceiptHandle", "MD5OfBody", "MD5OfMessageBody", "SenderId"}


@pytest.fixture
def region() -> Iterator[Any]:
    with a_world(Kind.KEY, Channel.EMAIL, lambda _: None) as world:
        yield world.region


class TestLedgerByDirectLine(LedgerConformance):
    @pytest.fixture
    def world(self, region: Any) -> World:
        book = DynamoPlanBook(
            dynamodb(),
            customers_table=CUSTOMERS,
            deliveries_table=DELIVERIES,
            shards=1,
            keep_for=timedelta(days=90),
        )
        return World(region.ledger, book, region.put_deliveries, region.schedule, region.next_run_at)


class TestTrafficByDirectLine(TrafficConformance):
    @pytest.fixture
    def traffic(self, region: Any) -> Traffic:  # noqa: ARG002 - makes the tables
        return DynamoTraffic(dynamodb(), CONTROL)


def over_http(operation: str, parameters: dict[str, Any]) -> Any:
    named = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in operation).lstrip("_")
    return getattr(sqs(), named)(**parameters)


def directly(operation: str, parameters: dict[str, Any]) -> Any:
    return ask(sqs(), operation, parameters)


def told(line: Callable[[str, dict[str, Any]], Any]) -> list[Any]:
    """Everything that functions and Lambda ask of a queue, and what cannot be done."""
    answers: list[Any] = []

    def say(operation: str, **parameters: Any) -> Any:
        try:
            answer = line(operation, parameters)
        except ClientError as error:
            answer = {"refused": error.response["Error"]["Code"]}
        answers.append(_plain(answer))
        return answer

    say("SendMessageBatch", QueueUrl=HERE, Entries=[{"Id": "0", "MessageBody": "{}", "DelaySeconds": 0}])
    say("GetQueueAttributes", QueueUrl=HERE, AttributeNames=["ApproximateNumberOfMessages"])
    received = say("ReceiveMessage", QueueUrl=HERE, MaxNumberOfMessages=10, MessageSystemAttributeNames=["All"])
    handle = received["Messages"][0]["ReceiptHandle"]
    say("ChangeMessageVisibility", QueueUrl=HERE, ReceiptHandle=handle, VisibilityTimeout=30)
    say("ReceiveMessage", QueueUrl=HERE)
    say("DeleteMessage", QueueUrl=HERE, ReceiptHandle=handle)
    say("ChangeMessageVisibility", QueueUrl=HERE, ReceiptHandle="nobody's", VisibilityTimeout=30)
    say("ReceiveMessage", QueueUrl=NOWHERE)
    return answers


def _plain(answer: Any) -> Any:
    if isinstance(answer, dict):
        return {name: _plain(value) for name, value in answer.items() if name not in LOST}
    return [_plain(one) for one in answer] if isinstance(answer, list) else answer


def queues_told(line: Callable[[str, dict[str, Any]], Any]) -> list[Any]:
    with mock_aws(), time_machine.travel(SUNDAY_EVENING, tick=False), mock.patch.dict(os.environ, ENVIRONMENT):
        make_queues(sqs(), Channel.EMAIL)
        return told(line)


def test_queues_answer_alike() -> None:
    assert queues_told(directly) == queues_told(over_http)
