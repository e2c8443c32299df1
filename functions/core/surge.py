"""The surge guard: planning stops when far more falls due in a day than on this day last week, until a person agrees.

A wrong import, a schedule set back, a restored table: what is planned is sent, and cannot be taken back.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from functions.core.calendar import WEEK

if TYPE_CHECKING:
    from datetime import date

    from functions.core.ports import Clock, PlannedDays


@dataclass(frozen=True, slots=True)
class SurgeRule:
    """How many schedules may run in a UTC day: so many times last week's number, and `floor` in any case."""

    factor: float
    floor: int

    def most(self, last_week: int) -> int:
        """Return how many may run on a day, of last week's number for it."""
        return max(self.floor, ceil(self.factor * last_week))


@dataclass(frozen=True, slots=True)
class SurgeGuard:
    """Counts schedules into their day before they are planned, and refuses what would be too many.

    Counted first, planned second: dying in between counts some twice, and holds planning sooner.
    """

    days: PlannedDays
    rule: SurgeRule
    clock: Clock

    def admits(self, schedules: int, *, day: date) -> bool:
        """Whether so many more may be planned on a day."""
        if self.days.add(day, schedules, at_most=self.rule.most(self.days.planned(day - WEEK))):
            return True
        until = self.days.approved_until()
        return until is not None and self.clock() < until and self.days.add(day, schedules, at_most=None)
