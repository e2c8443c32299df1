"""The adapters on DynamoDB (moto) keep to the conformance suites."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from functions import names
from functions.adapters.customers import DynamoCustomers
from functions.adapters.opt_out_memory import LEFT, DynamoOptOutMemory, memory_from_row
from functions.adapters.periods import DynamoPeriods
from functions.adapters.plan_book import DynamoPlanBook
from functions.adapters.planned_days import DynamoPlannedDays
from functions.adapters.receipt_tallies import DynamoReceiptTallies
from functions.adapters.shard_leases import DynamoShardLeases
from functions.adapters.traffic import DynamoTraffic
from functions.core.customer import Activity, Profile
from functions.core.instants import from_text
from functions.core.opt_out_memory import Memory
from functions.core.ports import Periods, PlannedDays, ReceiptTallies, ShardLeases
from functions.core.traffic import Traffic
from tests.conformance.customers import CustomersConformance, People
from tests.conformance.ledger import LedgerConformance, World
from tests.conformance.opt_out_memory import OptOutMemoryConformance, Remembered
from tests.conformance.periods import PeriodsConformance
from tests.conformance.planned_days import PlannedDaysConformance
from tests.conformance.receipt_tallies import ReceiptTalliesConformance
from tests.conformance.shard_leases import ShardLeasesConformance
from tests.conformance.traffic import TrafficConformance
from tests.fakes.environment import CONTROL, CUSTOMERS, DELIVERIES
from tests.integration.region import Region


class TestDynamoLedger(LedgerConformance):
    @pytest.fixture
    def world(self, tables: Region) -> World:
        one_shard = Region(tables.dynamodb, tables.sqs, shards=1)
        book = DynamoPlanBook(
            tables.dynamodb,
            customers_table=CUSTOMERS,
            deliveries_table=DELIVERIES,
            shards=1,
            keep_for=timedelta(days=90),
        )
        return World(
            ledger=one_shard.ledger,
            book=book,
            put=one_shard.put_deliveries,
            add_schedule=one_shard.schedule,
            next_run_at=one_shard.next_run_at,
        )


class TestDynamoPlannedDays(PlannedDaysConformance):
    @pytest.fixture
    def days(self, tables: Region) -> PlannedDays:
        return DynamoPlannedDays(tables.dynamodb, CONTROL)


class TestDynamoReceiptTallies(ReceiptTalliesConformance):
    @pytest.fixture
    def tallies(self, tables: Region) -> ReceiptTallies:
        return DynamoReceiptTallies(tables.dynamodb, CONTROL)


class TestDynamoShardLeases(ShardLeasesConformance):
    @pytest.fixture
    def leases(self, tables: Region) -> ShardLeases:
        return DynamoShardLeases(tables.dynamodb, CONTROL)


class TestDynamoCustomers(CustomersConformance):
    @pytest.fixture
    def people(self, tables: Region) -> People:
        def add(profile: Profile, activities: list[Activity]) -> None:
            tables.add(profile, *activities)

        return People(DynamoCustomers(tables.dynamodb, CUSTOMERS), add, tables.schedule)


class TestDynamoTraffic(TrafficConformance):
    @pytest.fixture
    def traffic(self, tables: Region) -> Traffic:
        return DynamoTraffic(tables.dynamodb, CONTROL)


class TestDynamoPeriods(PeriodsConformance):
    @pytest.fixture
    def periods(self, tables: Region) -> Periods:
        return DynamoPeriods(tables.dynamodb, CONTROL)


class TestDynamoOptOutMemory(OptOutMemoryConformance):
    @pytest.fixture
    def world(self, tables: Region) -> Remembered:
        def under(mark: str) -> tuple[Memory, datetime | None]:
            row = tables.customer_row(mark, LEFT)
            return memory_from_row(row), from_text(row[names.LEFT_SINCE]) if row else None

        return Remembered(DynamoOptOutMemory(tables.dynamodb, CUSTOMERS), under)
