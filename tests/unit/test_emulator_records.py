from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ops.local.emulator import Emulator, as_email, as_queue_message, as_text

EMAIL = {
    "Region": "eu-west-1",
    "MessageId": "m-1",
    "Source": "digest@example.com",
    "To": ["person@example.net"],
    "Subject": "Your week",
    "BodyText": "three orders",
    "BodyHtml": "<p>three orders</p>",
    "Timestamp": 1795982400.25,
    "Type": "v2.SendEmail",
}
TEXT = {
    "Region": "us-east-1",
    "MessageId": "t-1",
    "PhoneNumber": "+15550100001",
    "Message": "three orders",
    "MessageAttributes": {"AWS.SNS.SMS.SenderID": {"DataType": "String", "StringValue": "DIGEST"}},
}


def test_a_sent_email_is_read_with_its_region_and_time() -> None:
    email = as_email(EMAIL)
    assert (email.region, email.to, email.html) == ("eu-west-1", ("person@example.net",), "<p>three orders</p>")
    assert email.sent_at == datetime(2026, 11, 29, 20, 0, 0, 250_000, tzinfo=UTC)


def test_an_email_without_html_has_an_empty_one() -> None:
    assert as_email({**EMAIL, "BodyHtml": None}).html == ""


def test_a_sent_text_is_read_with_its_region_and_sender() -> None:
    text = as_text(TEXT)
    assert (text.region, text.to, text.text, text.sender) == ("us-east-1", "+15550100001", "three orders", "DIGEST")


def test_a_text_without_a_sender_id_has_none() -> None:
    assert as_text({**TEXT, "MessageAttributes": {}}).sender is None


def test_printing_what_was_sent_shows_no_person() -> None:
    shown = f"{as_email(EMAIL)} {as_text(TEXT)}"
    assert "m-1" in shown
    assert not [part for part in ("person@", "+1555", "three orders", "Your week") if part in shown]


def test_a_message_in_a_queue_is_read_with_its_times() -> None:
    record = {
        "MessageId": "q-1",
        "Body": "{}",
        "SentTimestamp": 1795982400,
        "VisibleAt": 1795982430,
        "IsVisible": False,
        "ReceiveCount": 2,
    }
    message = as_queue_message("us-east-1", "http://127.0.0.1:1/000000000000/email", record)
    assert (message.receive_count, message.visible) == (2, False)
    assert (message.visible_at - message.sent_at).total_seconds() == 30


def test_what_runs_against_the_emulator_cannot_reach_an_account(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "production")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "real")
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    environment = Emulator(Path("unused")).environment()
    assert {"AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_REGION"}.isdisjoint(environment)
    assert environment["AWS_ENDPOINT_URL"].startswith("http://127.0.0.1:")
    assert environment["AWS_SHARED_CREDENTIALS_FILE"] == os.devnull
    assert environment["PATH"] == os.environ["PATH"]
