"""A region's tables, queues and functions as the tests use them, with the key schema that the stacks give them."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

import boto3
import time_machine

from functions import names
from functions.adapters.delivery_rows import to_row
from functions.adapters.items import from_item, to_item
from functions.adapters.ledger import DynamoLedger
from functions.adapters.schedule_rows import activity_to_row, endpoint_to_row, profile_to_row, schedule_to_row
from functions.core.customer import Activity, Profile, Schedule
from functions.core.delivery import Delivery
from functions.core.identity import Channel
from functions.core.instants import from_text
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.environment import (
    ACCOUNT,
    BACKOFF_S,
    CONTROL,
    CUSTOMERS,
    DELIVERIES,
    KEY_RINGS,
    REGION,
    SHARDS,
    VISIBILITY_S,
    dead_letter_url,
    queue_url,
)

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_sqs import SQSClient


@dataclass(frozen=True)
class Functions:
    """The handlers' modules, loaded once as Lambda does: with the environment set, before the first event."""

    planner: ModuleType
    reconciler: ModuleType
    email: ModuleType
    sms: ModuleType
    webhook: ModuleType
    telemetry: ModuleType


class Clock:
    """The wall clock, standing still until a test lets time pass."""

    def __init__(self, traveller: time_machine.Traveller) -> None:
        self._traveller = traveller
        self.now = SUNDAY_EVENING

    def __call__(self) -> datetime:
        return self.now

    def advance(self, delta: timedelta) -> datetime:
        return self.move_to(self.now + delta)

    def move_to(self, now: datetime) -> datetime:
        self.now = now
        self._traveller.move_to(now, tick=False)
        return now


@dataclass(frozen=True)
class Region:
    """A region's tables and queues, to set a scene and to look at what became of it."""

    dynamodb: DynamoDBClient
    sqs: SQSClient
    shards: int = SHARDS

    @property
    def ledger(self) -> DynamoLedger:
        return DynamoLedger(self.dynamodb, table=DELIVERIES, shards=self.shards)

    def add(self, profile: Profile, *activities: Activity) -> None:
        self._put(CUSTOMERS, profile_to_row(profile))
        if profile.webhook is not None:
            self._put(CUSTOMERS, endpoint_to_row(profile.customer_id, profile.webhook))
        for activity in activities:
            self._put(CUSTOMERS, activity_to_row(profile.customer_id, activity, purge_at=4_000_000_000))

    def schedule(self, *schedules: Schedule) -> None:
        for schedule in schedules:
            self._put(CUSTOMERS, schedule_to_row(schedule, shards=self.shards))

    def put_deliveries(self, *deliveries: Delivery) -> None:
        for delivery in deliveries:
            self._put(DELIVERIES, to_row(delivery, shards=self.shards))

    def put_raw(self, table: str, row: dict[str, Any]) -> None:
        self._put(table, row)

    def deliveries(self) -> dict[str, Delivery]:
        ids = [item[names.DELIVERY_ID]["S"] for item in self._scan(DELIVERIES)]
        return dict(self.ledger.read(ids))

    def delivery(self, delivery_id: object) -> Delivery:
        return self.ledger.read([str(delivery_id)])[str(delivery_id)]

    def next_run_at(self, schedule: Schedule) -> datetime | None:
        row = self.customer_row(schedule.customer_id, schedule.record)
        return from_text(row[names.NEXT_RUN_AT]) if names.NEXT_RUN_AT in row else None

    def customer_row(self, customer_id: str, record: str) -> dict[str, Any]:
        key: Any = {names.CUSTOMER_ID: {"S": customer_id}, names.RECORD: {"S": record}}
        return from_item(self.dynamodb.get_item(TableName=CUSTOMERS, Key=key).get("Item", {}))

    def bodies(self, url: str) -> list[str]:
        """All bodies that are visible in a queue. They are in flight afterwards."""
        found: dict[str, str] = {}
        while messages := self.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", []):
            for message in messages:
                found[message["MessageId"]] = message["Body"]
        return list(found.values())

    def waiting_ids(self, channel: Channel) -> list[str]:
        return [json.loads(body)["delivery_id"] for body in self.bodies(queue_url(channel))]

    def bury(self, channel: Channel, *bodies: str) -> None:
        """Let SQS itself move messages to the dead-letter queue, as it does after the last allowed receive."""
        for body in bodies:
            self.sqs.send_message(QueueUrl=queue_url(channel), MessageBody=body)
        for _ in range(len(BACKOFF_S) + 2):
            for _ in range(0, len(bodies), 10):
                self.sqs.receive_message(QueueUrl=queue_url(channel), MaxNumberOfMessages=10, VisibilityTimeout=0)

    def count(self, url: str) -> int:
        """Messages in a queue, visible, delayed and in flight."""
        wanted: Any = [
            "ApproximateNumberOfMessages",
            "ApproximateNumberOfMessagesDelayed",
            "ApproximateNumberOfMessagesNotVisible",
        ]
        held = self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=wanted)["Attributes"]
        return sum(int(held[name]) for name in wanted)

    def _put(self, table: str, row: dict[str, Any]) -> None:
        self.dynamodb.put_item(TableName=table, Item=to_item(row))

    def _scan(self, table: str) -> Iterator[dict[str, Any]]:
        for page in self.dynamodb.get_paginator("scan").paginate(TableName=table, ConsistentRead=True):
            yield from page["Items"]


INDEXES: Final[Mapping[str, Mapping[str, tuple[str, str, dict[str, Any]]]]] = {
    CUSTOMERS: {
        names.DUE_INDEX: (names.DUE_SHARD, names.NEXT_RUN_AT, {"ProjectionType": "ALL"}),
        names.NUMBER_INDEX: (names.NUMBER_HASH, names.CUSTOMER_ID, {"ProjectionType": "KEYS_ONLY"}),
    },
    DELIVERIES: {
        names.ATTENTION_INDEX: (
            names.ATTENTION,
            names.ATTENTION_AT,
            {"ProjectionType": "INCLUDE", "NonKeyAttributes": [names.PERIOD]},
        ),
        names.PERIOD_INDEX: (
            names.PERIOD_SHARD,
            names.PERIOD_END,
            {"ProjectionType": "INCLUDE", "NonKeyAttributes": [names.ACCEPTED_AT, names.RECEIPT_OUTCOME]},
        ),
    },
    CONTROL: {},
}


def make_table(dynamodb: DynamoDBClient, table: str, key: tuple[str, ...]) -> None:
    """As stacks/storage.py makes it; a test of the stacks compares the two."""
    indexes: Any = [
        {"IndexName": name, "KeySchema": _key_schema((hashed, sorted_by)), "Projection": projection}
        for name, (hashed, sorted_by, projection) in INDEXES[table].items()
    ]
    attributes = {*key, *(one["AttributeName"] for index in indexes for one in index["KeySchema"])}
    dynamodb.create_table(
        TableName=table,
        BillingMode="PAY_PER_REQUEST",
        KeySchema=_key_schema(key),
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in sorted(attributes)],
        **({"GlobalSecondaryIndexes": indexes} if indexes else {}),
    )


def _key_schema(keys: Any) -> Any:
    return [{"AttributeName": name, "KeyType": kind} for name, kind in zip(keys, ("HASH", "RANGE"), strict=False)]


@cache
def session_in(aws_region: str) -> boto3.Session:
    """One session for all tests, whose clients are made once: making one reads the model of a whole service."""
    session = boto3.Session(region_name=aws_region)
    session.client = cache(session.client)  # type: ignore[method-assign]
    return session


def make_key_rings(aws_region: str = REGION) -> None:
    client = session_in(aws_region).client("secretsmanager")
    for name, text in KEY_RINGS.items():
        client.create_secret(Name=name, SecretString=text)


def make_queues(sqs: SQSClient, queue: Channel | str, aws_region: str = REGION) -> None:
    dead_letters = sqs.create_queue(QueueName=f"{queue}-dead-letters")["QueueUrl"]
    assert dead_letters == dead_letter_url(queue, aws_region)
    redrive = {
        "deadLetterTargetArn": f"arn:aws:sqs:{aws_region}:{ACCOUNT}:{queue}-dead-letters",
        "maxReceiveCount": len(BACKOFF_S) + 1,
    }
    made = sqs.create_queue(
        QueueName=str(queue),
        Attributes={"VisibilityTimeout": str(VISIBILITY_S), "RedrivePolicy": json.dumps(redrive)},
    )
    assert made["QueueUrl"] == queue_url(queue, aws_region)


def log_lines(log: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.getvalue().splitlines()]
