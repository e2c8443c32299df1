"""Keys under their ids, several at a time."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from functions.core.keyring import KeyRing, KeyRingError

OLD, NEW, NEXT = "old-" + "a" * 40, "new-" + "b" * 40, "next" + "c" * 40
RING = KeyRing.parse(json.dumps({"2027-01-15": NEW, "0": OLD, "2027-06-01": NEXT}, indent=2))


@pytest.mark.parametrize(
    ("at", "key_id"),
    [
        (datetime(2026, 11, 29, tzinfo=UTC), "0"),
        (datetime(2027, 1, 14, 23, 59, 59, tzinfo=UTC), "0"),
        (datetime(2027, 1, 15, tzinfo=UTC), "2027-01-15"),
        (datetime(2027, 5, 31, tzinfo=UTC), "2027-01-15"),
        (datetime(2031, 1, 1, tzinfo=UTC), "2027-06-01"),
    ],
)
def test_a_key_is_used_from_its_day_on_until_the_next_one_s(at: datetime, key_id: str) -> None:
    assert RING.of(at).key_id == key_id


def test_when_only_keys_of_later_days_are_left_the_first_of_them_is_used() -> None:
    assert KeyRing.parse(json.dumps({"2027-06-01": NEXT})).of(datetime(2026, 1, 1, tzinfo=UTC)).key_id == "2027-06-01"


def test_what_is_made_for_one_purpose_is_not_good_for_another() -> None:
    key = RING.of(datetime(2026, 11, 29, tzinfo=UTC))
    assert key.mac("unsubscribe", "text") == key.mac("unsubscribe", "text")
    assert len({key.mac("unsubscribe", "text"), key.mac("number", "text"), key.mac("unsubscribe", "texts")}) == 3


def test_no_key_is_shown() -> None:
    assert not [key for key in (OLD, NEW, NEXT) if key in repr(RING)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        OLD,
        json.dumps({"0": "short"}),
        json.dumps({"0": 12}),
        json.dumps({"1": OLD}),
        json.dumps({"20270115": OLD}),
        json.dumps({"2027-02-30": OLD}),
        json.dumps({"0": OLD, "tomorrow": NEW}),
    ],
)
def test_a_secret_that_is_no_key_ring_is_refused_without_being_shown(text: str) -> None:
    with pytest.raises(KeyRingError, match="each id 0 or the day from which its key is used") as refused:
        KeyRing.parse(text)
    assert OLD not in str(refused.value)
