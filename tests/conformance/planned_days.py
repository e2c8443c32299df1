"""What the days of planning must do, whatever they stand on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import timedelta

import pytest

from functions.core.ports import PlannedDays
from tests.fakes.clock import SUNDAY_EVENING

TODAY = SUNDAY_EVENING.date()


class PlannedDaysConformance(ABC):
    @pytest.fixture
    @abstractmethod
    def days(self) -> PlannedDays: ...

    def test_nothing_was_planned_on_a_day_that_nobody_knows_of(self, days: PlannedDays) -> None:
        assert days.planned(TODAY) == 0

    def test_pages_of_a_day_add_up_and_other_days_are_left_alone(self, days: PlannedDays) -> None:
        assert days.add(TODAY, 30, at_most=100)
        assert days.add(TODAY, 70, at_most=100)
        assert days.planned(TODAY) == 100
        assert days.planned(TODAY - timedelta(days=1)) == 0

    def test_what_would_be_too_many_is_not_added(self, days: PlannedDays) -> None:
        assert days.add(TODAY, 99, at_most=100)
        assert not days.add(TODAY, 2, at_most=100)
        assert days.planned(TODAY) == 99

    def test_a_first_page_that_is_too_large_alone_is_not_added(self, days: PlannedDays) -> None:
        assert not days.add(TODAY, 101, at_most=100)
        assert days.planned(TODAY) == 0

    def test_without_a_limit_everything_is_added(self, days: PlannedDays) -> None:
        assert days.add(TODAY, 100, at_most=100)
        assert days.add(TODAY, 100, at_most=None)
        assert days.planned(TODAY) == 200

    def test_an_approval_is_read_as_it_was_given_and_the_last_one_counts(self, days: PlannedDays) -> None:
        assert days.approved_until() is None
        days.approve(SUNDAY_EVENING + timedelta(hours=2))
        days.approve(SUNDAY_EVENING)
        assert days.approved_until() == SUNDAY_EVENING
