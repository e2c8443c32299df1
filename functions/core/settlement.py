"""From an attempt's outcome, or from what was found out about a row, to the row's next state.

Whatever may have been sent never ends as if it had not been: a row in doubt that is given up becomes `uncertain`.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from functions.core.delivery import FINISHED, Attempt, Delivery, Failure, FailureClass, SkipReason, Status
from functions.core.outcome import (
    POLICY_VERSION,
    Acknowledgement,
    Dedupe,
    Guarantee,
    Outcome,
    OutcomeClass,
    Ruling,
    ruling,
)

if TYPE_CHECKING:
    from datetime import datetime

    from functions.core.ports import Claim

LEASE_RAN_OUT: Final = "lease_ran_out"
CONFIRMED: Final = "confirmed"
DEATHS_IN_A_ROW: Final = 6  # a delivery that so many invocations have died of, one after the other, is given up
MESSAGE_OVERDUE: Final = timedelta(seconds=60)  # how late a message may come back before its id is published again


def claimed(delivery: Delivery, claim: Claim) -> Delivery:
    """Return the row of a delivery that an invocation is about to send."""
    after = replace(
        delivery,
        status=Status.SENDING,
        attempt=delivery.attempt + 1,
        lease_until=claim.lease_until,
        enqueued_at=delivery.enqueued_at or claim.at,  # a message arrived, so it had been enqueued
        claimed_at=claim.at,
        claimed_by=claim.owner,
        last_receive=claim.last_receive,
        provider=claim.provider,
        fingerprint=claim.fingerprint,
        summary=delivery.summary or claim.summary,
    )
    if delivery.status is Status.QUEUED and delivery.enqueued_at is not None:
        # The straight way leaves the index entry alone, which saves two index writes a delivery.
        return after
    return replace(after, attention_at=claim.lease_until)


def is_own_claim(current: Delivery, after: Delivery) -> bool:
    """Whether a claim that was refused had taken effect before, and nothing has happened to the row since."""
    return (current.status, current.attempt, current.claimed_by) == (after.status, after.attempt, after.claimed_by)


def settled(
    sending: Delivery, outcome: Outcome, *, guarantee: Guarantee, pause_s: int | None, at: datetime
) -> Delivery:
    """Return the row after an attempt.

    `pause_s` is for how long the message backs off if the outcome is a passing failure. On its last allowed receive it
    is None, and the row becomes `dead_letter (exhausted)`: SQS moves the message to the dead-letter queue by itself.
    """
    dedupe = guarantee.at(at, in_doubt_since=sending.in_doubt_since)
    rule = ruling(outcome.outcome, dedupe)
    after = _remembered(sending, outcome, rule, at=at)
    if rule.status is Status.ACCEPTED:
        return _accepted(after, outcome.reference, at=at)
    failed = replace(after, failure=Failure(str(outcome.outcome), outcome.code, at), attention_at=at)
    if rule.status is not Status.RETRYABLE:
        return _given_up(failed, rule.status)
    if rule.message is not Acknowledgement.BACK_OFF:
        return put_off(failed, until=outcome.retry_at or at + timedelta(seconds=rule.pause_s))
    if pause_s is None:
        return exhausted(failed, code=outcome.code, at=at)
    # The message comes back by itself; the reconciler looks only whether it did, and no later than there is time.
    again = min(max(at + timedelta(seconds=pause_s), outcome.retry_at or at), max(sending.expires_at, at))
    return replace(failed, status=Status.RETRYABLE, next_attempt_at=again, attention_at=again + MESSAGE_OVERDUE)


def put_off(delivery: Delivery, *, until: datetime) -> Delivery:
    """Return the row of a delivery that waits for its time, for the gate or for the pace, which is no attempt.

    The reconciler brings it back. Never later than its expiry, at which it is looked at in any case.
    """
    again = min(until, max(delivery.expires_at, delivery.selected_at))
    return replace(delivery, status=Status.RETRYABLE, next_attempt_at=again, attention_at=again)


def skipped(delivery: Delivery, reason: SkipReason, *, at: datetime) -> Delivery:
    """Return the row of a delivery that is rightly not sent."""
    return _given_up(replace(delivery, skip_reason=reason, attention_at=at), Status.SKIPPED)


def expired(delivery: Delivery, *, at: datetime) -> Delivery:
    """Return the row of a delivery that is too late to be sent."""
    return _given_up(replace(delivery, attention_at=at), Status.EXPIRED)


def exhausted(delivery: Delivery, *, code: str, at: datetime) -> Delivery:
    """Return the row of a delivery whose message is about to be moved to the dead-letter queue."""
    failure = Failure(FailureClass.EXHAUSTED, code, at)
    return _given_up(replace(delivery, failure=failure, attention_at=at), Status.DEAD_LETTER)


def doubtful(delivery: Delivery, *, at: datetime) -> Delivery:
    """Return the row of a delivery that may have been sent and that nobody may send again without evidence."""
    return replace(delivery, status=Status.UNCERTAIN, attention_at=at)


def erased(delivery: Delivery, *, at: datetime) -> Delivery:
    """Return the row of a delivery whose customer was erased, and which nobody is sending.

    What leads from it to the person goes: the provider's reference, under which the provider has the address, and the
    fingerprint, against which an address and a text could be tried. What is open ends; what may have been sent does not
    read as if it had not been.
    """
    scrubbed = replace(delivery, provider_reference=None, fingerprint=None, erased_at=at)
    if delivery.status in FINISHED:
        return scrubbed
    if delivery.status in {Status.SENDING, Status.UNCERTAIN}:
        since = delivery.in_doubt_since or delivery.claimed_at or at
        scrubbed = replace(scrubbed, in_doubt_since=since, lease_until=None)
    return skipped(scrubbed, SkipReason.INACTIVE, at=at)


def requeued(delivery: Delivery, *, at: datetime, look_again_at: datetime, unheard: bool) -> Delivery:
    """Return the row of a delivery whose id has just been published; `unheard` if that was for want of any news."""
    return replace(
        delivery,
        status=Status.QUEUED,
        enqueued_at=at,
        attention_at=look_again_at,
        published=delivery.published + 1 if unheard else delivery.published,
    )


def redriven(delivery: Delivery, *, at: datetime) -> Delivery:
    """Return the row of a dead letter that a person opens again, and whose id is about to be published.

    It keeps its identity, its attempts and their history. One that is too late ends as such.
    """
    if at >= delivery.expires_at:
        return expired(delivery, at=at)
    return replace(requeued(delivery, at=at, look_again_at=at, unheard=False), published=0)


def postponed(delivery: Delivery, *, look_again_at: datetime) -> Delivery:
    """Return the row of a delivery that is all right and need not be looked at before then."""
    return replace(delivery, attention_at=look_again_at)


def abandoned(delivery: Delivery, *, guarantee: Guarantee, at: datetime) -> Delivery:
    """Return the row of a delivery whose invocation died with the lease.

    ```
    claimed_at ──────── send? ──────── lease_until ── found here: nobody knows whether the provider accepted
    ```
    With a provider that recognises our key it may be tried again; with one that does not, it waits for the provider's
    event or a person. If it died on the message's last receive, SQS has moved the message and the row is exhausted; so
    it is after DEATHS_IN_A_ROW, because each time that it is brought back it has a new message, with all its receives.
    """
    unknown = Outcome(OutcomeClass.UNKNOWN, LEASE_RAN_OUT)
    given_up = delivery.last_receive or _deaths_before(delivery) + 1 >= DEATHS_IN_A_ROW
    after = settled(delivery, unknown, guarantee=guarantee, pause_s=None if given_up else 0, at=at)
    return replace(after, attention_at=at) if after.status is Status.RETRYABLE else after


def confirmed(delivery: Delivery, reference: str | None, *, at: datetime) -> Delivery:
    """Return the row of a delivery of which the provider, by an event or a look-up, says that it accepted it."""
    if delivery.status is Status.SENDING:
        # The event was quicker than the answer, and the invocation may be dead: nobody else will tell of this attempt.
        attempt = Attempt(delivery.attempt, at, str(OutcomeClass.ACCEPTED), CONFIRMED, POLICY_VERSION)
        delivery = replace(delivery, history=delivery.remembering(attempt))
    return _accepted(delivery, reference, at=at)


def refuted(delivery: Delivery, *, at: datetime) -> Delivery:
    """Return the row of an `uncertain` delivery of which the provider says that it never accepted it.

    It is out of doubt: sent again if there is still time, or what it would have been without the doubt.
    """
    clear = replace(delivery, in_doubt_since=None)
    if delivery.skip_reason is not None:
        return skipped(clear, delivery.skip_reason, at=at)
    if at >= delivery.expires_at:
        return expired(clear, at=at)
    if delivery.failure is not None and delivery.failure.failure_class == FailureClass.EXHAUSTED:
        return exhausted(clear, code=delivery.failure.code, at=at)
    return put_off(clear, until=at)


def is_settled_as(current: Delivery | None, after: Delivery) -> bool:
    """Whether a settlement that was refused had taken effect before, its answer having been lost."""
    return current is not None and (current.attempt, current.status) == (after.attempt, after.status)


def _deaths_before(delivery: Delivery) -> int:
    return sum(1 for _ in takewhile(lambda one: one.code == LEASE_RAN_OUT, reversed(delivery.history)))


def _remembered(sending: Delivery, outcome: Outcome, rule: Ruling, *, at: datetime) -> Delivery:
    attempt = Attempt(sending.attempt, at, str(outcome.outcome), outcome.code, POLICY_VERSION)
    since = sending.in_doubt_since
    return replace(
        sending,
        lease_until=None,
        history=sending.remembering(attempt),
        in_doubt_since=(since or sending.claimed_at or at) if rule.in_doubt else since,
    )


def _accepted(delivery: Delivery, reference: str | None, *, at: datetime) -> Delivery:
    return replace(
        delivery,
        status=Status.ACCEPTED,
        accepted_at=at,
        provider_reference=reference if delivery.erased_at is None else None,
        lease_until=None,
        next_attempt_at=None,
        attention_at=None,
        in_doubt_since=None,
        skip_reason=None,
        failure=None,
    )


def _given_up(delivery: Delivery, status: Status) -> Delivery:
    if delivery.in_doubt_since is not None:
        return replace(delivery, status=Status.UNCERTAIN, next_attempt_at=None)
    finished = status in {Status.SKIPPED, Status.EXPIRED}
    return replace(
        delivery,
        status=status,
        next_attempt_at=None,
        attention_at=None if finished else delivery.attention_at,
    )


def allows_resend(delivery: Delivery, guarantee: Guarantee, lands_by: datetime) -> bool:
    """Whether another send, which takes effect by then, cannot be a second one that the provider would carry out."""
    since = delivery.in_doubt_since
    return since is None or guarantee.at(lands_by, in_doubt_since=since) is not Dedupe.NONE
