"""Widget `due`: what is due now, how late the oldest is, and what comes next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from functions import names
from functions.adapters.due_schedules import local_run, look_ahead, what
from functions.adapters.widgets.desk import looks_of
from functions.core.calendar import UnknownTimeZoneError, period_reported, zone
from functions.core.customer import DigestSchedule, Schedule
from functions.core.identity import DeliveryId, Topic
from functions.core.widgets.page import Notice, render
from functions.core.wording import distance, utc

if TYPE_CHECKING:
    from datetime import datetime

    from functions.adapters.due_schedules import Due
    from functions.adapters.widgets.desk import WidgetDesk
    from functions.core.widgets.page import Press
    from functions.core.widgets.request import WidgetRequest

SHOWN: Final = 10
COUNTED_TO: Final = 5000


def draw(desk: WidgetDesk, request: WidgetRequest, notice: Notice | None = None) -> str:
    """Draw what is due, and what comes next."""
    now = desk.clock()
    look = look_ahead(desk.tables, now=now, limit=SHOWN, counted_to=COUNTED_TO)
    return render(
        "due",
        looks_of(request, notice),
        now=now,
        data_region=desk.tables.data_region,
        headline=_headline(look, now),
        unreadable=look.unreadable[:SHOWN],
        schedules=[_schedule(desk, one, now) for one in look.coming],
    )


def _headline(look: Due, now: datetime) -> str:
    if look.oldest is None:
        return "No schedule will run: import customers first"
    if not look.count:
        return f"Nothing is due; the next is {distance(look.oldest, now)}"
    number = f"{look.count:,}" if look.count < COUNTED_TO else f"{COUNTED_TO:,} or more"
    are = "schedule is" if look.count == 1 else "schedules are"
    return f"{number} {are} due, the oldest since {utc(look.oldest)}"


def _schedule(desk: WidgetDesk, schedule: Schedule, now: datetime) -> dict[str, Any]:
    return {
        "press": _story(desk, schedule),
        "what": what(schedule),
        "channels": ", ".join(schedule.channels),
        "at": utc(schedule.next_run_at).removesuffix(" UTC"),
        "local": local_run(schedule),
        "away": distance(schedule.next_run_at, now),
    }


def _story(desk: WidgetDesk, schedule: Schedule) -> Press:
    """To the week that the run reports; of a reminder, to its delivery on the first channel."""
    who = schedule.customer_id
    if not isinstance(schedule, DigestSchedule):
        if not schedule.channels:
            return desk.show(names.WIDGET_STORY, who, customer_id=who)
        delivery_id = DeliveryId(Topic.REMINDER, who, schedule.event_id, schedule.channels[0])
        return desk.show(names.WIDGET_STORY, who, delivery_id=str(delivery_id))
    try:
        monday = period_reported(schedule.next_run_at, zone(schedule.time_zone)).isoformat()
    except UnknownTimeZoneError:
        monday = ""
    return desk.show(names.WIDGET_STORY, who, customer_id=who, period=monday)
