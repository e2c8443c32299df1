"""What is tried with a provider that knows idempotency keys: told to wait, killed after an acceptance, redriven.

One region's email goes through the simulated provider, which records every call and every operation. Each experiment is
set up before anything is planned, and told from those records and from the rows once all is quiet.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from functions import names
from functions.core.delivery import Delivery, Status
from functions.core.identity import Channel, DeliveryId, Topic, shard_of
from ops.local.faults import Aftermath, Fault, Injection, Verdict, verdict_of
from ops.local.marketplace import EXAMPLE, Marketplace, Person
from ops.local.provider_faults import FaultKind, ProviderFault
from ops.local.running_region import RunningRegion
from ops.local.simulated_provider import Call, Operation, SimulatedProvider

REGION_OF_THE_PROVIDER: Final = "eu"
RETRY_AFTER_S: Final = 5
MOVED_WITHIN_S: Final = 10
LOOK_AGAIN_S: Final = 0.5
RECEIVES: Final = 6  # all that the local run's backoff list allows


@dataclass(frozen=True)
class Subject:
    """One delivery of an experiment, and all that can be seen of it from outside."""

    region: RunningRegion
    provider: SimulatedProvider
    person: Person
    period: str

    @property
    def address(self) -> str:
        return self.person.addresses[Channel.EMAIL]

    @property
    def delivery_id(self) -> str:
        return str(DeliveryId(Topic.DIGEST, self.person.customer_id, self.period, Channel.EMAIL))

    def calls(self) -> list[Call]:
        """Requests to send to this person, in order."""
        return sorted((call for call in self.provider.calls if call.to == self.address), key=lambda call: call.at)

    def operations(self) -> list[Operation]:
        """Emails to this person that the provider accepted."""
        return [operation for operation in self.provider.operations if operation.to == self.address]

    def is_one_operation_of(self, row: Delivery | None) -> bool:
        """Whether the row is accepted, the provider performed once, and every request carried the row's id."""
        operations = self.operations()
        return (
            row is not None
            and row.status is Status.ACCEPTED
            and [one.operation_id for one in operations] == [row.provider_reference]
            and {call.key for call in self.calls()} == {self.delivery_id}
        )


class ToldToWait:
    """The provider limits one recipient, and says for how long; everybody else goes through meanwhile."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._has_woken = False
        fault = ProviderFault(kind=FaultKind.RECIPIENT_RATE_LIMITED, to=subject.address, retry_after=str(RETRY_AFTER_S))
        subject.provider.will(fault)

    @property
    def is_over(self) -> bool:
        return self._has_woken

    def step(self) -> None:
        # The reconciler wakes every minute, and publishes what falls due until the next one; here nobody waits for it.
        if not self._has_woken and self._subject.calls():
            self._has_woken = True
            self._subject.region.wake(names.OUTPUT_RECONCILER_SCHEDULE)

    def fault(self, aftermath: Aftermath) -> Fault:
        calls = self._subject.calls()
        row = aftermath.rows.get(self._subject.delivery_id)
        return Fault(
            "a recipient told to wait",
            self._subject.region.name,
            f"the provider answered customer {self._subject.person.customer_id}'s email with 429 and "
            f"Retry-After: {RETRY_AFTER_S}",
            "the next attempt not early and under the same id; everybody else goes through",
            self._happened(calls),
            self._verdict(calls, row),
        )

    def _happened(self, calls: Sequence[Call]) -> str:
        if len(calls) < 2:  # noqa: PLR2004 - the refused one and the one after it
            return f"{len(calls)} requests were made for it"
        waited = (calls[1].at - calls[0].at).total_seconds()
        between = sum(calls[0].at < one.at < calls[1].at for one in self._subject.provider.operations)
        return f"tried again after {waited:.1f} s under the same id, and accepted; {between:,} others went through"

    def _verdict(self, calls: Sequence[Call], row: Delivery | None) -> Verdict:
        if not calls:
            return Verdict.NOT_DONE
        early = any(later.at - calls[0].at < timedelta(seconds=RETRY_AFTER_S) for later in calls[1:])
        return verdict_of(held=not early and self._subject.is_one_operation_of(row))


class KilledAfterAcceptance:
    """The provider accepts and keeps silent, and the consumer that waits for its answer is killed."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._kills = 0
        subject.provider.will(ProviderFault(kind=FaultKind.HANG, to=subject.address, accepting=True))

    @property
    def is_over(self) -> bool:
        return self._kills > 0

    def step(self) -> None:
        if self._kills or not self._subject.operations():
            return
        for worker in self._subject.region.workers(Channel.EMAIL):
            worker.kill()
            self._kills += 1

    def fault(self, aftermath: Aftermath) -> Fault:
        row = aftermath.rows.get(self._subject.delivery_id)
        done = bool(self._subject.operations()) and row is not None
        return Fault(
            "a function killed after the provider accepted",
            self._subject.region.name,
            "the provider accepted an email and kept silent; the consumers that waited were ended with SIGKILL",
            "sent again under the same key, with the same result: one accepted operation",
            self._happened(row),
            verdict_of(held=self._subject.is_one_operation_of(row)) if done else Verdict.NOT_DONE,
        )

    def _happened(self, row: Delivery | None) -> str:
        if row is None or not row.history:
            return "its moment never came"
        how = ", then ".join(f"{one.outcome} ({one.code})".replace("_", " ") for one in row.history)
        return f"{how}; {len(self._subject.calls())} requests, {len(self._subject.operations())} accepted operation"


class RedrivenAfterRepair:
    """The provider is down for one delivery until its receives are used up; then its message is redriven."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._redriven = False
        subject.provider.will(ProviderFault(kind=FaultKind.UNAVAILABLE, to=subject.address, times=RECEIVES))

    @property
    def is_over(self) -> bool:
        return self._redriven

    def step(self) -> None:
        # Not every receive ends in a call: a consumer that was killed had this message in hand as well, perhaps.
        if self._redriven or not self._subject.calls() or not self._is_exhausted():
            return
        # Its row is finished before its message has moved, which happens when somebody would receive it once more: in a
        # small run everything looks quiet by then.
        give_up_at = time.monotonic() + MOVED_WITHIN_S
        while not self._redriven and time.monotonic() < give_up_at:
            self._redriven = self._subject.region.redrive(Channel.EMAIL, self._subject.delivery_id)
            if not self._redriven:
                time.sleep(LOOK_AGAIN_S)

    def _is_exhausted(self) -> bool:
        delivery_id = self._subject.delivery_id
        row = self._subject.region.deployment.ledger.read([delivery_id]).get(delivery_id)
        return row is not None and row.exhausted()

    def fault(self, aftermath: Aftermath) -> Fault:
        row = aftermath.rows.get(self._subject.delivery_id)
        return Fault(
            "a corrected delivery redriven",
            self._subject.region.name,
            "the provider answered one email with 503 until its receives were used up; SQS moved its message to the "
            "dead-letter queue, and from there it was redriven",
            "sent under its original id, with its history kept",
            self._happened(row),
            self._verdict(row),
        )

    def _happened(self, row: Delivery | None) -> str:
        if not self._redriven or row is None:
            return "its message never came to the dead-letter queue"
        failed = sum(one.outcome != Status.ACCEPTED for one in row.history)
        return f"{row.status} at attempt {row.attempt}, after {failed} that are still in its history"

    def _verdict(self, row: Delivery | None) -> Verdict:
        if not self._redriven or row is None:
            return Verdict.NOT_DONE
        kept = len(row.history) == row.attempt == len(self._subject.calls())
        return verdict_of(held=kept and self._subject.is_one_operation_of(row))


def experiments(marketplace: Marketplace, region: RunningRegion, provider: SimulatedProvider) -> tuple[Injection, ...]:
    """Set up one experiment for each customer who gets an email, the example customer first; as many as there are.

    The others are among the first that the planner comes to: what follows a kill takes half a minute.
    """

    def place(person: Person) -> tuple[bool, int]:
        return int(person.customer_id) != EXAMPLE, shard_of(person.customer_id, region.deployment.shards)

    people = sorted(marketplace.reachable(region.name, Channel.EMAIL), key=place)
    period = marketplace.period_start.isoformat()
    subjects = [Subject(region, provider, person, period) for person in people]
    kinds: tuple[Callable[[Subject], Injection], ...] = (ToldToWait, KilledAfterAcceptance, RedrivenAfterRepair)
    return tuple(kind(subject) for kind, subject in zip(kinds, subjects, strict=False))
