"""How long many customers take who are all due at once, by the limits that DynamoDB, SQS and Lambda publish.

A second at a time: planning and sending take write units from the same tables and indexes until one of them has no more
to give. Nothing is measured here but how our own writes fall on tables, indexes and shards, which a test holds to the
counts of `digest cost`. What no limit is published for (how long a request takes) is an assumption, and named as one.

    python -m bench.simulation
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from rich.console import Console
from rich.table import Table

# Published: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Limits.html (a table, more on request),
# .../on-demand-capacity-mode.html (a new table, and twice the peak of the last half hour),
# .../bp-partition-key-design.html (a partition),
# https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html (a queue's consumers).
TABLE_WRITES: Final = 40_000
NEW_TABLE_WRITES: Final = 4_000
DOUBLES_AFTER_S: Final = 1800
PARTITION_WRITES: Final = 1_000
FIRST_POLLERS: Final = 5
POLLERS_A_MINUTE: Final = 300
MOST_POLLERS: Final = 1_000
LONGEST_S: Final = 7 * 24 * 3600
ACTIONS: Final = 100  # in a transaction
MESSAGES: Final = 10  # in a batch

# Write units of our writes, by where they fall. A transaction counts twice in its table, once in an index.
PLANNED_CUSTOMER: Final[Mapping[str, int]] = {"customers": 2, "due": 2}
PLANNED_DELIVERY: Final[Mapping[str, int]] = {"deliveries": 4, "attention": 1}
SENT_DELIVERY: Final[Mapping[str, int]] = {"deliveries": 2, "attention": 1, "by_period": 1}
# Of these indexes a shard is one partition; of `attention`, a shard of a channel.
_SHARDED: Final = frozenset({"due", "attention", "by_period"})


@dataclass(frozen=True)
class Setup:
    """A region, and what is asked of it."""

    name: str
    customers: int
    channels: int = 2
    shards: int = 8
    table_writes: int = TABLE_WRITES  # the account's quota for a table or an index
    warm: bool = True  # whether the tables have carried that much before (or have been warmed)
    concurrency: int = MOST_POLLERS  # of each channel's consumers
    planners: int = 1  # schedules that wake planners side by side, each with its share of the shards
    send_s: float = 0.2  # assumed: from one message to the next in a consumer, provider included
    transaction_s: float = 0.025  # assumed: a transaction of a hundred actions
    batch_s: float = 0.010  # assumed: ten messages to a queue

    @property
    def planned_a_second(self) -> float:
        """Customers that all planners plan: each of them does one request after the other."""
        transactions = (1 + 2 * self.channels) / ACTIONS
        return self.planners / (transactions * self.transaction_s + self.channels / MESSAGES * self.batch_s)


@dataclass(frozen=True)
class Told:
    """How it went."""

    setup: Setup
    planned_after_s: int
    sent_after_s: int
    limited_by: str  # what was used up in most of the seconds


def simulate(setup: Setup) -> Told:
    """Let time pass until everything is sent."""
    unplanned, unsent = float(setup.customers), 0.0
    planned_after_s = 0
    limited: Counter[str] = Counter()
    a_customer = {**PLANNED_CUSTOMER, **{where: each * setup.channels for where, each in PLANNED_DELIVERY.items()}}
    for second in range(LONGEST_S):
        left = {where: _writes_a_second(setup, where, second) for where in _everywhere()}
        plannable, why = _most(left, a_customer)
        planned = min(unplanned, plannable, setup.planned_a_second)
        if unplanned and planned < unplanned:
            limited[why if plannable < setup.planned_a_second else "planners"] += 1
        _spend(left, a_customer, planned)
        unplanned -= planned
        unsent += planned * setup.channels
        planned_after_s = second if unplanned else planned_after_s or second
        sendable, why = _most(left, SENT_DELIVERY)
        consumers = setup.channels * _pollers(setup, second) / setup.send_s
        sent = min(unsent, sendable, consumers)
        if not unplanned and sent < unsent:
            limited[why if sendable < consumers else "consumers"] += 1
        unsent -= sent
        if unplanned <= 0 and unsent <= 0:
            return Told(setup, planned_after_s + 1, second + 1, limited.most_common(1)[0][0] if limited else "nothing")
    raise ValueError(f"{setup.name}: not done within a week")


def scenarios(customers: int = 10_000_000) -> list[Setup]:
    """Return what is worth knowing: as it is deployed, with more shards, with a higher quota."""
    asked = Setup("8 shards, 1 schedule", customers)
    parallel = replace(asked, name="8 shards, 8 schedules", planners=8)
    wide = replace(asked, name="32 shards, 32 schedules", shards=32, planners=32)
    widest = replace(asked, name="100 shards, 100 schedules", shards=100, planners=100)
    raised = replace(widest, name="the same, quota of 200,000 units", table_writes=200_000)
    return [
        asked,
        parallel,
        wide,
        widest,
        replace(widest, name="the same, tables never used before", warm=False),
        raised,
        replace(raised, name="the same, a second for each send", send_s=1.0),
    ]


def _everywhere() -> set[str]:
    return {*PLANNED_CUSTOMER, *PLANNED_DELIVERY, *SENT_DELIVERY}


def _writes_a_second(setup: Setup, where: str, second: int) -> float:
    grown = NEW_TABLE_WRITES * 2 ** (second // DOUBLES_AFTER_S)
    most = setup.table_writes if setup.warm else min(setup.table_writes, grown)
    if where not in _SHARDED:
        return most
    partitions = setup.shards * (setup.channels if where == "attention" else 1)
    return min(most, partitions * PARTITION_WRITES)


def _pollers(setup: Setup, second: int) -> float:
    return min(setup.concurrency, FIRST_POLLERS + POLLERS_A_MINUTE * second / 60)


def _most(left: Mapping[str, float], each: Mapping[str, int]) -> tuple[float, str]:
    """How many of something there are units for, and where they run out first."""
    return min((left[where] / units, where) for where, units in each.items())


def _spend(left: dict[str, float], each: Mapping[str, int], count: float) -> None:
    for where, units in each.items():
        left[where] -= units * count


def main() -> None:
    """Show every scenario."""
    table = Table(
        "set-up", "planned after", "sent after", "limited by", title="10 million customers, two channels each"
    )
    for setup in scenarios():
        told = simulate(setup)
        table.add_row(
            setup.name, f"{told.planned_after_s / 60:.0f} min", f"{told.sent_after_s / 60:.0f} min", told.limited_by
        )
    Console().print(table)


if __name__ == "__main__":
    main()
