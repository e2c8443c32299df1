"""Who did what to a region, when and why: one record for each action of an operator, in the control table."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from functions import names
from functions.adapters.items import from_item, to_item
from functions.core.instants import from_text, to_text

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

KEPT_FOR: Final = timedelta(days=365)
_PREFIX: Final = "audit#"


@dataclass(frozen=True, slots=True)
class Action:
    """What an operator did. `who` is the ARN of their credentials; `why` is their own word, never a person's data."""

    at: datetime
    who: str
    what: str  # such as `pause email`
    why: str
    how_many: int | None = None  # deliveries or messages that it touched, where it is about several


class AuditTrail:
    """The records of one region."""

    def __init__(self, client: DynamoDBClient, table: str) -> None:
        self._client = client
        self._table = table

    def record(self, action: Action) -> None:
        """Keep a record for KEPT_FOR. The same action recorded again takes the place of the first record."""
        at = to_text(action.at)
        row = {
            names.CONTROL_KEY: f"{_PREFIX}{at}#{action.what}",
            "at": at,
            "who": action.who,
            "what": action.what,
            "why": action.why,
            "how_many": action.how_many,
            names.TTL: int((action.at + KEPT_FOR).timestamp()),
        }
        self._client.put_item(TableName=self._table, Item=to_item(row))

    def latest(self, limit: int, *, about: str = "") -> list[Action]:
        """The last actions, newest first, of those that have `about` in what they are.

        Reads the whole table, which holds little else: gates, leases, weeks.
        """
        pages = self._client.get_paginator("scan").paginate(
            TableName=self._table,
            ConsistentRead=True,
            FilterExpression="begins_with(#key, :prefix)",
            ExpressionAttributeNames={"#key": names.CONTROL_KEY},
            ExpressionAttributeValues={":prefix": {"S": _PREFIX}},
        )
        rows: list[dict[str, Any]] = [from_item(item) for page in pages for item in page["Items"]]
        meant = (row for row in rows if about in row["what"])
        newest = sorted(meant, key=lambda row: str(row["at"]), reverse=True)[:limit]
        return [
            Action(from_text(row["at"]), row["who"], row["what"], row["why"], row.get("how_many")) for row in newest
        ]
