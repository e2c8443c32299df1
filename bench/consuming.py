"""What a consumer costs its own process, against the bare requests and against the sample that everybody starts from.

    python -m bench.consuming CONTESTANT DELIVERIES      one contestant, against AWS_ENDPOINT_URL

Batches of ten messages, an email each, to a provider that accepts at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

import boto3
import typer
from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord
from aws_lambda_powertools.utilities.idempotency import (
    DynamoDBPersistenceLayer,
    IdempotencyConfig,
    idempotent_function,
)

from bench import cast
from bench.contest import CUSTOMERS, DELIVERIES, SENDER, measure
from bench.recording import Invocation, Recording, Request, replay
from functions.adapters.channel_consumer import ChannelConsumer
from functions.adapters.providers.aws import one_attempt
from functions.adapters.providers.ses import SesProvider
from functions.adapters.wiring import dynamodb
from functions.core.identity import Channel
from functions.core.message import DeliveryMessage

if TYPE_CHECKING:
    from mypy_boto3_sesv2 import SESV2Client

BATCH: Final = 10
Event = dict[str, Any]


def ours(events: Sequence[Event]) -> Callable[[], int]:
    """Return the email consumer's handler at work on every batch."""
    handle = _handler(_ses())
    handle(_batch(0, 1))
    return lambda: sum(handle(event) for event in events)


def floor(events: Sequence[Event]) -> Callable[[], int]:
    """Return one read, one claim, one send and one settlement of each delivery, as the handler made them, bare."""
    ses = _ses()
    handle = _handler(ses)
    handle(_batch(0, 1))
    with Recording(dynamodb(), ses) as recording:
        deliveries = sum(handle(event) for event in events)
    bare = replay([one for request in recording.requests for one in _of_each_delivery(request)])

    def again() -> int:
        bare()
        return deliveries

    return again


def sample(events: Sequence[Event]) -> Callable[[], int]:
    """Return what the guides show: a table of idempotency records beside everything else, a record for each message.

    It reads who the customer is and sends a fixed text: no consent, no content, no pace, no row that says what became
    of it.
    """
    rows, ses = boto3.client("dynamodb"), boto3.client("sesv2")
    layer = DynamoDBPersistenceLayer(table_name="idempotency")
    config = IdempotencyConfig(raise_on_no_idempotency_key=True)
    processor = BatchProcessor(event_type=EventType.SQS)

    @idempotent_function(data_keyword_argument="delivery_id", persistence_store=layer, config=config)  # type: ignore[untyped-decorator]
    def send(delivery_id: str) -> dict[str, str]:
        key = {"customer_id": {"S": delivery_id.split(":")[1]}, "record": {"S": "PROFILE"}}
        rows.get_item(TableName=CUSTOMERS, Key=key)
        answer = ses.send_email(
            FromEmailAddress=SENDER,
            Destination={"ToAddresses": ["somebody@example.com"]},
            Content={"Simple": {"Subject": {"Data": "Your week"}, "Body": {"Text": {"Data": "Something happened."}}}},
        )
        return {"reference": answer["MessageId"]}

    def take(record: SQSRecord) -> None:
        send(delivery_id=record.json_body["delivery_id"])

    def handle(event: Event) -> int:
        context: Any = Invocation()
        config.register_lambda_context(context)
        answer = process_partial_response(event=event, record_handler=take, processor=processor, context=context)
        return _done(event, answer)

    handle(_batch(0, 1))
    return lambda: sum(handle(event) for event in events)


def _ses() -> SESV2Client:
    return boto3.client("sesv2", config=one_attempt(5))


def _handler(ses: SESV2Client) -> Callable[[Event], int]:
    consumer = ChannelConsumer.from_environment(SesProvider(ses))  # all that functions/email/handler.py does
    context: Any = Invocation()
    return lambda event: _done(event, consumer.handle(event, context))


def _done(event: Event, answer: Mapping[str, Any]) -> int:
    if answer["batchItemFailures"]:
        raise RuntimeError(f"{len(answer['batchItemFailures'])} messages were not done")
    return len(event["Records"])


def _of_each_delivery(request: Request) -> Iterator[Request]:
    """Yield claims, sends and settlements as they were made, and one read for each row that was read."""
    if request.operation == "BatchGetItem":
        for key in request.parameters["RequestItems"][DELIVERIES]["Keys"]:
            yield Request("dynamodb", "GetItem", {"TableName": DELIVERIES, "Key": key, "ConsistentRead": True})
    elif request.operation == "SendEmail" or request.parameters.get("TableName") == DELIVERIES:
        yield request


def _batch(first: int, size: int) -> Event:
    at = cast.moment()
    emails = (
        delivery
        for number in range(first, first + size)
        for delivery in cast.deliveries_of(number, due_at=at)
        if delivery.delivery_id.channel is Channel.EMAIL
    )
    return {"Records": [_record(DeliveryMessage.of(one).to_body(), str(one.delivery_id)) for one in emails]}


def _record(body: str, message_id: str) -> dict[str, Any]:
    return {
        "messageId": message_id,
        "receiptHandle": "handle",
        "body": body,
        "attributes": {"ApproximateReceiveCount": "1", "SentTimestamp": "0"},
        "messageAttributes": {},
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:us-east-1:1:email",
        "awsRegion": "us-east-1",
    }


CONTESTANTS: Final[Mapping[str, Callable[[Sequence[Event]], Callable[[], int]]]] = {
    "ours": ours,
    "floor": floor,
    "sample": sample,
}


def main(
    contestant: Annotated[str, typer.Argument(help=f"One of {', '.join(CONTESTANTS)}.")],
    deliveries: Annotated[int, typer.Argument(min=BATCH, help="To be sent, in batches of ten.")],
) -> None:
    """Measure one contestant."""
    events = [_batch(first, BATCH) for first in range(0, deliveries, BATCH)]
    measure(contestant, CONTESTANTS[contestant](events))


if __name__ == "__main__":
    typer.run(main)
