"""How often each webhook of a check has arrived: a note in the control table, for a day."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from functions import names
from functions.adapters.items import from_item

if TYPE_CHECKING:
    from datetime import datetime

    from mypy_boto3_dynamodb import DynamoDBClient

KEPT_FOR: Final = timedelta(days=1)
PREFIX: Final = "smoke#"


class SmokeArrivals:
    """Counts by the webhook's id, which is its delivery's."""

    def __init__(self, client: DynamoDBClient, table: str) -> None:
        self._client = client
        self._table = table

    def note(self, webhook_id: str, *, at: datetime) -> None:
        """Count one more."""
        self._client.update_item(
            TableName=self._table,
            Key=_key(webhook_id),
            UpdateExpression="ADD arrivals :one SET #purge_at = :purge_at",
            ExpressionAttributeNames={"#purge_at": names.TTL},
            ExpressionAttributeValues={":one": {"N": "1"}, ":purge_at": {"N": str(int((at + KEPT_FOR).timestamp()))}},
        )

    def count(self, webhook_id: str) -> int:
        """How often it has arrived."""
        answer = self._client.get_item(TableName=self._table, Key=_key(webhook_id), ConsistentRead=True)
        return int(from_item(answer["Item"])["arrivals"]) if "Item" in answer else 0


def _key(webhook_id: str) -> Any:  # noqa: ANN401 - a key, as every operation types it anew
    return {names.CONTROL_KEY: {"S": PREFIX + webhook_id}}
