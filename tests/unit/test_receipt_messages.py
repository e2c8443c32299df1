"""Messages of the receipts queue: read leniently, judged strictly, and never holding an address."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.core.delivery import ReceiptState
from functions.core.message import PoisonError
from functions.core.receipt_codes import BY_PROVIDER, EUM, HTTP, SES, meaning
from functions.core.receipt_messages import ReceiptMessage, read_receipt, webhook_message
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.examples import EMAIL_ADDRESS, a_delivery

ID = a_delivery().delivery_id
BODY: dict[str, Any] = {
    "schema_version": 1,
    "provider": "ses",
    "event_id": "event-1",
    "kind": "Email Bounced",
    "reference": "ses-1",
    "tags": {"ses:configuration-set": ["DigestDelivery-us"], **{part: [text] for part, text in ID.as_tags().items()}},
    "bounce": "Permanent",
    "detail": "General",
    "status": "5.1.1",
    "at": "2026-11-22T20:01:02.500Z",
    "time": "2026-11-22T20:01:03Z",
    "arrived_at": "2026-11-22T20:01:04Z",
}
QUEUED_AT = SUNDAY_EVENING + timedelta(minutes=10)


def read(**differing: Any) -> Any:
    return read_receipt(json.dumps({**BODY, **differing}), queued_at=QUEUED_AT)


def test_a_bounce_is_read_as_what_it_says_of_our_delivery() -> None:
    event = read()
    assert (event.provider, event.event_id, event.reference, event.delivery_id) == ("ses", "event-1", "ses-1", ID)
    assert (event.state, event.code) == (ReceiptState.BOUNCED, "Permanent/General/5.1.1")
    assert event.at == datetime(2026, 11, 22, 20, 1, 2, 500_000, tzinfo=UTC)
    assert event.arrived_at == datetime(2026, 11, 22, 20, 1, 4, tzinfo=UTC)


@pytest.mark.parametrize("missing", ["", None])
def test_what_an_event_does_not_say_is_left_empty_by_eventbridge_and_is_no_fault(missing: str | None) -> None:
    event = read(kind="Email Delivered", bounce=missing, detail=missing, status=missing, at=missing, arrived_at=missing)
    assert (event.state, event.code) == (ReceiptState.DELIVERED, "Email Delivered")
    assert event.at == datetime(2026, 11, 22, 20, 1, 3, tzinfo=UTC)  # `time` stands in
    assert event.arrived_at == QUEUED_AT


def test_a_time_in_milliseconds_is_read() -> None:
    assert read(provider="eum", kind="TEXT_DELIVERED", at="1795377662500", arrived_at="").at.year == 2026


def test_a_provider_whose_clock_is_ahead_does_not_speak_from_the_future() -> None:
    event = read(at="2027-01-01T00:00:00Z")
    assert event.at == event.arrived_at


@pytest.mark.parametrize(
    "tags",
    [
        {},
        None,
        "[]",
        {**ID.as_tags(), "customer_id": EMAIL_ADDRESS},
        {part: text for part, text in ID.as_tags().items() if part != "channel"},
        [{"name": "topic"}, "customer_id"],
        {"topic": [], "customer_id": [], "occasion": [], "channel": []},
    ],
    ids=["none", "null", "text", "an address for an id", "a part missing", "half pairs", "empty lists"],
)
def test_an_event_whose_tags_are_not_ours_is_about_no_delivery(tags: Any) -> None:
    assert read(tags=tags).delivery_id is None


@pytest.mark.parametrize(
    "tags",
    [ID.as_tags(), [{"name": name, "value": value} for name, value in ID.as_tags().items()]],
    ids=["an object", "pairs"],
)
def test_tags_are_read_in_either_of_resend_s_forms(tags: Any) -> None:
    assert read(tags=tags).delivery_id == ID


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (f"not json {EMAIL_ADDRESS}", "body"),
        (json.dumps({**BODY, "provider": EMAIL_ADDRESS}), "provider"),
        (json.dumps({**BODY, "schema_version": 2}), "schema_version"),
        (json.dumps({**BODY, "event_id": ""}), "event_id"),
        (json.dumps({**BODY, "reference": EMAIL_ADDRESS * 20}), "reference"),
        ("[]", "body"),
    ],
)
def test_what_is_no_event_is_told_by_its_field_and_never_quoted(body: str, told: str) -> None:
    with pytest.raises(PoisonError) as poison:
        read_receipt(body, queued_at=QUEUED_AT)
    assert told in str(poison.value)
    assert EMAIL_ADDRESS not in str(poison.value)


@given(st.text(max_size=200))
def test_words_never_become_a_code(words: str) -> None:
    code = read(detail=words).code
    assert "@" not in code
    assert " " not in code


@given(st.dictionaries(st.sampled_from(sorted(BODY)), st.none() | st.text(max_size=40) | st.integers(), max_size=6))
def test_whatever_the_fields_hold_it_is_read_or_refused(differing: dict[str, Any]) -> None:
    try:
        event = read(**differing)
    except PoisonError:
        return
    assert event.at <= event.arrived_at


# --- what the types mean ---


@pytest.mark.parametrize(
    ("bounce", "status", "state"),
    [
        ("Permanent", "5.1.1", ReceiptState.BOUNCED),
        ("Permanent", "", ReceiptState.BOUNCED),
        ("Transient", "4.4.7", ReceiptState.SOFT_BOUNCED),
        ("Transient", "", ReceiptState.SOFT_BOUNCED),
        ("Undetermined", "", ReceiptState.SOFT_BOUNCED),
        ("Transient", "5.4.4", ReceiptState.BOUNCED),
        ("Transient", "5.1.2", ReceiptState.BOUNCED),
        ("Transient", "5.2.2", ReceiptState.SOFT_BOUNCED),
        ("", "", ReceiptState.BOUNCED),
    ],
)
def test_a_bounce_passes_or_does_not(bounce: str, status: str, state: ReceiptState) -> None:
    assert meaning("ses", "Email Bounced", bounce=bounce, status=status) is state
    assert meaning("http", "email.bounced", bounce=bounce, status=status) is state


@pytest.mark.parametrize(
    ("provider", "kind", "state"),
    [(name, kind, state) for name, kinds in BY_PROVIDER.items() for kind, state in kinds.items()],
)
def test_every_documented_type_has_its_meaning(provider: str, kind: str, state: ReceiptState | None) -> None:
    assert meaning(provider, kind) is state


@pytest.mark.parametrize("provider", sorted(BY_PROVIDER))
def test_a_type_that_nobody_has_seen_proves_that_the_message_was_taken_and_no_more(provider: str) -> None:
    assert meaning(provider, "Email Teleported", bounce="Permanent") is ReceiptState.SENT


def test_the_tables_name_every_type_that_the_services_have() -> None:
    # EventBridge's list of SES's events; the API's list of event types for texts; Resend's list of webhooks.
    assert set(SES) == {
        f"Email {one}"
        for one in (
            *("Delivered", "Bounced", "Complaint Received", "Rejected", "Sent", "Opened", "Rendering Failed"),
            *("Clicked", "Delivery Delayed", "Subscribed"),
        )
    }
    assert all(kind.startswith("TEXT_") for kind in EUM)
    assert all(kind.startswith("email.") for kind in HTTP)


# --- webhooks ---

WEBHOOK: dict[str, Any] = {
    "type": "email.bounced",
    "created_at": "2026-11-22T20:01:02.500Z",
    "data": {
        "email_id": "4ef9a417",
        "from": "Shop <digest@example.com>",
        "to": [EMAIL_ADDRESS],
        "subject": "Canary subject",
        "tags": {**ID.as_tags(), "note": EMAIL_ADDRESS},
        "bounce": {"message": f"{EMAIL_ADDRESS} is unknown", "type": "Permanent", "subType": "Suppressed"},
    },
}


def test_of_a_webhook_only_ids_codes_and_times_are_kept() -> None:
    message = webhook_message(WEBHOOK, event_id="msg_1", arrived_at="2026-11-22T20:01:04.000Z")
    assert message is not None
    body = message.to_body()
    assert EMAIL_ADDRESS not in body
    assert "Canary" not in body
    event = read_receipt(body, queued_at=QUEUED_AT)
    assert (event.provider, event.event_id, event.reference, event.delivery_id) == ("http", "msg_1", "4ef9a417", ID)
    assert (event.state, event.code) == (ReceiptState.BOUNCED, "Permanent/Suppressed")
    assert event.arrived_at == datetime(2026, 11, 22, 20, 1, 4, tzinfo=UTC)


@pytest.mark.parametrize(
    "event",
    [
        None,
        [],
        {},
        {"type": "email.bounced"},
        {"type": "email.bounced", "data": []},
        {"type": 5, "data": {}},
        {"type": "contact.created" * 40, "data": {}},
        {**WEBHOOK, "type": "email.opened"},
        {**WEBHOOK, "type": "email.clicked"},
    ],
)
def test_a_webhook_that_tells_us_nothing_is_not_kept(event: Any) -> None:
    assert webhook_message(event, event_id="msg_1", arrived_at="2026-11-22T20:01:04.000Z") is None


def test_a_message_is_small() -> None:
    message = ReceiptMessage.model_validate(BODY)
    assert len(message.to_body()) < 1024
