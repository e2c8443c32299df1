"""One wake-up of the planner: shard by shard, page by page, until nothing is due or the time is up."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from functions.core.calendar import UnknownTimeZoneError
from functions.core.planning import PlanningRules, SchedulePlan, check_lateness, plan_schedule
from functions.core.ports import UnreadableSchedule

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime, timedelta

    from functions.core.customer import Schedule
    from functions.core.ports import Clock, DeliveryQueues, Ledger, Periods, PlanBook, ShardLeases
    from functions.core.surge import SurgeGuard


@dataclass(slots=True)
class PlannerReport:
    """What a wake-up did.

    `unfinished` shards go on at the next wake-up; `busy` ones are another planner's; `held` ones wait for a person,
    because far more is due than usual. `due_since` is when the first of those schedules fell due that it knows to be
    left.
    """

    planned: int = 0
    existing: int = 0
    moved: int = 0
    enqueued: int = 0
    not_enqueued: int = 0
    failed: list[str] = field(default_factory=list)
    busy: list[int] = field(default_factory=list)
    unfinished: list[int] = field(default_factory=list)
    held: list[int] = field(default_factory=list)
    due_since: datetime | None = None

    def left_due(self, schedules: Sequence[Schedule | UnreadableSchedule]) -> None:
        """Note schedules that stay due, or that fell due no later than others which do."""
        times = [one.next_run_at for one in schedules if not isinstance(one, UnreadableSchedule)]
        self.due_since = min([*times, *([] if self.due_since is None else [self.due_since])], default=None)

    @property
    def complete(self) -> bool:
        """Whether nothing that was due is left behind."""
        return not (self.failed or self.busy or self.unfinished or self.held or self.not_enqueued)


@dataclass(frozen=True, slots=True)
class Planner:
    """Plans what is due up to a scheduled time, which comes from the schedule's event and never from the clock."""

    book: PlanBook
    ledger: Ledger
    queues: DeliveryQueues
    leases: ShardLeases
    periods: Periods
    clock: Clock
    rules: PlanningRules
    max_lateness: timedelta
    surge_guard: SurgeGuard | None = None  # None: whatever is due is planned

    def run(
        self,
        *,
        scheduled_time: datetime,
        shards: Sequence[int],
        owner: str,
        stop_at: datetime,
        on_purpose: bool = False,
    ) -> PlannerReport:
        """Plan the shards in turn and stop taking pages at `stop_at`.

        A second run for the same time finds the rows and changes nothing. Raises TooLateError for a time too long ago,
        unless it is asked for on purpose.
        """
        if not on_purpose:
            check_lateness(scheduled_time, now=self.clock(), limit=self.max_lateness)
        report = PlannerReport()
        for shard in shards:
            if self.clock() >= stop_at:
                report.unfinished.append(shard)
            elif not self.leases.take(shard, owner=owner, now=self.clock(), until=stop_at):
                report.busy.append(shard)
            else:
                self._plan_shard(shard, scheduled_time, stop_at, report)
                self.leases.give_back(shard, owner=owner)
        return report

    def _plan_shard(self, shard: int, until: datetime, stop_at: datetime, report: PlannerReport) -> None:
        for page in self.book.due(shard, until):
            if self.surge_guard is not None and not self.surge_guard.admits(len(page), day=until.date()):
                report.held.append(shard)
                report.left_due(page)
                return
            self._plan_page(page, report)
            if self.clock() >= stop_at:
                report.unfinished.append(shard)
                report.left_due(page[-1:])  # pages come oldest first: what is left is due since then at the earliest
                return

    def _plan_page(self, page: Sequence[Schedule | UnreadableSchedule], report: PlannerReport) -> None:
        plans: list[SchedulePlan] = []
        for schedule in page:
            plan = self._plan(schedule)
            if plan is None:
                # One bad row never blocks a page. It stays due, so it shows as the oldest due row until it is mended.
                report.failed.append(schedule.customer_id)
                report.left_due([schedule])
            else:
                plans.append(plan)
        # A week is opened before its rows are written and again after: whoever closes it in between finds it changed.
        periods = sorted({delivery.period for plan in plans for delivery in plan.deliveries})
        self._open(periods)
        committed = self.book.commit(plans)
        self._open(periods)
        sending = self.queues.publish(committed.planned)
        self.ledger.mark_enqueued(sending.sent, self.clock())
        report.planned += len(committed.planned)
        report.existing += committed.existing
        report.moved += committed.moved
        report.failed.extend(committed.failed)
        report.enqueued += len(sending.sent)
        report.not_enqueued += len(sending.failed)

    def _plan(self, schedule: Schedule | UnreadableSchedule) -> SchedulePlan | None:
        if isinstance(schedule, UnreadableSchedule):
            return None
        try:
            return plan_schedule(schedule, now=self.clock(), rules=self.rules)
        except UnknownTimeZoneError:
            return None

    def _open(self, periods: Sequence[str]) -> None:
        for period in periods:
            self.periods.open(period, at=self.clock())
