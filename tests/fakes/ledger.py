"""The ledger and the plan book in memory.

They refuse what the tables refuse: a write holds only while `attempt` is as it was read and the row's state may become
the new one, and it changes only what differs between what was read and what is written. `tests/conformance` runs
against them and against DynamoDB alike, so that they stay that way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime
from typing import Any

from functions.core.customer import Schedule
from functions.core.delivery import ATTENTION_OF, FINISHED, OPEN, Attention, Delivery, Status, may_become
from functions.core.identity import Channel, shard_of
from functions.core.instants import from_text, to_text
from functions.core.planning import SchedulePlan
from functions.core.ports import Claim, ClaimRefusedError, PlanReceipt
from functions.core.settlement import claimed, is_own_claim


class InMemoryLedger:
    """A `Ledger` whose `rows` are open to look at."""

    def __init__(self, *, shards: int = 1) -> None:
        self.rows: dict[str, Delivery] = {}
        self.shards = shards

    def put(self, *deliveries: Delivery) -> None:
        """Set rows as a scenario needs them, without any condition."""
        self.rows |= {str(one.delivery_id): as_stored(one) for one in deliveries}

    def read(self, delivery_ids: Iterable[str]) -> Mapping[str, Delivery]:
        return {one: self.rows[one] for one in delivery_ids if one in self.rows}

    def claim(self, before: Delivery, claim: Claim) -> Delivery:
        after = claimed(before, claim)
        if self.write(before, after):
            return after
        current = self.rows.get(str(before.delivery_id))
        if current is not None and is_own_claim(current, after):
            return current
        raise ClaimRefusedError(current)

    def write(self, before: Delivery, after: Delivery) -> bool:
        current = self.rows.get(str(before.delivery_id))
        may_come_from = {before.status} if before.status is after.status else may_become(after.status)
        if current is None or current.attempt != before.attempt or current.status not in may_come_from:
            return False
        if before.receipt not in (after.receipt, current.receipt):  # written, and not what was read
            return False
        changed = {one.name: getattr(after, one.name) for one in fields(Delivery) if _differs(before, after, one.name)}
        self.put(replace(current, **(changed | {"status": after.status})))
        return True

    def mark_enqueued(self, deliveries: Sequence[Delivery], at: datetime) -> None:
        for delivery in deliveries:
            current = self.rows.get(str(delivery.delivery_id))
            if current is not None and current.status is Status.PLANNED:
                self.put(replace(current, status=Status.QUEUED, enqueued_at=at))

    def needing_attention(self, why: Attention, channel: Channel, shard: int, until: datetime) -> Iterator[str]:
        hints = [
            (row.attention_at or row.selected_at, delivery_id)
            for delivery_id, row in self.rows.items()
            if row.status not in FINISHED
            and ATTENTION_OF[row.status] is why
            and row.delivery_id.channel is channel
            and shard_of(row.delivery_id.customer_id, self.shards) == shard
        ]
        # As from an index: what is read may have moved on by the time that it is looked at.
        yield from [delivery_id for at, delivery_id in sorted(hints) if at <= until]

    def has_open(self, period: str) -> bool:
        return any(row.period == period and row.status in OPEN for row in self.rows.values())


class InMemoryPlanBook:
    """A `PlanBook` over a ledger's rows. `refused` customers' writes fail, as for a table that does not take them."""

    def __init__(self, ledger: InMemoryLedger, *, page: int = 500) -> None:
        self.ledger = ledger
        self.page = page
        self.schedules: dict[tuple[str, str], Schedule] = {}
        self.next_runs: dict[tuple[str, str], datetime | None] = {}
        self.refused: set[str] = set()

    def add(self, *schedules: Schedule) -> None:
        """Set schedules as a scenario needs them."""
        for schedule in schedules:
            self.schedules[_key(schedule)] = schedule
            self.next_runs[_key(schedule)] = as_stored_instant(schedule.next_run_at)

    def due(self, shard: int, until: datetime) -> Iterator[Sequence[Schedule]]:
        due = sorted(
            (next_run_at, key)
            for key, next_run_at in self.next_runs.items()
            if next_run_at is not None and next_run_at <= until and shard_of(key[0], self.ledger.shards) == shard
        )
        for first in range(0, len(due), self.page):
            yield [replace(self.schedules[key], next_run_at=at) for at, key in due[first : first + self.page]]

    def commit(self, plans: Sequence[SchedulePlan]) -> PlanReceipt:
        receipts = [self._commit(plan) for plan in plans]
        return PlanReceipt(
            planned=tuple(one for receipt in receipts for one in receipt.planned),
            existing=sum(receipt.existing for receipt in receipts),
            moved=sum(receipt.moved for receipt in receipts),
            failed=tuple(one for receipt in receipts for one in receipt.failed),
        )

    def _commit(self, plan: SchedulePlan) -> PlanReceipt:
        key = _key(plan.schedule)
        if plan.schedule.customer_id in self.refused:
            return PlanReceipt((), existing=0, moved=0, failed=(plan.schedule.customer_id,))
        if self.next_runs.get(key) != as_stored_instant(plan.schedule.next_run_at):
            return PlanReceipt((), existing=len(plan.deliveries), moved=1, failed=())
        fresh = tuple(one for one in plan.deliveries if str(one.delivery_id) not in self.ledger.rows)
        self.ledger.put(*fresh)
        self.next_runs[key] = None if plan.next_run_at is None else as_stored_instant(plan.next_run_at)
        return PlanReceipt(fresh, existing=len(plan.deliveries) - len(fresh), moved=0, failed=())


def as_stored(delivery: Delivery) -> Delivery:
    """Return a delivery with its instants as a row keeps them: to the millisecond."""
    failure, receipt = delivery.failure, delivery.receipt
    kept: dict[str, Any] = {
        one.name: as_stored_instant(held)
        for one in fields(Delivery)
        if isinstance(held := getattr(delivery, one.name), datetime)
    }
    return replace(
        delivery,
        **kept,
        failure=None if failure is None else replace(failure, at=as_stored_instant(failure.at)),
        receipt=None if receipt is None else replace(receipt, at=as_stored_instant(receipt.at)),
        history=tuple(replace(one, at=as_stored_instant(one.at)) for one in delivery.history),
    )


def as_stored_instant(instant: datetime) -> datetime:
    return from_text(to_text(instant))


def _differs(before: Delivery, after: Delivery, name: str) -> bool:
    return bool(getattr(before, name) != getattr(after, name))


def _key(schedule: Schedule) -> tuple[str, str]:
    return schedule.customer_id, schedule.record
