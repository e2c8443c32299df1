"""Why a delivery never came to be: a customer, a week or an event, a channel, and no row."""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Final

from functions import names
from functions.core.calendar import UnknownTimeZoneError, monday_of, period_reported, zone
from functions.core.identity import DeliveryId, Topic
from functions.core.instants import from_text
from functions.core.wording import utc

if TYPE_CHECKING:
    from collections.abc import Mapping

    from functions.core.customer import Profile

BEFORE_FIRST_RUN: Final = "before the schedule's first run, or purged since"
NO_SCHEDULE: Final = "there is no digest schedule: import the customer with digest_weekday and digest_time"
NO_REMINDER: Final = "no reminder of that event is on record: never imported, or purged since"


def why_never_selected(
    delivery_id: DeliveryId, profile: Profile, schedule: Mapping[str, Any] | None, *, now: datetime
) -> str:
    """Why there is no row. `schedule` is the row of the digest's or the reminder's schedule, None without one."""
    if delivery_id.topic is Topic.DIGEST and (wrong := _no_week(delivery_id.occasion)):
        return wrong
    if schedule is None:
        return NO_SCHEDULE if delivery_id.topic is Topic.DIGEST else NO_REMINDER
    if str(delivery_id.channel) not in schedule["channels"]:
        return f"its schedule does not name {delivery_id.channel}"
    if delivery_id.topic is Topic.REMINDER:
        return _why_no_reminder(schedule, now)
    return _why_no_digest(delivery_id, profile, schedule, now)


def _no_week(occasion: str) -> str | None:
    try:
        day = date.fromisoformat(occasion)
    except ValueError:
        return "a digest is about a week: give the Monday that opens it, such as 2026-11-16"
    monday = monday_of(day)
    return None if day == monday else f"no week opens on {day}; the one that it lies in opens on {monday}"


def _why_no_reminder(schedule: Mapping[str, Any], now: datetime) -> str:
    if names.NEXT_RUN_AT not in schedule:
        return f"it is {schedule['obsolete']}" if "obsolete" in schedule else "it was planned, and its row purged since"
    return _when(from_text(schedule[names.NEXT_RUN_AT]), now)


def _why_no_digest(delivery_id: DeliveryId, profile: Profile, schedule: Mapping[str, Any], now: datetime) -> str:
    if names.NEXT_RUN_AT not in schedule:
        return "the schedule is paused" if profile.active else "the customer is inactive, so the schedule is paused"
    run_at = from_text(schedule[names.NEXT_RUN_AT])
    try:
        to_report = period_reported(run_at, zone(schedule["time_zone"])).isoformat()
    except UnknownTimeZoneError:
        return "the schedule's time zone is unknown; import the customer again"
    if delivery_id.occasion == to_report:
        return _when(run_at, now)
    if delivery_id.occasion > to_report:
        return f"not due yet: the week of {to_report} comes first, at {utc(run_at)}"
    return BEFORE_FIRST_RUN


def _when(run_at: datetime, now: datetime) -> str:
    if run_at > now:
        return f"not due yet: its run is at {utc(run_at)}"
    return f"due since {utc(run_at)}, and not planned yet; see `digest due`"
