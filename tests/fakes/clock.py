"""Time that moves only when a test says so."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

SUNDAY_EVENING: Final = datetime(2026, 11, 29, 20, 0, tzinfo=UTC)


class FakeClock:
    """A `Clock`: call it for the time, `advance` it to let time pass."""

    def __init__(self, now: datetime = SUNDAY_EVENING) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def advance(self, delta: timedelta) -> datetime:
        """Let time pass; return the new time."""
        self.now += delta
        return self.now
