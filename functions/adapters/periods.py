"""Which weeks are open, in one item of the control table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from functions import names
from functions.adapters.conditional_write import updated
from functions.adapters.items import from_item
from functions.core.instants import to_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from mypy_boto3_dynamodb import DynamoDBClient

_OPEN: Final = "open#"  # "open#2026-11-23" holds a week's version, "closed#2026-11-23" when it was closed
_CLOSED: Final = "closed#"


class DynamoPeriods:
    """`Periods` on DynamoDB. Weeks are few, so all of them fit into one item."""

    def __init__(self, client: DynamoDBClient, table: str) -> None:
        self._client = client
        self._table = table

    def open(self, period: str, *, at: datetime) -> None:
        """Record that a week has open deliveries. Each call raises its version, which closing must find unchanged."""
        self._client.update_item(
            TableName=self._table,
            Key=_key(),
            UpdateExpression="ADD #open :one SET opened_at = :at REMOVE #closed",
            ExpressionAttributeNames={"#open": _OPEN + period, "#closed": _CLOSED + period},
            ExpressionAttributeValues={":one": {"N": "1"}, ":at": {"S": to_text(at)}},
        )

    def all_open(self) -> Mapping[str, int]:
        """Return the open weeks with their versions."""
        return {name.removeprefix(_OPEN): version for name, version in self._item().items() if name.startswith(_OPEN)}

    def closed_at(self) -> Mapping[str, str]:
        """Return when each closed week was closed."""
        return {name.removeprefix(_CLOSED): at for name, at in self._item().items() if name.startswith(_CLOSED)}

    def close(self, period: str, *, version: int, at: datetime) -> bool:
        """Record that a week has no open deliveries left; False if it was opened again since its version was read."""
        return updated(
            self._client,
            TableName=self._table,
            Key=_key(),
            UpdateExpression="SET #closed = :at REMOVE #open",
            ConditionExpression="#open = :version",
            ExpressionAttributeNames={"#open": _OPEN + period, "#closed": _CLOSED + period},
            ExpressionAttributeValues={":version": {"N": str(version)}, ":at": {"S": to_text(at)}},
        )

    def _item(self) -> dict[str, Any]:
        answer = self._client.get_item(TableName=self._table, Key=_key(), ConsistentRead=True)
        return from_item(answer.get("Item", {}))


def _key() -> Any:  # noqa: ANN401 - a key, as every operation types it anew
    return {names.CONTROL_KEY: {"S": "periods"}}
