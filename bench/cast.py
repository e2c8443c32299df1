"""Who takes part in a measurement: made-up customers, their schedules and rows, all alike but for their ids.

Times are counted from the moment of the measurement, because the code that is measured reads the clock.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Final

from functions.core.calendar import WEEK, zone
from functions.core.customer import Activity, ActivityKind, Consent, DigestSchedule, Profile
from functions.core.delivery import Delivery
from functions.core.identity import Channel, Topic
from functions.core.planning import PlanningRules, plan_schedule

CHANNELS: Final = (Channel.EMAIL, Channel.SMS)
TIME_ZONE: Final = "America/New_York"
RULES: Final = PlanningRules(expires_after=timedelta(hours=72), attention_after=timedelta(minutes=5))


def customer_id(number: int) -> str:
    """`c-00000417`: of one length, as a shop's ids mostly are."""
    return f"c-{number:08d}"


def number_of(customer: str) -> int:
    """Return the number in a customer's id."""
    return int(customer.removeprefix("c-"))


def moment() -> datetime:
    """Return the full minute in which this runs."""
    return datetime.now(UTC).replace(second=0, microsecond=0)


def a_schedule(number: int, *, due_at: datetime) -> DigestSchedule:
    """A digest that is due at that instant, by email and text."""
    local = due_at.astimezone(zone(TIME_ZONE))
    return DigestSchedule(
        customer_id=customer_id(number),
        weekday=local.weekday(),
        local_time=local.time(),
        time_zone=TIME_ZONE,
        channels=CHANNELS,
        next_run_at=due_at,
    )


def deliveries_of(number: int, *, due_at: datetime) -> tuple[Delivery, ...]:
    """What the planner makes of a customer's schedule."""
    return plan_schedule(a_schedule(number, due_at=due_at), now=due_at, rules=RULES).deliveries


def a_profile(number: int) -> Profile:
    """Somebody who wants everything; nobody's address, by the names reserved for examples."""
    return Profile(
        customer_id=customer_id(number),
        locale="en",
        time_zone=TIME_ZONE,
        addresses={Channel.EMAIL: f"{customer_id(number)}@example.com", Channel.SMS: f"+1555{number:07d}"},
        consent={(topic, channel): Consent.OPTED_IN for topic in Topic for channel in CHANNELS},
    )


def activities(period: date) -> list[Activity]:
    """Three things that happened in a week."""
    noon = datetime.combine(period, time(12), UTC)
    return [
        Activity("order-1", noon, ActivityKind.ORDER, "Blue lamp", 1177, "USD", 1),
        Activity("order-2", noon + timedelta(days=1), ActivityKind.ORDER, "Oak shelf, 80 cm", 8900, "USD", 2),
        Activity("drop-1", noon + WEEK / 2, ActivityKind.PRICE_DROP, "Garden chair", 4550, "USD"),
    ]
