"""One channel's dead-letter queue: looking into it, and having SQS move its messages back to where they came from.

```
look    receive, hidden for LOOKED_AT_S at most ── give back: nothing is deleted, nothing is lost by dying in between
move    StartMessageMoveTask: SQS moves all of them, as the console does; no filter, one task for each queue
carry   where the service has no such tasks: receive ── send to the source ── delete, so that dying in between doubles
        a message, which its row absorbs, and never loses one
```
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from functions.core.identity import Channel, DeliveryId
from functions.core.message import PoisonError, read_message

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mypy_boto3_sqs import SQSClient


BATCH: Final = 10  # messages that SQS hands out, takes or deletes in one request
LOOKED_AT_S: Final = 30
CARRIED_FOR_S: Final = 60
# Short polling asks a part of SQS's servers: one empty answer does not say that there is nothing.
EMPTY_ANSWERS: Final = 3
TASKS_KEPT: Final = 10  # that ListMessageMoveTasks remembers
FASTEST_TASK: Final = 500  # messages a second, as the service has it
_KNOWS_NO_TASKS: Final = frozenset({"InvalidAction", "UnknownOperationException", "NotImplemented"})


class NoMoveTasksError(Exception):
    """The service at this endpoint does not know StartMessageMoveTask."""


@dataclass(frozen=True, slots=True)
class DeadMessage:
    """A message of a dead-letter queue. Whatever was sent here may hold anything, so the body is never shown."""

    body: str = field(repr=False)
    sent_at: datetime
    channel: Channel

    @property
    def delivery_id(self) -> DeliveryId | None:
        """Which delivery it is about; None for a message that nobody can work on."""
        try:
            return read_message(self.body, channel=self.channel)[1]
        except PoisonError:
            return None

    @property
    def fault(self) -> str | None:
        """What is wrong with a message that nobody can work on: the field, never its value."""
        try:
            read_message(self.body, channel=self.channel)
        except PoisonError as error:
            return str(error)
        return None

    @property
    def shape(self) -> str:
        """`57 bytes, JSON object with 4 fields, sha256 1f0e3d...`: enough to know it again, nothing of what it says."""
        raw = self.body.encode()
        return f"{len(raw)} bytes, {_form(self.body)}, sha256 {sha256(raw).hexdigest()[:12]}"


@dataclass(frozen=True, slots=True)
class MoveTask:
    """A move as the service tells of it. `handle` only while it runs."""

    status: str
    started_at: datetime
    moved: int
    to_move: int | None
    failure: str | None
    handle: str | None = field(repr=False)

    @property
    def running(self) -> bool:
        """Whether it is the one task that the queue may have."""
        return self.status in {"RUNNING", "CANCELLING"}


@dataclass(slots=True)
class Carried:
    """Messages that were carried back so far."""

    count: int = 0


class DeadLetterQueue:
    """The dead-letter queue of a channel."""

    def __init__(self, client: SQSClient, channel: Channel, *, url: str, source_url: str) -> None:
        self.channel = channel
        self.url = url
        self._client = client
        self._source_url = source_url

    def counts(self) -> tuple[int, int]:
        """About how many messages can be received, and how many are being looked at or moved right now."""
        held = self._attributes("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")
        return int(held["ApproximateNumberOfMessages"]), int(held["ApproximateNumberOfMessagesNotVisible"])

    def _attributes(self, *wanted: Any) -> dict[str, str]:  # noqa: ANN401 - literals of the client's own types
        answer = self._client.get_queue_attributes(QueueUrl=self.url, AttributeNames=wanted)
        return {str(name): value for name, value in answer["Attributes"].items()}

    # --- looking ---

    def look(self, most: int, *, until: Callable[[DeadMessage], bool] = lambda _: False) -> list[DeadMessage]:
        """Receive up to so many messages, or until one is found, and give all of them back."""
        seen: dict[str, tuple[str, DeadMessage]] = {}
        try:
            for batch in self._batches(most, hidden_for_s=LOOKED_AT_S):
                for one in batch:
                    seen[one["MessageId"]] = (one["ReceiptHandle"], self._message(one))
                if any(until(self._message(one)) for one in batch):
                    break
        finally:
            self._give_back([handle for handle, _ in seen.values()])
        return [message for _, message in seen.values()]

    def _message(self, received: Any) -> DeadMessage:  # noqa: ANN401 - a message of the client
        sent_ms = int(received["Attributes"]["SentTimestamp"])
        return DeadMessage(received["Body"], datetime.fromtimestamp(sent_ms / 1000, UTC), self.channel)

    def _give_back(self, handles: Sequence[str]) -> None:
        # What is not given back is seen again after LOOKED_AT_S all the same.
        for start in range(0, len(handles), BATCH):
            self._client.change_message_visibility_batch(
                QueueUrl=self.url,
                Entries=[
                    {"Id": str(number), "ReceiptHandle": handle, "VisibilityTimeout": 0}
                    for number, handle in enumerate(handles[start : start + BATCH])
                ],
            )

    def _batches(self, most: int, *, hidden_for_s: int, at_once: int = BATCH) -> Iterator[list[Any]]:
        left, empty = most, 0
        while left > 0 and empty < EMPTY_ANSWERS:
            answer = self._client.receive_message(
                QueueUrl=self.url,
                MaxNumberOfMessages=min(at_once, left),
                VisibilityTimeout=hidden_for_s,
                MessageSystemAttributeNames=["SentTimestamp"],
                MessageAttributeNames=["All"],
            )
            batch = answer.get("Messages", [])
            empty = 0 if batch else empty + 1
            left -= len(batch)
            if batch:
                yield batch

    # --- moving ---

    def move(self, rate_per_second: int) -> None:
        """Have SQS move every message to the queue that it came from. Raises NoMoveTasksError."""
        try:
            self._client.start_message_move_task(SourceArn=self._arn(), MaxNumberOfMessagesPerSecond=rate_per_second)
        except ClientError as error:
            raise _known(error) from None

    def tasks(self) -> list[MoveTask]:
        """The last moves, newest first. Raises NoMoveTasksError."""
        try:
            answer = self._client.list_message_move_tasks(SourceArn=self._arn(), MaxResults=TASKS_KEPT)
        except ClientError as error:
            raise _known(error) from None
        return [_task(one) for one in answer.get("Results", [])]

    def cancel(self, task: MoveTask) -> int:
        """Stop a task that runs; return about how many messages it had moved."""
        answer = self._client.cancel_message_move_task(TaskHandle=task.handle or "")
        return answer["ApproximateNumberOfMessagesMoved"]

    def carry(self, most: int, *, rate_per_second: int, sleep: Callable[[float], None], carried: Carried) -> None:
        """Move up to so many messages by hand, attributes and all, no faster than that.

        `most` is what ends it: what cannot be worked on comes back within seconds, and would be carried for ever.
        """
        at_once = min(BATCH, rate_per_second)
        for batch in self._batches(most, hidden_for_s=CARRIED_FOR_S, at_once=at_once):
            for one in batch:
                attributes = one.get("MessageAttributes", {})
                self._client.send_message(
                    QueueUrl=self._source_url, MessageBody=one["Body"], MessageAttributes=attributes
                )
                self._client.delete_message(QueueUrl=self.url, ReceiptHandle=one["ReceiptHandle"])
                carried.count += 1
            sleep(len(batch) / rate_per_second)

    def _arn(self) -> str:
        return self._attributes("QueueArn")["QueueArn"]


def _known(error: ClientError) -> ClientError | NoMoveTasksError:
    return NoMoveTasksError() if error.response["Error"]["Code"] in _KNOWS_NO_TASKS else error


def _task(told: Any) -> MoveTask:  # noqa: ANN401 - an entry of the client
    return MoveTask(
        status=told["Status"],
        started_at=datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=told["StartedTimestamp"]),
        moved=told.get("ApproximateNumberOfMessagesMoved", 0),
        to_move=told.get("ApproximateNumberOfMessagesToMove"),
        failure=told.get("FailureReason"),
        handle=told.get("TaskHandle"),
    )


def _form(body: str) -> str:
    try:
        held = json.loads(body)
    except (ValueError, RecursionError):
        return "not JSON"
    if isinstance(held, dict):
        return f"JSON object with {len(held)} field{'' if len(held) == 1 else 's'}"
    return f"JSON {type(held).__name__}"
