"""Hours in which a person is left alone, over midnight and in the nights in which the clocks change."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.core.calendar import zone
from functions.core.quiet_hours import QuietHours

NIGHT = QuietHours(time(21), time(8))
ZONES = ["America/Los_Angeles", "America/New_York", "Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe", "Etc/UTC"]
QUARTERS = st.integers(0, 95).map(lambda quarter: time(quarter // 4, quarter % 4 * 15))
INSTANTS = st.datetimes(datetime(2024, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - UTC is added


def over_at(text: str, local: str, where: str, *, fold: int = 0) -> str | None:
    """The end of the quiet that a local time falls into, as a local time."""
    instant = datetime.fromisoformat(local).replace(tzinfo=zone(where), fold=fold).astimezone(UTC)
    found = QuietHours.parse(text).over_at(instant, zone(where))
    return None if found is None else f"{found.astimezone(zone(where)):%Y-%m-%dT%H:%M%z}"


@pytest.mark.parametrize(
    ("local", "expected"),
    [
        ("2026-12-04T20:59:59", None),
        ("2026-12-04T21:00:00", "2026-12-05T08:00-0800"),
        ("2026-12-04T21:10:00", "2026-12-05T08:00-0800"),
        ("2026-12-04T23:59:59", "2026-12-05T08:00-0800"),
        ("2026-12-05T00:00:00", "2026-12-05T08:00-0800"),
        ("2026-12-05T07:59:59", "2026-12-05T08:00-0800"),
        ("2026-12-05T08:00:00", None),
    ],
)
def test_a_night_is_over_at_eight_in_the_morning(local: str, expected: str | None) -> None:
    assert over_at("21:00-08:00", local, "America/Los_Angeles") == expected


@pytest.mark.parametrize(
    ("local", "expected"),
    [
        ("2026-12-04T12:59:00", None),
        ("2026-12-04T13:00:00", "2026-12-04T14:30+0100"),
        ("2026-12-04T14:29:00", "2026-12-04T14:30+0100"),
        ("2026-12-04T14:30:00", None),
    ],
)
def test_a_quiet_hour_at_noon_ends_on_the_same_day(local: str, expected: str | None) -> None:
    assert over_at("13:00-14:30", local, "Europe/Berlin") == expected


@pytest.mark.parametrize("local", ["2026-12-04T08:59:00", "2026-12-04T09:00:00", "2026-12-04T23:00:00"])
def test_from_a_time_until_the_same_time_is_never_quiet(local: str) -> None:
    assert over_at("09:00-09:00", local, "Europe/Berlin") is None


def test_a_night_without_the_hour_in_which_quiet_would_end_ends_with_the_next_one_that_exists() -> None:
    assert over_at("21:00-02:30", "2027-03-28T01:30", "Europe/Berlin") == "2027-03-28T03:00+0200"
    assert over_at("21:00-02:30", "2027-03-28T03:00", "Europe/Berlin") is None


def test_an_hour_that_comes_twice_is_quiet_both_times() -> None:
    first = over_at("21:00-02:30", "2027-10-31T02:29", "Europe/Berlin")
    between = over_at("21:00-02:30", "2027-10-31T02:45", "Europe/Berlin", fold=0)
    second = over_at("21:00-02:30", "2027-10-31T02:29", "Europe/Berlin", fold=1)
    assert {first, between, second} == {"2027-10-31T02:30+0100"}
    assert over_at("21:00-02:30", "2027-10-31T02:30", "Europe/Berlin", fold=1) is None


def test_quiet_that_begins_in_the_hour_that_comes_twice_begins_with_the_first() -> None:
    assert over_at("02:15-06:00", "2027-10-31T02:10", "Europe/Berlin") is None
    assert over_at("02:15-06:00", "2027-10-31T02:10", "Europe/Berlin", fold=1) == "2027-10-31T06:00+0100"


def test_quiet_that_lies_in_the_hour_that_is_skipped_does_not_happen() -> None:
    assert over_at("02:10-02:50", "2027-03-28T01:59", "Europe/Berlin") is None
    assert over_at("02:10-02:50", "2027-03-28T03:00", "Europe/Berlin") is None


def test_two_nights_that_meet_in_an_hour_that_comes_twice_are_one() -> None:
    assert over_at("02:30-02:15", "2027-10-31T02:05", "Europe/Berlin", fold=1) == "2027-11-01T02:15+0100"


@given(begins=QUARTERS, ends=QUARTERS, instant=INSTANTS, where=st.sampled_from(ZONES))
def test_whatever_the_wall_calls_quiet_is_quiet_and_its_end_is_not(
    begins: time, ends: time, instant: datetime, where: str
) -> None:
    hours = QuietHours(begins, ends)
    over = hours.over_at(instant, zone(where))
    wall = instant.astimezone(zone(where)).time()
    by_the_wall = begins <= wall < ends if begins < ends else begins != ends and (wall >= begins or wall < ends)
    if by_the_wall:
        assert over is not None
    if over is not None:
        assert instant < over <= instant + timedelta(days=2)
        assert hours.over_at(over, zone(where)) is None


@given(instant=INSTANTS, where=st.sampled_from(ZONES))
def test_no_text_is_ever_due_outside_eight_to_nine_in_the_evening(instant: datetime, where: str) -> None:
    over = NIGHT.over_at(instant, zone(where))
    sent_at = (over or instant).astimezone(zone(where)).time()
    assert time(8) <= sent_at < time(21)


@given(begins=QUARTERS, ends=QUARTERS)
def test_quiet_hours_read_what_they_write(begins: time, ends: time) -> None:
    assert QuietHours.parse(str(QuietHours(begins, ends))) == QuietHours(begins, ends)


@pytest.mark.parametrize("text", ["", "21-8", "21:00", "24:00-08:00", "21:00-08:60", "9:00-10:00", "21:00-08:00 "])
def test_what_are_no_two_times_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="such as 21:00-08:00"):
        QuietHours.parse(text)
