"""Days of planning, counted in memory."""

from __future__ import annotations

from collections import Counter
from datetime import date, datetime


class InMemoryPlannedDays:
    """A `PlannedDays`."""

    def __init__(self) -> None:
        self._days: Counter[date] = Counter()
        self._approved_until: datetime | None = None

    def planned(self, day: date) -> int:
        return self._days[day]

    def add(self, day: date, schedules: int, *, at_most: int | None) -> bool:
        if at_most is not None and self._days[day] + schedules > at_most:
            return False
        self._days[day] += schedules
        return True

    def approved_until(self) -> datetime | None:
        return self._approved_until

    def approve(self, until: datetime) -> None:
        self._approved_until = until
