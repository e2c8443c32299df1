"""What a provider says afterwards: what became of a message that it accepted, and what follows from it.

Events come late, twice, and in any order. So nothing here asks which came first: receipts are joined by weight, and
whoever joins the same events in another order ends with the same row.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from math import ceil
from typing import TYPE_CHECKING, Final, NamedTuple

from functions.core.backoff import AT_ONCE
from functions.core.delivery import Delivery, Receipt, ReceiptState, Status, may_become
from functions.core.instants import to_text
from functions.core.settlement import confirmed

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from datetime import datetime

    from functions.core.identity import DeliveryId
    from functions.core.ports import Clock, Ledger, Suppressions

# Lightest first. A complaint outweighs everything; a bounce that comes after "delivered" is the truth, and a
# "delivered" that comes after a bounce is late. A soft bounce is lighter than "delivered": servers report one and
# deliver later, and SES counts absence notes among them. Of equal weights the earlier is kept.
PRECEDENCE: Final = (
    ReceiptState.SENT,
    ReceiptState.DELAYED,
    ReceiptState.SOFT_BOUNCED,
    ReceiptState.DELIVERED,
    ReceiptState.FAILED,
    ReceiptState.BOUNCED,
    ReceiptState.COMPLAINED,
)
MARKS: Final = 16  # two for each event: eight events are told from their repetitions
TRIES: Final = 4  # to write a row that somebody else writes at the same time


class SuppressionCause(StrEnum):
    """Why a channel of a customer is not written to any more."""

    SOFT_BOUNCES = "soft_bounces"
    HARD_BOUNCE = "hard_bounce"
    COMPLAINT = "complaint"
    STOP = "stop"


# Lightest first: a heavier cause replaces a lighter one, never the other way round.
CAUSES: Final = tuple(SuppressionCause)


@dataclass(frozen=True, slots=True)
class ReceiptEvent:
    """One event of a provider. It holds no address: those never get as far as the queue."""

    provider: str
    event_id: str  # the provider's, the same each time that it repeats the event
    reference: str | None  # the provider's name for the message
    delivery_id: DeliveryId | None  # ours, from the tags that went out with the send
    kind: str  # the provider's name for the type of event
    state: ReceiptState | None  # None: says nothing of what became of the message (opened, clicked)
    at: datetime
    arrived_at: datetime
    code: str

    @property
    def marks(self) -> tuple[str, str]:
        """What tells the event again: its id, and what it says of which message when. Some providers reuse no ids."""
        return (
            _mark(self.provider, self.event_id),
            _mark(self.provider, self.reference or "", self.kind, to_text(self.at)),
        )

    def as_receipt(self) -> Receipt:
        """Return the receipt that this event would be on its own. Raises ValueError where it says nothing."""
        if self.state is None:
            msg = "the event says nothing of what became of the message"
            raise ValueError(msg)
        return Receipt(self.state, self.at, self.code, tuple(sorted(self.marks)))


def _mark(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def joined(one: Receipt | None, other: Receipt) -> Receipt:
    """Return what two receipts say together. Commutative, associative and idempotent, so that no order matters."""
    if one is None:
        return other
    heavier = max(one, other, key=_weight)
    return replace(heavier, seen=tuple(sorted({*one.seen, *other.seen})[-MARKS:]))


def _weight(receipt: Receipt) -> tuple[int, float, str]:
    return PRECEDENCE.index(receipt.state), -receipt.at.timestamp(), receipt.code


class SoftBounce(NamedTuple):
    """A delivery that did not arrive for now."""

    at: datetime
    delivery_id: str


@dataclass(frozen=True, slots=True)
class SuppressionRule:
    """When soft bounces are as good as a hard one: so many deliveries of a channel, within so long."""

    soft_bounces: int
    within: timedelta

    def is_met(self, bounces: Collection[SoftBounce]) -> bool:
        """Whether enough deliveries bounced close enough together, whichever of them was heard of last."""
        return any(self._ending_with(last, bounces) >= self.soft_bounces for last in bounces)

    def _ending_with(self, last: SoftBounce, bounces: Collection[SoftBounce]) -> int:
        return len({one.delivery_id for one in bounces if last.at - self.within <= one.at <= last.at})


CAUSED_BY: Final[Mapping[ReceiptState, SuppressionCause]] = {
    ReceiptState.BOUNCED: SuppressionCause.HARD_BOUNCE,
    ReceiptState.COMPLAINED: SuppressionCause.COMPLAINT,
}


class Note(StrEnum):
    """What happened to an event, for the log and the counters."""

    TAKEN = "taken"
    DUPLICATE = "duplicate"
    IGNORED = "ignored"  # opened, clicked: says nothing of delivery
    UNTAGGED = "untagged"  # does not say which delivery it is about
    UNKNOWN = "unknown_delivery"
    IN_FLIGHT = "in_flight"  # our own write about the send is still to come
    CONTENDED = "contended"


@dataclass(frozen=True, slots=True)
class Reception:
    """What became of an event: done with, or back on the queue.

    `visible_in_s` is in how many seconds; None with a note that is not `done` leaves it to the queue's backoff.
    """

    note: Note
    visible_in_s: int | None = None
    delivery: Delivery | None = None
    confirmed: bool = False  # it settled a row that was in doubt or still open
    second_send: bool = False  # it is about another message than the one that the row knows
    suppressed: SuppressionCause | None = None
    lifted: SuppressionCause | None = None  # a suppression that it took the ground from

    @property
    def done(self) -> bool:
        """Whether the message may be deleted."""
        return self.note in {Note.TAKEN, Note.DUPLICATE, Note.IGNORED}


@dataclass(frozen=True, slots=True)
class Receiver:
    """Takes events in: joins each with its row, settles what was in doubt, suppresses addresses."""

    ledger: Ledger
    suppressions: Suppressions
    rule: SuppressionRule
    clock: Clock

    def receive(self, event: ReceiptEvent) -> Reception:
        """Act on one event. May be repeated, and interrupted anywhere.

        The address is suppressed before the row is written: the row knows the event again, and whatever is left undone
        then would be left for ever.
        """
        if event.state is None:
            return Reception(Note.IGNORED)
        if event.delivery_id is None:
            return Reception(Note.UNTAGGED, AT_ONCE)  # no waiting makes it say more
        for _ in range(TRIES):
            row = self._read(event.delivery_id)
            held_up = self._held_up(row, event)
            if row is None or held_up is not None:
                return held_up or Reception(Note.UNKNOWN)
            after = receipted(row, event)
            lifted = self._count_soft_bounces_less(row, after)
            cause = self._suppress(row, after, event)
            if self.ledger.write(row, after):
                return Reception(
                    Note.TAKEN,
                    delivery=after,
                    confirmed=after.status is not row.status,
                    second_send=_is_another_send(row, event),
                    suppressed=cause,
                    lifted=lifted,
                )
        return Reception(Note.CONTENDED, 1)

    def _read(self, delivery_id: DeliveryId) -> Delivery | None:
        return self.ledger.read([str(delivery_id)]).get(str(delivery_id))

    def _held_up(self, row: Delivery | None, event: ReceiptEvent) -> Reception | None:
        if row is None:
            return Reception(Note.UNKNOWN)
        if row.receipt is not None and not set(event.marks).isdisjoint(row.receipt.seen):
            return Reception(Note.DUPLICATE, delivery=row)
        now = self.clock()
        if row.status is Status.SENDING and not row.lease_ran_out(now):
            # Quicker than our own write. That one knows more (attempts, what else was answered), so it goes first.
            wait = 1 if row.lease_until is None else ceil((row.lease_until - now).total_seconds()) + 1
            return Reception(Note.IN_FLIGHT, max(1, wait), delivery=row)
        return None

    def _suppress(self, row: Delivery, after: Delivery, event: ReceiptEvent) -> SuppressionCause | None:
        """Do what the event means for the address; return the cause if it is suppressed by it."""
        cause = None if event.state is None else CAUSED_BY.get(event.state)
        if cause is None and self._too_many_soft_bounces(after, event):
            cause = SuppressionCause.SOFT_BOUNCES
        if cause is None:
            return None
        took = self.suppressions.suppress(
            row.delivery_id.customer_id, row.delivery_id.channel, cause, at=event.at, code=event.code
        )
        return cause if took else None

    def _too_many_soft_bounces(self, after: Delivery, event: ReceiptEvent) -> bool:
        if not _state(after) is event.state is ReceiptState.SOFT_BOUNCED:
            return False
        # Kept for twice as long as it counts, so that an event which is late by that much finds those around it.
        since = event.at - 2 * self.rule.within
        return self.rule.is_met(self.suppressions.note_soft_bounce(after.delivery_id, at=event.at, since=since))

    def _count_soft_bounces_less(self, row: Delivery, after: Delivery) -> SuppressionCause | None:
        """Forget the soft bounces of a delivery that came to something else, and what followed from them."""
        if not _state(row) is ReceiptState.SOFT_BOUNCED is not _state(after):
            return None
        if self.rule.is_met(self.suppressions.forget_soft_bounces(row.delivery_id)):
            return None
        cause = SuppressionCause.SOFT_BOUNCES
        lifted = self.suppressions.withdraw(row.delivery_id.customer_id, row.delivery_id.channel, cause)
        return cause if lifted else None


def receipted(row: Delivery, event: ReceiptEvent) -> Delivery:
    """Return the row with what the event says, and settled by it where it was not: the provider did accept."""
    with_receipt = replace(row, receipt=joined(row.receipt, event.as_receipt()))
    if row.status in may_become(Status.ACCEPTED):
        return confirmed(with_receipt, row.provider_reference or event.reference, at=event.at)
    return with_receipt


def _state(row: Delivery) -> ReceiptState | None:
    return None if row.receipt is None else row.receipt.state


def _is_another_send(row: Delivery, event: ReceiptEvent) -> bool:
    return None not in {row.provider_reference, event.reference} and row.provider_reference != event.reference


def lighter_than(cause: SuppressionCause) -> Collection[SuppressionCause]:
    """Return the causes that this one replaces."""
    return CAUSES[: CAUSES.index(cause)]
