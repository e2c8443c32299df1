"""From a schedule that is due to its deliveries, and to when it is due again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from functions.core.calendar import UnknownTimeZoneError
from functions.core.delivery import Status
from functions.core.identity import Channel
from functions.core.planning import PlanningRules, TooLateError, check_lateness, plan_schedule
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.examples import CUSTOMER, a_digest_schedule, a_reminder

RULES = PlanningRules(expires_after=timedelta(hours=72), attention_after=timedelta(minutes=5))
NOW = SUNDAY_EVENING + timedelta(minutes=2)


def test_a_digest_is_one_delivery_for_each_channel() -> None:
    plan = plan_schedule(a_digest_schedule(), now=NOW, rules=RULES)
    assert [str(one.delivery_id) for one in plan.deliveries] == [
        f"digest:{CUSTOMER}:2026-11-16:email",
        f"digest:{CUSTOMER}:2026-11-16:sms",
    ]
    for one in plan.deliveries:
        assert (one.status, one.template_id, one.period) == (Status.PLANNED, "weekly-digest-v1", "2026-11-16")
        assert (one.attempt, one.enqueued_at, one.accepted_at) == (0, None, None)


def test_a_digest_is_due_when_it_was_scheduled_and_selected_when_it_was_planned() -> None:
    (one,) = plan_schedule(a_digest_schedule(channels=[Channel.SMS]), now=NOW, rules=RULES).deliveries
    assert (one.due_at, one.selected_at) == (SUNDAY_EVENING, NOW)
    assert one.expires_at == SUNDAY_EVENING + timedelta(hours=72)
    assert one.attention_at == NOW + timedelta(minutes=5)


def test_a_digest_is_due_again_a_week_later_at_the_same_local_time() -> None:
    before_the_clocks_go_back = a_digest_schedule(next_run_at=datetime(2026, 10, 25, 19, tzinfo=UTC))
    plan = plan_schedule(before_the_clocks_go_back, now=NOW, rules=RULES)
    assert plan.next_run_at == datetime(2026, 11, 1, 20, tzinfo=UTC)


def test_however_late_it_is_planned_the_week_is_that_of_the_schedule() -> None:
    late = plan_schedule(a_digest_schedule(), now=SUNDAY_EVENING + timedelta(days=3), rules=RULES)
    assert late.deliveries[0].period == "2026-11-16"
    assert late.next_run_at == SUNDAY_EVENING + timedelta(days=7)


def test_weeks_that_were_missed_are_planned_one_at_a_time_and_expire() -> None:
    missed = plan_schedule(a_digest_schedule(), now=SUNDAY_EVENING + timedelta(days=15), rules=RULES)
    assert missed.deliveries[0].expires_at < SUNDAY_EVENING + timedelta(days=15)
    assert missed.next_run_at == SUNDAY_EVENING + timedelta(days=7)


def test_a_reminder_has_its_own_ids_template_and_expiry_and_no_next_run() -> None:
    reminder = a_reminder()
    plan = plan_schedule(reminder, now=NOW, rules=RULES)
    assert plan.next_run_at is None
    assert [str(one.delivery_id) for one in plan.deliveries] == [
        f"reminder:{CUSTOMER}:invoice-9:email",
        f"reminder:{CUSTOMER}:invoice-9:sms",
    ]
    assert {(one.template_id, one.expires_at) for one in plan.deliveries} == {("reminder-v1", reminder.expires_at)}
    assert {one.period for one in plan.deliveries} == {"2026-11-23"}  # counted in the week in which it falls due


def test_a_schedule_in_a_zone_that_does_not_exist_says_so() -> None:
    with pytest.raises(UnknownTimeZoneError, match="Mars/Phobos"):
        plan_schedule(a_digest_schedule(time_zone="Mars/Phobos"), now=NOW, rules=RULES)


def test_a_wake_up_from_the_past_is_refused_with_the_way_out() -> None:
    with pytest.raises(TooLateError, match=r"more than 24 h ago.*digest plan --at"):
        check_lateness(NOW - timedelta(hours=26), now=NOW, limit=timedelta(hours=24))


@pytest.mark.parametrize("late", [timedelta(0), timedelta(minutes=70), timedelta(hours=24)])
def test_a_wake_up_that_is_a_little_late_is_planned(late: timedelta) -> None:
    check_lateness(NOW - late, now=NOW, limit=timedelta(hours=24))
