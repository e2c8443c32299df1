"""What stands on DynamoDB keeps to the conformance suites on the emulator as it does on moto.

An emulator of its own, with nothing deployed: tables of the stacks' definition, new for each scenario.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import time_machine

from functions import names
from ops.local.emulator import Emulator
from tests.e2e.conftest import RUN
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.environment import CONTROL, CUSTOMERS, DELIVERIES, REGION
from tests.integration import test_dynamodb, test_idempotency_record, test_receipt_tables, test_webhook_channel
from tests.integration.region import Clock, Region, make_table

KEYS = {
    CUSTOMERS: (names.CUSTOMER_ID, names.RECORD),
    DELIVERIES: (names.DELIVERY_ID,),
    CONTROL: (names.CONTROL_KEY,),
}


@pytest.fixture(scope="module")
def bare() -> Iterator[Region]:
    with Emulator(RUN / "conformance") as emulator:
        yield Region(emulator.client("dynamodb", REGION), emulator.client("sqs", REGION))


@pytest.fixture
def tables(bare: Region) -> Iterator[Region]:
    for table, key in KEYS.items():
        make_table(bare.dynamodb, table, key)
    yield bare
    for table in KEYS:
        bare.dynamodb.delete_table(TableName=table)


@pytest.fixture
def clock() -> Iterator[Clock]:
    with time_machine.travel(SUNDAY_EVENING, tick=False) as traveller:
        yield Clock(traveller)


class TestLedger(test_dynamodb.TestDynamoLedger): ...


class TestReceiptRows(test_receipt_tables.TestDynamoLedger): ...


class TestIdempotencyRecord(test_idempotency_record.TestDynamo): ...


class TestPlannedDays(test_dynamodb.TestDynamoPlannedDays): ...


class TestReceiptTallies(test_dynamodb.TestDynamoReceiptTallies): ...


class TestShardLeases(test_dynamodb.TestDynamoShardLeases): ...


class TestCustomers(test_dynamodb.TestDynamoCustomers): ...


class TestTraffic(test_dynamodb.TestDynamoTraffic): ...


class TestPeriods(test_dynamodb.TestDynamoPeriods): ...


class TestSuppressions(test_receipt_tables.TestDynamoSuppressions): ...


class TestOptOutMemory(test_dynamodb.TestDynamoOptOutMemory): ...


class TestEndpoints(test_webhook_channel.TestDynamoEndpoints): ...
