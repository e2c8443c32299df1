"""The job done by our handlers, fed as Lambda feeds them; in the environment that `contestants` sets.

python -m bench.alternatives.ours seed|plan|work|reconcile|states    with tables and queues, on the emulator
python -m bench.alternatives.ours carry --worker 0 --workers 2       against the loopback endpoint, which has none
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Final

import boto3
import typer

from bench import cast
from bench.alternatives.job import NullProvider, Task
from bench.alternatives.variables import KNOWS_KEYS, LEASE_S, VISIBILITY_S
from bench.contest import CONTROL, CUSTOMERS, DELIVERIES, EMAIL_QUEUE, KEYS
from bench.endpoint import KEYS as KEY_RING
from bench.recording import Invocation
from functions import names
from functions.adapters.channel_consumer import ChannelConsumer
from functions.adapters.environment import CommonEnvironment
from functions.adapters.items import to_item
from functions.adapters.schedule_rows import activity_to_row, profile_to_row, schedule_to_row
from functions.adapters.wiring import dynamodb, ledger, sqs
from functions.core.delivery import Delivery
from functions.core.envelope import Envelope
from functions.core.identity import Channel
from functions.core.instants import to_text
from functions.core.message import DeliveryMessage
from functions.core.outcome import Dedupe, Guarantee, Outcome, OutcomeClass
from tests.integration.region import make_table

if TYPE_CHECKING:
    from mypy_boto3_sqs.type_defs import MessageTypeDef

SHARDS: Final = 4
BATCH: Final = 10
WRITES: Final = 25  # that BatchWriteItem takes

app = typer.Typer(add_completion=False)


@dataclass(frozen=True)
class Carrier:
    """The null provider, as our consumers know providers."""

    provider: NullProvider
    guarantee: Guarantee
    name: str = "ses"

    @classmethod
    def of(cls, task: Task) -> Carrier:
        """Return the provider of a task."""
        knows_keys = os.environ.get(KNOWS_KEYS) == "1"
        guarantee = Guarantee(Dedupe.WINDOW, window=timedelta(days=1)) if knows_keys else Guarantee(Dedupe.NONE)
        return cls(NullProvider(task), guarantee)

    def send(self, delivery: Delivery, envelope: Envelope) -> Outcome:  # noqa: ARG002 - nobody reads it
        """Send once."""
        if self.provider.send(str(delivery.delivery_id)):
            return Outcome(OutcomeClass.ACCEPTED, "ok", "reference")
        return Outcome(OutcomeClass.UNAVAILABLE, "503")


class Running(Invocation):
    """An invocation that has as long as a function has."""

    def __init__(self) -> None:
        super().__init__()
        self._ends = time.monotonic() + float(os.environ.get(LEASE_S, "30"))


@app.command()
def seed() -> None:
    """Make tables and queues as the stacks do, and everybody's rows."""
    task = Task.from_environment()
    make_table(dynamodb(), CUSTOMERS, (names.CUSTOMER_ID, names.RECORD))
    make_table(dynamodb(), DELIVERIES, (names.DELIVERY_ID,))
    make_table(dynamodb(), CONTROL, (names.CONTROL_KEY,))
    for channel in Channel:
        visibility = os.environ.get(VISIBILITY_S, "180")
        sqs().create_queue(QueueName=str(channel), Attributes={"VisibilityTimeout": visibility})
    boto3.client("secretsmanager").create_secret(Name=KEYS, SecretString=KEY_RING)
    rows = (row for number in range(task.deliveries) for row in _rows_of(number, task))
    for page in _pages(rows, WRITES):
        puts: Any = [{"PutRequest": {"Item": to_item(row)}} for row in page]
        left = dynamodb().batch_write_item(RequestItems={CUSTOMERS: puts})["UnprocessedItems"]
        if left:
            raise RuntimeError("the emulator left rows unwritten")


@app.command()
def plan() -> None:
    """Wake the planner."""
    from functions.planner.handler import handler  # noqa: PLC0415 - reads the environment when it is imported

    context: Any = Invocation()
    event = {"scheduled_time": to_text(Task.from_environment().due_at), "shards": list(range(SHARDS))}
    handler({**event, "shards": [SHARDS]}, context)  # a shard with nobody in it: every model is read
    cpu, wall = time.process_time(), time.perf_counter()
    planned = handler(event, context)["planned"]
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    print(json.dumps({"deliveries": planned, "cpu_s": cpu, "wall_s": wall}))  # noqa: T201 - read by `race`


@app.command()
def work() -> None:
    """Receive, invoke, delete what is done, until this process is ended: Lambda's part is in the measure, too."""
    consumer, queue = _consumer(), os.environ[names.ENV_QUEUE_URL]
    while True:
        messages = (
            sqs()
            .receive_message(
                QueueUrl=queue, MaxNumberOfMessages=BATCH, WaitTimeSeconds=1, MessageSystemAttributeNames=["All"]
            )
            .get("Messages", [])
        )
        if not messages:
            continue
        context: Any = Running()
        answer = consumer.handle({"Records": [_received(message) for message in messages]}, context)
        failed = {one["itemIdentifier"] for one in answer["batchItemFailures"]}
        done: Any = [
            {"Id": str(number), "ReceiptHandle": message["ReceiptHandle"]}
            for number, message in enumerate(messages)
            if message["MessageId"] not in failed
        ]
        if done:
            sqs().delete_message_batch(QueueUrl=queue, Entries=done)


@app.command()
def carry(
    *,
    worker: Annotated[int, typer.Option(help="Which of the workers this is, from 0.")],
    workers: Annotated[int, typer.Option(help="How many there are.")],
) -> None:
    """Invoke the handler with this worker's share of all batches, and again with what failed."""
    task, consumer = Task.from_environment(), _consumer()
    ours = (number for number in range(task.deliveries) if number // BATCH % workers == worker)
    waiting = deque(_pages((_record(_body_of(number, task), f"{number}") for number in ours), BATCH))
    while waiting:
        batch = waiting.popleft()
        context: Any = Running()
        answer = consumer.handle({"Records": batch}, context)
        failed = {one["itemIdentifier"] for one in answer["batchItemFailures"]}
        if again := [_record(one["body"], one["messageId"], receives=2) for one in batch if one["messageId"] in failed]:
            waiting.append(again)


@app.command()
def reconcile() -> None:
    """Wake the reconciler."""
    from functions.reconciler.handler import handler  # noqa: PLC0415 - reads the environment when it is imported

    context: Any = Invocation()
    handler({"scheduled_time": to_text(Task.from_environment().due_at)}, context)


@app.command()
def states() -> None:
    """Count the rows by state, and the messages that are in the queue or in flight."""
    read = ledger(CommonEnvironment.load()).read(Task.from_environment().delivery_ids)
    rows = Counter(str(row.status) for row in read.values())
    print(json.dumps({"rows": rows, "waiting": _in_queue()}))  # noqa: T201 - read by `crash`


def _in_queue() -> int:
    wanted: Any = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    held = sqs().get_queue_attributes(QueueUrl=os.environ[names.ENV_QUEUE_URL], AttributeNames=wanted)["Attributes"]
    return sum(int(held[name]) for name in wanted)


def _consumer() -> ChannelConsumer:
    return ChannelConsumer.from_environment(Carrier.of(Task.from_environment()))


def _rows_of(number: int, task: Task) -> Iterator[dict[str, Any]]:
    schedule = replace(cast.a_schedule(number, due_at=task.due_at), channels=(Channel.EMAIL,))
    (delivery, *_) = cast.deliveries_of(number, due_at=task.due_at)
    yield schedule_to_row(schedule, shards=SHARDS)
    yield profile_to_row(cast.a_profile(number))
    for activity in cast.activities(date.fromisoformat(delivery.period)):
        yield activity_to_row(cast.customer_id(number), activity, purge_at=int(time.time()) + 86400)


def _body_of(number: int, task: Task) -> str:
    (email,) = (
        one for one in cast.deliveries_of(number, due_at=task.due_at) if one.delivery_id.channel is Channel.EMAIL
    )
    return DeliveryMessage.of(email).to_body()


def _received(message: MessageTypeDef) -> dict[str, Any]:
    receives = int(message["Attributes"]["ApproximateReceiveCount"])
    return {
        **_record(message["Body"], message["MessageId"], receives=receives),
        "receiptHandle": message["ReceiptHandle"],
    }


def _record(body: str, message_id: str, *, receives: int = 1) -> dict[str, Any]:
    return {
        "messageId": message_id,
        "receiptHandle": "handle",
        "body": body,
        "attributes": {"ApproximateReceiveCount": str(receives), "SentTimestamp": "0"},
        "messageAttributes": {},
        "eventSource": "aws:sqs",
        "eventSourceARN": f"arn:aws:sqs:us-east-1:1:{EMAIL_QUEUE.rpartition('/')[2]}",
        "awsRegion": "us-east-1",
    }


def _pages(rows: Iterable[dict[str, Any]], size: int) -> Iterator[list[dict[str, Any]]]:
    page: list[dict[str, Any]] = []
    for row in rows:
        page.append(row)
        if len(page) == size:
            yield page
            page = []
    if page:
        yield page


if __name__ == "__main__":
    app()
