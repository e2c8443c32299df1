"""A delivery's row: its states, which of them may follow which, and what it remembers."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from functions.core.identity import DeliveryId
    from functions.core.summary import SummaryNote


class Status(StrEnum):
    """Where a delivery stands."""

    PLANNED = "planned"
    QUEUED = "queued"
    SENDING = "sending"
    RETRYABLE = "retryable"
    UNCERTAIN = "uncertain"
    ACCEPTED = "accepted"
    SKIPPED = "skipped"
    EXPIRED = "expired"
    DEAD_LETTER = "dead_letter"


class SkipReason(StrEnum):
    """Why a delivery was, rightly, not sent."""

    OPTED_OUT = "opted_out"
    SUPPRESSED = "suppressed"
    INACTIVE = "inactive"
    NO_ADDRESS = "no_address"
    EMPTY = "empty"
    QUIET = "quiet"
    TOO_LATE = "too_late"
    CANCELLED = "cancelled"
    PAID = "paid"
    NOT_ON_ALLOW_LIST = "not_on_allow_list"
    ENDPOINT_DISABLED = "endpoint_disabled"


class FailureClass(StrEnum):
    """Why a delivery ended in `dead_letter`."""

    REJECTED = "rejected"
    EXHAUSTED = "exhausted"


class ReceiptState(StrEnum):
    """What a provider's later events say became of an accepted delivery."""

    SENT = "sent"
    DELAYED = "delayed"
    SOFT_BOUNCED = "soft_bounced"
    DELIVERED = "delivered"
    FAILED = "failed"
    BOUNCED = "bounced"
    COMPLAINED = "complained"

    @property
    def conclusive(self) -> bool:
        """Whether it says what became of the message, rather than that it is on its way."""
        return self not in {ReceiptState.SENT, ReceiptState.DELAYED}


# What a row that nobody is sending may become. It is `retryable` also when it is put off: gate closed, pace used up.
# `uncertain` when it is given up although an earlier send may have been accepted; `accepted` when the provider says so.
_WAITING: Final = frozenset(
    {
        Status.SENDING,
        Status.RETRYABLE,
        Status.UNCERTAIN,
        Status.ACCEPTED,
        Status.SKIPPED,
        Status.EXPIRED,
        Status.DEAD_LETTER,
    }
)

# The one table of transitions. Every conditional write takes its condition from it; the state diagram is drawn from it.
TRANSITIONS: Final[Mapping[Status, frozenset[Status]]] = {
    Status.PLANNED: _WAITING | {Status.QUEUED},
    Status.QUEUED: _WAITING | {Status.QUEUED},
    Status.SENDING: frozenset(
        {
            Status.SENDING,  # a lease that ran out, with a provider that knows our key
            Status.ACCEPTED,
            Status.RETRYABLE,
            Status.UNCERTAIN,
            Status.DEAD_LETTER,
        }
    ),
    Status.RETRYABLE: _WAITING | {Status.QUEUED},
    # What may have been sent never reads as if it had not been: it leaves `uncertain` by evidence only.
    Status.UNCERTAIN: frozenset(
        {Status.ACCEPTED, Status.RETRYABLE, Status.SKIPPED, Status.EXPIRED, Status.DEAD_LETTER}
    ),
    Status.DEAD_LETTER: _WAITING | {Status.QUEUED, Status.ACCEPTED},
    Status.ACCEPTED: frozenset(),
    Status.SKIPPED: frozenset(),
    Status.EXPIRED: frozenset(),
}

OPEN: Final = frozenset({Status.PLANNED, Status.QUEUED, Status.SENDING, Status.RETRYABLE})
FINISHED: Final = frozenset(status for status, following in TRANSITIONS.items() if not following)
# Attributes that say why a row is not accepted yet, or when that is to be looked at.
UNSETTLED: Final = frozenset(
    {"lease_until", "next_attempt_at", "in_doubt_since", "skip_reason", "failure", "attention_at"}
)


def may_become(target: Status) -> frozenset[Status]:
    """Return the states from which a row may move to `target`."""
    return frozenset(status for status, following in TRANSITIONS.items() if target in following)


def may_have_become(read: Status, target: Status) -> frozenset[Status]:
    """Return the states in which a row may stand by now, for what was read to be enough to write `target`.

    Only its id may have been published meanwhile, which changes nothing else of it. That the provider accepted is the
    truth whatever has been thought of the attempt since.
    """
    if read is target:
        return frozenset({read})
    if target is Status.ACCEPTED:
        return may_become(target)
    published = {Status.QUEUED} if read in {Status.PLANNED, Status.RETRYABLE} else set()
    return may_become(target) & ({read} | published)


class Attention(StrEnum):
    """Why a row is in the `attention` index. Finished rows are not in it."""

    OPEN = "open"
    RETRYABLE = "retryable"
    UNCERTAIN = "uncertain"
    DEAD_LETTER = "dead_letter"


ATTENTION_OF: Final[Mapping[Status, Attention]] = {
    Status.PLANNED: Attention.OPEN,
    Status.QUEUED: Attention.OPEN,
    Status.SENDING: Attention.OPEN,
    Status.RETRYABLE: Attention.RETRYABLE,
    Status.UNCERTAIN: Attention.UNCERTAIN,
    Status.DEAD_LETTER: Attention.DEAD_LETTER,
}

HISTORY_LIMIT: Final = 10


@dataclass(frozen=True, slots=True)
class Failure:
    """Why the last attempt did not end in `accepted`: class and provider code, never the provider's words."""

    failure_class: str
    code: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Receipt:
    """The weightiest of the provider's events about a delivery, and marks by which repeated events are known."""

    state: ReceiptState
    at: datetime
    code: str  # the provider's, never its words
    seen: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Attempt:
    """One line of a delivery's history."""

    attempt: int
    at: datetime
    outcome: str
    code: str
    policy_version: int


@dataclass(frozen=True, slots=True)
class Delivery:
    """One row of the deliveries table. Selected, enqueued and accepted are three fields, not one flag."""

    delivery_id: DeliveryId
    template_id: str
    period: str  # ISO date of a Monday: the week it is counted in
    status: Status
    due_at: datetime
    selected_at: datetime
    expires_at: datetime
    enqueued_at: datetime | None = None
    accepted_at: datetime | None = None
    attempt: int = 0
    lease_until: datetime | None = None
    claimed_at: datetime | None = None
    claimed_by: str | None = None  # the invocation that raised `attempt` last
    last_receive: bool = False  # whether that was the message's last allowed receive
    published: int = 0  # how often the reconciler has published its id again because nothing had been heard
    in_doubt_since: datetime | None = None  # first claim whose send may have been accepted without our knowing
    next_attempt_at: datetime | None = None
    attention_at: datetime | None = None  # when the reconciler, or a person, should look; None once finished
    provider: str | None = None
    provider_reference: str | None = None
    fingerprint: str | None = None
    summary: SummaryNote | None = None  # since the first attempt, of a digest that was to have one
    skip_reason: SkipReason | None = None
    failure: Failure | None = None
    receipt: Receipt | None = None
    history: tuple[Attempt, ...] = field(default=())
    erased_at: datetime | None = None  # when the customer was erased: what leads to the person is gone, and stays so

    def lease_ran_out(self, now: datetime) -> bool:
        """Whether the invocation that claimed this row can no longer be running."""
        return self.status is Status.SENDING and (self.lease_until is None or self.lease_until <= now)

    def exhausted(self) -> bool:
        """Whether it is a dead letter that a redrive may open again."""
        return (
            self.status is Status.DEAD_LETTER
            and self.failure is not None
            and self.failure.failure_class == FailureClass.EXHAUSTED
        )

    def remembering(self, attempt: Attempt) -> tuple[Attempt, ...]:
        """Return the history with one more attempt, bounded to the last HISTORY_LIMIT."""
        return (*self.history, attempt)[-HISTORY_LIMIT:]
