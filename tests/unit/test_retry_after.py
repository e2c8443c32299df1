"""When a provider wants to be asked again."""

from __future__ import annotations

from datetime import datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.core.retry_after import LONGEST_WAIT, retry_at
from tests.fakes.clock import SUNDAY_EVENING

NOW = SUNDAY_EVENING


@pytest.mark.parametrize(
    ("header", "wait"),
    [
        ("1", timedelta(seconds=1)),
        (" 120 ", timedelta(seconds=120)),
        ("Sun, 29 Nov 2026 20:02:00 GMT", timedelta(minutes=2)),
        ("Sunday, 29-Nov-26 20:02:00 GMT", timedelta(minutes=2)),
        ("Sun Nov 29 20:02:00 2026", timedelta(minutes=2)),
        ("0000120", timedelta(minutes=2)),
        ("999999999", LONGEST_WAIT),
        ("9999999999", LONGEST_WAIT),
        ("9" * 10_000, LONGEST_WAIT),
        ("Sun, 29 Nov 2099 20:02:00 GMT", LONGEST_WAIT),
    ],
)
def test_both_forms_of_the_header_are_understood(header: str, wait: timedelta) -> None:
    assert retry_at(header, now=NOW) == NOW + wait


@pytest.mark.parametrize(
    "header",
    [
        *(None, "", "0", "-5", "1.5", "1e9", "soon", "1, 2", "\N{FULLWIDTH DIGIT NINE}", "0" * 10_000),
        *("Sun, 99 Nov 2026 20:02:00 GMT", "Sun, 29 Nov 2026 19:59:59 GMT", "Thu, 01 Jan 1970 00:00:00 GMT"),
        *("Fri, 31 Dec 9999 23:59:59 -0100", "Sun, 29 Nov 2026 20:02:00 +9999"),
    ],
)
def test_nonsense_and_what_has_passed_are_left_to_the_callers_own_rule(header: str | None) -> None:
    assert retry_at(header, now=NOW) is None


@given(st.integers(1, 10**9 - 1) | st.integers(1, 10**40))
def test_no_attempt_is_early_and_none_waits_for_ever(seconds: int) -> None:
    again = retry_at(str(seconds), now=NOW)
    assert again is not None
    assert again == (NOW + timedelta(seconds=seconds) if seconds < LONGEST_WAIT.total_seconds() else NOW + LONGEST_WAIT)


@given(st.datetimes(NOW.replace(tzinfo=None), NOW.replace(tzinfo=None) + timedelta(days=3)), st.integers(0, 999_999))
def test_a_date_is_not_met_early_either_whatever_part_of_a_second_it_is_now(wanted: datetime, micro: int) -> None:
    now = NOW.replace(microsecond=micro)
    asked = wanted.replace(tzinfo=NOW.tzinfo, microsecond=0)
    again = retry_at(format_datetime(asked, usegmt=True), now=now)
    if again is not None:
        assert now < again <= now + LONGEST_WAIT
        assert again >= min(asked, now + LONGEST_WAIT)


@given(st.text(max_size=60))
def test_no_header_whatever_breaks_a_send(header: str) -> None:
    again = retry_at(header, now=NOW)
    assert again is None or NOW < again <= NOW + LONGEST_WAIT
