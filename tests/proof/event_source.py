"""A queue, and the function that Lambda feeds with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Protocol

from botocore.exceptions import BotoCoreError, ClientError
from moto.sqs.models import Message, sqs_backends

from functions.adapters.wiring import sqs
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.environment import ACCOUNT, REGION, queue_url
from tests.integration.lambda_poller import sqs_record

BATCH: Final = 10


class Function(Protocol):
    """What works a batch off and answers which records are not done."""

    def handle(self, event: dict[str, Any], context: Any, /) -> Any: ...


@dataclass(slots=True)
class EventSource:
    """An event source mapping. Its function stays warm until it dies."""

    queue: str
    process: str
    make: Callable[[], Function]
    context: Callable[[], Any]
    warm: Function | None = None
    _taken: dict[str, Any] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return queue_url(self.queue)

    @property
    def messages(self) -> list[Message]:
        """The queue's messages themselves, those under way among them."""
        found: list[Message] = sqs_backends[ACCOUNT][REGION].queues[self.queue]._messages
        return found

    @property
    def dead_letters(self) -> list[Message]:
        found: list[Message] = sqs_backends[ACCOUNT][REGION].queues[f"{self.queue}-dead-letters"]._messages
        return found

    def has_some(self, now: datetime) -> bool:
        """Whether a message can be received."""
        return any(seen_at(message) < now for message in self.messages)

    def send(self, bodies: Iterable[str]) -> None:
        for body in bodies:
            sqs().send_message(QueueUrl=self.url, MessageBody=body)

    def poll(self) -> None:
        """Receive a batch and let the function work it off."""
        self._taken = {}
        messages = sqs().receive_message(
            QueueUrl=self.url, MaxNumberOfMessages=BATCH, MessageSystemAttributeNames=["All"]
        )
        records = [sqs_record(one, self.url) for one in messages.get("Messages", [])]
        if records:
            self._taken = {"Records": records}
            self.warm = self.warm or self.make()
            self._invoke(self.warm, self._taken)

    def poll_again(self) -> None:
        """Let a second invocation have the same batch; poll, if there is none yet."""
        if self._taken:
            self._invoke(self.make(), self._taken)
        else:
            self.poll()

    def _invoke(self, function: Function, event: dict[str, Any]) -> None:
        answer = function.handle(event, self.context())
        failed = {one["itemIdentifier"] for one in answer["batchItemFailures"]}
        for record in event["Records"]:
            if record["messageId"] not in failed:
                # Lambda deletes; where it cannot, the message comes again.
                with suppress(ClientError, BotoCoreError):
                    sqs().delete_message(QueueUrl=self.url, ReceiptHandle=record["receiptHandle"])


def seen_at(message: Message) -> datetime:
    """From when on a message can be received; strictly later, as moto has it."""
    epoch_ms = max(message.visible_at, message.delayed_until)
    return datetime.fromtimestamp(epoch_ms / 1000, SUNDAY_EVENING.tzinfo)
