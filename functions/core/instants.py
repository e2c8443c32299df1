"""Instants as text (UTC, fixed width, so that their order as text is their order in time) and as a TTL."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta


def to_text(instant: datetime) -> str:
    """`2026-11-29T20:05:00.123Z`; milliseconds always present, which an index's sort key needs.

    Raises ValueError for an instant without a zone: it could mean anything.
    """
    if instant.tzinfo is None:
        msg = "an instant needs a time zone"
        raise ValueError(msg)
    utc = instant.astimezone(UTC)
    return f"{utc:%Y-%m-%dT%H:%M:%S}.{utc.microsecond // 1000:03d}Z"


def from_text(text: str) -> datetime:
    """Read what `to_text` wrote, or any ISO 8601 instant that names its offset; ValueError otherwise."""
    instant = datetime.fromisoformat(text)
    if instant.tzinfo is None:
        msg = f"{text!r} names no time zone; write it like 2026-11-29T20:05:00Z"
        raise ValueError(msg)
    return instant.astimezone(UTC)


def epoch_s_after(day: date, kept_for: timedelta) -> int:
    """Return when so long has passed since a UTC day began, in seconds since the epoch, as DynamoDB's TTL has it."""
    return int((datetime.combine(day, time(), UTC) + kept_for).timestamp())
