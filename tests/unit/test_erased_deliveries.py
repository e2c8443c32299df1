"""The deliveries of somebody who was erased: they lead to nobody, are not sent, and hide nothing that was."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from functions.core.delivery import FINISHED, Delivery, FailureClass, Receipt, ReceiptState, SkipReason, Status
from functions.core.settlement import confirmed, erased, refuted
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.examples import (
    a_delivery,
    a_rejected_delivery,
    a_sending_delivery,
    an_exhausted_delivery,
    in_unfinished_states,
)
from tests.fakes.ledger import InMemoryLedger

NOW = SUNDAY_EVENING + timedelta(hours=1)
DELIVERED = Receipt(ReceiptState.DELIVERED, SUNDAY_EVENING, "-")


def ended() -> list[Delivery]:
    return [a_delivery(status=status, attempt=1) for status in sorted(FINISHED)]


@pytest.mark.parametrize("row", [*ended(), *in_unfinished_states()], ids=lambda row: row.status)
def test_what_leads_to_the_person_goes_and_the_row_stays(row: Delivery) -> None:
    after = erased(replace(row, provider_reference="ses-1", fingerprint="f" * 64), at=NOW)
    assert (after.provider_reference, after.fingerprint, after.erased_at) == (None, None, NOW)
    assert (after.delivery_id, after.attempt, after.selected_at) == (row.delivery_id, row.attempt, row.selected_at)


@pytest.mark.parametrize("row", ended(), ids=lambda row: row.status)
def test_what_has_ended_stays_as_it_ended_with_its_receipt(row: Delivery) -> None:
    after = erased(replace(row, receipt=DELIVERED), at=NOW)
    assert (after.status, after.skip_reason, after.receipt) == (row.status, row.skip_reason, DELIVERED)


@pytest.mark.parametrize(
    "row",
    [
        a_delivery(),
        a_delivery(status=Status.QUEUED),
        a_delivery(status=Status.RETRYABLE, attempt=1, next_attempt_at=NOW),
        an_exhausted_delivery(),
        a_rejected_delivery(),
    ],
    ids=lambda row: f"{row.status}",
)
def test_what_was_certainly_not_sent_is_skipped_for_good(row: Delivery) -> None:
    after = erased(row, at=NOW)
    assert (after.status, after.skip_reason) == (Status.SKIPPED, SkipReason.INACTIVE)
    assert after.attention_at is None


@pytest.mark.parametrize(
    "row",
    [
        a_sending_delivery(claimed_at=SUNDAY_EVENING),  # its invocation has died
        a_delivery(status=Status.UNCERTAIN, attempt=1, claimed_at=SUNDAY_EVENING),
        a_delivery(status=Status.RETRYABLE, attempt=1, in_doubt_since=SUNDAY_EVENING),
    ],
    ids=lambda row: f"{row.status}",
)
def test_what_may_have_been_sent_does_not_read_as_if_it_had_not_been(row: Delivery) -> None:
    after = erased(row, at=NOW)
    assert (after.status, after.in_doubt_since, after.lease_until) == (Status.UNCERTAIN, SUNDAY_EVENING, None)


def test_evidence_still_ends_the_doubt_and_brings_no_reference_back() -> None:
    doubtful = erased(a_delivery(status=Status.UNCERTAIN, attempt=1, claimed_at=SUNDAY_EVENING), at=NOW)
    accepted = confirmed(doubtful, "ses-1", at=NOW)
    assert (accepted.status, accepted.provider_reference) == (Status.ACCEPTED, None)


def test_what_turns_out_never_to_have_been_sent_is_not_sent_now() -> None:
    exhausted_in_doubt = an_exhausted_delivery(in_doubt_since=SUNDAY_EVENING)
    assert exhausted_in_doubt.failure is not None
    assert exhausted_in_doubt.failure.failure_class == FailureClass.EXHAUSTED
    for row in (a_sending_delivery(claimed_at=SUNDAY_EVENING), exhausted_in_doubt):
        assert refuted(erased(row, at=NOW), at=NOW).status is Status.SKIPPED


@pytest.mark.parametrize("row", [*ended(), *in_unfinished_states(), a_rejected_delivery()], ids=lambda row: row.status)
def test_the_ledger_takes_it_from_every_state(row: Delivery) -> None:
    ledger = InMemoryLedger()
    ledger.put(row)
    assert ledger.write(row, erased(row, at=NOW))
