"""Schedules in the due index: what is due, and what comes next. Reads no more than it shows."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from functions import names
from functions.adapters.items import from_item
from functions.adapters.plan_book import PAGE
from functions.adapters.schedule_rows import schedule_from_row
from functions.core.instants import to_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from functions.core.customer import Schedule
    from ops.deployment import RegionDeployment


@dataclass(frozen=True, slots=True)
class Due:
    """What is due in a data region."""

    data_region: str
    count: int
    coming: tuple[Schedule, ...]  # the first that run, overdue ones included, oldest first

    @property
    def oldest(self) -> datetime | None:
        """When the first of them was, or will be, due."""
        return self.coming[0].next_run_at if self.coming else None


def look_ahead(region: RegionDeployment, *, now: datetime, limit: int) -> Due:
    """Count what is due by now, and read the first `limit` schedules that run."""
    until = to_text(now)
    shards = range(region.shards)
    count = sum(page["Count"] for shard in shards for page in _pages(region, shard, until=until, Select="COUNT"))
    firsts = (_first(region, shard, limit) for shard in shards)
    coming = heapq.nsmallest(limit, chain.from_iterable(firsts), key=lambda schedule: schedule.next_run_at)
    return Due(region.data_region, count, tuple(coming))


def due_by(region: RegionDeployment, until: datetime) -> Iterator[Schedule]:
    """Every schedule that is due by a time."""
    for shard in range(region.shards):
        for page in _pages(region, shard, until=to_text(until)):
            yield from (schedule_from_row(from_item(item)) for item in page["Items"])


def _first(region: RegionDeployment, shard: int, limit: int) -> Iterator[Schedule]:
    # Instants are text of fixed width, so "~" comes after all of them.
    for page in _pages(region, shard, until="~", Limit=limit):
        yield from (schedule_from_row(from_item(item)) for item in page["Items"])
        return


def _pages(region: RegionDeployment, shard: int, *, until: str, **asked: Any) -> Iterator[Any]:  # noqa: ANN401 - query's own
    query: dict[str, Any] = {
        "TableName": region.customers_table,
        "IndexName": names.DUE_INDEX,
        "KeyConditionExpression": "#shard = :shard AND #next_run_at <= :until",
        "ExpressionAttributeNames": {"#shard": names.DUE_SHARD, "#next_run_at": names.NEXT_RUN_AT},
        "ExpressionAttributeValues": {":shard": {"S": f"due#{shard}"}, ":until": {"S": until}},
        "Limit": PAGE,
        **asked,
    }
    if "Select" in asked:
        del query["Limit"]  # a count reads a megabyte at a time
    while True:
        page = region.dynamodb.query(**query)
        yield page
        if "LastEvaluatedKey" not in page:
            return
        query["ExclusiveStartKey"] = page["LastEvaluatedKey"]
