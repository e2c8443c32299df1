"""The three questions, and what happens next, for a delivery in every state."""

from __future__ import annotations

from datetime import timedelta

import pytest

from functions.core.answers import SKIPPED_BECAUSE, accepted, enqueued, next_action, on_return, selected
from functions.core.delivery import FINISHED, Delivery, SkipReason, Status
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.examples import (
    a_delivery,
    a_rejected_delivery,
    a_sending_delivery,
    an_exhausted_delivery,
    in_unfinished_states,
)

LATER = SUNDAY_EVENING + timedelta(minutes=3)


def test_an_accepted_delivery_says_yes_three_times() -> None:
    delivery = a_delivery(status=Status.ACCEPTED, enqueued_at=SUNDAY_EVENING, accepted_at=LATER, attention_at=None)
    assert [answer(delivery).at for answer in (selected, enqueued, accepted)] == [SUNDAY_EVENING, SUNDAY_EVENING, LATER]
    assert next_action(delivery) == "nothing, it is done"


def test_a_planned_delivery_was_selected_and_waits_to_be_enqueued() -> None:
    delivery = a_delivery()
    assert selected(delivery).at == SUNDAY_EVENING
    assert enqueued(delivery).why == "not yet; the reconciler enqueues what the planner could not"
    assert accepted(delivery).why == "not yet"
    assert next_action(delivery) == "the reconciler looks at it at 2026-11-29 20:05:00 UTC"


def test_one_that_was_never_enqueued_says_why() -> None:
    assert enqueued(a_delivery(status=Status.EXPIRED)).why == "it became expired before that was recorded"


@pytest.mark.parametrize("reason", list(SkipReason))
def test_every_reason_to_skip_is_explained(reason: SkipReason) -> None:
    delivery = a_delivery(status=Status.SKIPPED, skip_reason=reason)
    assert accepted(delivery).why == f"skipped ({reason}): {SKIPPED_BECAUSE[reason]}"


@pytest.mark.parametrize(
    ("delivery", "why", "following"),
    [
        (
            a_delivery(status=Status.EXPIRED),
            "expired: it was still open at 2026-12-02 20:00:00 UTC",
            "nothing, it is done",
        ),
        (
            a_sending_delivery(),
            "being sent right now",
            "the attempt ends by 2026-11-29 20:00:30 UTC, whatever happens",
        ),
        (
            a_delivery(status=Status.RETRYABLE, next_attempt_at=LATER),
            "not yet",
            "tried again at 2026-11-29 20:03:00 UTC",
        ),
        (
            a_delivery(status=Status.UNCERTAIN),
            "nobody knows: it was handed over, and the answer was lost",
            "waits for the provider's event, or for a person: `digest uncertain resolve digest:c-417:2026-11-16:email`",
        ),
        (
            an_exhausted_delivery(),
            "dead letter: exhausted (ServiceUnavailable)",
            "mend the cause, then `digest redrive digest:c-417:2026-11-16:email`",
        ),
        (
            a_rejected_delivery(),
            "dead letter: rejected (InvalidParameter)",
            "not tried again: the provider refuses it as it is; mend the address or the request, then `digest redrive`",
        ),
    ],
)
def test_why_it_was_not_accepted_and_what_follows(delivery: Delivery, why: str, following: str) -> None:
    assert accepted(delivery).why == why
    assert next_action(delivery) == following


@pytest.mark.parametrize("delivery", [*in_unfinished_states(), *(a_delivery(status=status) for status in FINISHED)])
def test_no_state_is_left_without_an_answer(delivery: Delivery) -> None:
    assert next_action(delivery)
    assert accepted(delivery).at is not None or accepted(delivery).why


@pytest.mark.parametrize(
    ("delivery", "does"),
    [
        (None, "nothing: its row is gone, so the message is deleted"),
        (a_delivery(status=Status.ACCEPTED), "nothing: it is accepted, so the message is deleted"),
        (a_delivery(status=Status.UNCERTAIN), "nothing: it may have been sent; `digest uncertain` settles it"),
        (a_rejected_delivery(), "nothing: it was refused as it is; mend that, then `digest redrive`"),
        (an_exhausted_delivery(), "tried again, under the same id"),
        (an_exhausted_delivery(expires_at=LATER), "ends as expired: it is too late to be sent"),
        (a_delivery(status=Status.RETRYABLE), "no more than comes by itself"),
        (a_delivery(status=Status.QUEUED, expires_at=LATER), "ends as expired: it is too late to be sent"),
    ],
)
def test_what_a_message_does_that_comes_back_from_the_dead_letter_queue(delivery: Delivery | None, does: str) -> None:
    assert on_return(delivery, LATER) == does
