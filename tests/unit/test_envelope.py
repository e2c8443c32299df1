"""What is handed to a provider."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from functions.core.envelope import EmailEnvelope, Envelope, TextEnvelope, WebhookEnvelope, fingerprint
from functions.core.summary import SummaryNote
from tests.fakes.examples import AN_ENDPOINT, EMAIL_ADDRESS, PHONE_NUMBER, WEBHOOK_SECRET, WEBHOOK_URL
from tests.fakes.summaries import RECIPE

EMAIL = EmailEnvelope(EMAIL_ADDRESS, "digest@example.com", "Canary subject", "<p>Canary</p>", "Canary")
TEXT = TextEnvelope(PHONE_NUMBER, "DIGEST", "Canary body")
WEBHOOK = WebhookEnvelope(WEBHOOK_URL, '{"title": "Canary"}', AN_ENDPOINT)


def test_the_same_message_has_the_same_fingerprint_in_every_process() -> None:
    assert fingerprint(replace(EMAIL)) == fingerprint(EMAIL)
    assert fingerprint(TEXT) == "7c0cf5e15f8b9e72e0b8b3f6b0ed27c292078b6b311795d861b4fb4aca2b20df"


@pytest.mark.parametrize("name", [one.name for one in fields(EmailEnvelope) if "not_sent" not in one.metadata])
def test_whatever_differs_in_an_email_shows_in_its_fingerprint(name: str) -> None:
    other: dict[str, Any] = {name: "another"}
    assert fingerprint(replace(EMAIL, **other)) != fingerprint(EMAIL)


def test_what_became_of_a_summary_is_not_sent_and_makes_no_other_message() -> None:
    note = SummaryNote(RECIPE, "written", 700, 40)
    assert fingerprint(replace(EMAIL, summary=note)) == fingerprint(EMAIL)


@pytest.mark.parametrize("name", [one.name for one in fields(TextEnvelope)])
def test_whatever_differs_in_a_text_shows_in_its_fingerprint(name: str) -> None:
    other: dict[str, Any] = {name: "another"}
    assert fingerprint(replace(TEXT, **other)) != fingerprint(TEXT)


@pytest.mark.parametrize("envelope", [EMAIL, TEXT, WEBHOOK])
def test_an_envelope_that_lands_in_a_log_shows_nothing_of_the_person(envelope: Envelope) -> None:
    shown = f"{envelope} {envelope!r}"
    assert EMAIL_ADDRESS not in shown
    assert PHONE_NUMBER not in shown
    assert "Canary" not in shown
    assert WEBHOOK_URL not in shown
    assert WEBHOOK_SECRET not in shown


@pytest.mark.parametrize("name", ["to", "body"])
def test_whatever_differs_in_a_webhook_shows_in_its_fingerprint(name: str) -> None:
    other: dict[str, Any] = {name: "another"}
    assert fingerprint(replace(WEBHOOK, **other)) != fingerprint(WEBHOOK)


def test_a_secret_that_was_rotated_between_two_attempts_is_no_other_message() -> None:
    rotated_since = replace(WEBHOOK, endpoint=replace(AN_ENDPOINT, version=7, secrets=()))
    assert fingerprint(rotated_since) == fingerprint(WEBHOOK)
