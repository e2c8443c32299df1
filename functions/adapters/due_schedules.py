"""Schedules in the due index: what is due, and what comes next. Reads no more than it shows."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from functions import names
from functions.adapters.items import from_item
from functions.adapters.plan_book import PAGE, read_schedule
from functions.adapters.schedule_rows import schedule_from_row
from functions.core.calendar import WEEK, UnknownTimeZoneError, period_reported, zone
from functions.core.customer import DigestSchedule
from functions.core.instants import to_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

    from functions.adapters.region_tables import RegionTables
    from functions.core.customer import Schedule
    from functions.core.ports import UnreadableSchedule

_A_DAY: Final = timedelta(days=1)


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


def look_ahead(region: RegionTables, *, now: datetime, limit: int) -> Due:
    """Count what is due by now, and read the first `limit` schedules that run."""
    until = to_text(now)
    shards = range(region.shards)
    count = sum(page["Count"] for shard in shards for page in _pages(region, shard, until=until, Select="COUNT"))
    firsts = (_first(region, shard, limit) for shard in shards)
    coming = heapq.nsmallest(limit, chain.from_iterable(firsts), key=lambda schedule: schedule.next_run_at)
    return Due(region.data_region, count, tuple(coming))


def due_by(region: RegionTables, until: datetime) -> Iterator[Schedule | UnreadableSchedule]:
    """Every schedule that is due by a time."""
    for shard in range(region.shards):
        for page in _pages(region, shard, until=to_text(until)):
            yield from (read_schedule(from_item(item)) for item in page["Items"])


def still_to_run(region: RegionTables, period: date) -> Iterator[DigestSchedule]:
    """Digest schedules whose next run will report the week that opens on this Monday."""
    # The run lies in the week after, wherever on earth; which week it reports, its zone decides.
    begins = datetime.combine(period + WEEK, time(), UTC)
    since, until = to_text(begins - _A_DAY), to_text(begins + WEEK + _A_DAY)
    for shard in range(region.shards):
        for page in _pages(region, shard, since=since, until=until):
            read = (read_schedule(from_item(item)) for item in page["Items"])
            yield from (one for one in read if isinstance(one, DigestSchedule) and _reports(one, period))


def _reports(schedule: DigestSchedule, period: date) -> bool:
    try:
        return period_reported(schedule.next_run_at, zone(schedule.time_zone)) == period
    except UnknownTimeZoneError:
        return False


def _first(region: RegionTables, shard: int, limit: int) -> Iterator[Schedule]:
    # Instants are text of fixed width, so "~" comes after all of them.
    for page in _pages(region, shard, until="~", Limit=limit):
        yield from (schedule_from_row(from_item(item)) for item in page["Items"])
        return


def _pages(region: RegionTables, shard: int, *, since: str = "0", until: str, **asked: Any) -> Iterator[Any]:  # noqa: ANN401 - query's own
    query: dict[str, Any] = {
        "TableName": region.customers_table,
        "IndexName": names.DUE_INDEX,
        "KeyConditionExpression": "#shard = :shard AND #next_run_at BETWEEN :since AND :until",
        "ExpressionAttributeNames": {"#shard": names.DUE_SHARD, "#next_run_at": names.NEXT_RUN_AT},
        "ExpressionAttributeValues": {
            ":shard": {"S": f"due#{shard}"},
            ":since": {"S": since},
            ":until": {"S": until},
        },
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
