"""How many deliveries of a channel arrived and came back, day by day, in the control table."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from functions import names
from functions.adapters.items import from_item
from functions.core.bounce_brake import Tally
from functions.core.instants import epoch_s_after

if TYPE_CHECKING:
    from datetime import date

    from mypy_boto3_dynamodb import DynamoDBClient

    from functions.core.identity import Channel

KEPT_FOR: Final = timedelta(days=14)


class DynamoReceiptTallies:
    """`ReceiptTallies` on DynamoDB: one item for a channel and a UTC day, written once for each batch of receipts."""

    def __init__(self, client: DynamoDBClient, table: str) -> None:
        self._client = client
        self._table = table

    def add(self, channel: Channel, tally: Tally, *, day: date) -> Tally:
        """Add to a day's tally and return the whole. If its answer is lost it counts twice: the brake acts sooner."""
        counts = asdict(tally)
        answer = self._client.update_item(
            TableName=self._table,
            Key=_key(channel, day),
            UpdateExpression="ADD " + ", ".join(f"{name} :{name}" for name in counts) + " SET #purge_at = :purge_at",
            ExpressionAttributeNames={"#purge_at": names.TTL},
            ExpressionAttributeValues={
                **{f":{name}": {"N": str(count)} for name, count in counts.items()},
                ":purge_at": {"N": str(epoch_s_after(day, KEPT_FOR))},
            },
            ReturnValues="ALL_NEW",
        )
        held = from_item(answer["Attributes"])
        return Tally(**{name: held[name] for name in counts})

    def clear(self, channel: Channel, *, day: date) -> None:
        """Let a day's tally begin anew."""
        counts = asdict(Tally())
        self._client.update_item(
            TableName=self._table,
            Key=_key(channel, day),
            UpdateExpression="SET " + ", ".join(f"{name} = :none" for name in counts),
            ExpressionAttributeValues={":none": {"N": "0"}},
        )


def _key(channel: Channel, day: date) -> Any:  # noqa: ANN401 - a key, as every operation types it anew
    return {names.CONTROL_KEY: {"S": f"receipts#{channel}#{day.isoformat()}"}}
