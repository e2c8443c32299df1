"""When an imported schedule runs first, and next when its time was changed."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta

from hypothesis import example, given, settings
from hypothesis import strategies as st

from functions.core.calendar import WEEK, next_weekly, period_reported, zone
from ops.imports.customers import WeeklyPlan, first_run, moved_run

WEDNESDAY_NOON = datetime(2026, 11, 25, 12, tzinfo=UTC)
BERLIN = "Europe/Berlin"
ZONES = ["Europe/Berlin", "America/New_York", "America/Los_Angeles", "Asia/Tokyo", "Pacific/Kiritimati", "Etc/GMT+12"]


def berlin(day: int, hour: int, minute: int = 0, month: int = 11) -> datetime:
    return datetime(2026, month, day, hour, minute, tzinfo=zone(BERLIN)).astimezone(UTC)


def plan(weekday: int, hour: int, time_zone: str = BERLIN) -> WeeklyPlan:
    return WeeklyPlan(weekday, time(hour), time_zone)


def test_a_new_schedule_runs_at_the_next_time_it_means() -> None:
    assert first_run(plan(2, 9), first_run_on=None, now=WEDNESDAY_NOON) == berlin(2, 9, month=12)
    assert first_run(plan(2, 15), first_run_on=None, now=WEDNESDAY_NOON) == berlin(25, 15)


def test_a_new_schedule_may_start_on_a_later_day() -> None:
    assert first_run(plan(2, 9), first_run_on=date(2026, 12, 3), now=WEDNESDAY_NOON) == berlin(9, 9, month=12)


def test_the_first_day_itself_counts_midnight_included() -> None:
    assert first_run(plan(0, 0), first_run_on=date(2026, 11, 30), now=WEDNESDAY_NOON) == berlin(30, 0)


def test_a_first_day_in_the_past_makes_up_for_this_week_only() -> None:
    assert first_run(plan(0, 9), first_run_on=date(2026, 11, 23), now=WEDNESDAY_NOON) == berlin(23, 9)
    assert first_run(plan(0, 9), first_run_on=date(2020, 1, 1), now=WEDNESDAY_NOON) == berlin(23, 9)


def test_moving_from_saturday_to_friday_brings_this_weeks_digest_forward() -> None:
    moved = moved_run(plan(4, 9), promised=berlin(28, 9), promised_in=BERLIN, now=WEDNESDAY_NOON)
    assert moved == berlin(27, 9)


def test_moving_from_saturday_to_monday_keeps_this_saturday_and_goes_on_with_monday() -> None:
    moved = moved_run(plan(0, 9), promised=berlin(28, 9), promised_in=BERLIN, now=WEDNESDAY_NOON)
    assert moved == berlin(28, 9)
    assert next_weekly(0, time(9), zone(BERLIN), after=moved) == berlin(30, 9)


def test_moving_from_monday_after_it_ran_to_friday_does_not_send_a_second_digest_this_week() -> None:
    moved = moved_run(plan(4, 9), promised=berlin(30, 9), promised_in=BERLIN, now=WEDNESDAY_NOON)
    assert moved == berlin(4, 9, month=12)


def test_a_run_that_is_overdue_when_the_time_changes_is_due_at_once() -> None:
    moved = moved_run(plan(1, 9), promised=berlin(24, 15), promised_in=BERLIN, now=WEDNESDAY_NOON)
    assert moved == WEDNESDAY_NOON


def test_a_zone_that_does_not_exist_any_more_is_mended_by_the_import() -> None:
    moved = moved_run(plan(4, 9), promised=berlin(28, 9), promised_in="Mars/Phobos", now=WEDNESDAY_NOON)
    assert moved == berlin(27, 9)


plans = st.builds(
    WeeklyPlan, st.integers(0, 6), st.times().map(lambda t: t.replace(second=0, microsecond=0)), st.sampled_from(ZONES)
)


@settings(deadline=None)  # the machine may be busy
@given(before=plans, after=plans, minutes=st.integers(-60 * 24 * 5, 60 * 24 * 9))
@example(before=WeeklyPlan(6, time(23), "America/New_York"), after=WeeklyPlan(6, time(23), "Asia/Tokyo"), minutes=-300)
def test_whatever_changes_the_next_run_reports_the_week_that_was_to_come(
    before: WeeklyPlan, after: WeeklyPlan, minutes: int
) -> None:
    promised = next_weekly(before.weekday, before.local_time, zone(before.time_zone), after=WEDNESDAY_NOON)
    now = promised + timedelta(minutes=minutes)  # from days before the run to days after it
    moved = moved_run(after, promised=promised, promised_in=before.time_zone, now=now)
    to_report = period_reported(promised, zone(before.time_zone))
    assert period_reported(moved, zone(after.time_zone)) == to_report
    following = next_weekly(after.weekday, after.local_time, zone(after.time_zone), after=moved)
    assert period_reported(following, zone(after.time_zone)) == to_report + WEEK
