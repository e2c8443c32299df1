"""A real shop's order log, moved in time so that one of its weeks is the week just ended.

The file has one order a line, white space between the columns: customer id (digits), date (YYYYMMDD), number of items,
and the order's value in US dollars. It holds no names and no addresses; those are made up here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Final

from functions.core.calendar import at_local, monday_of, period_reported, zone
from functions.core.customer import ActivityKind
from functions.core.identity import Channel
from ops.local.marketplace import (
    LOCALES,
    ZONES,
    Happening,
    Marketplace,
    Person,
    choose_run_at,
    region_of,
    scheduled_for,
)

WEEK: Final = re.compile(r"(\d{4})-W(\d{2})")
LINE: Final = re.compile(r"\s*(\d{1,9})\s+(\d{8})\s+(\d{1,6})\s+(\d{1,9}\.\d{2})\s*")
NOON: Final = time(12)


class OrdersError(ValueError):
    """The log or the week cannot be used; the text names the file, the line and the column, and what would be right."""


@dataclass(frozen=True, slots=True)
class Order:
    """One order. `line` is its line in the log, from 1; the value is in US cents."""

    line: int
    customer: str
    day: date
    items: int
    value_cents: int


def week_start(week: str) -> date:
    """The Monday of an ISO week such as `1997-W11`.

    Raises:
        OrdersError: there is no such week.
    """
    found = WEEK.fullmatch(week)
    if found is not None:
        try:
            return date.fromisocalendar(int(found[1]), int(found[2]), 1)
        except ValueError:
            pass
    raise OrdersError(f"--week: {week!r} is not an ISO week; write one like 1997-W11")


def read_orders(path: Path) -> list[Order]:
    """Every order of a log.

    Raises:
        OrdersError: the file is missing, empty, or has a line that is not an order.
    """
    try:
        with path.open(encoding="utf-8") as lines:
            orders = list(parse_orders(lines, name=str(path)))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
        raise OrdersError(f"--orders: cannot read {path}: {reason}") from None
    if not orders:
        raise OrdersError(f"--orders: {path} holds no orders")
    return orders


def parse_orders(lines: Iterable[str], *, name: str) -> Iterator[Order]:
    """Read lines of a log called `name`; empty ones are passed over.

    Raises:
        OrdersError: at the first line that is no order.
    """
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        found = LINE.fullmatch(line)
        if found is None:
            raise OrdersError(
                f"--orders: {name}, line {number}: must be a customer id, a date (YYYYMMDD), a number of items and a "
                "value such as 11.77"
            )
        yield Order(number, found[1], _day(found[2], name, number), int(found[3]), int(found[4].replace(".", "")))


def _day(text: str, name: str, number: int) -> date:
    try:
        return date(int(text[:4]), int(text[4:6]), int(text[6:]))
    except ValueError:
        raise OrdersError(f"--orders: {name}, line {number}: date: {text} is not in the calendar") from None


def marketplace_of(orders: Sequence[Order], week: str, *, now: datetime, kept_for: timedelta) -> Marketplace:
    """The shop as it stood at the end of `week`, moved so that this week is the one just ended.

    Every customer of the whole log is there, by email alone. Orders after the week have not happened yet, and those
    older than `kept_for` before `now` are no longer held.

    Raises:
        OrdersError: there is no such week, or the log has no order in it.
    """
    log_week = week_start(week)
    if not any(log_week <= order.day < log_week + timedelta(days=7) for order in orders):
        first, last = min(order.day for order in orders), max(order.day for order in orders)
        raise OrdersError(
            f"--week: the log has no order in {week}; it runs from {_iso_week(first)} to {_iso_week(last)}"
        )
    run_at = choose_run_at(now, [name for names in ZONES.values() for name in names])
    period_start = period_reported(run_at, zone(ZONES["us"][0]))
    people = {customer: _person(customer, run_at) for customer in sorted({order.customer for order in orders})}
    shift = period_start - log_week
    happened = (order for order in orders if monday_of(order.day) <= log_week)
    moved = (_happening(order, people[order.customer], shift) for order in happened)
    held = [one for one in moved if one.occurred_at > now - kept_for]
    source = f"{len(people):,} customers of a shop's order log, in its week {week}"
    return Marketplace(run_at, period_start, list(people.values()), held, source)


def _iso_week(day: date) -> str:
    year, week, _ = day.isocalendar()
    return f"{year}-W{week:02d}"


def _person(customer: str, run_at: datetime) -> Person:
    number = int(customer)
    data_region = region_of(number)
    zones = ZONES[data_region]
    time_zone = zones[number // 2 % len(zones)]
    weekday, local_time, first_run_on = scheduled_for(run_at, time_zone)
    return Person(
        customer_id=customer,
        data_region=data_region,
        time_zone=time_zone,
        locale=LOCALES.get(time_zone, "en"),
        addresses={Channel.EMAIL: f"c{customer}@example.com"},
        opted_out=frozenset(),
        weekday=weekday,
        local_time=local_time,
        first_run_on=first_run_on,
    )


def _happening(order: Order, person: Person, shift: timedelta) -> Happening:
    # The log knows the day and not the hour; noon is that day in every zone.
    return Happening(
        customer_id=person.customer_id,
        data_region=person.data_region,
        activity_id=f"order-{order.line}",
        occurred_at=at_local(order.day + shift, NOON, zone(person.time_zone)),
        kind=ActivityKind.ORDER,
        title="One compact disc" if order.items == 1 else f"{order.items} compact discs",
        amount_minor=order.value_cents,
        currency="USD",
        quantity=order.items,
    )
