"""Schedules in the due index: what is due, and what comes next. Reads no more than it shows."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING, Any, Final

from functions import names
from functions.adapters.items import from_item
from functions.adapters.plan_book import PAGE, read_schedule
from functions.core.calendar import WEEK, UnknownTimeZoneError, period_reported, zone
from functions.core.customer import DigestSchedule
from functions.core.instants import to_text
from functions.core.ports import UnreadableSchedule

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

    from functions.adapters.region_tables import RegionTables
    from functions.core.customer import Schedule

_A_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Due:
    """What is due in a data region."""

    data_region: str
    count: int
    coming: tuple[Schedule, ...]  # the first that run, overdue ones included, oldest first
    unreadable: tuple[UnreadableSchedule, ...] = ()  # rows among the first that make no sense: planned by nobody

    @property
    def oldest(self) -> datetime | None:
        """When the first of them was, or will be, due."""
        return self.coming[0].next_run_at if self.coming else None


def look_ahead(region: RegionTables, *, now: datetime, limit: int, counted_to: int | None = None) -> Due:
    """Count what is due by now, and read the first `limit` schedules that run.

    Whoever looks often counts no further than `counted_to`, or a little beyond.
    """
    shards = range(region.shards)
    read = [one for shard in shards for one in _first(region, shard, limit)]
    runs = (one for one in read if not isinstance(one, UnreadableSchedule))
    coming = heapq.nsmallest(limit, runs, key=lambda schedule: schedule.next_run_at)
    unreadable = tuple(one for one in read if isinstance(one, UnreadableSchedule))
    return Due(region.data_region, _count(region, to_text(now), counted_to), tuple(coming), unreadable)


def what(schedule: Schedule) -> str:
    """`digest`, `reminder invoice-9`."""
    return "digest" if isinstance(schedule, DigestSchedule) else f"reminder {schedule.event_id}"


def local_run(schedule: Schedule) -> str:
    """`Mon 09:00 EST`, as the customer's clock shows it; nothing for an instant without a zone."""
    where = schedule if isinstance(schedule, DigestSchedule) else schedule.due_local
    if where is None:
        return ""
    try:
        return f"{schedule.next_run_at.astimezone(zone(where.time_zone)):%a %H:%M %Z}"
    except UnknownTimeZoneError:
        return "unknown zone"


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


def _count(region: RegionTables, until: str, most: int | None) -> int:
    limit: dict[str, Any] = {} if most is None else {"Limit": most}
    counted = 0
    for shard in range(region.shards):
        for page in _pages(region, shard, until=until, Select="COUNT", **limit):
            counted += int(page["Count"])
            if most is not None and counted >= most:
                return counted
    return counted


def _first(region: RegionTables, shard: int, limit: int) -> Iterator[Schedule | UnreadableSchedule]:
    # Instants are text of fixed width, so "~" comes after all of them.
    for page in _pages(region, shard, until="~", Limit=limit):
        yield from (read_schedule(from_item(item)) for item in page["Items"])
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
        **({} if "Select" in asked else {"Limit": PAGE}),  # a count reads a megabyte at a time
        **asked,
    }
    while True:
        page = region.dynamodb.query(**query)
        yield page
        if "LastEvaluatedKey" not in page:
            return
        query["ExclusiveStartKey"] = page["LastEvaluatedKey"]
