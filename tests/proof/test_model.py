"""Anything may happen to a delivery, in any order: nothing is lost, nothing is sent twice."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

from tests.proof.machine import Deliveries

# The same examples every time: what breaks here breaks for everybody. `make soak` looks for new ones.
Deliveries.TestCase.settings = settings(
    max_examples=200,
    stateful_step_count=60,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestAnythingMayHappen = Deliveries.TestCase
