"""The ledger and the plan book in memory. `tests/conformance` runs against them and against DynamoDB alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from functions.core.customer import Schedule
from functions.core.identity import shard_of
from functions.core.planning import SchedulePlan
from functions.core.ports import PlanReceipt
from ops.in_memory.ledger import InMemoryLedger, as_stored, as_stored_instant

__all__ = ["InMemoryLedger", "InMemoryPlanBook", "as_stored", "as_stored_instant"]


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


def _key(schedule: Schedule) -> tuple[str, str]:
    return schedule.customer_id, schedule.record
