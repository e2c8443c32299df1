"""A file of what happened in the marketplace."""

from __future__ import annotations

from datetime import timedelta

import pytest

from functions.adapters.schedule_rows import activity_from_row
from functions.core.customer import Activity, ActivityKind
from functions.core.instants import from_text, to_text
from ops.imports.activity import KEPT_FOR, import_activity
from ops.imports.report import ImportReport
from tests.fakes.clock import SUNDAY_EVENING, FakeClock
from tests.fakes.customer_rows import FakeRegions

HEADER = "customer_id,data_region,activity_id,occurred_at,kind,title,amount,currency,quantity"
ORDER = "c-1,us,a-1,2026-11-18T13:00:00+01:00,order,Blue lamp,11.77,USD,2"


def importing(regions: FakeRegions, *lines: str) -> ImportReport:
    return import_activity([HEADER, *lines], regions, clock=FakeClock())


def stored(regions: FakeRegions) -> list[Activity]:
    return [activity_from_row(row) for row in regions.us.rows.held.values()]


def test_an_order_is_stored_in_utc_and_cents_and_leaves_after_sixty_days() -> None:
    regions = FakeRegions()
    importing(regions, ORDER)
    noon = from_text("2026-11-18T12:00:00Z")
    assert stored(regions) == [Activity("a-1", noon, ActivityKind.ORDER, "Blue lamp", 1177, "USD", 2)]
    (row,) = regions.us.rows.held.values()
    assert row["purge_at"] == int((noon + KEPT_FOR).timestamp())


@pytest.mark.parametrize(
    ("amount", "currency", "minor"),
    [
        ("1234", "JPY", 1234),
        ("-1234", "JPY", -1234),
        ("1.234", "KWD", 1234),
        ("1.2", "KWD", 1200),
        ("5", "KWD", 5000),
        ("0.005", "TND", 5),
        ("5", "EUR", 500),
        ("11.0", "JPY", 11),
    ],
)
def test_amounts_are_read_in_the_minor_units_of_their_currency(amount: str, currency: str, minor: int) -> None:
    regions = FakeRegions()
    assert importing(regions, ORDER.replace("11.77,USD", f"{amount},{currency}")).bad == ()
    assert stored(regions)[0].amount_minor == minor


@pytest.mark.parametrize(
    ("amount", "currency", "reason"),
    [
        ("11.77", "JPY", "amount: has no decimals in this currency"),
        ("11.777", "USD", "amount: has two decimals at most in this currency"),
        ("11.7777", "KWD", "amount: must be an amount such as 11.77"),
    ],
)
def test_an_amount_with_more_decimals_than_its_currency_is_reported(amount: str, currency: str, reason: str) -> None:
    report = importing(FakeRegions(), ORDER.replace("11.77,USD", f"{amount},{currency}"))
    assert [line.reason for line in report.bad] == [reason]


@pytest.mark.parametrize(
    ("amount", "cents"),
    [
        ("0.00", 0),
        ("5", 500),
        ("5.5", 550),
        ("1.05", 105),
        ("-3.20", -320),
        ("-0.05", -5),
        ("123456789.99", 12345678999),
    ],
)
def test_amounts_are_read_to_the_cent(amount: str, cents: int) -> None:
    regions = FakeRegions()
    importing(regions, ORDER.replace("11.77", amount))
    assert stored(regions)[0].amount_minor == cents


def test_a_message_needs_no_amount() -> None:
    regions = FakeRegions()
    assert importing(regions, "c-1,us,a-2,2026-11-18T12:00:00Z,message,Hello,,,").bad == ()
    assert stored(regions)[0].amount_minor is None


def test_the_same_line_again_leaves_one_activity() -> None:
    regions = FakeRegions()
    importing(regions, ORDER)
    assert importing(regions, ORDER).kept == 1
    assert len(stored(regions)) == 1


def test_what_is_older_than_it_would_be_kept_is_reported_and_left_out() -> None:
    regions = FakeRegions()
    last_day = to_text(SUNDAY_EVENING - KEPT_FOR + timedelta(seconds=1))
    report = importing(
        regions,
        ORDER.replace("2026-11-18T13:00:00+01:00", to_text(SUNDAY_EVENING - KEPT_FOR)),
        ORDER.replace("2026-11-18T13:00:00+01:00", last_day),
    )
    assert report.bad == ((2, "occurred_at: more than 60 days ago, too old to be kept; leave it out"),)
    assert report.kept == 1


@pytest.mark.parametrize(
    ("was", "is_now", "reason"),
    [
        (
            "2026-11-18T13:00:00+01:00",
            "2026-11-18T13:00:00",
            "occurred_at: must be an ISO 8601 time with its offset, such as 2026-11-29T20:05:00Z",
        ),
        ("order", "canary", "kind: must be one of order, price_drop, message"),
        ("Blue lamp", "", "title: must be one line of 1 to 200 characters"),
        ("Blue lamp", "canary" * 40, "title: must be one line of 1 to 200 characters"),
        ("Blue lamp", "Blue\x07lamp", "title: must be one line of 1 to 200 characters"),
        ("11.77", "NaN", "amount: must be an amount such as 11.77"),
        ("11.77", "1e3", "amount: must be an amount such as 11.77"),
        ("USD", "dollars", "currency: must be the ISO 4217 code of a currency in use, such as USD"),
        ("USD", "DEM", "currency: must be the ISO 4217 code of a currency in use, such as USD"),
        ("USD", "usd", "currency: must be the ISO 4217 code of a currency in use, such as USD"),
        ("USD", "", "amount and currency: give both, or neither"),
        (",2", ",0", "quantity: must be a whole number from 1 to 1000000"),
        ("a-1", "canary@example.com", "activity_id: looks like an email address; use an opaque id such as c-10428"),
        (",us,", ",uk,", "data_region: must be one of us, eu"),
    ],
)
def test_a_field_that_does_not_fit_is_named_and_not_repeated(was: str, is_now: str, reason: str) -> None:
    report = importing(FakeRegions(), ORDER[::-1].replace(was[::-1], is_now[::-1], 1)[::-1])
    assert [line.reason for line in report.bad] == [reason]
    assert "canary" not in repr(report)
