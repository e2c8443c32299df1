"""What Lambda does between a queue and a function: receive, invoke, delete what is done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from functions.core.ports import Clock
from tests.fakes.lambda_context import FakeLambdaContext

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

Handler = Callable[[dict[str, Any], Any], Any]


@dataclass
class LambdaPoller:
    """An event source mapping with ReportBatchItemFailures.

    A batch whose invocation raises is not deleted. `invocations` counts, and names, what was invoked.
    """

    sqs: SQSClient
    queue_url: str
    handler: Handler
    clock: Clock
    batch_size: int = 10
    invocations: int = 0

    def poll(self) -> dict[str, Any] | None:
        """Invoke the function with what is visible now; return its answer, or None if there was nothing."""
        event = self.receive()
        return None if event is None else self.invoke(event)

    def receive(self) -> dict[str, Any] | None:
        """Receive a batch as the event that the function would get."""
        messages = self.sqs.receive_message(
            QueueUrl=self.queue_url, MaxNumberOfMessages=self.batch_size, MessageSystemAttributeNames=["All"]
        ).get("Messages", [])
        return {"Records": [sqs_record(message, self.queue_url) for message in messages]} if messages else None

    def invoke(self, event: dict[str, Any]) -> dict[str, Any]:
        """Hand an event to the function, and delete what it does not report as failed."""
        self.invocations += 1
        context = FakeLambdaContext(self.clock, request_id=f"request-{self.invocations}")
        answer: dict[str, Any] = self.handler(event, context)
        failed = {one["itemIdentifier"] for one in answer["batchItemFailures"]}
        assert failed <= {record["messageId"] for record in event["Records"]}, "Lambda would fail the whole batch"
        for record in event["Records"]:
            if record["messageId"] not in failed:
                self.sqs.delete_message(QueueUrl=self.queue_url, ReceiptHandle=record["receiptHandle"])
        return answer


def sqs_record(message: Any, queue_url: str) -> dict[str, Any]:
    """Return a received message as a record of a Lambda event."""
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": message.get("Attributes", {"ApproximateReceiveCount": "1"}),
        "messageAttributes": {},
        "md5OfBody": message.get("MD5OfBody", ""),
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:us-east-1:123456789012:" + queue_url.rpartition("/")[2],
        "awsRegion": "us-east-1",
    }
