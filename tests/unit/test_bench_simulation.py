"""The simulation of many customers at once: units as they are counted, limits as they are published."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.simulation import PLANNED_CUSTOMER, PLANNED_DELIVERY, SENT_DELIVERY, Setup, simulate
from ops.costs.measurements import Measurements

SMALL = Setup("small", customers=100_000, planners=8)


def test_it_writes_what_the_functions_were_counted_to_write() -> None:
    counted = Measurements.load()
    of_a_batch = 0.2  # leases, gates and pacing, shared by many
    assert counted.a_customer.write_units == pytest.approx(sum(PLANNED_CUSTOMER.values()), abs=of_a_batch)
    assert counted.a_planned_delivery.write_units == sum(PLANNED_DELIVERY.values())
    for channel in counted.a_sent_delivery.values():
        assert channel.write_units == pytest.approx(sum(SENT_DELIVERY.values()), abs=of_a_batch)


def test_one_shard_writes_no_faster_than_its_partition_of_the_due_index() -> None:
    told = simulate(replace(SMALL, shards=1, planners=100))
    assert told.limited_by == "due"
    assert told.planned_after_s == pytest.approx(100_000 * PLANNED_CUSTOMER["due"] / 1000, abs=2)


def test_with_shards_enough_the_table_is_what_limits() -> None:
    told = simulate(replace(SMALL, customers=1_000_000, shards=100, planners=1000, send_s=0.01))
    assert told.limited_by == "deliveries"
    units = 1_000_000 * 2 * (PLANNED_DELIVERY["deliveries"] + SENT_DELIVERY["deliveries"])
    assert told.sent_after_s >= units / 40_000


def test_twice_the_planners_take_half_the_time_where_they_are_what_limits() -> None:
    once, twice = (simulate(replace(SMALL, shards=100, planners=count)) for count in (1, 2))
    assert once.limited_by == "planners"
    assert once.planned_after_s == pytest.approx(2 * twice.planned_after_s, abs=2)


def test_a_table_that_was_never_used_takes_longer() -> None:
    warm, cold = (
        simulate(replace(SMALL, customers=1_000_000, shards=100, planners=100, warm=warm)) for warm in (True, False)
    )
    assert cold.sent_after_s > 2 * warm.sent_after_s


def test_slow_sends_are_limited_by_the_consumers() -> None:
    told = simulate(replace(SMALL, shards=100, planners=100, send_s=5))
    assert told.limited_by == "consumers"
