"""The fake suppressions keep to the same conformance suite as DynamoDB."""

from __future__ import annotations

import pytest

from tests.conformance.suppressions import Suppressed, SuppressionsConformance
from tests.fakes.customers import InMemoryCustomers
from tests.fakes.suppressions import InMemorySuppressions


class TestInMemorySuppressions(SuppressionsConformance):
    @pytest.fixture
    def world(self) -> Suppressed:
        customers = InMemoryCustomers()
        return Suppressed(
            InMemorySuppressions(customers),
            customers.add,
            lambda customer_id: customers.profiles[customer_id].suppressed if customer_id in customers.profiles else {},
        )
