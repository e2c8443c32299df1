"""When planning waits for a person."""

from __future__ import annotations

from datetime import timedelta

import pytest

from functions.core.ports import PlannedDays
from functions.core.surge import SurgeGuard, SurgeRule
from tests.conformance.planned_days import PlannedDaysConformance
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.planned_days import InMemoryPlannedDays

TODAY = SUNDAY_EVENING.date()
LAST_WEEK = TODAY - timedelta(days=7)


class TestInMemoryPlannedDays(PlannedDaysConformance):
    @pytest.fixture
    def days(self) -> PlannedDays:
        return InMemoryPlannedDays()


@pytest.fixture
def days() -> InMemoryPlannedDays:
    return InMemoryPlannedDays()


def guard(days: InMemoryPlannedDays) -> SurgeGuard:
    return SurgeGuard(days, SurgeRule(factor=3, floor=100), lambda: SUNDAY_EVENING)


def test_three_times_last_week_is_planned_and_not_one_more(days: InMemoryPlannedDays) -> None:
    days.add(LAST_WEEK, 50, at_most=None)
    assert guard(days).admits(150, day=TODAY)
    assert not guard(days).admits(1, day=TODAY)


def test_a_first_week_and_a_small_one_have_the_floor(days: InMemoryPlannedDays) -> None:
    days.add(LAST_WEEK, 1, at_most=None)
    assert guard(days).admits(100, day=TODAY)
    assert not guard(days).admits(1, day=TODAY)


def test_an_approval_lets_planning_go_on_until_it_ends(days: InMemoryPlannedDays) -> None:
    days.approve(SUNDAY_EVENING + timedelta(seconds=1))
    assert guard(days).admits(500, day=TODAY)
    days.approve(SUNDAY_EVENING)
    assert not guard(days).admits(500, day=TODAY)


def test_what_was_approved_is_usual_a_week_later(days: InMemoryPlannedDays) -> None:
    days.approve(SUNDAY_EVENING + timedelta(hours=1))
    guard(days).admits(500, day=TODAY)
    days.approve(SUNDAY_EVENING)
    assert guard(days).admits(1500, day=TODAY + timedelta(days=7))
