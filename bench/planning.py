"""What the planner costs its own process, against the usual ways and against its bare requests.

    python -m bench.planning CONTESTANT CUSTOMERS      one contestant, against AWS_ENDPOINT_URL

Each customer's email and text become two rows and two ids on their queues, and the schedule moves on. The usual ways
leave out that last step, and that a row says when its id was sent: they have no such thing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Annotated, Any, Final

import boto3
import typer
from botocore.config import Config

from bench import cast
from bench.contest import DELIVERIES, EMAIL_QUEUE, SMS_QUEUE, measure
from bench.recording import Invocation, Recording, replay
from functions.adapters.delivery_rows import to_row
from functions.adapters.items import to_item
from functions.adapters.wiring import dynamodb, sqs
from functions.core.delivery import Delivery
from functions.core.identity import Channel
from functions.core.instants import to_text
from functions.core.message import DeliveryMessage

QUEUES: Final = {Channel.EMAIL: EMAIL_QUEUE, Channel.SMS: SMS_QUEUE}
SHARDS: Final = 4
THREADS: Final = 32
BARE: Final = ("TransactWriteItems", "SendMessageBatch")


def ours() -> Callable[[], int]:
    """Return a wake-up of the planner's handler, over all shards."""
    handler = _handler()
    return lambda: _planned(handler)


def floor() -> Callable[[], int]:
    """Return the transactions and batches that the handler made, once more and bare."""
    handler = _handler()
    with Recording(dynamodb(), sqs()) as recording:
        deliveries = _planned(handler)
    bare = replay([one for one in recording.requests if one.operation in BARE])

    def again() -> int:
        bare()
        return deliveries

    return again


def loop(customers: int) -> Callable[[], int]:
    """Return the usual way: PutItem and SendMessage for each delivery, one after the other."""
    put, work = _one_by_one(customers, connections=1)

    def one_after_the_other() -> int:
        for delivery in work:
            put(delivery)
        return len(work)

    return one_after_the_other


def threads(customers: int) -> Callable[[], int]:
    """Return the usual way, with so many threads that it hurts nobody to wait."""
    put, work = _one_by_one(customers, connections=THREADS)

    def at_once() -> int:
        with ThreadPoolExecutor(THREADS) as pool:
            return sum(1 for _ in pool.map(put, work))

    return at_once


def _one_by_one(customers: int, *, connections: int) -> tuple[Callable[[Delivery], None], list[Delivery]]:
    config = Config(max_pool_connections=connections)
    rows, queues = boto3.client("dynamodb", config=config), boto3.client("sqs", config=config)

    def put(delivery: Delivery) -> None:
        rows.put_item(
            TableName=DELIVERIES,
            Item=to_item(to_row(delivery, shards=SHARDS)),
            ConditionExpression="attribute_not_exists(delivery_id)",
        )
        body = DeliveryMessage.of(delivery).to_body()
        queues.send_message(QueueUrl=QUEUES[delivery.delivery_id.channel], MessageBody=body)

    at = cast.moment()
    work = [one for number in range(customers) for one in cast.deliveries_of(number, due_at=at)]
    for delivery in work[:2]:
        put(delivery)  # connections are open and models are read before the clock starts, as for the others
    return put, work


def _handler() -> Callable[[datetime, list[int]], Mapping[str, Any]]:
    from functions.planner.handler import handler  # noqa: PLC0415 - reads the environment that a contestant runs in

    context: Any = Invocation()

    def wake_up(scheduled_time: datetime, shards: list[int]) -> Mapping[str, Any]:
        return handler({"scheduled_time": to_text(scheduled_time), "shards": shards}, context)

    wake_up(cast.moment(), [SHARDS])  # a shard with nobody in it: all is imported and every model read
    return wake_up


def _planned(handler: Callable[[datetime, list[int]], Mapping[str, Any]]) -> int:
    told = handler(cast.moment(), list(range(SHARDS)))
    if not told["complete"]:
        raise RuntimeError(f"the planner left something undone: {told}")
    planned: int = told["planned"]
    return planned


CONTESTANTS: Final[Mapping[str, Callable[[int], Callable[[], int]]]] = {
    "ours": lambda _: ours(),
    "floor": lambda _: floor(),
    "loop": loop,
    "threads": threads,
}


def main(
    contestant: Annotated[str, typer.Argument(help=f"One of {', '.join(CONTESTANTS)}.")],
    customers: Annotated[int, typer.Argument(min=SHARDS, help="Whose digest is due.")],
) -> None:
    """Measure one contestant."""
    measure(contestant, CONTESTANTS[contestant](customers))


if __name__ == "__main__":
    typer.run(main)
