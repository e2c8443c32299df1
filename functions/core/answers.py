"""The three questions about a delivery, and what happens to it next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from functions.core.delivery import FINISHED, Delivery, SkipReason, Status
from functions.core.wording import utc

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from functions.core.delivery import Receipt

SKIPPED_BECAUSE: Final[Mapping[SkipReason, str]] = {
    SkipReason.OPTED_OUT: "no consent for this topic on this channel",
    SkipReason.SUPPRESSED: "the channel is suppressed: a bounce, a complaint or a STOP",
    SkipReason.INACTIVE: "the customer is inactive, or was erased",
    SkipReason.NO_ADDRESS: "there is no address for this channel",
    SkipReason.EMPTY: "nothing happened in that week",
    SkipReason.QUIET: "it fell into the customer's quiet hours for too long",
    SkipReason.TOO_LATE: "it came too late",
    SkipReason.CANCELLED: "the reminder was cancelled",
    SkipReason.PAID: "the order was paid before the reminder was sent",
    SkipReason.ENDPOINT_DISABLED: "the endpoint is disabled; see `digest webhooks show --customer ID`",
    SkipReason.NOT_ON_ALLOW_LIST: "this deployment sends to the addresses in its settings' `recipients` only",
}


def receipt_in_words(receipt: Receipt) -> str:
    """`hard bounce, 2026-11-29 20:05:00 UTC (Permanent)`."""
    return f"{receipt.state.replace('_', ' ')}, {utc(receipt.at)} ({receipt.code})"


@dataclass(frozen=True, slots=True)
class Answer:
    """Yes with its time, or no with the reason."""

    at: datetime | None
    why: str | None = None


def selected(delivery: Delivery) -> Answer:
    """Was it planned? There is a row, so it was."""
    return Answer(delivery.selected_at)


def enqueued(delivery: Delivery) -> Answer:
    """Was its id handed to the channel's queue?"""
    if delivery.enqueued_at is not None:
        return Answer(delivery.enqueued_at)
    if delivery.status is Status.PLANNED:
        return Answer(None, "not yet; the reconciler enqueues what the planner could not")
    return Answer(None, f"it became {_in_words(delivery)} before that was recorded")


def accepted(delivery: Delivery) -> Answer:
    """Did the provider take it?"""
    if delivery.accepted_at is not None:
        return Answer(delivery.accepted_at)
    return Answer(None, why_not(delivery))


def why_not(delivery: Delivery) -> str:
    """Why the provider has not accepted it."""
    if delivery.status is Status.SKIPPED and delivery.skip_reason is not None:
        return f"skipped ({delivery.skip_reason}): {SKIPPED_BECAUSE[delivery.skip_reason]}"
    if delivery.status is Status.EXPIRED:
        return f"expired: it was still open at {utc(delivery.expires_at)}"
    if delivery.status is Status.UNCERTAIN:
        return "nobody knows: it was handed over, and the answer was lost"
    if delivery.failure is not None:
        return f"{_in_words(delivery)}: {delivery.failure.failure_class} ({delivery.failure.code})"
    if delivery.status is Status.SENDING:
        return "being sent right now"
    return "not yet"


def next_action(delivery: Delivery) -> str:
    """What happens next, by itself or by somebody."""
    if delivery.status is Status.DEAD_LETTER:
        if delivery.exhausted():
            return f"mend the cause, then `digest redrive {delivery.delivery_id}`"
        return (
            "not tried again: the provider refuses it as it is; mend the address or the request, then `digest redrive`"
        )
    return _NEXT[delivery.status].format(
        delivery_id=delivery.delivery_id,
        looked_at=utc(delivery.attention_at) if delivery.attention_at else "its next sweep",
        tried_at=utc(delivery.next_attempt_at) if delivery.next_attempt_at else "the reconciler's next sweep",
        lease=utc(delivery.lease_until) if delivery.lease_until else "unknown",
    )


def on_return(delivery: Delivery | None, now: datetime) -> str:
    """What a message does that comes back to its queue from the dead-letter queue: what the consumer will find."""
    if delivery is None:
        return "nothing: its row is gone, so the message is deleted"
    if delivery.status is Status.UNCERTAIN:
        return "nothing: it may have been sent; `digest uncertain` settles it"
    if delivery.status is Status.DEAD_LETTER and not delivery.exhausted():
        return "nothing: it was refused as it is; mend that, then `digest redrive`"
    if delivery.status in FINISHED:
        return f"nothing: it is {_in_words(delivery)}, so the message is deleted"
    if now >= delivery.expires_at:
        return "ends as expired: it is too late to be sent"
    return "tried again, under the same id" if delivery.exhausted() else "no more than comes by itself"


_NEXT: Final[Mapping[Status, str]] = {
    Status.PLANNED: "the reconciler looks at it at {looked_at}",
    Status.QUEUED: "a consumer takes it; if nothing is heard, the reconciler looks at it at {looked_at}",
    Status.SENDING: "the attempt ends by {lease}, whatever happens",
    Status.RETRYABLE: "tried again at {tried_at}",
    Status.UNCERTAIN: "waits for the provider's event, or for a person: `digest uncertain resolve {delivery_id}`",
    Status.ACCEPTED: "nothing, it is done",
    Status.SKIPPED: "nothing, it is done",
    Status.EXPIRED: "nothing, it is done",
}


def _in_words(delivery: Delivery) -> str:
    return str(delivery.status).replace("_", " ")
