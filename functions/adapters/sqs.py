"""The channels' queues: publishing ids, and when a received message may be seen again."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from functions.core.message import DeliveryMessage
from functions.core.ports import EnqueueReceipt

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mypy_boto3_sqs import SQSClient

    from functions.core.delivery import Delivery
    from functions.core.identity import Channel

BATCH: Final = 10  # entries that SendMessageBatch takes
LONGEST_DELAY_S: Final = 900  # SQS refuses a longer DelaySeconds
LONGEST_VISIBILITY_S: Final = 43_200


class NotDoneError(Exception):
    """Reports a message as not done; its visibility has been set. Not a fault of the function."""


class SqsDeliveryQueues:
    """`DeliveryQueues` on SQS."""

    def __init__(self, client: SQSClient, urls: Mapping[Channel, str]) -> None:
        self._client = client
        self._urls = urls

    def publish(self, deliveries: Sequence[Delivery], *, delay_s: int = 0) -> EnqueueReceipt:
        """Send ids to their channels, ten in a request.

        SendMessageBatch answers 200 with failed entries in it, and a request may fail as a whole; either way the
        receipt says which deliveries went. An id sent twice does no harm, so an unclear failure counts as not sent.
        """
        sent: list[Delivery] = []
        failed: list[tuple[Delivery, str]] = []
        for url, batch in self._batches(deliveries):
            codes = self._send(url, batch, min(delay_s, LONGEST_DELAY_S))
            sent.extend(one for position, one in enumerate(batch) if position not in codes)
            failed.extend((one, codes[position]) for position, one in enumerate(batch) if position in codes)
        return EnqueueReceipt(tuple(sent), tuple(failed))

    def backlog(self, channel: Channel) -> int:
        """Return about how many messages wait to be received; those in flight or delayed do not count."""
        answer = self._client.get_queue_attributes(
            QueueUrl=self._urls[channel], AttributeNames=["ApproximateNumberOfMessages"]
        )
        return int(answer["Attributes"]["ApproximateNumberOfMessages"])

    def _batches(self, deliveries: Sequence[Delivery]) -> Iterator[tuple[str, list[Delivery]]]:
        for channel, url in self._urls.items():
            remaining = (one for one in deliveries if one.delivery_id.channel is channel)
            while batch := list(islice(remaining, BATCH)):
                yield url, batch

    def _send(self, url: str, batch: Sequence[Delivery], delay_s: int) -> dict[int, str]:
        entries: Any = [
            {"Id": str(position), "MessageBody": DeliveryMessage.of(one).to_body(), "DelaySeconds": delay_s}
            for position, one in enumerate(batch)
        ]
        try:
            answer = self._client.send_message_batch(QueueUrl=url, Entries=entries)
        except ClientError as error:
            return dict.fromkeys(range(len(batch)), error.response["Error"]["Code"])
        except BotoCoreError as error:
            return dict.fromkeys(range(len(batch)), type(error).__name__)
        return {int(one["Id"]): one["Code"] for one in answer.get("Failed", [])}


class SqsVisibility:
    """When a received message comes back."""

    def __init__(self, client: SQSClient, url: str) -> None:
        self._client = client
        self._url = url

    def set(self, receipt_handle: str, seconds: int) -> None:
        """Let a message be seen again in that many seconds. If SQS refuses, the queue's own timeout holds.

        The budget of 12 hours from the first receive is shared by all changes, so a late one may be refused.
        """
        try:
            self._client.change_message_visibility(
                QueueUrl=self._url, ReceiptHandle=receipt_handle, VisibilityTimeout=min(seconds, LONGEST_VISIBILITY_S)
            )
        except (ClientError, BotoCoreError):
            return
