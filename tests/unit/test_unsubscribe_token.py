"""Links by which a person leaves one topic on one channel."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.core.identity import Channel, Topic
from functions.core.keyring import KeyRing
from functions.core.unsubscribe_token import (
    InvalidTokenError,
    Subscription,
    UnsubscribeLinks,
    one_click_headers,
    read_token,
    write_token,
)
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.examples import ADDRESSES, CUSTOMER, a_delivery

FIRST, SECOND = "first-" + "1" * 40, "second" + "2" * 40
KEYS = KeyRing.parse(json.dumps({"0": FIRST}))
ROTATED = KeyRing.parse(json.dumps({"0": FIRST, "2026-12-01": SECOND}))
WITHOUT_THE_FIRST = KeyRing.parse(json.dumps({"2026-12-01": SECOND}))
WEEKLY_BY_EMAIL = Subscription(CUSTOMER, Topic.DIGEST, Channel.EMAIL)
TOKEN = write_token(WEEKLY_BY_EMAIL, KEYS, at=SUNDAY_EVENING)

CUSTOMER_IDS = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", fullmatch=True).filter(
    lambda text: not text.replace("-", "").replace("_", "").isdigit()
)


@given(CUSTOMER_IDS, st.sampled_from(Topic), st.sampled_from(Channel))
def test_a_token_says_whose_subscription_it_is_and_fits_into_a_link(
    customer_id: str, topic: Topic, channel: Channel
) -> None:
    subscription = Subscription(customer_id, topic, channel)
    token = write_token(subscription, KEYS, at=SUNDAY_EVENING)
    assert read_token(token, KEYS) == subscription
    assert set(token) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.")
    assert len(token) <= 140


def test_a_token_holds_nothing_of_the_person_but_the_opaque_id() -> None:
    said = TOKEN.rpartition(".")[0]
    assert said == f"0.{CUSTOMER}.digest.email"
    assert not [address for address in ADDRESSES.values() if address in TOKEN]


def test_a_token_is_good_for_ever_and_after_each_new_key() -> None:
    assert read_token(TOKEN, ROTATED) == WEEKLY_BY_EMAIL


def test_a_token_ends_with_its_key() -> None:
    with pytest.raises(InvalidTokenError):
        read_token(TOKEN, WITHOUT_THE_FIRST)


@given(st.integers(0, len(TOKEN) - 1), st.sampled_from("Aa0-_."))
def test_a_token_that_was_changed_anywhere_is_refused(position: int, letter: str) -> None:
    changed = TOKEN[:position] + letter + TOKEN[position + 1 :]
    if changed != TOKEN:
        with pytest.raises(InvalidTokenError):
            read_token(changed, KEYS)


@pytest.mark.parametrize(
    "token",
    [
        "",
        ".",
        "....",
        "favicon.ico",
        TOKEN + "=",
        TOKEN + ".x",
        TOKEN.upper(),
        TOKEN.replace("email", "sms"),
        TOKEN.replace(CUSTOMER, "c-418"),
        "0." * 400 + TOKEN,
        "0.c-417.digest.email.\udcff",
        "0.c-417.digest.email.é",
        *(TOKEN[:length] for length in (10, len(TOKEN) - 1)),
    ],
)
def test_what_we_did_not_write_is_refused_and_not_repeated(token: str) -> None:
    with pytest.raises(InvalidTokenError) as refused:
        read_token(token, KEYS)
    assert str(refused.value) == ""


def test_a_token_of_another_deployment_is_refused() -> None:
    theirs = write_token(WEEKLY_BY_EMAIL, KeyRing.parse(json.dumps({"0": SECOND})), at=SUNDAY_EVENING)
    with pytest.raises(InvalidTokenError):
        read_token(theirs, KEYS)


def test_a_token_for_a_topic_that_is_no_more_is_refused() -> None:
    key = KEYS.of(SUNDAY_EVENING)
    said = "0.c-417.horoscope.email"
    with pytest.raises(InvalidTokenError):
        read_token(f"{said}.{key.mac('unsubscribe', said)}", KEYS)


def test_a_retry_after_a_new_key_carries_the_link_of_the_first_attempt() -> None:
    delivery = a_delivery(selected_at=SUNDAY_EVENING)
    later = a_delivery(selected_at=SUNDAY_EVENING + timedelta(days=7))
    before = UnsubscribeLinks("https://leave.example.com/", lambda: KEYS)
    after = UnsubscribeLinks("https://leave.example.com/", lambda: ROTATED)
    assert before.link(delivery) == after.link(delivery) == f"https://leave.example.com/{TOKEN}"
    assert after.link(later).startswith("https://leave.example.com/2026-12-01.")


def test_a_mail_program_is_told_where_to_post_one_click() -> None:
    assert one_click_headers("https://leave.example.com/t") == (
        ("List-Unsubscribe", "<https://leave.example.com/t>"),
        ("List-Unsubscribe-Post", "List-Unsubscribe=One-Click"),
    )
