"""A region's tables, queues and functions as the tests use them, with the key schema that the stacks give them."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

import time_machine

from functions import names
from functions.adapters.delivery_rows import to_row
from functions.adapters.items import from_item, to_item
from functions.adapters.ledger import DynamoLedger
from functions.adapters.schedule_rows import activity_to_row, profile_to_row, schedule_to_row
from functions.core.customer import Activity, Profile, Schedule
from functions.core.delivery import Delivery
from functions.core.identity import Channel
from functions.core.instants import from_text
from tests.fakes.clock import SUNDAY_EVENING

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_sqs import SQSClient

REGION: Final = "us-east-1"
ACCOUNT: Final = "123456789012"
CUSTOMERS, DELIVERIES, CONTROL = "customers", "deliveries", "control"
SENDERS: Final = {Channel.EMAIL: "digest@example.com", Channel.SMS: "DIGEST"}
PROVIDERS: Final = {Channel.EMAIL: "ses", Channel.SMS: "sns"}
BACKOFF_S: Final = (30, 120, 600, 1800, 3600)
VISIBILITY_S: Final = 180
SHARDS: Final = 2


def queue_url(channel: Channel) -> str:
    return f"https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/{channel}"


def dead_letter_url(channel: Channel) -> str:
    return queue_url(channel) + "-dead-letters"


ENVIRONMENT: Final = {
    "AWS_DEFAULT_REGION": REGION,
    "AWS_REGION": REGION,
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_SESSION_TOKEN": "testing",
    "AWS_EC2_METADATA_DISABLED": "true",
    "POWERTOOLS_LOG_LEVEL": "DEBUG",  # the canary must not be seen at any level
    names.ENV_DATA_REGION: "us",
    names.ENV_CUSTOMERS_TABLE: CUSTOMERS,
    names.ENV_DELIVERIES_TABLE: DELIVERIES,
    names.ENV_CONTROL_TABLE: CONTROL,
    names.ENV_SHARDS: str(SHARDS),
    names.ENV_KEEP_DELIVERIES_DAYS: "90",
    names.ENV_ATTENTION_AFTER_S: "300",
    names.ENV_SILENCE_AFTER_S: "240",
    names.ENV_INTERVAL_S: "60",
    names.ENV_EXPIRES_AFTER_S: str(72 * 3600),
    names.ENV_MAX_LATENESS_S: str(24 * 3600),
    names.ENV_SITE_URL: "https://shop.example.com",
    names.ENV_BACKOFF_S: ",".join(str(pause) for pause in BACKOFF_S),
    names.ENV_SEND_TIMEOUT_S: "5",
    names.ENV_RATE_PER_SECOND: "1000",
    **{names.queue_url_env(channel): queue_url(channel) for channel in Channel},
    **{names.provider_env(channel): PROVIDERS[channel] for channel in Channel},
    **{names.rate_env(channel): "1000" for channel in Channel},
}


def channel_environment(channel: Channel) -> dict[str, str]:
    return {
        names.ENV_CHANNEL: str(channel),
        names.ENV_PROVIDER: PROVIDERS[channel],
        names.ENV_SENDER: SENDERS[channel],
        names.ENV_QUEUE_URL: queue_url(channel),
    }


@dataclass(frozen=True)
class Functions:
    """The handlers' modules, loaded once as Lambda does: with the environment set, before the first event."""

    planner: ModuleType
    reconciler: ModuleType
    email: ModuleType
    sms: ModuleType
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
    CUSTOMERS: {names.DUE_INDEX: (names.DUE_SHARD, names.NEXT_RUN_AT, {"ProjectionType": "ALL"})},
    DELIVERIES: {
        names.ATTENTION_INDEX: (
            names.ATTENTION,
            names.ATTENTION_AT,
            {"ProjectionType": "INCLUDE", "NonKeyAttributes": [names.PERIOD]},
        ),
        names.PERIOD_INDEX: (names.PERIOD_SHARD, names.PERIOD_END, {"ProjectionType": "KEYS_ONLY"}),
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


def make_queues(sqs: SQSClient, channel: Channel) -> None:
    dead_letters = sqs.create_queue(QueueName=f"{channel}-dead-letters")["QueueUrl"]
    assert dead_letters == dead_letter_url(channel)
    redrive = {
        "deadLetterTargetArn": f"arn:aws:sqs:{REGION}:{ACCOUNT}:{channel}-dead-letters",
        "maxReceiveCount": len(BACKOFF_S) + 1,
    }
    made = sqs.create_queue(
        QueueName=str(channel),
        Attributes={"VisibilityTimeout": str(VISIBILITY_S), "RedrivePolicy": json.dumps(redrive)},
    )
    assert made["QueueUrl"] == queue_url(channel)


def log_lines(log: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.getvalue().splitlines()]
