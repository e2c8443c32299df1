"""One sweep over the rows that should be looked at by now. Index entries are hints; the rows decide."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, Final

from functions.core.delivery import Attention, Delivery, Status
from functions.core.settlement import abandoned, expired, postponed, requeued

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime, timedelta

    from functions.core.identity import Channel
    from functions.core.outcome import Dedupe
    from functions.core.ports import Clock, DeliveryQueues, Ledger

PAGE: Final = 100  # rows in one consistent read


class Finding(StrEnum):
    """What the reconciler found a row to be."""

    FINISHED = "finished"
    NOT_ENQUEUED = "not_enqueued"
    SILENT = "silent"
    LEASE_RAN_OUT = "lease_ran_out"
    DUE_AGAIN = "due_again"
    TOO_LATE = "too_late"
    ALL_RIGHT = "all_right"


@dataclass(slots=True)
class Sweep:
    """What a sweep did: rows by finding, ids that SQS did not take, and whether it saw everything."""

    found: Counter[Finding] = field(default_factory=Counter)
    not_enqueued: int = 0
    unfinished: bool = False


@dataclass(frozen=True, slots=True)
class Reconciler:
    """May run twice at once and be stopped anywhere: every write is conditional on the row as it was read."""

    ledger: Ledger
    queues: DeliveryQueues
    clock: Clock
    shards: int
    silence_after: timedelta
    dedupe: Mapping[Channel, Dedupe]

    def sweep(self, *, stop_at: datetime) -> Sweep:
        """Look at every row whose time has come, until `stop_at`."""
        report = Sweep()
        for page in _pages(self._hints()):
            if self.clock() >= stop_at:
                report.unfinished = True
                break
            self._reconcile(list(self.ledger.read(page).values()), report)
        return report

    def _hints(self) -> Iterator[str]:
        now = self.clock()
        for why in (Attention.OPEN, Attention.RETRYABLE):
            for channel in self.dedupe:
                for shard in range(self.shards):
                    yield from self.ledger.needing_attention(why, channel, shard, now)

    def _reconcile(self, rows: Sequence[Delivery], report: Sweep) -> None:
        to_publish: list[Delivery] = []
        for row in rows:
            finding = self.finding(row, self.clock())
            report.found[finding] += 1
            if finding in {Finding.NOT_ENQUEUED, Finding.SILENT, Finding.DUE_AGAIN}:
                to_publish.append(row)
            else:
                self._mend(row, finding)
        self._publish(to_publish, report)

    def finding(self, row: Delivery, now: datetime) -> Finding:
        """Say what a row needs, from the row alone."""
        if row.status is Status.SENDING:
            return Finding.LEASE_RAN_OUT if row.lease_ran_out(now) else Finding.ALL_RIGHT
        if row.status not in {Status.PLANNED, Status.QUEUED, Status.RETRYABLE}:
            return Finding.FINISHED
        if now >= row.expires_at:
            return Finding.TOO_LATE
        if row.status is Status.PLANNED:
            return Finding.NOT_ENQUEUED
        if row.status is Status.RETRYABLE:
            due = row.next_attempt_at is None or row.next_attempt_at <= now
            return Finding.DUE_AGAIN if due else Finding.ALL_RIGHT
        silent = row.enqueued_at is None or row.enqueued_at + self.silence_after <= now
        return Finding.SILENT if silent else Finding.ALL_RIGHT

    def _mend(self, row: Delivery, finding: Finding) -> None:
        now = self.clock()
        if finding is Finding.TOO_LATE:
            self.ledger.write(row, expired(row))
        elif finding is Finding.LEASE_RAN_OUT:
            dedupe = self.dedupe[row.delivery_id.channel]
            self.ledger.write(row, abandoned(row, dedupe=dedupe, at=now))
        elif finding is Finding.ALL_RIGHT:
            self.ledger.write(row, postponed(row, look_again_at=self._next_look(row, now)))

    def _next_look(self, row: Delivery, now: datetime) -> datetime:
        if row.status is Status.SENDING and row.lease_until is not None:
            return row.lease_until
        if row.status is Status.RETRYABLE and row.next_attempt_at is not None:
            return row.next_attempt_at
        return (row.enqueued_at or now) + self.silence_after

    def _publish(self, rows: Sequence[Delivery], report: Sweep) -> None:
        # Sent first, recorded second: dying in between sends an id twice, which the row absorbs.
        receipt = self.queues.publish(rows)
        now = self.clock()
        for row in receipt.sent:
            self.ledger.write(row, requeued(row, at=now, look_again_at=now + self.silence_after))
        report.not_enqueued += len(receipt.failed)


def _pages(ids: Iterable[str]) -> Iterator[list[str]]:
    remaining = iter(ids)
    while page := list(islice(remaining, PAGE)):
        yield page
