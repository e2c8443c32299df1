"""Counting accepted deliveries without a receipt, from the index that holds a week's finished rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from functions import names
from functions.adapters.delivery_rows import period_partition
from functions.core.delivery import Status
from functions.core.instants import to_text

if TYPE_CHECKING:
    from datetime import datetime

    from mypy_boto3_dynamodb import DynamoDBClient

    from functions.core.identity import Channel


class DynamoAwaitedReceipts:
    """`AwaitedReceipts` on index `by_period`, which shows when a row was accepted and what became of it."""

    def __init__(self, client: DynamoDBClient, *, table: str, shards: int) -> None:
        self._client = client
        self._table = table
        self._shards = shards

    def count(self, period: str, channel: Channel, *, accepted_before: datetime) -> int:
        """Count in the index alone: no row is read."""
        return sum(
            self._count(period_partition(period, shard), channel, accepted_before) for shard in range(self._shards)
        )

    def _count(self, partition: str, channel: Channel, accepted_before: datetime) -> int:
        pages = self._client.get_paginator("query").paginate(
            TableName=self._table,
            IndexName=names.PERIOD_INDEX,
            Select="COUNT",
            KeyConditionExpression="#partition = :partition AND #end = :accepted",
            FilterExpression="#accepted_at < :before AND attribute_not_exists(#outcome)",
            ExpressionAttributeNames={
                "#partition": names.PERIOD_SHARD,
                "#end": names.PERIOD_END,
                "#accepted_at": names.ACCEPTED_AT,
                "#outcome": names.RECEIPT_OUTCOME,
            },
            ExpressionAttributeValues={
                ":partition": {"S": partition},
                ":accepted": {"S": f"{Status.ACCEPTED}#{channel}"},
                ":before": {"S": to_text(accepted_before)},
            },
        )
        return sum(page["Count"] for page in pages)
