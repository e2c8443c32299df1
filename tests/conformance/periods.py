"""What the record of open weeks must do, whatever it stands on."""

from __future__ import annotations

from abc import ABC, abstractmethod

import pytest

from functions.core.ports import Periods
from tests.fakes.clock import SUNDAY_EVENING

NOW = SUNDAY_EVENING
WEEK, OTHER = "2026-11-16", "2026-11-23"


class PeriodsConformance(ABC):
    @pytest.fixture
    @abstractmethod
    def periods(self) -> Periods: ...

    def test_nothing_is_open_in_the_beginning(self, periods: Periods) -> None:
        assert dict(periods.all_open()) == {}

    def test_a_week_is_open_once_its_first_deliveries_are_planned(self, periods: Periods) -> None:
        periods.open(WEEK, at=NOW)
        periods.open(OTHER, at=NOW)
        assert set(periods.all_open()) == {WEEK, OTHER}

    def test_a_week_without_open_deliveries_is_closed_once(self, periods: Periods) -> None:
        periods.open(WEEK, at=NOW)
        version = periods.all_open()[WEEK]
        assert periods.close(WEEK, version=version, at=NOW)
        assert not periods.close(WEEK, version=version, at=NOW)
        assert dict(periods.all_open()) == {}

    def test_a_week_that_was_planned_for_again_meanwhile_stays_open(self, periods: Periods) -> None:
        periods.open(WEEK, at=NOW)
        version = periods.all_open()[WEEK]
        periods.open(WEEK, at=NOW)
        assert not periods.close(WEEK, version=version, at=NOW)
        assert set(periods.all_open()) == {WEEK}

    def test_a_closed_week_opens_again_for_a_late_delivery(self, periods: Periods) -> None:
        periods.open(WEEK, at=NOW)
        periods.close(WEEK, version=periods.all_open()[WEEK], at=NOW)
        periods.open(WEEK, at=NOW)
        assert set(periods.all_open()) == {WEEK}

    def test_a_week_that_never_was_open_is_not_closed(self, periods: Periods) -> None:
        assert not periods.close(WEEK, version=1, at=NOW)
