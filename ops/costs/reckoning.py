"""A week's cost: measured counts times list prices. What has no price is counted all the same, and said to have none.

```
a week = customers x (planned + channels x (planned, sent, receipt)) + wake-ups x (idle planner, idle reconciler)
```
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from functions.core.identity import Channel
from ops.costs.measurements import Use

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ops.costs.measurements import Measurements
    from ops.costs.prices import Price, PriceTable

MINUTES_A_WEEK: Final = 7 * 24 * 60
HOURS_A_WEEK: Final = 7 * 24
WEEKS_A_MONTH: Final = 365 / 7 / 12
GB: Final = 1024**3
MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Workload:
    """What is sent, and how the region is set up.

    Args:
        customers: who get one digest a week.
        channels: on which each of them gets it.
        receipts: channels whose deliveries are answered by one event each.
        planner_minutes, reconciler_minutes: between two wake-ups.
        shards: of every index.
        kept_days: for how long a delivery's row is kept.
        memory_mb: of a channel's consumer.
        function_ms: time of a function for each delivery, all of them together; None where nobody has measured it.
    """

    customers: int
    channels: Sequence[Channel]
    receipts: frozenset[Channel]
    planner_minutes: int
    reconciler_minutes: int
    shards: int
    kept_days: int
    memory_mb: int
    function_ms: float | None = None

    @property
    def deliveries(self) -> int:
        """How many there are in a week."""
        return self.customers * len(self.channels)


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that is paid for: how much of it in a week, and its price where one is known."""

    what: str
    amount: float
    price: Price | None
    idle: float = 0  # the part of the amount that is there whether anything is sent or not

    @property
    def dollars(self) -> float | None:
        """What a week of it costs."""
        return None if self.price is None else self.amount * self.price.each


@dataclass(frozen=True, slots=True)
class Week:
    """A week of a region."""

    workload: Workload
    table_requests: float  # DynamoDB bills their units, not them
    lines: Sequence[Line]
    provider: Sequence[Line] = field(default=())

    @property
    def dollars(self) -> float:
        """All that has a price, the providers aside."""
        return sum(line.dollars or 0 for line in self.lines)

    @property
    def idle_dollars(self) -> float:
        """What a week costs in which nothing is sent."""
        return sum(line.idle * line.price.each for line in self.lines if line.price is not None)

    @property
    def unpriced(self) -> list[str]:
        """What has no price."""
        return [line.what for line in (*self.lines, *self.provider) if line.price is None]

    def for_a_million(self, dollars: float) -> float:
        """So many dollars a week, as dollars for a million deliveries."""
        return dollars / self.workload.deliveries * MILLION


def a_week(measured: Measurements, prices: PriceTable, workload: Workload) -> Week:
    """Reckon a week, the providers aside."""
    sent = measured.of_a_customer(workload.channels)
    for channel in workload.channels:
        sent += measured.a_receipt * (1 if channel in workload.receipts else 0)
    idle = _idle(measured, workload)
    total = sent * workload.customers + idle
    stored = measured.a_row_bytes * workload.deliveries * workload.kept_days / 7 / GB
    lines = [
        Line("DynamoDB write units", total.write_units, prices.get("dynamodb_write"), idle.write_units),
        Line("DynamoDB read units", total.read_units, prices.get("dynamodb_read"), idle.read_units),
        Line("DynamoDB storage of rows, GB-months", stored / WEEKS_A_MONTH, prices.get("dynamodb_storage")),
        Line("SQS requests", total.queue_requests, prices.get("sqs"), idle.queue_requests),
        Line("Lambda requests", total.invocations, prices.get("lambda_request"), idle.invocations),
        Line("Scheduler invocations", _wake_ups(workload), prices.get("scheduler"), _wake_ups(workload)),
        Line("logs, GB", total.log_bytes / GB, prices.get("logs"), idle.log_bytes / GB),
    ]
    if workload.function_ms is not None:
        time = workload.deliveries * workload.function_ms / 1000 * workload.memory_mb / 1024
        lines.append(Line("Lambda time, GB-seconds", time, prices.get("lambda_arm_time")))
    return Week(workload, total.table_requests, lines)


def _wake_ups(workload: Workload) -> float:
    return MINUTES_A_WEEK / workload.planner_minutes + MINUTES_A_WEEK / workload.reconciler_minutes


def _idle(measured: Measurements, workload: Workload) -> Use:
    """A week's wake-ups: each looks through its shards, so it grows with those, and not with the customers."""
    planner = measured.an_idle_planner * (MINUTES_A_WEEK / workload.planner_minutes)
    reconciler = measured.an_idle_reconciler * (MINUTES_A_WEEK / workload.reconciler_minutes)
    both = (planner + reconciler) * (workload.shards / measured.shards)
    return Use(**{**_as_dict(both), "invocations": _wake_ups(workload)})


def _as_dict(use: Use) -> dict[str, float]:
    return {name: getattr(use, name) for name in Use.__slots__}


# --- against what others would build ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a week costs here and there, of the part that differs, for so many customers.

    `here` and `there` are (standing dollars, dollars for each customer).
    """

    other: str
    here: tuple[float, float]
    there: tuple[float, float]

    def dollars(self, customers: int) -> tuple[float, float]:
        """A week here, and a week there."""
        return self.here[0] + self.here[1] * customers, self.there[0] + self.there[1] * customers

    def cheaper_here(self, customers: int) -> bool:
        """Whether it is, for so many."""
        here, there = self.dollars(customers)
        return here < there

    @property
    def crossover(self) -> int | None:
        """Customers at which both cost the same; None where one is cheaper whatever their number."""
        standing, each = self.there[0] - self.here[0], self.here[1] - self.there[1]
        return round(standing / each) if each and standing / each > 0 else None


def one_schedule_each(measured: Measurements, prices: PriceTable, workload: Workload) -> Comparison | None:
    """Waking: one EventBridge schedule for each customer, which invokes a function that plans this one alone.

    In its favour: nothing is counted for making and changing schedules, nor for the function's time.
    """
    alone = Use(
        invocations=1,
        queue_requests=len(workload.channels),  # one by one, where a page's ids go ten at a time
        log_bytes=measured.an_idle_planner.log_bytes,
    )
    ours = measured.a_customer + Use(queue_requests=measured.a_planned_delivery.queue_requests) * len(workload.channels)
    planner_only = MINUTES_A_WEEK / workload.planner_minutes
    idle = measured.an_idle_planner * planner_only * (workload.shards / measured.shards)
    scheduler = prices.get("scheduler")
    here, here_each, there = _dollars(idle, prices), _dollars(ours, prices), _dollars(alone, prices)
    if scheduler is None or here is None or here_each is None or there is None:
        return None
    standing = here + planner_only * scheduler.each
    return Comparison("one EventBridge schedule for each customer", (standing, here_each), (0, there + scheduler.each))


def polling_a_relational_table(measured: Measurements, prices: PriceTable, workload: Workload) -> Comparison | None:
    """Keeping: a table in a relational database in place of DynamoDB's; queues, functions and logs as here.

    In its favour: the smallest instance that is priced, nothing for its storage and its connections, and no question
    whether it can take the week's peak.
    """
    relational = prices.get("relational")
    each = measured.of_a_customer(workload.channels)
    for channel in workload.channels:
        each += measured.a_receipt * (1 if channel in workload.receipts else 0)
    tables = Use(read_units=each.read_units, write_units=each.write_units)
    idle = _idle(measured, workload)
    here = _dollars(Use(read_units=idle.read_units, write_units=idle.write_units), prices)
    here_each = _dollars(tables, prices)
    if relational is None or here is None or here_each is None:
        return None
    return Comparison(
        _POLLED.format(relational.of.removeprefix("hour of ")), (here, here_each), (relational.each * HOURS_A_WEEK, 0)
    )


_POLLED: Final = "a relational table that is polled ({})"
_PRICED_AS: Final[Mapping[str, tuple[str, float]]] = {
    "read_units": ("dynamodb_read", 1),
    "write_units": ("dynamodb_write", 1),
    "queue_requests": ("sqs", 1),
    "invocations": ("lambda_request", 1),
    "log_bytes": ("logs", 1 / GB),
}


def _dollars(use: Use, prices: PriceTable) -> float | None:
    """What it costs; None where something of it has no price."""
    total = 0.0
    for name, (price_name, factor) in _PRICED_AS.items():
        price = prices.get(price_name)
        amount = getattr(use, name) * factor
        if amount and price is None:
            return None
        total += amount * price.each if price is not None else 0
    return total
