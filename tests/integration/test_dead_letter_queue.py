"""A dead-letter queue on the emulator, over the wire: what is looked at stays, what is carried arrives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from functions.adapters.dead_letter_queue import Carried, DeadLetterQueue, NoMoveTasksError
from functions.core.identity import Channel
from functions.core.message import DeliveryMessage
from ops.local.emulator import Emulator
from tests.fakes.examples import an_exhausted_delivery

NUMBER = 13  # more than one request brings


@pytest.fixture
def sqs(tmp_path: Path) -> Iterator[Any]:
    with Emulator(tmp_path) as emulator:
        client = emulator.client("sqs", "us-east-1")
        yield client
        client.close()


@pytest.fixture
def queue(sqs: Any) -> DeadLetterQueue:
    url, source_url = (sqs.create_queue(QueueName=name)["QueueUrl"] for name in ("dead-letters", "email"))
    for number in range(NUMBER):
        row = an_exhausted_delivery(customer_id=f"c-{number}")
        trace = {"trace": {"DataType": "String", "StringValue": f"t-{number}"}}
        sqs.send_message(QueueUrl=url, MessageBody=DeliveryMessage.of(row).to_body(), MessageAttributes=trace)
    return DeadLetterQueue(sqs, Channel.EMAIL, url=url, source_url=source_url)


def test_messages_are_looked_at_twice_and_then_carried_back_by_hand_with_their_attributes(
    sqs: Any, queue: DeadLetterQueue
) -> None:
    for _ in range(2):
        assert len({message.delivery_id for message in queue.look(100)}) == NUMBER
    assert queue.counts() == (NUMBER, 0)
    for known_to_aws in (queue.tasks, lambda: queue.move(5)):
        with pytest.raises(NoMoveTasksError):
            known_to_aws()
    carried = Carried()
    queue.carry(NUMBER, rate_per_second=500, sleep=lambda _: None, carried=carried)
    assert (carried.count, queue.counts()) == (NUMBER, (0, 0))
    source = sqs.get_queue_url(QueueName="email")["QueueUrl"]
    arrived = [
        message["MessageAttributes"]["trace"]["StringValue"]
        for _ in range(2)
        for message in sqs.receive_message(QueueUrl=source, MaxNumberOfMessages=10, MessageAttributeNames=["All"])[
            "Messages"
        ]
    ]
    assert sorted(arrived) == sorted(f"t-{number}" for number in range(NUMBER))
