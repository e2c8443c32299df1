"""From a week's activity to a finished message. The template's version travels in the delivery."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from functions.core.calendar import WEEK, zone
from functions.core.customer import ActivityKind
from functions.core.envelope import EmailEnvelope, TextEnvelope
from functions.core.identity import Channel

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date, datetime

    from functions.core.customer import Activity, Profile, ReminderSchedule
    from functions.core.envelope import Envelope

LISTED: Final = 20  # entries shown; a longer week says how many more there were
SMS_LIMIT: Final = 306  # characters of a text message: two segments, which in GSM-7 hold 153 each


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a digest, in the customer's own day and with its money written out."""

    kind: ActivityKind
    day: str
    title: str
    amount: str | None
    quantity: int | None


@dataclass(frozen=True, slots=True)
class DigestContext:
    """What every form of a digest is rendered from, so that they say the same."""

    first_day: str
    last_day: str
    entries: tuple[Entry, ...]
    more: int
    orders: int
    price_drops: int
    messages: int
    spent: tuple[str, ...]
    site_url: str


def money(amount_minor: int, currency: str) -> str:
    """Write an amount of minor units: `USD 11.77`."""
    sign = "-" if amount_minor < 0 else ""
    whole, minor = divmod(abs(amount_minor), 100)
    return f"{currency} {sign}{whole:,}.{minor:02d}"


def digest_context(
    activities: Sequence[Activity], *, profile: Profile, period_start: date, site_url: str
) -> DigestContext:
    """Gather a week's activity, newest first, as the templates need it."""
    where = zone(profile.time_zone)
    newest_first = sorted(activities, key=lambda one: (one.occurred_at, one.activity_id), reverse=True)
    return DigestContext(
        first_day=_day(period_start),
        last_day=_day(period_start + WEEK - (WEEK / 7)),
        entries=tuple(_entry(one, one.occurred_at.astimezone(where)) for one in newest_first[:LISTED]),
        more=max(0, len(newest_first) - LISTED),
        orders=_count(newest_first, ActivityKind.ORDER),
        price_drops=_count(newest_first, ActivityKind.PRICE_DROP),
        messages=_count(newest_first, ActivityKind.MESSAGE),
        spent=_spent(newest_first),
        site_url=site_url,
    )


def render_digest(context: DigestContext, *, template_id: str, channel: Channel, to: str, sender: str) -> Envelope:
    """Render a digest for one channel. Raises jinja2.TemplateError, which a test keeps from happening."""
    if channel is Channel.SMS:
        return TextEnvelope(to=to, sender=sender, body=_text_message(f"{template_id}/sms.txt.j2", digest=context))
    return EmailEnvelope(
        to=to,
        sender=sender,
        subject=_one_line(_render(f"{template_id}/subject.txt.j2", digest=context)),
        html=_render(f"{template_id}/body.html.j2", digest=context),
        text=_render(f"{template_id}/body.txt.j2", digest=context),
    )


def render_reminder(
    reminder: ReminderSchedule, *, template_id: str, channel: Channel, to: str, sender: str, site_url: str
) -> Envelope:
    """Render a reminder for one channel."""
    values = {"subject": reminder.subject, "site_url": site_url}
    if channel is Channel.SMS:
        return TextEnvelope(to=to, sender=sender, body=_text_message(f"{template_id}/sms.txt.j2", **values))
    return EmailEnvelope(
        to=to,
        sender=sender,
        subject=_one_line(_render(f"{template_id}/subject.txt.j2", **values)),
        html=_render(f"{template_id}/body.html.j2", **values),
        text=_render(f"{template_id}/body.txt.j2", **values),
    )


@lru_cache(maxsize=1)
def _templates() -> Environment:
    return Environment(
        loader=PackageLoader("functions.core", "templates"),
        autoescape=select_autoescape(enabled_extensions=("html.j2",), default_for_string=False),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
    )


def _render(name: str, **values: object) -> str:
    return _templates().get_template(name).render(**values).strip()


def _one_line(text: str) -> str:
    # A line break in a header would begin another header.
    return " ".join(text.split())


def _text_message(name: str, **values: object) -> str:
    body = _one_line(_render(name, **values))
    return body if len(body) <= SMS_LIMIT else body[: SMS_LIMIT - 3].rstrip() + "..."


def _entry(activity: Activity, local: datetime) -> Entry:
    amount = None
    if activity.amount_minor is not None and activity.currency is not None:
        amount = money(activity.amount_minor, activity.currency)
    return Entry(activity.kind, _day(local.date()), activity.title, amount, activity.quantity)


def _day(day: date) -> str:
    # %d and %B only: strftime's week codes differ by platform.
    return f"{day:%A}, {day.day} {day:%B}"


def _count(activities: Sequence[Activity], kind: ActivityKind) -> int:
    return sum(one.kind is kind for one in activities)


def _spent(activities: Sequence[Activity]) -> tuple[str, ...]:
    totals: dict[str, int] = {}
    for one in activities:
        if one.kind is ActivityKind.ORDER and one.amount_minor is not None and one.currency is not None:
            totals[one.currency] = totals.get(one.currency, 0) + one.amount_minor
    return tuple(money(total, currency) for currency, total in sorted(totals.items()))
