"""The fake ledger keeps to the same receipts' conformance suite as DynamoDB."""

from __future__ import annotations

import pytest

from tests.conformance.ledger import World
from tests.conformance.receipts import ReceiptRowsConformance
from tests.fakes.ledger import InMemoryLedger, InMemoryPlanBook


class TestInMemoryLedger(ReceiptRowsConformance):
    @pytest.fixture
    def world(self) -> World:
        ledger = InMemoryLedger()
        book = InMemoryPlanBook(ledger)
        return World(ledger=ledger, book=book, put=ledger.put, add_schedule=book.add, next_run_at=lambda _: None)
