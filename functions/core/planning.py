"""From a schedule that is due to the deliveries it asks for, and to when it is due again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from functions.core.calendar import monday_of, next_weekly, period_reported, zone
from functions.core.customer import DigestSchedule, Schedule
from functions.core.delivery import Delivery, Status
from functions.core.identity import DeliveryId, Topic

if TYPE_CHECKING:
    from datetime import datetime, timedelta

DIGEST_TEMPLATE: Final = "weekly-digest-v1"
REMINDER_TEMPLATE: Final = "reminder-v1"


@dataclass(frozen=True, slots=True)
class PlanningRules:
    """How long a delivery may still be sent after it fell due, and when its row is first looked after."""

    expires_after: timedelta
    attention_after: timedelta


class TooLateError(ValueError):
    """The scheduled time is too long ago to be planned without somebody asking for it."""


@dataclass(frozen=True, slots=True)
class SchedulePlan:
    """What one due schedule turns into. `next_run_at` is None when the schedule has had its last run."""

    schedule: Schedule
    deliveries: tuple[Delivery, ...]
    next_run_at: datetime | None


def plan_schedule(schedule: Schedule, *, now: datetime, rules: PlanningRules) -> SchedulePlan:
    """Plan one run of a schedule: the one at its `next_run_at`, which lies in the past.

    A schedule that missed several weeks is planned one run at a time, oldest first, so that each week has its rows and
    an expired one says so instead of vanishing. Raises UnknownTimeZoneError.
    """
    if isinstance(schedule, DigestSchedule):
        return _plan_digest(schedule, now=now, rules=rules)
    period = monday_of(schedule.next_run_at.date()).isoformat()
    deliveries = tuple(
        Delivery(
            delivery_id=DeliveryId(Topic.REMINDER, schedule.customer_id, schedule.event_id, channel),
            template_id=REMINDER_TEMPLATE,
            period=period,
            status=Status.PLANNED,
            due_at=schedule.next_run_at,
            selected_at=now,
            expires_at=schedule.expires_at,
            attention_at=now + rules.attention_after,
        )
        for channel in schedule.channels
    )
    return SchedulePlan(schedule, deliveries, next_run_at=None)


def _plan_digest(schedule: DigestSchedule, *, now: datetime, rules: PlanningRules) -> SchedulePlan:
    where = zone(schedule.time_zone)
    period = period_reported(schedule.next_run_at, where).isoformat()
    deliveries = tuple(
        Delivery(
            delivery_id=DeliveryId(Topic.DIGEST, schedule.customer_id, period, channel),
            template_id=DIGEST_TEMPLATE,
            period=period,
            status=Status.PLANNED,
            due_at=schedule.next_run_at,
            selected_at=now,
            expires_at=schedule.next_run_at + rules.expires_after,
            attention_at=now + rules.attention_after,
        )
        for channel in schedule.channels
    )
    following = next_weekly(schedule.weekday, schedule.local_time, where, after=schedule.next_run_at)
    return SchedulePlan(schedule, deliveries, next_run_at=following)


def check_lateness(scheduled_time: datetime, *, now: datetime, limit: timedelta) -> None:
    """Refuse a wake-up that comes back from the past, as after a restored snapshot.

    Raises TooLateError.
    """
    if now - scheduled_time > limit:
        hours = limit.total_seconds() / 3600
        msg = (
            f"scheduled_time: {scheduled_time:%Y-%m-%dT%H:%MZ} is more than {hours:g} h ago; what is due is planned by "
            "the next wake-up, or plan this time on purpose with `digest plan --at`"
        )
        raise TooLateError(msg)
