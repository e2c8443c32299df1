"""From an attempt's outcome to the row's next state."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from functions.core.delivery import Attempt, Delivery, Failure, FailureClass, SkipReason, Status
from functions.core.outcome import POLICY_VERSION, WAIT_S, Acknowledgement, Dedupe, Outcome, OutcomeClass, ruling

if TYPE_CHECKING:
    from datetime import datetime

LEASE_RAN_OUT: Final = "lease_ran_out"
MESSAGE_OVERDUE_S: Final = 60  # how late a message that backs off may be before its id is published again


def settled(claimed: Delivery, outcome: Outcome, *, dedupe: Dedupe, pause_s: int | None, at: datetime) -> Delivery:
    """Return the row after an attempt.

    `pause_s` is for how long the message backs off if the outcome is a passing failure. On its last allowed receive it
    is None, and the row becomes `dead_letter (exhausted)`: SQS moves the message to the dead-letter queue by itself.
    """
    rule = ruling(outcome.outcome, dedupe)
    backs_off = rule.message is Acknowledgement.BACK_OFF
    status = rule.status
    failure_class: str = outcome.outcome
    if backs_off and pause_s is None:
        status, failure_class = Status.DEAD_LETTER, FailureClass.EXHAUSTED
    after = replace(
        claimed,
        status=status,
        lease_until=None,
        history=claimed.remembering(
            Attempt(claimed.attempt, at, str(outcome.outcome), outcome.code, POLICY_VERSION),
        ),
    )
    if status is Status.ACCEPTED:
        return replace(after, accepted_at=at, provider_reference=outcome.reference, failure=None, attention_at=None)
    after = replace(after, failure=Failure(failure_class, outcome.code, at), attention_at=at)
    if status is not Status.RETRYABLE:
        return after
    if backs_off and pause_s is not None:
        # The message comes back by itself; the reconciler looks only whether it did.
        again = at + timedelta(seconds=pause_s)
        return replace(after, next_attempt_at=again, attention_at=again + timedelta(seconds=MESSAGE_OVERDUE_S))
    again = at + timedelta(seconds=WAIT_S[outcome.outcome])
    return replace(after, next_attempt_at=again, attention_at=again)


def skipped(delivery: Delivery, reason: SkipReason) -> Delivery:
    """Return the row of a delivery that is rightly not sent."""
    return replace(delivery, status=Status.SKIPPED, skip_reason=reason, attention_at=None)


def expired(delivery: Delivery) -> Delivery:
    """Return the row of a delivery that is too late to be sent."""
    return replace(delivery, status=Status.EXPIRED, attention_at=None)


def requeued(delivery: Delivery, *, at: datetime, look_again_at: datetime) -> Delivery:
    """Return the row of a delivery whose id has just been published."""
    return replace(delivery, status=Status.QUEUED, enqueued_at=at, attention_at=look_again_at)


def postponed(delivery: Delivery, *, look_again_at: datetime) -> Delivery:
    """Return the row of a delivery that is all right and need not be looked at before then."""
    return replace(delivery, attention_at=look_again_at)


def exhausted(delivery: Delivery, *, code: str, at: datetime) -> Delivery:
    """Return the row of a delivery whose message is about to be moved to the dead-letter queue."""
    return replace(
        delivery, status=Status.DEAD_LETTER, failure=Failure(FailureClass.EXHAUSTED, code, at), attention_at=at
    )


def abandoned(delivery: Delivery, *, dedupe: Dedupe, at: datetime) -> Delivery:
    """Return the row of a delivery whose invocation died with the lease.

    Nobody knows whether the provider accepted it. With one that recognises our key it may be tried again; with one that
    does not, it waits for the provider's event or a person.
    """
    unknown = Outcome(OutcomeClass.UNKNOWN, LEASE_RAN_OUT)
    after = settled(delivery, unknown, dedupe=dedupe, pause_s=0, at=at)
    return replace(after, attention_at=at) if after.status is Status.RETRYABLE else after
