"""A made-up marketplace: customers of both regions and what happened to them in the week just ended.

Everything is drawn from a seed, so two runs for the same instant have the same customers. Addresses are under
example.com, and phone numbers come from the ranges that are kept for fiction.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Final

from functions.core.calendar import at_local, period_bounds, period_reported, zone
from functions.core.customer import ActivityKind
from functions.core.delivery import SkipReason
from functions.core.identity import Channel

SEED: Final = 1997
# The customer whose messages the report shows: reads English, can be reached, and has a week to tell of.
EXAMPLE: Final = 417
EXAMPLE_ZONE: Final = "Europe/London"
WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
# Zones with daylight saving time on different dates, and one in the US without any.
ZONES: Final[Mapping[str, tuple[str, ...]]] = {
    "us": ("America/New_York", "America/Chicago", "America/Denver", "America/Phoenix", "America/Los_Angeles"),
    "eu": ("Europe/Berlin", "Europe/London", "Europe/Madrid", "Europe/Paris", "Europe/Helsinki"),
}
LOCALES: Final[Mapping[str, str]] = {
    "Europe/Berlin": "de",
    "Europe/Madrid": "es",
    "Europe/Paris": "fr",
}
CURRENCIES: Final[Mapping[str, str]] = {"Europe/London": "GBP"}
# A run lies this long in the past at least, so that it is due whatever a machine's clock does meanwhile.
DUE_SINCE: Final = timedelta(minutes=10)
_MINUTE: Final = timedelta(minutes=1)
_LONGEST_WEEK_BOUNDARY: Final = timedelta(hours=48)

OPTED_OUT_SHARE: Final[Mapping[Channel, float]] = {Channel.EMAIL: 0.06, Channel.SMS: 0.11}
EMPTY_SHARE: Final = 0.09

ORDERED: Final = (
    ("Walnut desk lamp", 4900),
    ("Linen curtains, pair", 6450),
    ("Cast-iron skillet", 3890),
    ("Trail running shoes", 11900),
    ("Ceramic teapot", 2750),
    ("Wool blanket, moss green", 8200),
    ("Second-hand road bike", 34000),
    ("Board game for four", 2999),
    ("Set of six wine glasses", 3600),
    ("Rain jacket, size M", 7995),
)
REDUCED: Final = (
    ("Noise-cancelling headphones on your list", 17900),
    ("Oak bookshelf on your list", 21900),
    ("Camping stove on your list", 5490),
    ("Leather satchel on your list", 9900),
    ("Espresso grinder on your list", 13500),
)
ANSWERED: Final = (
    "A seller answered your question about delivery",
    "A buyer made you an offer",
    "Your return has been received",
    "A seller you follow has opened again",
)


@dataclass(frozen=True, slots=True)
class Expectation:
    """What should become of one region's deliveries on one channel: `selected` is `accepted` and the skipped."""

    accepted: int = 0
    skipped: Mapping[SkipReason, int] = field(default_factory=dict)

    @property
    def selected(self) -> int:
        return self.accepted + sum(self.skipped.values())


@dataclass(frozen=True)
class Person:
    """One customer of the demo, with everything that the import asks for. Only the id shows in a `repr`."""

    customer_id: str
    data_region: str = field(repr=False)
    time_zone: str = field(repr=False)
    locale: str = field(repr=False)
    addresses: Mapping[Channel, str] = field(repr=False)
    opted_out: frozenset[Channel] = field(repr=False)
    weekday: str = field(repr=False)
    local_time: str = field(repr=False)  # HH:MM
    first_run_on: date = field(repr=False)

    def record(self) -> dict[str, str]:
        """The customer as a line of the customers' import."""
        return {
            "customer_id": self.customer_id,
            "data_region": self.data_region,
            "time_zone": self.time_zone,
            "locale": self.locale,
            "email": self.addresses.get(Channel.EMAIL, ""),
            "phone": self.addresses.get(Channel.SMS, ""),
            "email_consent": self._consent(Channel.EMAIL),
            "sms_consent": self._consent(Channel.SMS),
            "digest_weekday": self.weekday,
            "digest_time": self.local_time,
            "digest_channels": ",".join(self.addresses),
            "first_run_on": self.first_run_on.isoformat(),
        }

    def _consent(self, channel: Channel) -> str:
        if channel not in self.addresses:
            return ""
        return "opted_out" if channel in self.opted_out else "opted_in"


@dataclass(frozen=True)
class Happening:
    """One thing that happened to a customer. Amounts are in minor units of `currency`."""

    customer_id: str
    data_region: str = field(repr=False)
    activity_id: str = field(repr=False)
    occurred_at: datetime = field(repr=False)
    kind: ActivityKind = field(repr=False)
    title: str = field(repr=False)
    amount_minor: int | None = field(default=None, repr=False)
    currency: str | None = field(default=None, repr=False)
    quantity: int | None = field(default=None, repr=False)

    def record(self) -> dict[str, str]:
        """The happening as a line of the activity's import."""
        amount = "" if self.amount_minor is None else f"{self.amount_minor // 100}.{self.amount_minor % 100:02d}"
        return {
            "customer_id": self.customer_id,
            "data_region": self.data_region,
            "activity_id": self.activity_id,
            "occurred_at": self.occurred_at.astimezone(UTC).isoformat(),
            "kind": str(self.kind),
            "title": self.title,
            "amount": amount,
            "currency": self.currency or "",
            "quantity": "" if self.quantity is None else str(self.quantity),
        }


@dataclass(frozen=True)
class Marketplace:
    """All customers and all activity, and what should become of every delivery.

    `run_at` is the instant at which every customer's digest falls due; `period_start` opens the local week it reports.
    """

    run_at: datetime
    period_start: date
    people: Sequence[Person]
    happenings: Sequence[Happening]
    source: str  # where the customers come from, in words

    def example(self) -> str:
        """Id of the customer to look at first: EXAMPLE, or the first one where there are fewer."""
        ids = [person.customer_id for person in self.people]
        return next((one for one in ids if int(one) == EXAMPLE), ids[0])

    def titles(self) -> frozenset[str]:
        """Every text that a rendered body holds of somebody's week, to be looked for where none may be."""
        return frozenset(happening.title for happening in self.happenings)

    def reachable(self, data_region: str, channel: Channel) -> list[Person]:
        """Customers of a region who should get a message on a channel."""
        active = self._with_something_to_tell()
        return [
            person
            for person in self.people
            if person.data_region == data_region
            and person.customer_id in active
            and channel in person.addresses
            and channel not in person.opted_out
        ]

    def expectations(self) -> dict[str, dict[Channel, Expectation]]:
        """By data region and channel, what should become of the deliveries."""
        active = self._with_something_to_tell()
        counted: dict[str, dict[Channel, dict[SkipReason | None, int]]] = {}
        for person in self.people:
            for channel in person.addresses:
                reason = None if person.customer_id in active else SkipReason.EMPTY
                if channel in person.opted_out:
                    reason = SkipReason.OPTED_OUT
                ends = counted.setdefault(person.data_region, {}).setdefault(channel, {})
                ends[reason] = ends.get(reason, 0) + 1
        return {
            region: {channel: _expectation(ends) for channel, ends in channels.items()}
            for region, channels in counted.items()
        }

    def _with_something_to_tell(self) -> frozenset[str]:
        bounds = {name: period_bounds(self.period_start, zone(name)) for name in {one.time_zone for one in self.people}}
        zones = {person.customer_id: person.time_zone for person in self.people}
        return frozenset(
            one.customer_id
            for one in self.happenings
            if bounds[zones[one.customer_id]][0] <= one.occurred_at < bounds[zones[one.customer_id]][1]
        )


def _expectation(ends: Mapping[SkipReason | None, int]) -> Expectation:
    skipped = {reason: count for reason, count in ends.items() if reason is not None}
    return Expectation(accepted=ends.get(None, 0), skipped=skipped)


def choose_run_at(now: datetime, zones: Sequence[str]) -> datetime:
    """The latest whole minute, DUE_SINCE before `now` or earlier, that can be everybody's digest time.

    Every zone must be in the same ISO week by then, so that all report the same one; and the local time must mean that
    instant and no other, which it does not in the hour that comes twice when clocks go back.
    """
    candidate = (now - DUE_SINCE).astimezone(UTC).replace(second=0, microsecond=0)
    earliest = candidate - _LONGEST_WEEK_BOUNDARY
    while candidate > earliest:
        if _is_same_week(candidate, zones) and all(_means_itself(candidate, name) for name in zones):
            return candidate
        candidate -= _MINUTE
    raise ValueError("time zones: no instant of the last two days is in the same week in all of them")


def _is_same_week(instant: datetime, zones: Sequence[str]) -> bool:
    return len({period_reported(instant, zone(name)) for name in zones}) == 1


def _means_itself(instant: datetime, name: str) -> bool:
    local = instant.astimezone(zone(name))
    return at_local(local.date(), local.time(), zone(name)) == instant


def generate(customers: int, *, now: datetime, seed: int = SEED) -> Marketplace:
    """A marketplace of so many customers, half of them in each region, whose digests fell due shortly before `now`."""
    every_zone = [name for names in ZONES.values() for name in names]
    run_at = choose_run_at(now, every_zone)
    period_start = period_reported(run_at, zone(every_zone[0]))
    people: list[Person] = []
    happenings: list[Happening] = []
    for number in range(1, customers + 1):
        # Each has chance to themselves, so that what the clock says about one changes nothing about the next.
        rng = random.Random(f"{seed}:{number}")  # noqa: S311 - made-up customers, not secrets
        people.append(_person(number, run_at, rng))
        happenings.extend(_happenings(people[-1], period_start, run_at, rng))
    return Marketplace(run_at, period_start, people, happenings, f"{customers:,} generated customers")


def scheduled_for(run_at: datetime, time_zone: str) -> tuple[str, str, date]:
    """Weekday, local time (HH:MM) and first day of a weekly digest that falls due at `run_at`."""
    local = run_at.astimezone(zone(time_zone))
    return WEEKDAYS[local.weekday()], f"{local:%H:%M}", local.date()


def region_of(number: int) -> str:
    """Even customers live in the US, odd ones in the EU."""
    return "eu" if number % 2 else "us"


def _person(number: int, run_at: datetime, rng: random.Random) -> Person:
    data_region = region_of(number)
    drawn = rng.choice(ZONES[data_region])
    time_zone = EXAMPLE_ZONE if number == EXAMPLE else drawn
    opted_out = frozenset(channel for channel, share in OPTED_OUT_SHARE.items() if rng.random() < share)
    weekday, local_time, first_run_on = scheduled_for(run_at, time_zone)
    phone = f"+120255501{rng.randrange(100):02d}" if data_region == "us" else f"+447700900{rng.randrange(1000):03d}"
    return Person(
        customer_id=str(number),
        data_region=data_region,
        time_zone=time_zone,
        locale=LOCALES.get(time_zone, "en"),
        addresses={Channel.EMAIL: f"c{number}@example.com", Channel.SMS: phone},
        opted_out=frozenset() if number == EXAMPLE else opted_out,
        weekday=weekday,
        local_time=local_time,
        first_run_on=first_run_on,
    )


def _happenings(person: Person, period_start: date, run_at: datetime, rng: random.Random) -> Iterator[Happening]:
    where = zone(person.time_zone)
    begins, ends = period_bounds(period_start, where)
    is_empty = rng.random() < EMPTY_SHARE and person.customer_id != str(EXAMPLE)
    currency = CURRENCIES.get(person.time_zone, "USD" if person.data_region == "us" else "EUR")
    for position in range(0 if is_empty else rng.randint(1, 5)):
        moment = _within(begins, ends, rng)
        yield _happening(person, f"a{position}", moment, currency, rng)
    # What lies outside the week must not show in it: the week before, and what has happened since.
    if rng.random() < 0.5:  # noqa: PLR2004 - every other customer
        yield _happening(person, "before", _within(begins - timedelta(days=6), begins, rng), currency, rng)
    if run_at > ends and rng.random() < 0.5:  # noqa: PLR2004 - every other customer
        yield _happening(person, "since", _within(ends, run_at, rng), currency, rng)


def _within(begins: datetime, ends: datetime, rng: random.Random) -> datetime:
    """An instant between the two, to the second; `begins` itself may come, `ends` may not."""
    return begins + timedelta(seconds=rng.randrange(max(1, int((ends - begins).total_seconds()))))


def _happening(person: Person, name: str, moment: datetime, currency: str, rng: random.Random) -> Happening:
    kind = rng.choice((ActivityKind.ORDER, ActivityKind.ORDER, ActivityKind.PRICE_DROP, ActivityKind.MESSAGE))
    title, price = rng.choice(ORDERED if kind is ActivityKind.ORDER else REDUCED)
    if kind is ActivityKind.MESSAGE:
        return Happening(person.customer_id, person.data_region, name, moment, kind, rng.choice(ANSWERED))
    if kind is ActivityKind.PRICE_DROP:
        reduced = price * rng.randint(70, 95) // 100
        return Happening(person.customer_id, person.data_region, name, moment, kind, title, reduced, currency)
    quantity = rng.choice((1, 1, 1, 2, 3))
    amount = price * quantity
    return Happening(person.customer_id, person.data_region, name, moment, kind, title, amount, currency, quantity)
