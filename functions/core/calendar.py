"""Local weeks and local times. UTC inside, IANA zones at this edge and nowhere else.

The bundled `tzdata` answers where the machine has no zone files, as on Lambda.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

WEEK: Final = timedelta(days=7)
_MINUTE: Final = timedelta(minutes=1)


class UnknownTimeZoneError(ValueError):
    """The IANA database has no zone of that name."""


@lru_cache(maxsize=1024)
def zone(name: str) -> ZoneInfo:
    """Return the zone of an IANA name such as `Europe/Berlin`; UnknownTimeZoneError otherwise."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        msg = f"time_zone: {name!r} is not an IANA zone; write one like Europe/Berlin"
        raise UnknownTimeZoneError(msg) from None


def monday_of(day: date) -> date:
    """Return the Monday that opens the ISO week of a day."""
    return day - timedelta(days=day.weekday())


def at_local(day: date, clock: time, where: ZoneInfo) -> datetime:
    """Return the UTC instant of a wall-clock time.

    A time that the clocks skip becomes the next one that exists; a time that comes twice is its first.
    """
    wall = datetime.combine(day, clock)
    instant = wall.replace(tzinfo=where, fold=0).astimezone(UTC)
    while instant.astimezone(where).replace(tzinfo=None) != wall:
        wall += _MINUTE
        instant = wall.replace(tzinfo=where, fold=0).astimezone(UTC)
    return instant


def last_at_local(day: date, clock: time, where: ZoneInfo) -> datetime:
    """Return the UTC instant of a wall-clock time, its last one where it comes twice; `at_local` otherwise."""
    first = at_local(day, clock, where)
    last = datetime.combine(day, clock).replace(tzinfo=where, fold=1).astimezone(UTC)
    return max(first, last) if last.astimezone(where).replace(tzinfo=None) == datetime.combine(day, clock) else first


def next_weekly(weekday: int, clock: time, where: ZoneInfo, *, after: datetime) -> datetime:
    """Return the first UTC instant strictly after `after` at which it is that weekday (Monday is 0) and time there."""
    day = after.astimezone(where).date()
    day += timedelta(days=(weekday - day.weekday()) % 7)
    while True:
        instant = at_local(day, clock, where)
        if instant > after:
            return instant
        day += WEEK


def period_reported(run_at: datetime, where: ZoneInfo) -> date:
    """Return the Monday of the local week that a digest run at `run_at` reports: the last one that had ended.

    Every run inside one local week reports the same period, so whoever changes zone in the middle of a week still
    gets one digest for it.
    """
    return monday_of(run_at.astimezone(where).date()) - WEEK


def all_expired_at(period_start: date, expires_after: timedelta) -> datetime:
    """Return when every delivery of a week has expired, wherever in the world its customers are.

    A digest falls due in the week after the one that it reports, and no clock is more than a day away from UTC. A
    reminder may have been given longer; where one is still open by then, somebody should look at it all the same.
    """
    return datetime.combine(period_start + 2 * WEEK + timedelta(days=1), time(), UTC) + expires_after


def period_bounds(period_start: date, where: ZoneInfo) -> tuple[datetime, datetime]:
    """Return the UTC instants at which a local week begins and ends (end excluded)."""
    midnight = time()
    return at_local(period_start, midnight, where), at_local(period_start + WEEK, midnight, where)
