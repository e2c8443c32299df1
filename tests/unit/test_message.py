"""The message on the queues: an id and where to look, nothing about the person."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from functions.core.identity import Channel, DeliveryId, Topic
from functions.core.message import DeliveryMessage, PoisonError, read_message
from tests.fakes.examples import EMAIL_ADDRESS, a_delivery

KEYS = {"schema_version", "delivery_id", "channel", "template_id"}


def body(**differing: Any) -> str:
    return json.dumps(json.loads(DeliveryMessage.of(a_delivery()).to_body()) | differing)


def test_a_message_holds_the_four_keys_of_the_contract() -> None:
    assert json.loads(DeliveryMessage.of(a_delivery()).to_body()) == {
        "schema_version": 1,
        "delivery_id": "digest:c-417:2026-11-16:email",
        "channel": "email",
        "template_id": "weekly-digest-v1",
    }


def test_the_longest_message_stays_under_a_kilobyte() -> None:
    longest = DeliveryId(Topic.REMINDER, "c" * 64, "e" * 64, Channel.EMAIL)
    message = DeliveryMessage.of(a_delivery(delivery_id=longest, template_id="t" * 64))
    assert len(message.to_body().encode()) < 1024


def test_personal_data_cannot_be_put_into_a_message() -> None:
    assert set(DeliveryMessage.model_fields) == KEYS
    with pytest.raises(ValidationError):
        DeliveryMessage.model_validate(json.loads(body(address=EMAIL_ADDRESS)))
    with pytest.raises(PoisonError, match="not a delivery message of version 1"):
        read_message(body(address=EMAIL_ADDRESS), channel=Channel.EMAIL)


def test_what_was_sent_is_what_is_read() -> None:
    message, delivery_id = read_message(DeliveryMessage.of(a_delivery()).to_body(), channel=Channel.EMAIL)
    assert delivery_id == a_delivery().delivery_id
    assert message.template_id == a_delivery().template_id


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", "body"),
        ("not json", "body"),
        ("[]", "body"),
        ("null", "body"),
        ("{}", "channel, delivery_id, template_id"),
        (body(schema_version=2), "schema_version"),
        (body(schema_version="1"), "schema_version"),
        (body(channel="pigeon"), "channel"),
        (body(template_id=""), "template_id"),
        (body(delivery_id=None), "delivery_id"),
        (body(delivery_id="digest:c-417"), "delivery_id"),
        (body(delivery_id="d" * 300), "delivery_id"),
        (body(channel="sms"), "channel"),
        (body(delivery_id="digest:c-417:2026-11-16:sms"), "channel"),
    ],
)
def test_a_message_that_cannot_be_worked_on_is_poison_and_names_the_field(text: str, names: str) -> None:
    with pytest.raises(PoisonError, match=names):
        read_message(text, channel=Channel.EMAIL)


@pytest.mark.parametrize(
    "text",
    [
        body(delivery_id=f"digest:{EMAIL_ADDRESS}:2026-11-16:email"),
        body(template_id=EMAIL_ADDRESS * 9),
        body(**{EMAIL_ADDRESS: 1}),
        body(channel=EMAIL_ADDRESS),
        EMAIL_ADDRESS,
    ],
)
def test_what_a_poisonous_message_holds_is_never_repeated(text: str) -> None:
    with pytest.raises(PoisonError) as poison:
        read_message(text, channel=Channel.EMAIL)
    assert EMAIL_ADDRESS not in str(poison.value)
    assert poison.value.__cause__ is None
    assert poison.value.__suppress_context__
