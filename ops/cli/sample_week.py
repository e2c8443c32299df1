"""A customer who is nobody, and a week in which all happened: what messages look like before there is anybody."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING, Final

from functions.core.calendar import at_local, zone
from functions.core.content.language import language_of
from functions.core.customer import Activity, ActivityKind, Consent, Profile, ReminderSchedule
from functions.core.identity import Channel, Topic

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SITE_URL: Final = "https://shop.example.com"
SENDERS: Final = {Channel.EMAIL: "digest@example.com", Channel.SMS: "DIGEST", Channel.WEBHOOK: ""}
_ADDRESSES: Final = {
    Channel.EMAIL: "sample@example.com",
    Channel.SMS: "+12025550123",  # a number kept for fiction
    Channel.WEBHOOK: "https://hooks.example.com/sample",
}
_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class _Words:
    """Things as a marketplace of that language names them."""

    time_zone: str
    currency: str
    lamp: str
    chair: str
    kettle: str
    question: str
    reminder: str


_IN: Final[Mapping[str, _Words]] = {
    "en": _Words(
        "America/New_York", "USD", "Blue desk lamp", "Oak chair", "Kettle", "Is the chair still there?", "Pay invoice 9"
    ),
    "de": _Words(
        "Europe/Berlin",
        "EUR",
        "Blaue Tischlampe",
        "Eichenstuhl",
        "Kessel",
        "Ist der Stuhl noch da?",
        "Rechnung 9 zahlen",
    ),
    "fr": _Words(
        "Europe/Paris",
        "EUR",
        "Lampe bleue",
        "Chaise en chêne",
        "Bouilloire",
        "Le prix est-il fixe ?",
        "Payer la facture 9",
    ),
    "es": _Words(
        "Europe/Madrid", "EUR", "Lámpara azul", "Silla de roble", "Hervidor", "¿Sigue en venta?", "Pagar la factura 9"
    ),
}


@dataclass(frozen=True, slots=True)
class SampleCustomers:
    """`Customers` with one person in it, who wants everything."""

    locale: str
    now: datetime

    @property
    def profile(self) -> Profile:
        """The person."""
        return Profile(
            customer_id="sample",
            locale=self.locale,
            time_zone=self._words.time_zone,
            addresses=_ADDRESSES,
            consent={(topic, channel): Consent.OPTED_IN for topic in Topic for channel in Channel},
        )

    def digest_material(self, customer_id: str, since: date) -> tuple[Profile | None, Sequence[Activity]]:  # noqa: ARG002 - there is one
        """The person, and what happened in the week."""
        words = self._words
        return self.profile, (
            self._activity(since, 0, ActivityKind.PRICE_DROP, words.chair, 14900),
            self._activity(since, 1, ActivityKind.ORDER, words.lamp, 4995, quantity=2),
            self._activity(since, 1, ActivityKind.MESSAGE, words.question),
            self._activity(since, 4, ActivityKind.ORDER, words.kettle, 123450),
        )

    def reminder_material(self, customer_id: str, event_id: str) -> tuple[Profile | None, ReminderSchedule | None]:
        """The person, and a reminder that is due now."""
        due = self.now
        channels = tuple(Channel)
        return self.profile, ReminderSchedule(
            customer_id, event_id, channels, due, due + _DAY, subject=self._words.reminder
        )

    @property
    def _words(self) -> _Words:
        return _IN[language_of(self.locale).code]

    def _activity(
        self, monday: date, day: int, kind: ActivityKind, title: str, amount: int | None = None, *, quantity: int = 1
    ) -> Activity:
        return Activity(
            activity_id=f"sample-{title}",
            occurred_at=at_local(monday + day * _DAY, time(12), zone(self._words.time_zone)),
            kind=kind,
            title=title,
            amount_minor=amount,
            currency=None if amount is None else self._words.currency,
            quantity=quantity,
        )
