"""What customers text back, and what comes of it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.core.identity import Channel, Topic
from functions.core.inbound_text import STOPS, InboundText, Wish, read_inbound_text
from functions.core.keyring import KeyRing
from functions.core.message import PoisonError
from functions.core.opt_out_memory import STOPPED, LateOptOuts, address_mark
from functions.core.opting_out import Listener, number_hash
from functions.core.receipts import SuppressionCause
from functions.core.unsubscribe_token import Subscription
from tests.fakes.clock import FakeClock
from tests.fakes.examples import CUSTOMER, PHONE_NUMBER
from tests.fakes.opt_outs import InMemoryOptOutMemory, InMemoryOptOuts, InMemorySuppressions

OLD, NEW = "old-" + "a" * 40, "new-" + "b" * 40
KEYS = KeyRing.parse(json.dumps({"0": OLD, "2026-11-01": NEW}))
PAYLOAD = {
    "originationNumber": PHONE_NUMBER,
    "destinationNumber": "+15550100000",
    "messageKeyword": "KEYWORD_123456789012",
    "messageBody": "STOP",
    "inboundMessageId": "cae173d2-66b9-564c-8309-21f858e9fb84",
    "previousPublishedMessageId": "wJalrXUtnFEMI/K7MDENG",
}


def saying(text: str) -> InboundText:
    return InboundText("m-1", PHONE_NUMBER, text)


@pytest.mark.parametrize(
    "text",
    [
        *sorted(STOPS),
        "stop",
        "  Stop.  ",
        "STOP ALL",
        "opt-out",
        "Opt Out",
        "Arrêt",
        "ARRÊT!",
        "Stopp!",
        "stop texting me",
        "Unsubscribe please",
        "\uff33\uff34\uff2f\uff30",
        "S T O P",
        "\n stop\n",
    ],
)
def test_a_text_that_means_stop_is_understood(text: str) -> None:
    assert saying(text).wish is Wish.STOP


@pytest.mark.parametrize(
    ("text", "wish"),
    [
        ("START", Wish.START),
        ("unstop", Wish.START),
        ("When does it end", Wish.OTHER),
        ("I want to cancel my order", Wish.OTHER),
        ("quit smoking offers?", Wish.OTHER),
        ("nonstop", Wish.OTHER),
        ("thanks", Wish.OTHER),
        ("", Wish.OTHER),
        ("👍", Wish.OTHER),
        ("停止", Wish.OTHER),
    ],
)
def test_a_text_about_something_else_stops_nothing(text: str, wish: Wish) -> None:
    assert saying(text).wish is wish


@given(st.text())
def test_any_text_has_a_wish(text: str) -> None:
    assert saying(text).wish in Wish


def test_a_text_is_read_as_aws_publishes_it() -> None:
    read = read_inbound_text(json.dumps(PAYLOAD))
    assert (read.number, read.text, read.message_id) == (PHONE_NUMBER, "STOP", PAYLOAD["inboundMessageId"])
    assert PHONE_NUMBER not in repr(read)
    assert "STOP" not in repr(read)


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ("not json +15550104170", "body"),
        ("[]", "body"),
        (json.dumps({**PAYLOAD, "originationNumber": "anna@example.com"}), "originationNumber"),
        (json.dumps({**PAYLOAD, "messageBody": None}), "messageBody"),
        (json.dumps({**PAYLOAD, "inboundMessageId": PHONE_NUMBER + " said"}), "inboundMessageId"),
        (json.dumps({"Message": json.dumps(PAYLOAD)}), "originationNumber"),
    ],
)
def test_what_is_no_text_is_poison_and_not_repeated(body: str, named: str) -> None:
    with pytest.raises(PoisonError, match=named) as refused:
        read_inbound_text(body)
    assert "anna" not in str(refused.value)
    assert PHONE_NUMBER not in str(refused.value)


# --- what comes of it ---


def listener(
    opt_outs: InMemoryOptOuts,
    suppressions: InMemorySuppressions | None = None,
    memory: InMemoryOptOutMemory | None = None,
) -> Listener:
    late = LateOptOuts(memory or InMemoryOptOutMemory(), lambda: KEYS)
    return Listener(opt_outs, suppressions or InMemorySuppressions(), lambda: KEYS, late, FakeClock())


def hash_with(key_id: str, number: str = PHONE_NUMBER) -> str:
    key = KEYS.named(key_id)
    assert key is not None
    return number_hash(number, key)


def test_stop_ends_every_text_to_everybody_at_that_number() -> None:
    numbers = {CUSTOMER: hash_with("2026-11-01"), "c-2": hash_with("0"), "c-3": hash_with("0", "+15550104171")}
    opt_outs, suppressions = InMemoryOptOuts(numbers), InMemorySuppressions()
    heard = listener(opt_outs, suppressions).hear(saying("stop"))
    assert set(heard.customers) == {CUSTOMER, "c-2"}
    assert set(opt_outs.opted_out) == {
        Subscription(one, topic, Channel.SMS) for one in (CUSTOMER, "c-2") for topic in Topic
    }
    assert suppressions.held == {(one, Channel.SMS): SuppressionCause.STOP for one in (CUSTOMER, "c-2")}


def test_stop_of_a_number_that_moved_on_touches_nobody() -> None:
    opt_outs, suppressions = InMemoryOptOuts({"c-9": hash_with("0", "+15550104171")}), InMemorySuppressions()
    opt_outs.stale.append("c-9")
    heard = listener(opt_outs, suppressions).hear(saying("stop"))
    assert heard.unknown_number
    assert (opt_outs.opted_out, suppressions.held) == ({}, {})


def test_stop_of_somebody_who_was_erased_meanwhile_is_remembered_for_whoever_comes_with_the_number() -> None:
    memory = InMemoryOptOutMemory()
    listener(InMemoryOptOuts(), memory=memory).hear(saying("stop"))
    key = KEYS.named("2026-11-01")
    assert key is not None
    assert memory.held == {address_mark(Channel.SMS, PHONE_NUMBER, key): STOPPED}


def test_nothing_is_remembered_beside_a_profile_that_knows_it_or_of_a_text_that_is_no_stop() -> None:
    memory = InMemoryOptOutMemory()
    hears = listener(InMemoryOptOuts({CUSTOMER: hash_with("0")}), memory=memory)
    hears.hear(saying("stop"))
    hears.hear(InboundText("m-2", "+15550104171", "hello"))
    assert memory.held == {}


@pytest.mark.parametrize("text", ["START", "unstop", "hello"])
def test_nothing_that_is_texted_opts_anybody_in(text: str) -> None:
    opt_outs = InMemoryOptOuts({CUSTOMER: hash_with("0")})
    hears = listener(opt_outs)
    hears.hear(saying("STOP"))
    before = dict(opt_outs.opted_out)
    assert hears.hear(saying(text)).customers == ()
    assert opt_outs.opted_out == before


def test_a_numbers_hash_tells_nothing_of_it_and_differs_between_deployments() -> None:
    other = KeyRing.parse(json.dumps({"0": NEW})).named("0")
    assert other is not None
    assert PHONE_NUMBER.lstrip("+") not in hash_with("0")
    assert hash_with("0") != number_hash(PHONE_NUMBER, other)
