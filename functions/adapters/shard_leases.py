"""Which planner holds which shard, in the control table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from functions import names
from functions.adapters.conditional_write import updated
from functions.core.instants import to_text

if TYPE_CHECKING:
    from datetime import datetime

    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef


class DynamoShardLeases:
    """`ShardLeases` on DynamoDB. A lease only saves double work: the rows' own conditions keep planning right."""

    def __init__(self, client: DynamoDBClient, table: str) -> None:
        self._client = client
        self._table = table

    def take(self, shard: int, *, owner: str, now: datetime, until: datetime) -> bool:
        """Take a shard that is free, run out, or ours already (Lambda retries an invocation under the same id)."""
        return updated(
            self._client,
            TableName=self._table,
            Key=_key(shard),
            UpdateExpression="SET #owner = :owner, lease_until = :until",
            ConditionExpression="attribute_not_exists(#owner) OR lease_until <= :now OR #owner = :owner",
            ExpressionAttributeNames={"#owner": "owner"},
            ExpressionAttributeValues={
                ":owner": {"S": owner},
                ":until": {"S": to_text(until)},
                ":now": {"S": to_text(now)},
            },
        )

    def give_back(self, shard: int, *, owner: str) -> None:
        """Give a shard back; if it is no longer ours, leave it."""
        updated(
            self._client,
            TableName=self._table,
            Key=_key(shard),
            UpdateExpression="REMOVE #owner, lease_until",
            ConditionExpression="#owner = :owner",
            ExpressionAttributeNames={"#owner": "owner"},
            ExpressionAttributeValues={":owner": {"S": owner}},
        )


def _key(shard: int) -> dict[str, AttributeValueTypeDef]:
    return {names.CONTROL_KEY: {"S": f"planner#{shard}"}}
