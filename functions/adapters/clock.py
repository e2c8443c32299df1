"""The one place that reads the clock."""

from __future__ import annotations

from datetime import UTC, datetime


def utc_now() -> datetime:
    """Return the current instant, in UTC."""
    return datetime.now(UTC)
