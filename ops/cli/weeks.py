"""One week's deliveries, counted from the two indexes that hold each of them once: never by reading the table."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from functions import names
from functions.adapters.delivery_rows import attention_partition, period_partition
from functions.core.delivery import Attention
from functions.core.identity import Channel, DeliveryId

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ops.deployment import RegionDeployment

ACCEPTED: Final = "accepted"
SKIPPED: Final = "skipped"
EXPIRED: Final = "expired"
DEAD_LETTER: Final = "dead_letter"
UNCERTAIN: Final = "uncertain"
OPEN: Final = "open"
# Retryable rows are open: they come back by themselves.
_STANDING: Final[Mapping[Attention, str]] = {
    Attention.OPEN: OPEN,
    Attention.RETRYABLE: OPEN,
    Attention.UNCERTAIN: UNCERTAIN,
    Attention.DEAD_LETTER: DEAD_LETTER,
}


@dataclass(slots=True)
class Funnel:
    """Deliveries of one channel, or of several together, by where they stand."""

    planned: int = 0
    to_come: int = 0  # of schedules whose run for this week is still ahead
    standing: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)  # by reason

    @property
    def settled(self) -> int:
        """Deliveries that nothing more will happen to by itself, and of which it is known what happened."""
        return sum(self.standing[end] for end in (ACCEPTED, SKIPPED, EXPIRED, DEAD_LETTER))

    @property
    def percent_settled(self) -> float:
        """How much of the week is done, from 0 to 100, of what is planned and of what is still to come."""
        whole = self.planned + self.to_come
        return 100 * self.settled / whole if whole else 100.0

    @property
    def adds_up(self) -> bool:
        """Whether each planned delivery stands in exactly one place."""
        return self.planned == self.standing.total()

    def add(self, other: Funnel) -> None:
        """Count another funnel's deliveries in."""
        self.planned += other.planned
        self.to_come += other.to_come
        self.standing.update(other.standing)
        self.skipped.update(other.skipped)


@dataclass(frozen=True, slots=True)
class WeekOfRegion:
    """One week in one data region."""

    data_region: str
    channels: Mapping[Channel, Funnel]

    @property
    def total(self) -> Funnel:
        """All channels together."""
        total = Funnel()
        for funnel in self.channels.values():
            total.add(funnel)
        return total


def count_week(region: RegionDeployment, period: str) -> WeekOfRegion:
    """Count the deliveries of the week that opens on the Monday `period` (ISO date).

    Open rows are read before finished ones: a delivery that finishes meanwhile is met twice, never missed. It is
    planned once all the same, so the sums then differ and say that somebody should count again.
    """
    week = WeekOfRegion(region.data_region, {channel: Funnel() for channel in Channel})
    unfinished: set[str] = set()
    for channel, standing, delivery_id in _unfinished(region, period):
        unfinished.add(delivery_id)
        funnel = week.channels[channel]
        funnel.planned += 1
        funnel.standing[standing] += 1
    for delivery_id, end in _finished(region, period):
        status, channel_name, *reason = end.split("#")
        funnel = week.channels[Channel(channel_name)]
        funnel.planned += delivery_id not in unfinished
        funnel.standing[status] += 1
        if status == SKIPPED:
            funnel.skipped.update(reason or ["unknown"])
    return week


def _unfinished(region: RegionDeployment, period: str) -> Iterator[tuple[Channel, str, str]]:
    for why, standing in _STANDING.items():
        for channel in Channel:
            for shard in range(region.shards):
                for item in _index(
                    region, names.ATTENTION_INDEX, names.ATTENTION, attention_partition(why, channel, shard)
                ):
                    if _period_of(item) == period:
                        yield channel, standing, item[names.DELIVERY_ID]["S"]


def _period_of(item: Mapping[str, Any]) -> str:
    if names.PERIOD in item:
        return str(item[names.PERIOD]["S"])
    return DeliveryId.parse(item[names.DELIVERY_ID]["S"]).occasion


def _finished(region: RegionDeployment, period: str) -> Iterator[tuple[str, str]]:
    for shard in range(region.shards):
        for item in _index(region, names.PERIOD_INDEX, names.PERIOD_SHARD, period_partition(period, shard)):
            yield item[names.DELIVERY_ID]["S"], item[names.PERIOD_END]["S"]


def _index(region: RegionDeployment, index: str, attribute: str, partition: str) -> Iterator[Mapping[str, Any]]:
    pages = region.dynamodb.get_paginator("query").paginate(
        TableName=region.deliveries_table,
        IndexName=index,
        KeyConditionExpression="#partition = :partition",
        ExpressionAttributeNames={"#partition": attribute},
        ExpressionAttributeValues={":partition": {"S": partition}},
    )
    for page in pages:
        yield from page["Items"]
