"""What `Customers` must do, whatever it stands on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from functions.core.customer import Activity, Profile, Schedule
from functions.core.ports import Customers
from tests.fakes.examples import CUSTOMER, PERIOD, a_profile, a_reminder, an_activity


@dataclass(frozen=True)
class People:
    """Customers, and the ways to put something there."""

    customers: Customers
    add: Callable[[Profile, list[Activity]], None]
    remind: Callable[[Schedule], None]


class CustomersConformance(ABC):
    @pytest.fixture
    @abstractmethod
    def people(self) -> People: ...

    def test_profile_and_activity_come_as_they_were_written(self, people: People) -> None:
        profile, activity = a_profile(suppressed={}), an_activity()
        people.add(profile, [activity])
        assert people.customers.digest_material(CUSTOMER, PERIOD) == (profile, [activity])

    def test_activity_from_before_the_period_is_not_read(self, people: People) -> None:
        old = an_activity("a-old", occurred_at=datetime(2026, 11, 14, 23, 59, tzinfo=UTC))
        people.add(a_profile(), [old, an_activity("a-new")])
        _, activities = people.customers.digest_material(CUSTOMER, PERIOD)
        assert [one.activity_id for one in activities] == ["a-new"]

    def test_the_first_hours_of_a_local_week_that_begins_before_utc_are_read(self, people: People) -> None:
        early = an_activity("a-auckland", occurred_at=datetime(2026, 11, 15, 12, tzinfo=UTC))
        people.add(a_profile(), [early])
        _, activities = people.customers.digest_material(CUSTOMER, PERIOD)
        assert [one.activity_id for one in activities] == ["a-auckland"]

    def test_nobody_is_there_for_an_id_that_was_erased(self, people: People) -> None:
        assert people.customers.digest_material("c-gone", PERIOD) == (None, [])
        assert people.customers.reminder_material("c-gone", "invoice-9") == (None, None)

    def test_a_reminder_comes_with_the_profile(self, people: People) -> None:
        people.add(a_profile(suppressed={}), [])
        people.remind(a_reminder())
        assert people.customers.reminder_material(CUSTOMER, "invoice-9") == (a_profile(suppressed={}), a_reminder())

    def test_a_reminder_that_is_not_there_is_none(self, people: People) -> None:
        people.add(a_profile(), [])
        _, reminder = people.customers.reminder_material(CUSTOMER, "invoice-9")
        assert reminder is None
