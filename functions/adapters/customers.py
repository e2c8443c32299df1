"""What is known of a customer, read consistently and in one request."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from functions import names
from functions.adapters.items import from_item
from functions.adapters.schedule_rows import (
    activity_from_row,
    endpoint_from_row,
    profile_from_row,
    schedule_from_row,
)
from functions.core.customer import ACTIVITY, PROFILE, REMINDER_SCHEDULE, WEBHOOK_ENDPOINT, ReminderSchedule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import date

    from mypy_boto3_dynamodb import DynamoDBClient

    from functions.core.customer import Activity, Profile


class DynamoCustomers:
    """`Customers` on DynamoDB."""

    def __init__(self, client: DynamoDBClient, table: str) -> None:
        self._client = client
        self._table = table

    def digest_material(self, customer_id: str, since: date) -> tuple[Profile | None, Sequence[Activity]]:
        """Return profile and activity with a single query.

        `ACTIVITY#...` sorts before `ENDPOINT#...`, and that before `PROFILE`, so the range from the period's first day
        to the profile holds all of them. It starts a day early because the week begins at local midnight.
        """
        first = f"{ACTIVITY}{(since - timedelta(days=1)).isoformat()}"
        about: dict[str, Mapping[str, Any]] = {}
        activities: list[Activity] = []
        for row in customer_records(self._client, self._table, customer_id, first=first, last=PROFILE):
            if row[names.RECORD].startswith(ACTIVITY):
                activities.append(activity_from_row(row))
            else:
                about[row[names.RECORD]] = row
        return _profile(about), activities

    def reminder_material(self, customer_id: str, event_id: str) -> tuple[Profile | None, ReminderSchedule | None]:
        """Return profile and reminder with a single request."""
        records = (PROFILE, WEBHOOK_ENDPOINT, REMINDER_SCHEDULE + event_id)
        keys: Any = [_key(customer_id, record) for record in records]
        wanted: Any = {self._table: {"Keys": keys, "ConsistentRead": True}}
        about: dict[str, Mapping[str, Any]] = {}
        reminder: ReminderSchedule | None = None
        while wanted:
            answer = self._client.batch_get_item(RequestItems=wanted)
            for item in answer["Responses"].get(self._table, []):
                row = from_item(item)
                if not row[names.RECORD].startswith(REMINDER_SCHEDULE):
                    about[row[names.RECORD]] = row
                elif isinstance(schedule := schedule_from_row(row), ReminderSchedule):
                    reminder = schedule
            wanted = answer.get("UnprocessedKeys")
        return _profile(about), reminder


def customer_records(
    client: DynamoDBClient, table: str, customer_id: str, *, first: str, last: str
) -> Iterator[Mapping[str, Any]]:
    """Rows of a customer's partition from one sort key to another, both included, read consistently."""
    pages = client.get_paginator("query").paginate(
        TableName=table,
        KeyConditionExpression="#customer_id = :customer_id AND #record BETWEEN :first AND :last",
        ExpressionAttributeNames={"#customer_id": names.CUSTOMER_ID, "#record": names.RECORD},
        ExpressionAttributeValues={
            ":customer_id": {"S": customer_id},
            ":first": {"S": first},
            ":last": {"S": last},
        },
        ConsistentRead=True,
    )
    for page in pages:
        yield from (from_item(item) for item in page["Items"])


def _profile(about: Mapping[str, Mapping[str, Any]]) -> Profile | None:
    if PROFILE not in about:
        return None
    profile = profile_from_row(about[PROFILE])
    if WEBHOOK_ENDPOINT not in about:
        return profile
    return replace(profile, webhook=endpoint_from_row(about[WEBHOOK_ENDPOINT]))


def _key(customer_id: str, record: str) -> dict[str, Any]:
    return {names.CUSTOMER_ID: {"S": customer_id}, names.RECORD: {"S": record}}
