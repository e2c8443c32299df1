"""The sums at the end of a local run: each kind of disagreement shows in a check of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from functions.core.delivery import Delivery, SkipReason, Status
from functions.core.identity import Channel, DeliveryId, Topic
from functions.core.planning import DIGEST_TEMPLATE
from ops.local.marketplace import Expectation
from ops.local.reckoning import Latency, Received, RegionEvidence, RegionReckoning, duplicates, reckon

SELECTED_AT = datetime(2026, 11, 24, 12, tzinfo=UTC)


def a_row(
    customer: str, channel: Channel = Channel.EMAIL, status: Status = Status.ACCEPTED, ms: int = 1000
) -> Delivery:
    accepted = status is Status.ACCEPTED
    return Delivery(
        delivery_id=DeliveryId(Topic.DIGEST, customer, "2026-11-16", channel),
        template_id=DIGEST_TEMPLATE,
        period="2026-11-16",
        status=status,
        due_at=SELECTED_AT,
        selected_at=SELECTED_AT,
        expires_at=SELECTED_AT + timedelta(hours=72),
        accepted_at=SELECTED_AT + timedelta(milliseconds=ms) if accepted else None,
        provider_reference=f"m-{customer}-{channel}" if accepted else None,
        skip_reason=SkipReason.EMPTY if status is Status.SKIPPED else None,
    )


def a_message(customer: str, channel: Channel = Channel.EMAIL) -> Received:
    recipient = f"c{customer}@example.com" if channel is Channel.EMAIL else "+12025550101"
    return Received(channel, f"m-{customer}-{channel}", recipient)


ROWS = [
    a_row("1"),
    a_row("2"),
    a_row("3", status=Status.SKIPPED),
    a_row("1", Channel.SMS),
    a_row("2", Channel.SMS),
]
MESSAGES = [a_message("1"), a_message("2"), a_message("1", Channel.SMS), a_message("2", Channel.SMS)]
ALL_WELL = RegionEvidence(
    name="us",
    rows=ROWS,
    received=MESSAGES,
    dead_letters=frozenset({"poison"}),
    injected=frozenset({"poison"}),
    left_in_queues=0,
    personal_data_in_logs=0,
    log_lines=100,
    planner_ms=1234,
    expected={
        Channel.EMAIL: Expectation(accepted=2, skipped={SkipReason.EMPTY: 1}),
        Channel.SMS: Expectation(accepted=2),
    },
    recipients={
        **{(customer, Channel.EMAIL): f"c{customer}@example.com" for customer in "123"},
        **{(customer, Channel.SMS): "+12025550101" for customer in "12"},
    },
)


def failed(reckoning: RegionReckoning) -> list[str]:
    return [check.what for check in reckoning.checks if not check.holds]


def with_rows(*changed: Delivery) -> RegionEvidence:
    fresh = {str(row.delivery_id): row for row in changed}
    return replace(ALL_WELL, rows=[fresh.get(str(row.delivery_id), row) for row in ROWS])


def test_when_all_is_well_every_sum_agrees() -> None:
    reckoning = reckon(ALL_WELL)
    assert reckoning.agrees
    assert (reckoning.funnel.planned, reckoning.funnel.accepted, reckoning.funnel.skipped) == (5, 4, {"empty": 1})
    assert (reckoning.provider_received, reckoning.duplicates, reckoning.dlq, reckoning.planner_ms) == (4, 0, 1, 1234)


def test_a_customer_who_was_not_planned_is_missed() -> None:
    assert "every digest that was due was planned, once" in failed(reckon(replace(ALL_WELL, rows=ROWS[1:])))


@pytest.mark.parametrize("status", [Status.PLANNED, Status.QUEUED, Status.SENDING, Status.RETRYABLE])
def test_a_delivery_that_is_still_open_shows(status: Status) -> None:
    reckoning = reckon(with_rows(a_row("2", status=status)))
    assert "deliveries still open" in failed(reckoning)
    assert "planned = accepted + skipped + dead letter + expired + uncertain" in failed(reckoning)


def test_an_email_that_was_sent_twice_shows() -> None:
    twice = Received(Channel.EMAIL, "m-again", "c1@example.com")
    reckoning = reckon(replace(ALL_WELL, received=[*MESSAGES, twice]))
    assert reckoning.duplicates == 1
    assert failed(reckoning) == ["emails received = accepted rows", "messages beyond the first for one delivery"]


def test_a_text_that_no_row_knows_shows_although_customers_share_the_number() -> None:
    strange = Received(Channel.SMS, "m-strange", "+12025550101")
    reckoning = reckon(replace(ALL_WELL, received=[*MESSAGES, strange]))
    assert failed(reckoning) == ["texts received = accepted rows", "messages beyond the first for one delivery"]


def test_a_text_that_an_uncertain_row_may_account_for_is_no_duplicate() -> None:
    assert duplicates([a_row("1", Channel.SMS, Status.UNCERTAIN)], [a_message("1", Channel.SMS)]) == 0


def test_an_accepted_row_without_its_message_shows() -> None:
    reckoning = reckon(replace(ALL_WELL, received=MESSAGES[1:]))
    assert failed(reckoning) == [
        "emails received = accepted rows",
        "emails that are the one an accepted row refers to, at that customer's own address",
    ]


def test_an_email_at_somebody_elses_address_shows() -> None:
    crossed = [Received(Channel.EMAIL, "m-1-email", "c2@example.com"), *MESSAGES[1:]]
    assert "emails that are the one an accepted row refers to, at that customer's own address" in failed(
        reckon(replace(ALL_WELL, received=crossed))
    )


def test_two_rows_that_claim_one_message_show() -> None:
    claimed_twice = replace(a_row("2"), provider_reference="m-1-email")
    assert "emails that are the one an accepted row refers to, at that customer's own address" in failed(
        reckon(with_rows(claimed_twice))
    )


def test_somebody_who_was_skipped_and_should_not_have_been_shows() -> None:
    evidence = replace(with_rows(a_row("2", status=Status.SKIPPED)), received=[MESSAGES[0], *MESSAGES[2:]])
    assert failed(reckon(evidence)) == [
        "email: skipped, by reason",
        "email: accepted or uncertain = everybody who wants it and has something to read",
    ]


def test_an_uncertain_delivery_is_counted_and_is_no_disagreement() -> None:
    evidence = replace(with_rows(a_row("2", status=Status.UNCERTAIN)), received=[MESSAGES[0], *MESSAGES[2:]])
    reckoning = reckon(evidence)
    assert reckoning.agrees
    assert reckoning.funnel.uncertain == 1


def test_a_dead_letter_that_nobody_injected_shows() -> None:
    found = reckon(replace(ALL_WELL, dead_letters=frozenset({"poison", "lost"})))
    assert failed(found) == ["dead-letter queues hold the injected messages and no others"]


def test_an_injected_message_that_is_not_in_the_dead_letter_queue_shows() -> None:
    assert failed(reckon(replace(ALL_WELL, dead_letters=frozenset()))) == [
        "dead-letter queues hold the injected messages and no others"
    ]


def test_an_address_in_a_log_shows() -> None:
    assert failed(reckon(replace(ALL_WELL, personal_data_in_logs=1))) == [
        "addresses, numbers or contents in 100 lines of logs"
    ]


def test_a_message_left_in_a_queue_shows() -> None:
    assert failed(reckon(replace(ALL_WELL, left_in_queues=3))) == ["messages left in the queues"]


def test_a_run_by_email_alone_has_no_sums_about_texts() -> None:
    evidence = replace(
        ALL_WELL, rows=ROWS[:3], received=MESSAGES[:2], expected={Channel.EMAIL: ALL_WELL.expected[Channel.EMAIL]}
    )
    reckoning = reckon(evidence)
    assert reckoning.agrees
    assert list(reckoning.channels) == [Channel.EMAIL]
    assert not any("texts" in check.what for check in reckoning.checks)


def test_percentiles_are_by_nearest_rank_from_selected_to_accepted() -> None:
    rows: Sequence[Delivery] = [a_row(str(number), ms=number) for number in range(1, 201)]
    assert Latency.of(rows) == Latency(p50=100, p95=190, p99=198)
    assert Latency.of([a_row("1", ms=7)]) == Latency(7, 7, 7)
    assert Latency.of([a_row("1", status=Status.SKIPPED)]) == Latency(None, None, None)
