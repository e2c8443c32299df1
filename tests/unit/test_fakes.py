"""The fakes keep to the same conformance suites as DynamoDB."""

from __future__ import annotations

import pytest

from functions.core.customer import Activity, Profile, ReminderSchedule, Schedule
from functions.core.ports import Periods, ShardLeases
from functions.core.traffic import Traffic
from tests.conformance.customers import CustomersConformance, People
from tests.conformance.ledger import LedgerConformance, World
from tests.conformance.periods import PeriodsConformance
from tests.conformance.shard_leases import ShardLeasesConformance
from tests.conformance.traffic import TrafficConformance
from tests.fakes.customers import InMemoryCustomers
from tests.fakes.leases import InMemoryShardLeases
from tests.fakes.ledger import InMemoryLedger, InMemoryPlanBook
from tests.fakes.periods import InMemoryPeriods
from tests.fakes.traffic import InMemoryTraffic


class TestInMemoryLedger(LedgerConformance):
    @pytest.fixture
    def world(self) -> World:
        ledger = InMemoryLedger()
        book = InMemoryPlanBook(ledger)
        return World(
            ledger=ledger,
            book=book,
            put=ledger.put,
            add_schedule=book.add,
            next_run_at=lambda schedule: book.next_runs.get((schedule.customer_id, schedule.record)),
        )


class TestInMemoryShardLeases(ShardLeasesConformance):
    @pytest.fixture
    def leases(self) -> ShardLeases:
        return InMemoryShardLeases()


class TestInMemoryCustomers(CustomersConformance):
    @pytest.fixture
    def people(self) -> People:
        customers = InMemoryCustomers()

        def add(profile: Profile, activities: list[Activity]) -> None:
            customers.add(profile, *activities)

        def remind(schedule: Schedule) -> None:
            assert isinstance(schedule, ReminderSchedule)
            customers.remind(schedule)

        return People(customers, add, remind)


class TestInMemoryTraffic(TrafficConformance):
    @pytest.fixture
    def traffic(self) -> Traffic:
        return InMemoryTraffic()


class TestInMemoryPeriods(PeriodsConformance):
    @pytest.fixture
    def periods(self) -> Periods:
        return InMemoryPeriods()
