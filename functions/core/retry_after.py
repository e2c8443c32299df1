"""Retry-After, in both forms that HTTP knows (RFC 9110, section 10.2.3)."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from math import ceil
from typing import Final

LONGEST_WAIT: Final = timedelta(hours=12)
_SECONDS: Final = re.compile(r"[0-9]{1,9}")


def retry_at(header: str | None, *, now: datetime, longest: timedelta = LONGEST_WAIT) -> datetime | None:
    """Return the instant that a Retry-After header asks to wait for: never earlier, at most `longest` from now.

    None where there is no header, where it is nonsense, and where it names a time that has passed: the caller then
    backs off by its own rule. Parts of a second are rounded up.
    """
    text = (header or "").strip()
    if _SECONDS.fullmatch(text):
        return now + min(timedelta(seconds=int(text)), longest) if int(text) else None
    try:
        wanted = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    wanted = wanted.replace(tzinfo=UTC) if wanted.tzinfo is None else wanted.astimezone(UTC)
    wait = wanted - now
    return None if wait <= timedelta() else now + min(timedelta(seconds=ceil(wait.total_seconds())), longest)
