"""The delivery row as Powertools' idempotency record, on the fake ledger and on DynamoDB (moto)."""

from __future__ import annotations

import pytest

from tests.conformance.idempotency import IdempotencyConformance, Rows
from tests.fakes.ledger import InMemoryLedger
from tests.integration.region import Region


class TestInMemory(IdempotencyConformance):
    @pytest.fixture
    def rows(self) -> Rows:
        ledger = InMemoryLedger()
        return Rows(ledger, ledger.put)


class TestDynamo(IdempotencyConformance):
    @pytest.fixture
    def rows(self, tables: Region) -> Rows:
        return Rows(tables.ledger, tables.put_deliveries)
