"""Instants as text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.core.instants import from_text, to_text

INSTANTS = st.datetimes(min_value=datetime(1970, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - a bound


@given(INSTANTS)
def test_an_instant_comes_back_to_the_millisecond(instant: datetime) -> None:
    assert timedelta() <= instant - from_text(to_text(instant)) < timedelta(milliseconds=1)


@given(INSTANTS, INSTANTS)
def test_text_is_in_the_order_of_time(one: datetime, other: datetime) -> None:
    assert (to_text(one) < to_text(other)) is (from_text(to_text(one)) < from_text(to_text(other)))
    assert len(to_text(one)) == len(to_text(other))


def test_an_instant_is_written_in_utc_wherever_it_was_taken() -> None:
    berlin = datetime(2026, 7, 1, 9, tzinfo=timezone(timedelta(hours=2)))
    assert to_text(berlin) == "2026-07-01T07:00:00.000Z"


@pytest.mark.parametrize(
    "text",
    ["2026-11-29T20:05:00Z", "2026-11-29T20:05:00.000Z", "2026-11-29T20:05:00+00:00", "2026-11-29T15:05:00-05:00"],
)
def test_every_iso_form_that_names_its_offset_is_read(text: str) -> None:
    assert from_text(text) == datetime(2026, 11, 29, 20, 5, tzinfo=UTC)


def test_an_instant_without_a_zone_is_refused_with_what_would_be_right() -> None:
    with pytest.raises(ValueError, match="names no time zone; write it like 2026-11-29T20:05:00Z"):
        from_text("2026-11-29T20:05:00")
    with pytest.raises(ValueError, match="needs a time zone"):
        to_text(datetime(2026, 11, 29))  # noqa: DTZ001 - that is the case
