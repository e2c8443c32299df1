"""One data region of a local run, as it can be looked at and poked from outside: rows, queues, functions, logs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import islice
from typing import Any, Final

from functions import names
from functions.adapters.delivery_rows import attention_partition, period_partition
from functions.core.delivery import Attention, Delivery, Status
from functions.core.identity import Channel
from ops.deployment import RegionDeployment
from ops.local.emulator import Emulator, FunctionWorker, QueueMessage

STREAMS_A_REQUEST: Final = 100  # FilterLogEvents takes no more
UNFINISHED: Final = {Attention.OPEN: "open", Attention.RETRYABLE: "retryable"}


@dataclass(frozen=True, slots=True)
class Census:
    """How many deliveries stand where, by the indexes: `accepted#email`, `skipped#sms#empty`, `open#email`."""

    ends: Counter[str]

    def count(self, state: str, channel: Channel) -> int:
        """Deliveries of a channel in a state, whatever the reason."""
        whole = f"{state}#{channel}"
        return sum(count for end, count in self.ends.items() if end == whole or end.startswith(f"{whole}#"))

    def finished(self, channel: Channel) -> int:
        """Deliveries of a channel that nothing more will happen to by itself."""
        return sum(
            self.count(state, channel) for state in ("accepted", "skipped", "expired", "dead_letter", "uncertain")
        )

    def unfinished(self, channel: Channel) -> int:
        """Deliveries of a channel that are planned, queued, being sent, or wait to be tried again."""
        return sum(self.count(str(why), channel) for why in UNFINISHED)


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line of a function's log, in CloudWatch Logs. The text is for searching; it never goes anywhere else."""

    group: str
    stream: str  # one for each invocation
    at: datetime
    text: str = field(repr=False)

    @property
    def record(self) -> Mapping[str, Any]:
        """The structured record that it is, else an empty one."""
        if not self.text.startswith("{"):
            return {}
        try:
            held = json.loads(self.text)
        except ValueError:
            return {}
        return held if isinstance(held, dict) else {}


class RunningRegion:
    """A data region that runs on the emulator."""

    def __init__(self, emulator: Emulator, deployment: RegionDeployment) -> None:
        self.emulator = emulator
        self.deployment = deployment
        self.name = deployment.data_region
        self.aws_region = deployment.aws_region
        self._wake_ups = 0

    # --- rows ---------------------------------------------------------------------------------------------------------

    def census(self, period: str) -> Census:
        """Count the deliveries of a week, from the indexes."""
        ends: Counter[str] = Counter()
        for shard in range(self.deployment.shards):
            ends.update(item[names.PERIOD_END]["S"] for item in self._finished(period, shard))
        for why in Attention:
            for channel in Channel:
                for shard in range(self.deployment.shards):
                    if count := self._waiting(why, channel, shard, only_count=True):
                        ends[f"{why}#{channel}"] += count
        return Census(ends)

    def finished_so_far(self, period: str) -> Census:
        """Count the finished deliveries of a week only, at a fifth of the cost."""
        ends: Counter[str] = Counter()
        for shard in range(self.deployment.shards):
            ends.update(item[names.PERIOD_END]["S"] for item in self._finished(period, shard))
        return Census(ends)

    def rows(self, period: str) -> list[Delivery]:
        """Every delivery of a week, read consistently."""
        ids = [
            item[names.DELIVERY_ID]["S"]
            for shard in range(self.deployment.shards)
            for item in self._finished(period, shard)
        ]
        for why in Attention:
            ids.extend(self.waiting_ids(why))
        return [row for row in self.deployment.ledger.read(ids).values() if row.period == period]

    def waiting_ids(self, why: Attention) -> list[str]:
        """Ids of the rows that are in the `attention` index for one reason."""
        return [
            item[names.DELIVERY_ID]["S"]
            for channel in Channel
            for shard in range(self.deployment.shards)
            for item in self._waiting_items(why, channel, shard)
        ]

    def accepted_ids(self, period: str, channel: Channel, limit: int) -> list[str]:
        """Ids of a few accepted deliveries."""
        found: list[str] = []
        for shard in range(self.deployment.shards):
            answer = self.deployment.dynamodb.query(
                TableName=self.deployment.deliveries_table,
                IndexName=names.PERIOD_INDEX,
                KeyConditionExpression="#shard = :shard AND #end = :accepted",
                ExpressionAttributeNames={"#shard": names.PERIOD_SHARD, "#end": names.PERIOD_END},
                ExpressionAttributeValues={
                    ":shard": {"S": period_partition(period, shard)},
                    ":accepted": {"S": f"{Status.ACCEPTED}#{channel}"},
                },
                Limit=limit,
            )
            found.extend(item[names.DELIVERY_ID]["S"] for item in answer["Items"])
        return found[:limit]

    def _finished(self, period: str, shard: int) -> Iterator[Mapping[str, Any]]:
        pages = self.deployment.dynamodb.get_paginator("query").paginate(
            TableName=self.deployment.deliveries_table,
            IndexName=names.PERIOD_INDEX,
            KeyConditionExpression="#shard = :shard",
            ExpressionAttributeNames={"#shard": names.PERIOD_SHARD},
            ExpressionAttributeValues={":shard": {"S": period_partition(period, shard)}},
        )
        for page in pages:
            yield from page["Items"]

    def _waiting(self, why: Attention, channel: Channel, shard: int, *, only_count: bool) -> int:
        pages = self._waiting_pages(why, channel, shard, only_count=only_count)
        return sum(page["Count"] for page in pages)

    def _waiting_items(self, why: Attention, channel: Channel, shard: int) -> Iterator[Mapping[str, Any]]:
        for page in self._waiting_pages(why, channel, shard, only_count=False):
            yield from page["Items"]

    def _waiting_pages(
        self, why: Attention, channel: Channel, shard: int, *, only_count: bool
    ) -> Iterator[Mapping[str, Any]]:
        partition = attention_partition(why, channel, shard)
        yield from self.deployment.dynamodb.get_paginator("query").paginate(
            TableName=self.deployment.deliveries_table,
            IndexName=names.ATTENTION_INDEX,
            KeyConditionExpression="#attention = :attention",
            ExpressionAttributeNames={"#attention": names.ATTENTION},
            ExpressionAttributeValues={":attention": {"S": partition}},
            Select="COUNT" if only_count else "ALL_PROJECTED_ATTRIBUTES",
        )

    # --- queues -------------------------------------------------------------------------------------------------------

    def queue(self, channel: Channel) -> str:
        return self.deployment.output(names.queue_output(str(channel)))

    def dead_letter_queue(self, channel: Channel) -> str:
        return self.deployment.output(names.dead_letter_queue_output(str(channel)))

    def backlog(self, queue_url: str) -> int:
        """How many messages a queue holds, whether they are in flight, delayed or free."""
        counts = (
            "ApproximateNumberOfMessages",
            "ApproximateNumberOfMessagesNotVisible",
            "ApproximateNumberOfMessagesDelayed",
        )
        answer = self._sqs.get_queue_attributes(QueueUrl=queue_url, AttributeNames=list(counts))
        return sum(int(answer["Attributes"].get(name, 0)) for name in counts)

    def messages(self, queue_url: str) -> list[QueueMessage]:
        """What lies in a queue, in flight or not; nothing is received."""
        return self.emulator.queue_messages(queue_url)

    def send(self, channel: Channel, body: str) -> str:
        """Send a message to a channel's queue. Returns its id."""
        answer = self._sqs.send_message(QueueUrl=self.queue(channel), MessageBody=body)
        return str(answer["MessageId"])

    def redrive(self, channel: Channel, delivery_id: str) -> bool:
        """Move a delivery's message from the dead-letter queue back to its source; False if it is not there yet.

        As the console's redrive does: it arrives as a new message with the same body. The emulator has no such task.
        """
        url = self.dead_letter_queue(channel)
        answer = self._sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=1)
        for message in answer.get("Messages", []):
            if delivery_id in message["Body"]:
                self.send(channel, message["Body"])
                self._sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
                return True
        return False

    @cached_property
    def _sqs(self) -> Any:  # noqa: ANN401 - as Emulator.client
        return self.emulator.client("sqs", self.aws_region)

    # --- functions ----------------------------------------------------------------------------------------------------

    def wake(self, schedule_output: str, *, times: int = 1) -> None:
        """Let EventBridge Scheduler call what deployed schedules call, now: once, or several times at once."""
        schedules = [self._scheduler.get_schedule(Name=name) for name in self.deployment.schedules(schedule_output)]
        for deployed in schedules * times:
            self._wake_ups += 1
            self._scheduler.create_schedule(
                Name=f"local-run-{self._wake_ups}",
                Description=f"once, as {deployed['Name']}",
                ScheduleExpression=f"at({datetime.now(UTC):%Y-%m-%dT%H:%M:%S})",
                ScheduleExpressionTimezone="UTC",
                FlexibleTimeWindow={"Mode": "OFF"},
                Target=deployed["Target"],
                ActionAfterCompletion="DELETE",
            )

    def invoke_planner(self, scheduled_time: str) -> Mapping[str, Any]:
        """Call the planner as its schedule does, and wait for what it answers."""
        event = {"scheduled_time": scheduled_time, "shards": list(range(self.deployment.shards))}
        answer = self.deployment.functions.invoke(
            FunctionName=self.deployment.output(names.OUTPUT_PLANNER_FUNCTION), Payload=json.dumps(event).encode()
        )
        told: Mapping[str, Any] = json.load(answer["Payload"])
        return told

    def workers(self, channel: Channel) -> list[FunctionWorker]:
        """The processes that run a channel's consumer."""
        function = self.deployment.output(names.consumer_output(str(channel)))
        return self.emulator.function_workers(function, self.aws_region)

    @cached_property
    def _scheduler(self) -> Any:  # noqa: ANN401 - as Emulator.client
        return self.emulator.client("scheduler", self.aws_region)

    @cached_property
    def _planner_log(self) -> str:
        function = self.deployment.output(names.OUTPUT_PLANNER_FUNCTION)
        held = self.deployment.functions.get_function_configuration(FunctionName=function)
        return str(held["LoggingConfig"]["LogGroup"])

    # --- logs ---------------------------------------------------------------------------------------------------------

    def log_lines(self) -> list[LogLine]:
        """Every line of every log group of the region."""
        return [line for group in self._log_groups() for line in self._lines_of(group)]

    def planner_runs(self) -> list[Mapping[str, Any]]:
        """What the planner logged at the end of each of its invocations."""
        records = (line.record for line in self._lines_of(self._planner_log))
        return [record for record in records if record.get("message") == "planner.finished"]

    def _log_groups(self) -> Iterator[str]:
        for page in self._logs.get_paginator("describe_log_groups").paginate():
            yield from (group["logGroupName"] for group in page["logGroups"])

    def _lines_of(self, group: str) -> Iterator[LogLine]:
        pages = self._logs.get_paginator("describe_log_streams").paginate(logGroupName=group)
        streams = iter([stream["logStreamName"] for page in pages for stream in page["logStreams"]])
        # Some streams at a time: the emulator answers no more than one page of 10,000 lines.
        while some := list(islice(streams, STREAMS_A_REQUEST)):
            yield from self._lines_in(group, some)

    def _lines_in(self, group: str, streams: Sequence[str]) -> Iterator[LogLine]:
        events = self._logs.get_paginator("filter_log_events").paginate(logGroupName=group, logStreamNames=streams)
        for page in events:
            for event in page["events"]:
                at = datetime.fromtimestamp(event["timestamp"] / 1000, UTC)
                yield LogLine(group, event["logStreamName"], at, event["message"])

    @cached_property
    def _logs(self) -> Any:  # noqa: ANN401 - as Emulator.client
        return self.emulator.client("logs", self.aws_region)


def busy_spans(lines: Sequence[LogLine], message: str) -> list[tuple[datetime, datetime, Mapping[str, Any]]]:
    """When the invocations ran that logged a record with this message: begin, end and the record.

    Lambda reports an invocation's duration in its last line, in the same stream.
    """
    records = {line.stream: line.record for line in lines if line.record.get("message") == message}
    ends = {line.stream: line for line in lines if line.stream in records and line.text.startswith("REPORT ")}
    spans = []
    for stream, record in records.items():
        if (end := ends.get(stream)) is not None:
            spans.append((end.at - timedelta(milliseconds=_duration_ms(end.text)), end.at, record))
    return sorted(spans, key=lambda span: span[0])


def _duration_ms(report: str) -> float:
    fields = dict(part.split(": ", 1) for part in report.split("\t") if ": " in part)
    return float(fields.get("Duration", "0 ms").removesuffix(" ms"))
