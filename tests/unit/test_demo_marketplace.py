"""A marketplace whose digests are due now, at whatever hour somebody types `make demo`."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta

from hypothesis import example, given, settings
from hypothesis import strategies as st

from functions.core.calendar import period_bounds, period_reported, zone
from functions.core.delivery import SkipReason
from functions.core.identity import Channel
from ops.imports.customers import WeeklyPlan, first_run
from ops.local.marketplace import DUE_SINCE, EXAMPLE, WEEKDAYS, ZONES, Marketplace, choose_run_at, generate

TUESDAY_NOON = datetime(2026, 11, 24, 12, 0, 31, tzinfo=UTC)
EVERY_ZONE = [name for names in ZONES.values() for name in names]
# Monday has begun in Helsinki and Berlin and not in London; it is Sunday afternoon in Los Angeles.
MONDAY_IN_HALF_OF_EUROPE = datetime(2026, 11, 29, 23, 30, tzinfo=UTC)
MONDAY_IN_EUROPE_SUNDAY_IN_LOS_ANGELES = datetime(2026, 11, 30, 7, 59, tzinfo=UTC)
TEN_MINUTES_INTO_MONDAY_EVERYWHERE = datetime(2026, 11, 30, 8, 10, tzinfo=UTC)
CLOCKS_GO_BACK_IN_EUROPE = datetime(2026, 10, 25, 1, 30, tzinfo=UTC)
CLOCKS_GO_BACK_IN_NEW_YORK = datetime(2026, 11, 1, 6, 30, tzinfo=UTC)
CLOCKS_GO_FORWARD_IN_EUROPE = datetime(2027, 3, 28, 1, 5, tzinfo=UTC)
CLOCKS_GO_FORWARD_IN_NEW_YORK = datetime(2027, 3, 14, 7, 5, tzinfo=UTC)


def first_runs(marketplace: Marketplace, now: datetime) -> set[datetime]:
    """When the import would let each customer's digest run first."""
    plans = {
        (person.weekday, person.local_time, person.time_zone): person.first_run_on for person in marketplace.people
    }
    return {
        first_run(WeeklyPlan(WEEKDAYS.index(weekday), time.fromisoformat(clock), name), first_run_on=first_day, now=now)
        for (weekday, clock, name), first_day in plans.items()
    }


@settings(max_examples=300, deadline=None)
@given(st.datetimes(datetime(2026, 1, 1), datetime(2029, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001 - naive bounds
@example(MONDAY_IN_HALF_OF_EUROPE)
@example(MONDAY_IN_EUROPE_SUNDAY_IN_LOS_ANGELES)
@example(TEN_MINUTES_INTO_MONDAY_EVERYWHERE)
@example(CLOCKS_GO_BACK_IN_EUROPE)
@example(CLOCKS_GO_BACK_IN_NEW_YORK)
@example(CLOCKS_GO_FORWARD_IN_EUROPE)
@example(CLOCKS_GO_FORWARD_IN_NEW_YORK)
def test_whenever_it_is_run_every_digest_is_due_at_the_same_recent_instant_and_reports_the_same_week(
    now: datetime,
) -> None:
    run_at = choose_run_at(now, EVERY_ZONE)
    assert DUE_SINCE <= now - run_at < timedelta(hours=24)
    assert run_at.second == run_at.microsecond == 0
    assert len({period_reported(run_at, zone(name)) for name in EVERY_ZONE}) == 1

    marketplace = generate(30, now=now)
    assert marketplace.run_at == run_at
    assert first_runs(marketplace, now) == {run_at}


def test_on_an_ordinary_day_the_digests_fell_due_ten_minutes_ago() -> None:
    assert choose_run_at(TUESDAY_NOON, EVERY_ZONE) == datetime(2026, 11, 24, 11, 50, tzinfo=UTC)


def test_while_monday_spreads_from_helsinki_to_los_angeles_they_fell_due_before_it_began() -> None:
    last_sunday_minute_in_helsinki = datetime(2026, 11, 29, 21, 59, tzinfo=UTC)
    assert choose_run_at(MONDAY_IN_HALF_OF_EUROPE, EVERY_ZONE) == last_sunday_minute_in_helsinki
    assert choose_run_at(MONDAY_IN_EUROPE_SUNDAY_IN_LOS_ANGELES, EVERY_ZONE) == last_sunday_minute_in_helsinki


def test_nobody_falls_due_in_the_hour_that_comes_twice() -> None:
    assert choose_run_at(CLOCKS_GO_BACK_IN_EUROPE + DUE_SINCE, EVERY_ZONE) == datetime(2026, 10, 25, 0, 59, tzinfo=UTC)


def test_half_of_the_customers_live_in_each_region_in_several_zones_and_all_addresses_differ() -> None:
    people = generate(1000, now=TUESDAY_NOON).people
    assert sum(person.data_region == "us" for person in people) == 500
    assert {person.time_zone for person in people} == set(EVERY_ZONE)
    assert len({person.addresses[Channel.EMAIL] for person in people}) == 1000
    assert all(person.addresses[Channel.EMAIL] == f"c{person.customer_id}@example.com" for person in people)


def test_phone_numbers_come_from_the_ranges_that_are_kept_for_fiction() -> None:
    for person in generate(1000, now=TUESDAY_NOON).people:
        start = "+120255501" if person.data_region == "us" else "+447700900"
        assert person.addresses[Channel.SMS].startswith(start)
        assert len(person.addresses[Channel.SMS]) == len(start) + (2 if person.data_region == "us" else 3)


def test_two_runs_on_different_days_have_the_same_customers() -> None:
    monday, sunday = generate(200, now=TUESDAY_NOON), generate(200, now=TUESDAY_NOON + timedelta(days=5))
    assert [person.addresses for person in monday.people] == [person.addresses for person in sunday.people]
    assert monday.expectations() == sunday.expectations()


def test_some_have_opted_out_and_some_have_an_empty_week_and_the_rest_is_expected_to_be_accepted() -> None:
    for channels in generate(1000, now=TUESDAY_NOON).expectations().values():
        for expectation in channels.values():
            assert expectation.selected == 500
            assert set(expectation.skipped) == {SkipReason.OPTED_OUT, SkipReason.EMPTY}
            assert 350 < expectation.accepted < 470


def test_whoever_opted_out_and_has_an_empty_week_counts_as_opted_out() -> None:
    marketplace = generate(1000, now=TUESDAY_NOON)
    opted_out = sum(Channel.EMAIL in person.opted_out for person in marketplace.people)
    counted = marketplace.expectations().values()
    assert opted_out == sum(channels[Channel.EMAIL].skipped[SkipReason.OPTED_OUT] for channels in counted)


def test_the_example_customer_is_reachable_and_has_a_week_to_tell_of() -> None:
    marketplace = generate(1000, now=TUESDAY_NOON)
    person = next(one for one in marketplace.people if one.customer_id == str(EXAMPLE))
    begins, ends = period_bounds(marketplace.period_start, zone(person.time_zone))
    own = [one for one in marketplace.happenings if one.customer_id == str(EXAMPLE)]
    assert not person.opted_out
    assert any(begins <= one.occurred_at < ends for one in own)


def test_something_happened_outside_the_week_too_and_nothing_in_the_future() -> None:
    marketplace = generate(300, now=TUESDAY_NOON)
    assert any(one.activity_id == "before" for one in marketplace.happenings)
    assert any(one.activity_id == "since" for one in marketplace.happenings)
    assert all(one.occurred_at < TUESDAY_NOON for one in marketplace.happenings)


def test_a_customer_shows_nothing_but_the_id_in_a_traceback() -> None:
    marketplace = generate(3, now=TUESDAY_NOON)
    assert repr(marketplace.people[0]) == "Person(customer_id='1')"
    assert repr(marketplace.happenings[0]) == "Happening(customer_id='1')"
