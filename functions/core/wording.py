"""How instants, ages and numbers are written for the people who run this: in a terminal and on a dashboard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from functions.core.instants import to_text

if TYPE_CHECKING:
    from datetime import datetime
    from zoneinfo import ZoneInfo

_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR


def count_of(number: int, one: str, many: str | None = None) -> str:
    """`1 line`, `1,204 lines`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def utc(instant: datetime) -> str:
    """`2026-11-29 20:05:00 UTC`."""
    return to_text(instant)[:19].replace("T", " ") + " UTC"


def local(instant: datetime, where: ZoneInfo) -> str:
    """`Mon 2026-11-30 09:00 EST`, as the customer's own clock shows it."""
    return f"{instant.astimezone(where):%a %Y-%m-%d %H:%M %Z}"


def distance(instant: datetime, now: datetime) -> str:
    """`in 3 h`, `12 min ago`: the largest unit that says something."""
    seconds = round(abs((instant - now).total_seconds()))
    for unit, length in (("d", _DAY), ("h", _HOUR), ("min", _MINUTE), ("s", 1)):
        if seconds >= length:
            amount = f"{seconds // length} {unit}"
            return f"in {amount}" if instant > now else f"{amount} ago"
    return "now"
