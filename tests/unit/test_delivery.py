"""The states of a delivery, and which of them may follow which."""

from __future__ import annotations

from datetime import timedelta

import pytest

from functions.core.delivery import (
    ATTENTION_OF,
    FINISHED,
    HISTORY_LIMIT,
    OPEN,
    TRANSITIONS,
    Attempt,
    Status,
    may_become,
)
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.examples import a_delivery, a_rejected_delivery, a_sending_delivery, an_exhausted_delivery


def test_every_state_has_its_row_in_the_table() -> None:
    assert set(TRANSITIONS) == set(Status)


def test_the_three_ends_are_final() -> None:
    assert {Status.ACCEPTED, Status.SKIPPED, Status.EXPIRED} == FINISHED
    for end in FINISHED:
        assert TRANSITIONS[end] == frozenset()


def test_nothing_goes_back_to_planned() -> None:
    assert may_become(Status.PLANNED) == frozenset()


def test_what_may_have_been_sent_is_never_claimed_skipped_or_queued_without_evidence() -> None:
    assert TRANSITIONS[Status.UNCERTAIN].isdisjoint({Status.SENDING, Status.QUEUED, Status.PLANNED})


def test_a_delivery_that_is_being_sent_cannot_be_skipped_or_expired() -> None:
    assert TRANSITIONS[Status.SENDING].isdisjoint({Status.SKIPPED, Status.EXPIRED, Status.QUEUED})


def test_an_end_can_be_reached_from_every_state_that_is_none() -> None:
    for status in set(Status) - FINISHED:
        seen, front = {status}, {status}
        while front:
            front = {following for one in front for following in TRANSITIONS[one]} - seen
            seen |= front
        assert Status.ACCEPTED in seen


def test_the_question_where_from_agrees_with_the_question_where_to() -> None:
    for target in Status:
        assert may_become(target) == {source for source in Status if target in TRANSITIONS[source]}


def test_whatever_is_not_finished_is_in_the_attention_index() -> None:
    assert set(ATTENTION_OF) == set(Status) - FINISHED


def test_open_rows_are_those_that_move_on_by_themselves() -> None:
    assert {Status.PLANNED, Status.QUEUED, Status.SENDING, Status.RETRYABLE} == OPEN


def test_a_lease_has_run_out_from_its_end_on() -> None:
    row = a_sending_delivery(lease_until=SUNDAY_EVENING)
    assert not row.lease_ran_out(SUNDAY_EVENING - timedelta(milliseconds=1))
    assert row.lease_ran_out(SUNDAY_EVENING)


def test_a_claim_without_a_lease_cannot_block_its_row_for_ever() -> None:
    row = a_delivery(status=Status.SENDING, lease_until=None)
    assert row.lease_ran_out(SUNDAY_EVENING)


@pytest.mark.parametrize("status", sorted(set(Status) - {Status.SENDING}))
def test_only_a_row_that_is_being_sent_has_a_lease(status: Status) -> None:
    assert not a_delivery(status=status, lease_until=SUNDAY_EVENING).lease_ran_out(SUNDAY_EVENING)


def test_only_an_exhausted_dead_letter_is_opened_by_a_redrive() -> None:
    assert an_exhausted_delivery().exhausted()
    assert not a_rejected_delivery().exhausted()
    assert not a_delivery(status=Status.RETRYABLE, failure=an_exhausted_delivery().failure).exhausted()


def test_history_keeps_the_last_attempts_only() -> None:
    row = a_delivery()
    for number in range(1, HISTORY_LIMIT + 4):
        history = row.remembering(Attempt(number, SUNDAY_EVENING, "unavailable", "503", 1))
        row = a_delivery(history=history)
    assert [one.attempt for one in row.history] == list(range(4, HISTORY_LIMIT + 4))
