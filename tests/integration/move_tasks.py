"""SQS's message move tasks, which moto does not have, on moto's queues: what the console's "Start DLQ redrive" starts.

As the API reference and the developer guide have it:

- the source must be the dead-letter queue of a queue; one task for each source at a time; up to 500 messages a second
- no filter: every message goes, the oldest first, as a new message with an id and a time of its own
- a message that was sent to the dead-letter queue by hand has no source: the task fails when it comes to it
- the handle is told only while a task runs; a cancelled task leaves what it had moved where it is; ten are remembered

Where the documents leave something open, this says so: whether receives are counted anew (`receives_restart`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch
from uuid import uuid4

from moto.sqs.models import Message, Queue, sqs_backends

from functions.core.ports import Clock
from tests.fakes.environment import ACCOUNT
from tests.integration.faults import refused

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

KEPT: Final = 10
FASTEST: Final = 500
NO_SOURCE: Final = "CouldNotDetermineMessageSource"
SOURCE_GONE: Final = "AWS.SimpleQueueService.NonExistentQueue"
_SOURCE: Final = "DeadLetterQueueSourceArn"


@contextmanager
def sources_kept() -> Iterator[None]:
    """Let moto mark what it moves to a dead-letter queue with where it came from, as SQS does."""
    add_message = Queue.add_message

    def add(queue: Queue, message: Message) -> None:
        # One that was received before comes from a queue, by its redrive policy; one that was not, was sent here.
        sources = _sources(queue) if message.approximate_receive_count else []
        for source in sources:
            message.system_attributes[_SOURCE] = source.queue_arn
        add_message(queue, message)

    with patch.object(Queue, "add_message", add):
        yield


@dataclass
class Task:
    """One move."""

    source: Queue
    destination: Queue | None
    rate: int | None
    started_at: datetime
    to_move: int
    handle: str = field(default_factory=lambda: str(uuid4()))
    moved: int = 0
    status: str = "RUNNING"
    failure: str | None = None

    def due(self, now: datetime) -> int:
        """How many it may have moved by now."""
        if self.rate is None:
            return self.to_move
        return min(self.to_move, int(self.rate * (now - self.started_at).total_seconds()))

    def told(self) -> dict[str, Any]:
        """As ListMessageMoveTasks has it: what is not so is not there."""
        entry = {
            "TaskHandle": self.handle if self.status == "RUNNING" else None,
            "Status": self.status,
            "SourceArn": self.source.queue_arn,
            "DestinationArn": None if self.destination is None else self.destination.queue_arn,
            "MaxNumberOfMessagesPerSecond": self.rate,
            "ApproximateNumberOfMessagesMoved": self.moved,
            "ApproximateNumberOfMessagesToMove": self.to_move,
            "FailureReason": self.failure,
            "StartedTimestamp": int(self.started_at.timestamp() * 1000),
        }
        return {name: value for name, value in entry.items() if value is not None}


@dataclass
class MoveTasks:
    """A client of SQS with the three actions. Tasks go on as the clock does, whenever something is asked."""

    sqs: SQSClient
    clock: Clock
    receives_restart: bool = True
    tasks: list[Task] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.sqs, name)

    def start_message_move_task(
        self,
        *,
        SourceArn: str,  # noqa: N803 - as boto3 spells them
        DestinationArn: str | None = None,  # noqa: N803
        MaxNumberOfMessagesPerSecond: int | None = None,  # noqa: N803
    ) -> dict[str, str]:
        self.go_on()
        rate, refusing = MaxNumberOfMessagesPerSecond, "StartMessageMoveTask"
        source = self._queue(SourceArn, refusing)
        destination = None if DestinationArn is None else self._queue(DestinationArn, refusing)
        running = any(task.source is source and task.status == "RUNNING" for task in self.tasks)
        too_fast = rate is not None and not 1 <= rate <= FASTEST
        if not _sources(source) or destination is source or running or too_fast:
            raise refused(refusing, "InvalidParameterValue")
        task = Task(source, destination, rate, self.clock(), len(source.messages))
        self.tasks.insert(0, task)
        return {"TaskHandle": task.handle}

    def list_message_move_tasks(self, *, SourceArn: str, MaxResults: int = 1) -> dict[str, Any]:  # noqa: N803
        self.go_on()
        source = self._queue(SourceArn, "ListMessageMoveTasks")
        held = [task for task in self.tasks if task.source is source]
        return {"Results": [task.told() for task in held[: min(MaxResults, KEPT)]]}

    def cancel_message_move_task(self, *, TaskHandle: str) -> dict[str, int]:  # noqa: N803
        self.go_on()
        task = next((one for one in self.tasks if one.handle == TaskHandle), None)
        if task is None:
            raise refused("CancelMessageMoveTask", "ResourceNotFoundException", 404)
        if task.status != "RUNNING":
            raise refused("CancelMessageMoveTask", "UnsupportedOperation")
        task.status = "CANCELLED"
        return {"ApproximateNumberOfMessagesMoved": task.moved}

    def go_on(self) -> None:
        """Move what is due by now."""
        for task in self.tasks:
            while task.status == "RUNNING" and task.moved < task.due(self.clock()):
                self._move_one(task)
            if task.status == "RUNNING" and task.moved >= task.to_move:
                task.status = "COMPLETED"

    def _move_one(self, task: Task) -> None:
        waiting = task.source.messages  # those that are in flight are not among them
        if not waiting:
            task.status = "COMPLETED"
            return
        message = waiting[0]
        destination = task.destination or self._source_of(message)
        if destination is None:
            known = _SOURCE in message.system_attributes
            task.status, task.failure = "FAILED", SOURCE_GONE if known else NO_SOURCE
            return
        task.source._messages.remove(message)
        destination.add_message(self._anew(message, destination))
        task.moved += 1

    def _anew(self, message: Message, destination: Queue) -> Message:
        moved = Message(str(uuid4()), message.body)
        moved.message_attributes = message.message_attributes
        moved.mark_sent()
        if not self.receives_restart and destination.redrive_policy:
            # The least that a redrive can mean is one more receive: with fewer, nothing could ever be redriven.
            moved.approximate_receive_count = destination.redrive_policy["maxReceiveCount"] - 1
        return moved

    def _source_of(self, message: Message) -> Queue | None:
        arn = message.system_attributes.get(_SOURCE)
        return None if arn is None else self._queues().get(arn)

    def _queue(self, arn: str, operation: str) -> Queue:
        try:
            return self._queues()[arn]
        except KeyError:
            raise refused(operation, "ResourceNotFoundException", 404) from None

    def _queues(self) -> dict[str, Queue]:
        return {queue.queue_arn: queue for queue in sqs_backends[ACCOUNT][self.sqs.meta.region_name].queues.values()}


def _sources(dead_letters: Queue) -> list[Queue]:
    """The queues whose dead-letter queue it is."""
    queues = sqs_backends[dead_letters.account_id][dead_letters.region].queues.values()
    return [queue for queue in queues if queue.dead_letter_queue is dead_letters]
