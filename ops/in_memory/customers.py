"""Customers in memory."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta

from functions.core.customer import Activity, Profile, ReminderSchedule


class InMemoryCustomers:
    """`Customers`. What is changed here is seen by the next read, as from a consistent one."""

    def __init__(self) -> None:
        self.profiles: dict[str, Profile] = {}
        self.activities: dict[str, list[Activity]] = {}
        self.reminders: dict[tuple[str, str], ReminderSchedule] = {}

    def add(self, profile: Profile, *activities: Activity) -> None:
        self.profiles[profile.customer_id] = profile
        self.activities.setdefault(profile.customer_id, []).extend(activities)

    def remind(self, reminder: ReminderSchedule) -> None:
        self.reminders[reminder.customer_id, reminder.event_id] = reminder

    def digest_material(self, customer_id: str, since: date) -> tuple[Profile | None, Sequence[Activity]]:
        first = since - timedelta(days=1)
        held = [one for one in self.activities.get(customer_id, []) if one.occurred_at.date() >= first]
        return self.profiles.get(customer_id), sorted(held, key=lambda one: (one.occurred_at, one.activity_id))

    def reminder_material(self, customer_id: str, event_id: str) -> tuple[Profile | None, ReminderSchedule | None]:
        return self.profiles.get(customer_id), self.reminders.get((customer_id, event_id))
