"""The one name that a delivery ever has."""

from __future__ import annotations

import string
from collections import Counter

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from functions.core.identity import Channel, DeliveryId, InvalidIdError, Topic, opaque_id, shard_of

LETTERS = string.ascii_letters + string.digits


@given(
    st.sampled_from(Topic),
    st.text(LETTERS + "-_", min_size=1, max_size=64),
    st.text(LETTERS + "-_", min_size=1, max_size=64),
    st.sampled_from(Channel),
)
def test_an_id_comes_back_as_it_was_written(topic: Topic, customer: str, occasion: str, channel: Channel) -> None:
    try:
        opaque_id(customer, field="customer_id")
        opaque_id(occasion, field="event_id")
    except InvalidIdError:
        reject()
    delivery_id = DeliveryId(topic, customer, occasion, channel)
    assert DeliveryId.parse(str(delivery_id)) == delivery_id


@given(
    st.sampled_from(Topic),
    st.text(LETTERS + "-_", min_size=1, max_size=64),
    st.text(LETTERS + "-_", min_size=1, max_size=64),
    st.sampled_from(Channel),
)
def test_a_provider_s_event_names_the_delivery_by_the_tags_of_the_email(
    topic: Topic, customer: str, occasion: str, channel: Channel
) -> None:
    try:
        opaque_id(customer, field="customer_id")
        opaque_id(occasion, field="event_id")
    except InvalidIdError:
        reject()
    delivery_id = DeliveryId(topic, customer, occasion, channel)
    tags = delivery_id.as_tags()
    assert all(set(each) <= set(LETTERS + "-_") and len(each) <= 256 for tag in tags.items() for each in tag)
    assert DeliveryId.from_tags({**tags, "ses_outgoing-ip": "192.0.2.1"}) == delivery_id


def test_an_event_without_our_tags_is_about_none_of_our_deliveries() -> None:
    with pytest.raises(InvalidIdError, match="delivery_id"):
        DeliveryId.from_tags({"ses_outgoing-ip": "192.0.2.1"})


def test_a_digest_is_named_by_customer_week_and_channel() -> None:
    assert str(DeliveryId(Topic.DIGEST, "c-417", "2026-11-16", Channel.SMS)) == "digest:c-417:2026-11-16:sms"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "digest",
        "digest:c-417:2026-11-16",
        "digest:c-417:2026-11-16:sms:more",
        "newsletter:c-417:2026-11-16:sms",
        "digest:c-417:2026-11-16:pigeon",
        "digest::2026-11-16:sms",
        "digest:c-417::sms",
        "digest:c 417:2026-11-16:sms",
        "DIGEST:c-417:2026-11-16:sms",
    ],
)
def test_what_is_not_an_id_is_refused(text: str) -> None:
    with pytest.raises(InvalidIdError, match="delivery_id"):
        DeliveryId.parse(text)


@pytest.mark.parametrize("text", ["ada@example.com", "@", "c-1@shop"])
def test_an_id_that_looks_like_an_address_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(InvalidIdError, match="customer_id: looks like an email address; use an opaque id") as refused:
        opaque_id(text, field="customer_id")
    assert text not in str(refused.value).replace("such as c-10428", "") or text == "@"


@pytest.mark.parametrize("text", ["+15550104170", "15550104170", "555-010-4170", "004915550104170", "5550104170"])
def test_an_id_that_looks_like_a_phone_number_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(InvalidIdError, match="customer_id: looks like a phone number; use an opaque id") as refused:
        opaque_id(text, field="customer_id")
    assert text not in str(refused.value)


@pytest.mark.parametrize("text", ["", "-c", "_c", "c:1", "c#1", "c 1", "c\n", "ä", "c" * 65])
def test_an_id_in_other_letters_is_refused_with_what_would_be_right(text: str) -> None:
    with pytest.raises(InvalidIdError, match="customer_id: must be 1 to 64 letters, digits, '-' or '_'"):
        opaque_id(text, field="customer_id")


@pytest.mark.parametrize("text", ["c-417", "12345678", "0", "A_b-9", "c" * 64])
def test_an_opaque_id_is_taken_as_it_is(text: str) -> None:
    assert opaque_id(text, field="customer_id") == text


def test_a_customer_stays_in_the_shard_where_the_rows_are() -> None:
    # Written into rows: another hash, or another seed of it, would leave every stored row in a shard that nobody asks.
    assert [shard_of(f"c-{number}", 8) for number in range(8)] == [0, 6, 4, 2, 1, 7, 5, 3]


def test_customers_spread_evenly_over_the_shards() -> None:
    counts = Counter(shard_of(f"c-{number}", 16) for number in range(16_000))
    assert set(counts) == set(range(16))
    assert min(counts.values()) > 800
    assert max(counts.values()) < 1200
