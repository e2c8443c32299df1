"""How many schedules were planned on each UTC day, and until when more than usual may be, in the control table."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from functions import names
from functions.adapters.conditional_write import updated
from functions.adapters.items import from_item, to_item
from functions.core.instants import epoch_s_after, from_text, to_text

if TYPE_CHECKING:
    from datetime import date, datetime

    from mypy_boto3_dynamodb import DynamoDBClient

KEPT_FOR: Final = timedelta(days=35)
_APPROVAL: Final = "surge"


class DynamoPlannedDays:
    """`PlannedDays` on DynamoDB: one item a day, written once for each page of due schedules."""

    def __init__(self, client: DynamoDBClient, table: str) -> None:
        self._client = client
        self._table = table

    def planned(self, day: date) -> int:
        """Read a day's number."""
        return int(self._read(_day(day)).get("schedules", 0))

    def add(self, day: date, schedules: int, *, at_most: int | None) -> bool:
        """Add to a day's number in one conditional write; False if it would become more than `at_most`."""
        if at_most is not None and schedules > at_most:
            return False
        values: dict[str, Any] = {
            ":more": {"N": str(schedules)},
            ":purge_at": {"N": str(epoch_s_after(day, KEPT_FOR))},
        }
        condition = {}
        if at_most is not None:
            condition["ConditionExpression"] = "attribute_not_exists(schedules) OR schedules <= :room"
            values[":room"] = {"N": str(at_most - schedules)}
        return updated(
            self._client,
            TableName=self._table,
            Key=_key(_day(day)),
            UpdateExpression="ADD schedules :more SET #purge_at = :purge_at",
            ExpressionAttributeNames={"#purge_at": names.TTL},
            ExpressionAttributeValues=values,
            **condition,
        )

    def approved_until(self) -> datetime | None:
        """Read until when more than usual may be planned."""
        held = self._read(_APPROVAL)
        return from_text(held["approved_until"]) if "approved_until" in held else None

    def approve(self, until: datetime) -> None:
        """Let more than usual be planned until then."""
        row = {names.CONTROL_KEY: _APPROVAL, "approved_until": to_text(until)}
        self._client.put_item(TableName=self._table, Item=to_item(row))

    def _read(self, key: str) -> dict[str, Any]:
        answer = self._client.get_item(TableName=self._table, Key=_key(key), ConsistentRead=True)
        return from_item(answer.get("Item", {}))


def _day(day: date) -> str:
    return f"planned#{day.isoformat()}"


def _key(key: str) -> Any:  # noqa: ANN401 - a key, as every operation types it anew
    return {names.CONTROL_KEY: {"S": key}}
