"""A week's activity as a digest tells it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from itertools import groupby
from typing import TYPE_CHECKING, Final

from functions.core.calendar import WEEK, zone
from functions.core.content.language import Language, language_of
from functions.core.content.safety import link, one_line
from functions.core.customer import ActivityKind
from functions.core.text_segments import Encoding, fit, size_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import date, datetime
    from zoneinfo import ZoneInfo

    from functions.core.customer import Activity, Profile

LISTED: Final = 20  # entries shown; a longer week says how many more there were


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a digest. `amount` is None where none was given, `quantity` where it is one or was not given."""

    kind: ActivityKind
    title: str = field(repr=False)
    amount: str | None
    quantity: str | None


@dataclass(frozen=True, slots=True)
class DayOfEntries:
    """A day in the customer's own zone, and what happened on it, newest first."""

    day: date
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class DigestContext:
    """What every form of a digest is rendered from, so that they say the same."""

    language: Language
    first_day: date
    last_day: date
    days: tuple[DayOfEntries, ...]  # newest first
    more: int
    orders: int
    price_drops: int
    messages: int
    spent: str | None
    site_url: str
    unsubscribe_url: str | None = field(default=None, repr=False)  # holds a token
    summary: str | None = field(default=None, repr=False)  # a model's, one paragraph of plain text

    @property
    def period(self) -> str:
        """`Nov 16 - 22`, with a dash."""
        return self.language.days(self.first_day, self.last_day, "MMMd")

    @property
    def short_period(self) -> str:
        """The same for a text message: a month whose name would cost it half its room (août) is a number."""
        plain = size_of(fit(self.period, segments=1)).encoding is Encoding.GSM_7
        return self.period if plain else self.language.days(self.first_day, self.last_day, "Md")

    @property
    def counts(self) -> tuple[tuple[ActivityKind, int], ...]:
        """How often what happened, without what did not."""
        counts = (
            (ActivityKind.ORDER, self.orders),
            (ActivityKind.PRICE_DROP, self.price_drops),
            (ActivityKind.MESSAGE, self.messages),
        )
        return tuple((kind, count) for kind, count in counts if count)


def digest_context(
    activities: Sequence[Activity],
    *,
    profile: Profile,
    period_start: date,
    site_url: str,
    unsubscribe_url: str | None = None,
) -> DigestContext:
    """Gather a week's activity, newest first.

    An activity whose time was corrected is on record twice, under one id: it counts once, as it was last told.
    Raises UnknownTimeZoneError and UnsafeLinkError.
    """
    language = language_of(profile.locale)
    newest_first = each_once(activities)
    return DigestContext(
        language=language,
        first_day=period_start,
        last_day=period_start + WEEK - timedelta(days=1),
        days=tuple(_by_day(newest_first[:LISTED], zone(profile.time_zone), language)),
        more=max(0, len(newest_first) - LISTED),
        orders=_count(newest_first, ActivityKind.ORDER),
        price_drops=_count(newest_first, ActivityKind.PRICE_DROP),
        messages=_count(newest_first, ActivityKind.MESSAGE),
        spent=_spent(newest_first, language),
        site_url=link(site_url, field="site_url"),
        unsubscribe_url=None if unsubscribe_url is None else link(unsubscribe_url, field="unsubscribe_url"),
    )


def each_once(activities: Iterable[Activity]) -> Sequence[Activity]:
    """Return activities, newest first; of one that is on record twice, under one id, what was told last."""
    oldest_first = sorted(activities, key=_moment)
    return sorted({one.activity_id: one for one in oldest_first}.values(), key=_moment, reverse=True)


def _moment(activity: Activity) -> tuple[datetime, str]:
    return activity.occurred_at, activity.activity_id


def _by_day(newest_first: Sequence[Activity], where: ZoneInfo, language: Language) -> Iterable[DayOfEntries]:
    for day, of_the_day in groupby(newest_first, key=lambda one: one.occurred_at.astimezone(where).date()):
        yield DayOfEntries(day, tuple(_entry(one, language) for one in of_the_day))


def _entry(activity: Activity, language: Language) -> Entry:
    amount = quantity = None
    if activity.amount_minor is not None and activity.currency is not None:
        amount = language.money(activity.amount_minor, one_line(activity.currency))
    if activity.quantity is not None and activity.quantity > 1:
        quantity = language.number(activity.quantity)
    return Entry(activity.kind, one_line(activity.title), amount, quantity)


def _count(activities: Sequence[Activity], kind: ActivityKind) -> int:
    return sum(one.kind is kind for one in activities)


def _spent(activities: Sequence[Activity], language: Language) -> str | None:
    totals: dict[str, int] = {}
    for one in activities:
        if one.kind is ActivityKind.ORDER and one.amount_minor is not None and one.currency is not None:
            totals[one.currency] = totals.get(one.currency, 0) + one.amount_minor
    if not totals:
        return None
    return language.listed([language.money(total, one_line(currency)) for currency, total in sorted(totals.items())])
