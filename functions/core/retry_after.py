"""Retry-After, in both forms that HTTP knows (RFC 9110, section 10.2.3)."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from math import ceil
from typing import Final

LONGEST_WAIT: Final = timedelta(hours=12)
_SECONDS: Final = re.compile(r"[0-9]+")
_MOST_DIGITS: Final = 9  # of a number of seconds that is worth reading: 30 years


def retry_at(header: str | None, *, now: datetime, longest: timedelta = LONGEST_WAIT) -> datetime | None:
    """Return the instant that a Retry-After header asks to wait for: never earlier, at most `longest` from now.

    None where there is no header, where it is nonsense, and where it names a time that has passed: the caller then
    backs off by its own rule. Parts of a second are rounded up.
    """
    text = (header or "").strip()
    wait = _of_seconds(text, longest) if _SECONDS.fullmatch(text) else _until_date(text, now)
    return None if wait is None or wait <= timedelta() else now + min(wait, longest)


def _of_seconds(digits: str, longest: timedelta) -> timedelta:
    significant = digits.lstrip("0")
    return longest if len(significant) > _MOST_DIGITS else timedelta(seconds=int(significant or "0"))


def _until_date(text: str, now: datetime) -> timedelta | None:
    try:
        wanted = parsedate_to_datetime(text)
        # A date without a zone is in UTC: the oldest of the three forms has none.
        wanted = wanted.replace(tzinfo=UTC) if wanted.tzinfo is None else wanted.astimezone(UTC)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return timedelta(seconds=ceil((wanted - now).total_seconds()))
