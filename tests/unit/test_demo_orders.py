"""A real order log as this week's marketplace, and what is said of a log that is not one."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from functions.core.calendar import zone
from functions.core.delivery import SkipReason
from functions.core.identity import Channel
from ops.local.orders import Order, OrdersError, marketplace_of, parse_orders, read_orders, week_start

TUESDAY_NOON = datetime(2026, 11, 24, 12, tzinfo=UTC)
SIXTY_DAYS = timedelta(days=60)
# 1997-W11 is 10 to 16 March.
LOG = """\
 00001 19970101  1   11.77
 00002 19970310  2   20.00
 00002 19970316  1    0.00
 00003 19970317  5   57.45

 00004 19970312 12  100.50
"""


def orders_of(text: str = LOG) -> list[Order]:
    return list(parse_orders(text.splitlines(), name="orders.txt"))


def test_an_order_is_read_with_its_line_day_items_and_cents() -> None:
    first, *_, last = orders_of()
    assert (first.line, first.customer, first.day) == (1, "00001", date(1997, 1, 1))
    assert (first.items, first.value_cents) == (1, 1177)
    assert last.line == 6


@pytest.mark.parametrize(
    "line", ["00001 19970101 1", "00001 1997-01-01 1 11.77", "x 19970101 1 11.77", "00001 19970101 1 11.777"]
)
def test_a_line_that_is_no_order_is_named_with_what_would_be_right(line: str) -> None:
    with pytest.raises(OrdersError, match=r"orders\.txt, line 2: must be a customer id, a date") as caught:
        orders_of(f"00001 19970101 1 11.77\n{line}\n")
    assert line not in str(caught.value)


def test_a_day_that_is_not_in_the_calendar_is_named() -> None:
    with pytest.raises(OrdersError, match="line 1: date: 19970230 is not in the calendar"):
        orders_of("00001 19970230 1 11.77")


def test_a_missing_log_is_named(tmp_path: Path) -> None:
    with pytest.raises(OrdersError, match=r"--orders: cannot read .*nowhere\.txt: No such file or directory"):
        read_orders(tmp_path / "nowhere.txt")


def test_an_empty_log_is_named(tmp_path: Path) -> None:
    (tmp_path / "orders.txt").write_text("\n", encoding="utf-8")
    with pytest.raises(OrdersError, match="holds no orders"):
        read_orders(tmp_path / "orders.txt")


def test_a_log_that_is_not_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "orders.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(OrdersError, match="it is not text in UTF-8"):
        read_orders(tmp_path / "orders.txt")


@pytest.mark.parametrize("week", ["1997", "1997-11", "1997-W54", "1997-W00", "W11", "1997-w11"])
def test_a_week_that_is_none_is_refused_with_an_example(week: str) -> None:
    with pytest.raises(OrdersError, match=r"--week: .* is not an ISO week; write one like 1997-W11"):
        week_start(week)


def test_a_week_without_an_order_is_refused_with_the_weeks_that_there_are() -> None:
    with pytest.raises(OrdersError, match="no order in 1999-W01; it runs from 1997-W01 to 1997-W12"):
        marketplace_of(orders_of(), "1999-W01", now=TUESDAY_NOON, kept_for=SIXTY_DAYS)


def test_every_customer_is_there_by_email_alone_even_ids_in_the_us_and_odd_ones_in_the_eu() -> None:
    people = marketplace_of(orders_of(), "1997-W11", now=TUESDAY_NOON, kept_for=SIXTY_DAYS).people
    assert [(one.customer_id, one.data_region) for one in people] == [
        ("00001", "eu"),
        ("00002", "us"),
        ("00003", "eu"),
        ("00004", "us"),
    ]
    assert all(set(one.addresses) == {Channel.EMAIL} for one in people)


def test_orders_of_the_week_fall_into_the_week_just_ended_on_the_same_weekday_where_the_customer_lives() -> None:
    marketplace = marketplace_of(orders_of(), "1997-W11", now=TUESDAY_NOON, kept_for=SIXTY_DAYS)
    zones = {one.customer_id: zone(one.time_zone) for one in marketplace.people}
    days = [one.occurred_at.astimezone(zones[one.customer_id]).date() for one in marketplace.happenings]
    assert marketplace.period_start == date(2026, 11, 16)
    assert days == [date(2026, 11, 16), date(2026, 11, 22), date(2026, 11, 18)]


def test_what_was_ordered_after_the_week_has_not_happened_and_what_is_too_old_is_no_longer_held() -> None:
    marketplace = marketplace_of(orders_of(), "1997-W11", now=TUESDAY_NOON, kept_for=SIXTY_DAYS)
    assert {one.customer_id for one in marketplace.happenings} == {"00002", "00004"}
    longer = marketplace_of(orders_of(), "1997-W11", now=TUESDAY_NOON, kept_for=timedelta(days=90))
    assert {one.customer_id for one in longer.happenings} == {"00001", "00002", "00004"}


def test_who_ordered_in_the_week_gets_a_digest_and_everybody_else_has_an_empty_week() -> None:
    expected = marketplace_of(orders_of(), "1997-W11", now=TUESDAY_NOON, kept_for=SIXTY_DAYS).expectations()
    assert expected["us"][Channel.EMAIL].accepted == 2
    assert expected["eu"][Channel.EMAIL].skipped == {SkipReason.EMPTY: 2}


def test_an_order_is_imported_with_its_value_and_an_order_of_nothing_too() -> None:
    records = [
        one.record()
        for one in marketplace_of(orders_of(), "1997-W11", now=TUESDAY_NOON, kept_for=SIXTY_DAYS).happenings
    ]
    assert [(one["amount"], one["currency"], one["quantity"]) for one in records] == [
        ("20.00", "USD", "2"),
        ("0.00", "USD", "1"),
        ("100.50", "USD", "12"),
    ]
    assert records[0]["title"] == "2 compact discs"
    assert len({one["activity_id"] for one in records}) == 3
