"""What an answer means for the row, for the message and for the channel: the table, row by row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions import names
from functions.core.delivery import Delivery, FailureClass, SkipReason, Status
from functions.core.outcome import (
    POLICY_VERSION,
    RULINGS,
    Acknowledgement,
    Dedupe,
    GateMove,
    Guarantee,
    Outcome,
    OutcomeClass,
    ruling,
)
from functions.core.settlement import (
    MESSAGE_OVERDUE,
    abandoned,
    allows_resend,
    claimed,
    confirmed,
    doubtful,
    exhausted,
    expired,
    is_settled_as,
    put_off,
    refuted,
    requeued,
    settled,
    skipped,
)
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.examples import (
    ACCEPTED,
    EXPIRES_AFTER,
    a_claim,
    a_delivery,
    a_sending_delivery,
    an_exhausted_delivery,
    in_unfinished_states,
)

NOW = SUNDAY_EVENING + timedelta(seconds=3)
NO_KEYS = Guarantee(Dedupe.NONE)
KEYS_FOR_A_DAY = Guarantee(Dedupe.WINDOW, window=timedelta(days=1))
CAN_BE_ASKED = Guarantee(Dedupe.LOOKUP, window=timedelta(days=1), lookup_window=timedelta(days=7))
DONE, BACK_OFF = Acknowledgement.DONE, Acknowledgement.BACK_OFF


@dataclass(frozen=True)
class Row:
    """A line of the design's table."""

    outcome: OutcomeClass
    guarantee: Guarantee
    status: Status
    message: Acknowledgement
    gate: GateMove = GateMove.NONE
    in_doubt: bool = False


TABLE = [
    Row(OutcomeClass.ACCEPTED, NO_KEYS, Status.ACCEPTED, DONE),
    Row(OutcomeClass.ACCEPTED, KEYS_FOR_A_DAY, Status.ACCEPTED, DONE),
    Row(OutcomeClass.THROTTLED, NO_KEYS, Status.RETRYABLE, DONE, GateMove.CLOSE),
    Row(OutcomeClass.DEFERRED, NO_KEYS, Status.RETRYABLE, DONE),
    Row(OutcomeClass.QUOTA, NO_KEYS, Status.RETRYABLE, DONE, GateMove.CLOSE),
    Row(OutcomeClass.UNAVAILABLE, NO_KEYS, Status.RETRYABLE, BACK_OFF),
    Row(OutcomeClass.UNAVAILABLE, KEYS_FOR_A_DAY, Status.RETRYABLE, BACK_OFF),
    Row(OutcomeClass.UNKNOWN, NO_KEYS, Status.UNCERTAIN, DONE, in_doubt=True),
    Row(OutcomeClass.UNKNOWN, KEYS_FOR_A_DAY, Status.RETRYABLE, BACK_OFF, in_doubt=True),
    Row(OutcomeClass.UNKNOWN, CAN_BE_ASKED, Status.RETRYABLE, BACK_OFF, in_doubt=True),
    Row(OutcomeClass.RUNNING, KEYS_FOR_A_DAY, Status.RETRYABLE, BACK_OFF, in_doubt=True),
    Row(OutcomeClass.MISMATCH, KEYS_FOR_A_DAY, Status.UNCERTAIN, DONE, in_doubt=True),
    Row(OutcomeClass.REJECTED, NO_KEYS, Status.DEAD_LETTER, DONE),
    Row(OutcomeClass.AUTH, NO_KEYS, Status.RETRYABLE, DONE, GateMove.HALT),
]


def row_name(row: Row) -> str:
    return f"{row.outcome}-{row.guarantee.dedupe}"


@pytest.mark.parametrize("row", TABLE, ids=row_name)
def test_an_answer_moves_row_message_and_gate_as_the_table_says(row: Row) -> None:
    rule = ruling(row.outcome, row.guarantee.dedupe)
    assert (rule.status, rule.message, rule.gate, rule.in_doubt) == (row.status, row.message, row.gate, row.in_doubt)
    after = settled(a_sending_delivery(), Outcome(row.outcome, "Code"), guarantee=row.guarantee, pause_s=30, at=NOW)
    assert after.status is row.status
    assert (after.in_doubt_since is not None) is row.in_doubt


def test_every_class_has_its_row() -> None:
    assert set(RULINGS) == set(OutcomeClass)
    assert {row.outcome for row in TABLE} == set(OutcomeClass)


def test_the_outcomes_that_metrics_are_made_of_are_those_of_the_table() -> None:
    retried = {
        each for each, rule in RULINGS.items() if rule.status is Status.RETRYABLE and rule.gate is not GateMove.HALT
    }
    assert set(names.OUTCOMES_RETRIED) == {str(each) for each in retried}
    assert set(names.OUTCOMES_FINAL) == {str(OutcomeClass.ACCEPTED), str(OutcomeClass.REJECTED)}
    assert set(names.DEAD_LETTERS_COUNTED) == {str(each) for each in FailureClass}


def test_every_attempt_is_remembered_with_the_policy_that_judged_it() -> None:
    for outcome in OutcomeClass:
        after = settled(a_sending_delivery(), Outcome(outcome, "Code"), guarantee=NO_KEYS, pause_s=30, at=NOW)
        (attempt,) = after.history
        assert (attempt.attempt, attempt.at, attempt.outcome) == (1, NOW, str(outcome))
        assert (attempt.code, attempt.policy_version) == ("Code", POLICY_VERSION)
        assert after.lease_until is None


def test_an_accepted_delivery_keeps_the_reference_and_nothing_that_went_wrong_before() -> None:
    tried_before = a_sending_delivery(failure=an_exhausted_delivery().failure, next_attempt_at=SUNDAY_EVENING)
    after = settled(tried_before, ACCEPTED, guarantee=NO_KEYS, pause_s=None, at=NOW)
    assert (after.accepted_at, after.provider_reference) == (NOW, "reference-1")
    assert (after.failure, after.attention_at, after.next_attempt_at, after.in_doubt_since) == (None,) * 4


def test_a_message_that_backs_off_comes_back_by_itself_and_is_missed_only_when_it_is_overdue() -> None:
    busy = Outcome(OutcomeClass.UNAVAILABLE, "ServiceUnavailable")
    after = settled(a_sending_delivery(), busy, guarantee=NO_KEYS, pause_s=120, at=NOW)
    assert after.next_attempt_at == NOW + timedelta(seconds=120)
    assert after.attention_at == NOW + timedelta(seconds=120) + MESSAGE_OVERDUE


def test_the_providers_own_wish_is_met_and_never_shortened() -> None:
    wish = NOW + timedelta(minutes=10)
    for outcome in (OutcomeClass.THROTTLED, OutcomeClass.UNAVAILABLE, OutcomeClass.QUOTA):
        after = settled(
            a_sending_delivery(), Outcome(outcome, "Code", retry_at=wish), guarantee=NO_KEYS, pause_s=30, at=NOW
        )
        assert after.next_attempt_at == wish


def test_a_provider_that_wants_to_be_left_alone_beyond_the_expiry_is_not_waited_for() -> None:
    row = a_sending_delivery()
    busy = Outcome(OutcomeClass.UNAVAILABLE, "service_unavailable", retry_at=row.expires_at + timedelta(hours=1))
    after = settled(row, busy, guarantee=NO_KEYS, pause_s=30, at=NOW)
    assert after.next_attempt_at == row.expires_at
    assert after.attention_at == row.expires_at + MESSAGE_OVERDUE


@pytest.mark.parametrize("outcome", [OutcomeClass.UNAVAILABLE])
def test_a_passing_failure_on_the_last_receive_is_exhausted(outcome: OutcomeClass) -> None:
    after = settled(a_sending_delivery(), Outcome(outcome, "Code"), guarantee=NO_KEYS, pause_s=None, at=NOW)
    assert after.exhausted()
    assert after.attention_at == NOW


@pytest.mark.parametrize("outcome", [OutcomeClass.UNKNOWN, OutcomeClass.RUNNING])
def test_an_unclear_failure_on_the_last_receive_stays_in_doubt(outcome: OutcomeClass) -> None:
    after = settled(a_sending_delivery(), Outcome(outcome, "Code"), guarantee=KEYS_FOR_A_DAY, pause_s=None, at=NOW)
    assert after.status is Status.UNCERTAIN


@pytest.mark.parametrize(
    "outcome", [OutcomeClass.THROTTLED, OutcomeClass.DEFERRED, OutcomeClass.QUOTA, OutcomeClass.AUTH]
)
def test_waiting_for_the_provider_uses_up_no_receive_even_the_last(outcome: OutcomeClass) -> None:
    after = settled(a_sending_delivery(), Outcome(outcome, "Code"), guarantee=NO_KEYS, pause_s=None, at=NOW)
    assert after.status is Status.RETRYABLE
    assert after.next_attempt_at is not None
    assert after.attention_at == after.next_attempt_at > NOW


def test_a_rejected_delivery_is_no_redrives_business() -> None:
    bad_address = Outcome(OutcomeClass.REJECTED, "InvalidParameter")
    after = settled(a_sending_delivery(), bad_address, guarantee=NO_KEYS, pause_s=30, at=NOW)
    assert after.failure is not None
    assert (after.failure.failure_class, after.failure.code) == (FailureClass.REJECTED, "InvalidParameter")
    assert not after.exhausted()


def test_a_rejection_after_an_unclear_send_does_not_say_that_nothing_was_sent() -> None:
    in_doubt = a_sending_delivery(in_doubt_since=SUNDAY_EVENING)
    after = settled(in_doubt, Outcome(OutcomeClass.REJECTED, "Code"), guarantee=KEYS_FOR_A_DAY, pause_s=30, at=NOW)
    assert after.status is Status.UNCERTAIN


def test_doubt_dates_from_the_first_claim_that_may_have_sent() -> None:
    first = claimed(a_delivery(status=Status.QUEUED), a_claim(at=SUNDAY_EVENING))
    unclear = Outcome(OutcomeClass.UNKNOWN, "ReadTimeoutError")
    again = settled(first, unclear, guarantee=KEYS_FOR_A_DAY, pause_s=30, at=NOW)
    assert again.in_doubt_since == SUNDAY_EVENING
    second = claimed(again, a_claim(at=NOW + timedelta(minutes=5)))
    assert settled(second, unclear, guarantee=KEYS_FOR_A_DAY, pause_s=30, at=NOW).in_doubt_since == SUNDAY_EVENING


# --- the window of a key ---


def test_a_provider_that_knows_our_key_may_be_asked_again_within_its_window_only() -> None:
    row = a_delivery(status=Status.RETRYABLE, in_doubt_since=SUNDAY_EVENING)
    end = SUNDAY_EVENING + KEYS_FOR_A_DAY.window
    assert allows_resend(row, KEYS_FOR_A_DAY, end - timedelta(milliseconds=1))
    assert not allows_resend(row, KEYS_FOR_A_DAY, end)
    assert not allows_resend(row, NO_KEYS, SUNDAY_EVENING)


@pytest.mark.parametrize("guarantee", [NO_KEYS, KEYS_FOR_A_DAY, CAN_BE_ASKED])
def test_a_delivery_that_was_certainly_not_sent_may_always_be_sent(guarantee: Guarantee) -> None:
    assert allows_resend(a_delivery(), guarantee, SUNDAY_EVENING + timedelta(days=30))


def test_an_unclear_answer_after_the_window_is_not_tried_again() -> None:
    row = a_sending_delivery(in_doubt_since=SUNDAY_EVENING)
    unclear = Outcome(OutcomeClass.UNKNOWN, "Code")
    late = SUNDAY_EVENING + timedelta(days=2)
    assert settled(row, unclear, guarantee=KEYS_FOR_A_DAY, pause_s=30, at=late).status is Status.UNCERTAIN


def test_a_provider_is_asked_about_a_key_only_while_its_answer_means_something() -> None:
    assert CAN_BE_ASKED.can_look_up(NOW, in_doubt_since=SUNDAY_EVENING)
    assert not CAN_BE_ASKED.can_look_up(SUNDAY_EVENING + timedelta(days=7), in_doubt_since=SUNDAY_EVENING)
    assert not CAN_BE_ASKED.can_look_up(NOW, in_doubt_since=None)
    assert not KEYS_FOR_A_DAY.can_look_up(NOW, in_doubt_since=SUNDAY_EVENING)


# --- a lease that ran out ---


@pytest.mark.parametrize(
    ("guarantee", "last_receive", "status"),
    [
        (NO_KEYS, False, Status.UNCERTAIN),
        (NO_KEYS, True, Status.UNCERTAIN),
        (KEYS_FOR_A_DAY, False, Status.RETRYABLE),
        (KEYS_FOR_A_DAY, True, Status.UNCERTAIN),
    ],
)
def test_a_delivery_whose_invocation_died_follows_what_the_provider_can_do(
    guarantee: Guarantee, *, last_receive: bool, status: Status
) -> None:
    after = abandoned(a_sending_delivery(last_receive=last_receive), guarantee=guarantee, at=NOW)
    assert after.status is status
    assert after.in_doubt_since is not None
    assert after.attention_at == NOW
    assert after.history[-1].code == "lease_ran_out"


# --- ends without a send ---


def test_a_skipped_delivery_says_why_and_needs_no_attention() -> None:
    after = skipped(a_delivery(), SkipReason.EMPTY, at=NOW)
    assert (after.status, after.skip_reason, after.attention_at) == (Status.SKIPPED, SkipReason.EMPTY, None)


def test_an_expired_delivery_needs_no_attention() -> None:
    after = expired(a_delivery(status=Status.RETRYABLE, next_attempt_at=NOW), at=NOW)
    assert (after.status, after.attention_at, after.next_attempt_at) == (Status.EXPIRED, None, None)


def test_what_may_have_been_sent_never_reads_as_if_it_had_not_been() -> None:
    in_doubt = a_delivery(status=Status.RETRYABLE, attempt=1, in_doubt_since=SUNDAY_EVENING)
    for after in (
        skipped(in_doubt, SkipReason.OPTED_OUT, at=NOW),
        expired(in_doubt, at=NOW),
        exhausted(in_doubt, code="Code", at=NOW),
        doubtful(in_doubt, at=NOW),
    ):
        assert after.status is Status.UNCERTAIN
        assert after.attention_at == NOW


def test_an_exhausted_delivery_waits_for_a_person() -> None:
    after = exhausted(a_delivery(status=Status.QUEUED), code="ValueError", at=NOW)
    assert after.exhausted()
    assert after.attention_at == NOW


# --- waiting ---


def test_a_delivery_that_is_put_off_has_made_no_attempt() -> None:
    row = a_delivery(status=Status.QUEUED, enqueued_at=SUNDAY_EVENING)
    after = put_off(row, until=NOW + timedelta(minutes=1))
    assert (after.status, after.attempt, after.history, after.failure) == (Status.RETRYABLE, 0, (), None)
    assert after.next_attempt_at == after.attention_at == NOW + timedelta(minutes=1)


@given(st.timedeltas(timedelta(0), timedelta(days=400)))
def test_nothing_waits_beyond_its_expiry(wait: timedelta) -> None:
    row = a_delivery()
    after = put_off(row, until=SUNDAY_EVENING + wait)
    assert after.attention_at is not None
    assert after.attention_at == min(SUNDAY_EVENING + wait, row.expires_at)


def test_publishing_again_is_counted_only_when_nothing_had_been_heard() -> None:
    row = a_delivery(status=Status.QUEUED)
    for unheard, published in ((True, 1), (False, 0)):
        after = requeued(row, at=NOW, look_again_at=NOW + timedelta(minutes=4), unheard=unheard)
        assert (after.status, after.enqueued_at, after.published) == (Status.QUEUED, NOW, published)
        assert after.attention_at == NOW + timedelta(minutes=4)


# --- evidence ---


@pytest.mark.parametrize("row", in_unfinished_states(), ids=lambda row: row.status)
def test_the_providers_word_ends_every_doubt(row: Delivery) -> None:
    after = confirmed(row, "reference-9", at=NOW)
    assert (after.status, after.accepted_at, after.provider_reference) == (Status.ACCEPTED, NOW, "reference-9")
    assert (after.attention_at, after.in_doubt_since, after.failure, after.skip_reason) == (None,) * 4


def test_a_delivery_that_was_never_accepted_is_sent_while_there_is_time() -> None:
    row = a_delivery(status=Status.UNCERTAIN, attempt=1, in_doubt_since=SUNDAY_EVENING)
    after = refuted(row, at=NOW)
    assert (after.status, after.in_doubt_since, after.next_attempt_at) == (Status.RETRYABLE, None, NOW)


def test_a_delivery_that_was_never_accepted_becomes_what_it_would_have_been() -> None:
    in_doubt = a_delivery(status=Status.UNCERTAIN, in_doubt_since=SUNDAY_EVENING)
    assert refuted(in_doubt, at=SUNDAY_EVENING + EXPIRES_AFTER).status is Status.EXPIRED
    assert refuted(replace(in_doubt, skip_reason=SkipReason.OPTED_OUT), at=NOW).status is Status.SKIPPED
    assert refuted(replace(in_doubt, failure=an_exhausted_delivery().failure), at=NOW).exhausted()


def test_a_settlement_whose_answer_was_lost_is_known_again() -> None:
    after = settled(a_sending_delivery(), ACCEPTED, guarantee=NO_KEYS, pause_s=None, at=NOW)
    assert is_settled_as(after, after)
    assert not is_settled_as(None, after)
    assert not is_settled_as(a_sending_delivery(), after)
    assert not is_settled_as(replace(after, attempt=2), after)


# --- as the engine carries it ---


@given(
    st.builds(
        Outcome,
        st.sampled_from(OutcomeClass),
        st.text(max_size=20),
        st.none() | st.text(max_size=20),
        st.none() | st.just(NOW),
        st.booleans(),
        st.booleans(),
    )
)
def test_an_outcome_survives_the_idempotency_record(outcome: Outcome) -> None:
    assert Outcome.from_json(outcome.to_json()) == outcome
