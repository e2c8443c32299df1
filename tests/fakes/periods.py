"""Open and closed weeks in memory."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime


class InMemoryPeriods:
    """`Periods`: every opening raises a week's version, which closing must find unchanged."""

    def __init__(self) -> None:
        self.versions: dict[str, int] = {}
        self.closed: dict[str, datetime] = {}

    def open(self, period: str, *, at: datetime) -> None:  # noqa: ARG002 - kept for people, not for a decision
        self.versions[period] = self.versions.get(period, 0) + 1
        self.closed.pop(period, None)

    def all_open(self) -> Mapping[str, int]:
        return dict(self.versions)

    def close(self, period: str, *, version: int, at: datetime) -> bool:
        if self.versions.get(period) != version:
            return False
        del self.versions[period]
        self.closed[period] = at
        return True
