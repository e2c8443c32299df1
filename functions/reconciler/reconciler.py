"""One sweep over the rows that should be looked at by now. Index entries are hints; the rows decide.

May run twice at once and be stopped anywhere: every write is conditional on the row as it was read, and an id that is
published twice is absorbed by its row.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from itertools import islice
from math import ceil
from typing import TYPE_CHECKING, Final

from functions.core.delivery import Attention, Delivery, Status
from functions.core.outcome import Guarantee, Sight
from functions.core.settlement import (
    abandoned,
    confirmed,
    exhausted,
    expired,
    postponed,
    refuted,
    requeued,
)
from functions.core.traffic import Gate, GatePosition

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from functions.core.identity import Channel
    from functions.core.ports import Clock, DeliveryQueues, Ledger, Periods, Witness
    from functions.core.traffic import Traffic

PAGE: Final = 100  # rows in one consistent read
LOOKUPS: Final = 50  # questions to a provider in one sweep of a channel
PUBLISHED_IN_VAIN: Final = 3  # an id that was published so often without any news is given up
NO_NEWS: Final = "no_news"
EVER: Final = timedelta(days=3650)
FOR_A_PERSON: Final = timedelta(days=1)  # how long a row is left alone that only a person or an event can settle


class Finding(StrEnum):
    """What the reconciler found a row to be."""

    FINISHED = "finished"
    NOT_ENQUEUED = "not_enqueued"
    SILENT = "silent"
    IN_VAIN = "in_vain"
    LEASE_RAN_OUT = "lease_ran_out"
    DUE_AGAIN = "due_again"
    TOO_LATE = "too_late"
    EXPECTED = "expected"
    ALL_RIGHT = "all_right"
    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    STILL_UNCERTAIN = "still_uncertain"


@dataclass(slots=True)
class Sweep:
    """What a sweep did: rows by finding, ids that SQS did not take, what it saw on the way, and whether it saw all.

    `ended` counts the deliveries that it moved on by itself, by channel and state; `planned_since` is when the
    oldest of those was selected that no queue would take.
    """

    found: Counter[Finding] = field(default_factory=Counter)
    ended: Counter[tuple[str, Status]] = field(default_factory=Counter)
    enqueued: int = 0
    not_enqueued: int = 0
    planned_since: datetime | None = None
    halted: list[str] = field(default_factory=list)
    uncertain: int = 0
    closed_periods: list[str] = field(default_factory=list)
    open_periods: set[str] = field(default_factory=set)
    oldest_due_at: datetime | None = None
    periods_seen_open: set[str] = field(default_factory=set)
    unfinished: bool = False

    def saw_open(self, row: Delivery) -> None:
        """Note which week an open row belongs to, and how long ago the oldest one fell due."""
        self.periods_seen_open.add(row.period)
        if self.oldest_due_at is None or row.due_at < self.oldest_due_at:
            self.oldest_due_at = row.due_at

    def no_queue_took(self, row: Delivery) -> None:
        """Note a delivery whose id could not be sent, and since when it waits if it never was."""
        self.not_enqueued += 1
        if row.status is Status.PLANNED and (self.planned_since is None or row.selected_at < self.planned_since):
            self.planned_since = row.selected_at


@dataclass(frozen=True, slots=True)
class ChannelRules:
    """What the reconciler needs to know of a channel."""

    guarantee: Guarantee
    witness: Witness | None
    rate_per_second: float


@dataclass(frozen=True, slots=True)
class Reconciler:
    """`horizon` is the time until the next sweep: what falls due within it is published now, with a delay."""

    ledger: Ledger
    queues: DeliveryQueues
    traffic: Traffic
    periods: Periods
    clock: Clock
    shards: int
    silence_after: timedelta
    horizon: timedelta
    channels: Mapping[Channel, ChannelRules]

    def sweep(self, *, stop_at: datetime) -> Sweep:
        """Look at every row whose time has come, channel by channel, until `stop_at`."""
        report = Sweep()
        for channel, rules in self.channels.items():
            gate = self.traffic.gate(channel)
            if gate.position(self.clock()) is GatePosition.HALTED:
                report.halted.append(str(channel))
            visit = _Visit(self, channel, rules, gate, self.queues.backlog(channel), report, stop_at)
            visit.look_after_open()
            visit.bring_back_retryable()
            visit.settle_uncertain()
            visit.count_uncertain()
        self._record_periods(report)
        return report

    def _record_periods(self, report: Sweep) -> None:
        open_periods = self.periods.all_open()
        # A planner that died between its rows and this record, or an index that was behind, let one be closed too soon.
        for period in sorted(report.periods_seen_open - open_periods.keys()):
            self.periods.open(period, at=self.clock())
        if not report.unfinished:
            self._close_periods(open_periods, report)
        report.open_periods = (report.periods_seen_open | open_periods.keys()) - set(report.closed_periods)

    def _close_periods(self, open_periods: Mapping[str, int], report: Sweep) -> None:
        for period, version in open_periods.items():
            # What this very sweep saw open is open, whatever an index says that may be behind.
            if period in report.periods_seen_open:
                continue
            if not self.ledger.has_open(period) and self.periods.close(period, version=version, at=self.clock()):
                report.closed_periods.append(period)


@dataclass(frozen=True, slots=True)
class _Visit:
    """One channel's part of a sweep."""

    reconciler: Reconciler
    channel: Channel
    rules: ChannelRules
    gate: Gate
    backlog: int
    report: Sweep
    stop_at: datetime

    def look_after_open(self) -> None:
        now = self.reconciler.clock()
        for rows in self._rows(Attention.OPEN, now):
            self._tend(rows, {row.delivery_id: self._finding_open(row, now) for row in rows})

    def bring_back_retryable(self) -> None:
        now = self.reconciler.clock()
        opens_at = self.gate.opens_at(now)
        if self.gate.position(now) is GatePosition.HALTED or (opens_at or now) > now + self.reconciler.horizon:
            return  # nothing is read of what may not go out: a halted channel costs nothing
        # No more than the provider will take until the next sweep; the others wait where they are.
        allowance = max(1, ceil(self.rules.rate_per_second * self.reconciler.horizon.total_seconds()) - self.backlog)
        for rows in self._rows(Attention.RETRYABLE, now + self.reconciler.horizon, most=allowance):
            self._tend(rows, {row.delivery_id: self._finding_retryable(row, now) for row in rows})

    def settle_uncertain(self) -> None:
        if self.rules.witness is None:
            return
        for rows in self._rows(Attention.UNCERTAIN, self.reconciler.clock(), most=LOOKUPS):
            for row in rows:
                if row.status is Status.UNCERTAIN:
                    self.report.found[self._ask(row, self.rules.witness)] += 1

    def count_uncertain(self) -> None:
        ever = self.reconciler.clock() + EVER
        for shard in range(self.reconciler.shards):
            hints = self.reconciler.ledger.needing_attention(Attention.UNCERTAIN, self.channel, shard, ever)
            self.report.uncertain += sum(1 for _ in hints)

    def _rows(self, why: Attention, until: datetime, *, most: int | None = None) -> Iterator[list[Delivery]]:
        hints = (
            hint
            for shard in range(self.reconciler.shards)
            for hint in self.reconciler.ledger.needing_attention(why, self.channel, shard, until)
        )
        for page in _pages(islice(hints, most)):
            if self.reconciler.clock() >= self.stop_at:
                self.report.unfinished = True
                return
            yield list(self.reconciler.ledger.read(page).values())

    def _finding_open(self, row: Delivery, now: datetime) -> Finding:
        if row.status is Status.SENDING:
            return Finding.LEASE_RAN_OUT if row.lease_ran_out(now) else Finding.ALL_RIGHT
        if row.status not in {Status.PLANNED, Status.QUEUED}:
            return Finding.FINISHED
        if now >= row.expires_at:
            return Finding.TOO_LATE
        if row.status is Status.PLANNED:
            return Finding.NOT_ENQUEUED
        expected = row.enqueued_at if row.next_attempt_at is None else row.next_attempt_at
        if self.backlog or (expected is not None and expected + self.reconciler.silence_after > now):
            return Finding.ALL_RIGHT  # waiting its turn is not silence
        return Finding.IN_VAIN if row.published >= PUBLISHED_IN_VAIN else Finding.SILENT

    def _finding_retryable(self, row: Delivery, now: datetime) -> Finding:
        if row.status is not Status.RETRYABLE:
            return Finding.FINISHED
        if now >= row.expires_at:
            return Finding.TOO_LATE
        # A row whose message backs off asks for attention when its next attempt is overdue. A copy sent before would
        # have receives of its own, and the message would never be exhausted.
        overdue_at = row.attention_at or now
        return Finding.EXPECTED if overdue_at > max(now, row.next_attempt_at or now) else Finding.DUE_AGAIN

    def _tend(self, rows: Sequence[Delivery], findings: Mapping[object, Finding]) -> None:
        to_publish: list[Delivery] = []
        for row in rows:
            finding = findings[row.delivery_id]
            self.report.found[finding] += 1
            if finding is not Finding.FINISHED:
                self.report.saw_open(row)
            if finding in {Finding.NOT_ENQUEUED, Finding.SILENT, Finding.DUE_AGAIN}:
                to_publish.append(row)
            else:
                self._mend(row, finding)
        self._publish(to_publish, findings)

    def _mend(self, row: Delivery, finding: Finding) -> None:
        now = self.reconciler.clock()
        if finding is Finding.TOO_LATE:
            self._end(row, expired(row, at=now))
        elif finding is Finding.IN_VAIN:
            self._end(row, exhausted(row, code=NO_NEWS, at=now))
        elif finding is Finding.LEASE_RAN_OUT:
            self._end(row, abandoned(row, guarantee=self.rules.guarantee, at=now))
        elif finding is Finding.ALL_RIGHT:
            self._write(row, postponed(row, look_again_at=self._next_look(row, now)))

    def _next_look(self, row: Delivery, now: datetime) -> datetime:
        if row.status is Status.SENDING and row.lease_until is not None:
            return row.lease_until
        # A long queue drains at the provider's rate; until then there is nothing to look at.
        turn = timedelta(seconds=self.backlog / self.rules.rate_per_second)
        return max(row.enqueued_at or now, row.next_attempt_at or now, now + turn) + self.reconciler.silence_after

    def _publish(self, rows: Sequence[Delivery], findings: Mapping[object, Finding]) -> None:
        # Sent first, recorded second: dying in between sends an id twice, which the row absorbs.
        for delay_s, group in self._by_delay(rows).items():
            receipt = self.reconciler.queues.publish(group, delay_s=delay_s)
            now = self.reconciler.clock()
            again = now + timedelta(seconds=delay_s) + self.reconciler.silence_after
            self.report.enqueued += sum(row.status is Status.PLANNED for row in receipt.sent)
            for row in receipt.sent:
                unheard = findings[row.delivery_id] is Finding.SILENT
                self._write(row, requeued(row, at=now, look_again_at=again, unheard=unheard))
            for row, _ in receipt.failed:
                self.report.no_queue_took(row)

    def _by_delay(self, rows: Sequence[Delivery]) -> dict[int, list[Delivery]]:
        """Group rows by the whole seconds until they may be sent: never early, to the second."""
        now = self.reconciler.clock()
        opens_at = self.gate.opens_at(now) or now
        groups: dict[int, list[Delivery]] = {}
        for row in rows:
            due = max(row.next_attempt_at or now, opens_at)
            groups.setdefault(max(0, ceil((due - now).total_seconds())), []).append(row)
        return groups

    def _ask(self, row: Delivery, witness: Witness) -> Finding:
        now = self.reconciler.clock()
        if not self.rules.guarantee.can_look_up(now, in_doubt_since=row.in_doubt_since):
            self._write(row, postponed(row, look_again_at=now + FOR_A_PERSON))
            return Finding.STILL_UNCERTAIN
        sighting = witness.look_up(row)
        if sighting.sight is Sight.ACCEPTED:
            self._write(row, confirmed(row, sighting.reference, at=now))
            return Finding.CONFIRMED
        if sighting.sight is Sight.ABSENT:
            self._write(row, refuted(row, at=now))
            return Finding.REFUTED
        self._write(row, postponed(row, look_again_at=now + self.reconciler.horizon))
        return Finding.STILL_UNCERTAIN

    def _end(self, before: Delivery, after: Delivery) -> None:
        if self._write(before, after):
            self.report.ended[str(self.channel), after.status] += 1

    def _write(self, before: Delivery, after: Delivery) -> bool:
        # False means that somebody was quicker, with better news than ours.
        return self.reconciler.ledger.write(before, after)


def _pages(ids: Iterable[str]) -> Iterator[list[str]]:
    remaining = iter(ids)
    while page := list(islice(remaining, PAGE)):
        yield page
