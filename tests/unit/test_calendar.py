"""When a local time comes, and which week it belongs to."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo, reset_tzpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.core.calendar import (
    UnknownTimeZoneError,
    all_expired_at,
    at_local,
    monday_of,
    next_weekly,
    period_bounds,
    period_reported,
    zone,
)

ZONES = (
    "UTC",
    "America/New_York",
    "America/Los_Angeles",
    "America/Sao_Paulo",
    "Europe/Berlin",
    "Europe/London",
    "Asia/Kolkata",
    "Asia/Kathmandu",
    "Australia/Lord_Howe",  # its clocks move by half an hour
    "Pacific/Auckland",
    "Pacific/Kiritimati",
    "Africa/Casablanca",  # its clocks move around Ramadan
)
DAYS = st.dates(date(2020, 1, 1), date(2040, 12, 31))
INSTANTS = st.datetimes(min_value=datetime(2020, 1, 1), max_value=datetime(2040, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - bounds
CLOCKS = st.times().map(lambda clock: clock.replace(second=0, microsecond=0))


@pytest.mark.parametrize("name", ZONES)
def test_a_weekly_digest_comes_every_seven_local_days_through_every_change_of_clocks(name: str) -> None:
    where = zone(name)
    run = next_weekly(6, time(2, 30), where, after=datetime(2026, 1, 1, tzinfo=UTC))
    for _ in range(60):
        following = next_weekly(6, time(2, 30), where, after=run)
        assert following.astimezone(where).date() - run.astimezone(where).date() == timedelta(days=7)
        assert following.astimezone(where).weekday() == 6
        run = following


@pytest.mark.parametrize("name", ZONES)
def test_nine_in_the_morning_is_nine_in_january_and_in_july(name: str) -> None:
    for month in range(1, 13):
        run = next_weekly(0, time(9), zone(name), after=datetime(2027, month, 1, tzinfo=UTC))
        assert run.astimezone(zone(name)).time() == time(9)


@pytest.mark.parametrize(
    ("name", "day", "clock", "comes"),
    [
        ("Europe/Berlin", date(2027, 3, 28), time(2, 30), "2027-03-28T03:00+02:00"),
        ("America/New_York", date(2027, 3, 14), time(2, 30), "2027-03-14T03:00-04:00"),
        ("Australia/Lord_Howe", date(2026, 10, 4), time(2, 15), "2026-10-04T02:30+11:00"),
        ("Africa/Cairo", date(2026, 4, 24), time(), "2026-04-24T01:00+03:00"),  # midnight itself is skipped
        ("Pacific/Apia", date(2011, 12, 30), time(9), "2011-12-31T00:00+14:00"),  # a whole day is skipped
    ],
)
def test_a_time_that_the_clocks_skip_becomes_the_next_one_that_exists(
    name: str, day: date, clock: time, comes: str
) -> None:
    assert at_local(day, clock, zone(name)) == datetime.fromisoformat(comes)


@pytest.mark.parametrize(
    ("name", "day", "clock", "comes"),
    [
        ("Europe/Berlin", date(2026, 10, 25), time(2, 30), "2026-10-25T02:30+02:00"),
        ("America/New_York", date(2026, 11, 1), time(1, 30), "2026-11-01T01:30-04:00"),
    ],
)
def test_a_time_that_comes_twice_is_taken_once_the_first_time(name: str, day: date, clock: time, comes: str) -> None:
    first = at_local(day, clock, zone(name))
    assert first == datetime.fromisoformat(comes)
    following = next_weekly(day.weekday(), clock, zone(name), after=first)
    assert following - first > timedelta(days=6)


@given(DAYS, CLOCKS, st.sampled_from(ZONES))
def test_a_local_time_is_met_to_the_minute_or_just_after_a_gap(day: date, clock: time, name: str) -> None:
    wall = at_local(day, clock, zone(name)).astimezone(zone(name)).replace(tzinfo=None)
    wanted = datetime.combine(day, clock)
    assert wanted <= wall <= wanted + timedelta(hours=1)


@given(INSTANTS, CLOCKS, st.integers(0, 6), st.sampled_from(ZONES))
def test_the_next_run_is_after_now_and_within_a_week_and_an_hour(
    after: datetime, clock: time, weekday: int, name: str
) -> None:
    run = next_weekly(weekday, clock, zone(name), after=after)
    assert after < run <= after + timedelta(days=7, hours=2)
    assert run.astimezone(zone(name)).weekday() == weekday


@given(DAYS)
def test_every_date_lies_in_the_iso_week_of_its_monday(day: date) -> None:
    monday = monday_of(day)
    assert monday.weekday() == 0
    assert timedelta() <= day - monday < timedelta(days=7)
    assert monday.isocalendar()[:2] == day.isocalendar()[:2]
    assert date.fromisoformat(day.isoformat()) == day


@pytest.mark.parametrize(
    ("run_at", "name", "period"),
    [
        ("2026-11-30T08:00+00:00", "UTC", date(2026, 11, 23)),
        ("2026-11-29T23:59+00:00", "UTC", date(2026, 11, 16)),  # the week is not over
        ("2026-11-30T01:00+00:00", "America/New_York", date(2026, 11, 16)),  # there it is still Sunday
        ("2026-11-29T12:00+00:00", "Pacific/Auckland", date(2026, 11, 23)),  # there it is Monday already
        ("2027-01-04T09:00+00:00", "UTC", date(2026, 12, 28)),  # over the turn of the year
    ],
)
def test_a_digest_reports_the_last_local_week_that_had_ended(run_at: str, name: str, period: date) -> None:
    assert period_reported(datetime.fromisoformat(run_at), zone(name)) == period


def test_a_customer_who_moves_west_in_the_middle_of_the_week_gets_that_week_once() -> None:
    auckland, los_angeles = zone("Pacific/Auckland"), zone("America/Los_Angeles")
    first = next_weekly(0, time(0, 30), auckland, after=datetime(2026, 11, 28, tzinfo=UTC))
    reported = [period_reported(first, auckland)]
    run = first
    for _ in range(3):
        run = next_weekly(0, time(0, 30), los_angeles, after=run)
        reported.append(period_reported(run, los_angeles))
    assert reported == [date(2026, 11, 23), date(2026, 11, 23), date(2026, 11, 30), date(2026, 12, 7)]


@pytest.mark.parametrize("name", ZONES)
def test_weeks_follow_one_another_without_a_gap_and_without_overlap(name: str) -> None:
    monday = date(2026, 1, 5)
    for _ in range(60):
        _, ends = period_bounds(monday, zone(name))
        monday += timedelta(days=7)
        begins, _ = period_bounds(monday, zone(name))
        assert begins == ends


@pytest.mark.parametrize("name", ["Pacific/Kiritimati", "UTC", "Pacific/Pago_Pago"])
def test_the_last_digest_of_a_week_has_expired_by_then_wherever_its_customer_lives(name: str) -> None:
    week, expires_after = date(2026, 11, 16), timedelta(hours=72)
    _, last = period_bounds(week + timedelta(days=7), zone(name))
    assert period_reported(last - timedelta(seconds=1), zone(name)) == week
    assert timedelta() <= all_expired_at(week, expires_after) - (last + expires_after) <= timedelta(days=2)


def test_a_week_in_which_the_clocks_go_back_is_an_hour_longer() -> None:
    begins, ends = period_bounds(date(2026, 10, 19), zone("Europe/Berlin"))
    assert ends - begins == timedelta(days=7, hours=1)


@pytest.mark.parametrize("name", ["Mars/Phobos", "", "../../etc/passwd", "/etc/localtime", "UTC+2", "Europe/Berlin\n"])
def test_a_zone_that_does_not_exist_is_named_with_what_would_be_right(name: str) -> None:
    with pytest.raises(UnknownTimeZoneError, match="is not an IANA zone; write one like Europe/Berlin"):
        zone(name)


@pytest.fixture
def _no_zone_files() -> Iterator[None]:
    reset_tzpath(to=())
    yield
    reset_tzpath()


@pytest.mark.usefixtures("_no_zone_files")
def test_zones_are_found_on_a_machine_without_zone_files() -> None:
    berlin = ZoneInfo.no_cache("Europe/Berlin")
    assert datetime(2026, 7, 1, 9, tzinfo=berlin) == datetime(2026, 7, 1, 7, tzinfo=UTC)
