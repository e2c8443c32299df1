"""How a channel stands: whether it sends, how fast, and what is on its way or waits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from functions import names
from functions.adapters.delivery_rows import attention_partition
from functions.adapters.traffic import DynamoTraffic
from functions.core.delivery import Attention

if TYPE_CHECKING:
    from functions.adapters.region_tables import RegionTables
    from functions.core.identity import Channel
    from functions.core.traffic import Gate


@dataclass(frozen=True, slots=True)
class Standing:
    """How a channel stands in one data region."""

    channel: Channel
    gate: Gate
    rate_per_second: float
    on_the_way: int  # planned, queued or being sent
    waiting: int  # put off, or to be tried again

    @classmethod
    def of(
        cls, region: RegionTables, channel: Channel, *, rate_per_second: float, counted_to: int | None = None
    ) -> Self:
        """Read how it stands. Whoever looks often counts no further than `counted_to`, or a little beyond."""
        return cls(
            channel,
            DynamoTraffic(region.dynamodb, region.control_table).gate(channel),
            rate_per_second,
            on_the_way=_count(region, Attention.OPEN, channel, counted_to),
            waiting=_count(region, Attention.RETRYABLE, channel, counted_to),
        )

    def outlook(self) -> str:
        """`1,204 deliveries wait, 14 a second`."""
        wait = "delivery waits" if self.waiting == 1 else "deliveries wait"
        return f"{self.waiting:,} {wait}, {self.rate_per_second:g} a second"


def _count(region: RegionTables, why: Attention, channel: Channel, most: int | None) -> int:
    limit: dict[str, Any] = {} if most is None else {"Limit": most}
    pages = (
        page
        for shard in range(region.shards)
        for page in region.dynamodb.get_paginator("query").paginate(
            TableName=region.deliveries_table,
            IndexName=names.ATTENTION_INDEX,
            Select="COUNT",
            KeyConditionExpression="#partition = :partition",
            ExpressionAttributeNames={"#partition": names.ATTENTION},
            ExpressionAttributeValues={":partition": {"S": attention_partition(why, channel, shard)}},
            **limit,
        )
    )
    counted = 0
    for page in pages:
        counted += page["Count"]
        if most is not None and counted >= most:
            break
    return counted
