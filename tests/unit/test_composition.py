"""From a delivery to the message that would be sent now, or to why there is none."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from functions.core.calendar import UnknownTimeZoneError
from functions.core.composition import Composer
from functions.core.customer import Consent
from functions.core.delivery import Delivery, SkipReason
from functions.core.envelope import EmailEnvelope, Envelope, TextEnvelope
from functions.core.identity import Channel, Topic
from tests.fakes.customers import InMemoryCustomers
from tests.fakes.examples import (
    EMAIL_ADDRESS,
    PHONE_NUMBER,
    SITE_URL,
    a_delivery,
    a_profile,
    a_reminder,
    an_activity,
)


@pytest.fixture
def customers() -> InMemoryCustomers:
    return InMemoryCustomers()


@pytest.fixture
def composer(customers: InMemoryCustomers) -> Composer:
    return Composer(customers, "digest@example.com", SITE_URL)


def composed(composer: Composer, delivery: Delivery) -> Envelope:
    envelope = composer.compose(delivery)
    assert not isinstance(envelope, SkipReason)
    return envelope


def test_an_email_digest_goes_to_the_address_of_now(customers: InMemoryCustomers, composer: Composer) -> None:
    customers.add(a_profile(), an_activity())
    customers.add(a_profile(addresses={Channel.EMAIL: "moved@example.com"}))
    envelope = composed(composer, a_delivery())
    assert isinstance(envelope, EmailEnvelope)
    assert (envelope.to, envelope.sender) == ("moved@example.com", "digest@example.com")


def test_a_text_goes_to_the_phone(customers: InMemoryCustomers, composer: Composer) -> None:
    customers.add(a_profile(), an_activity())
    envelope = composed(composer, a_delivery(channel=Channel.SMS))
    assert isinstance(envelope, TextEnvelope)
    assert envelope.to == PHONE_NUMBER


def test_a_week_in_which_nothing_happened_sends_nothing(customers: InMemoryCustomers, composer: Composer) -> None:
    customers.add(a_profile())
    assert composer.compose(a_delivery()) is SkipReason.EMPTY


@pytest.mark.parametrize(
    ("occurred_at", "belongs"),
    [
        ("2026-11-16T04:59:59+00:00", False),  # Sunday night in New York
        ("2026-11-16T05:00:00+00:00", True),
        ("2026-11-23T04:59:59+00:00", True),
        ("2026-11-23T05:00:00+00:00", False),  # the next week's Monday
    ],
)
def test_the_week_is_the_customers_own(
    customers: InMemoryCustomers, composer: Composer, occurred_at: str, *, belongs: bool
) -> None:
    customers.add(a_profile(), an_activity(occurred_at=datetime.fromisoformat(occurred_at)))
    assert (composer.compose(a_delivery()) is not SkipReason.EMPTY) is belongs


def test_an_opt_out_after_planning_wins(customers: InMemoryCustomers, composer: Composer) -> None:
    customers.add(a_profile(), an_activity())
    composed(composer, a_delivery())
    customers.add(a_profile(consent={(Topic.DIGEST, Channel.EMAIL): Consent.OPTED_OUT}))
    assert composer.compose(a_delivery()) is SkipReason.OPTED_OUT


@pytest.mark.parametrize("topic", Topic)
def test_nothing_is_made_for_a_person_who_was_erased(composer: Composer, topic: Topic) -> None:
    assert composer.compose(a_delivery(topic=topic)) is SkipReason.INACTIVE


def test_a_reminder_says_what_it_is_about(customers: InMemoryCustomers, composer: Composer) -> None:
    customers.add(a_profile())
    customers.remind(a_reminder(subject="Pay invoice 9"))
    email = composed(composer, a_delivery(topic=Topic.REMINDER))
    text = composed(composer, a_delivery(topic=Topic.REMINDER, channel=Channel.SMS))
    assert isinstance(email, EmailEnvelope)
    assert isinstance(text, TextEnvelope)
    assert (email.to, email.subject) == (EMAIL_ADDRESS, "Reminder: Pay invoice 9")
    assert "Pay invoice 9" in text.body


def test_a_reminder_without_an_opt_in_is_not_sent(customers: InMemoryCustomers, composer: Composer) -> None:
    customers.add(a_profile(consent={(Topic.DIGEST, Channel.EMAIL): Consent.OPTED_IN}))
    customers.remind(a_reminder())
    assert composer.compose(a_delivery(topic=Topic.REMINDER)) is SkipReason.OPTED_OUT


def test_an_old_message_does_not_revive_a_cancelled_reminder(customers: InMemoryCustomers, composer: Composer) -> None:
    customers.add(a_profile())
    customers.remind(a_reminder(cancelled=True))
    assert composer.compose(a_delivery(topic=Topic.REMINDER)) is SkipReason.CANCELLED


def test_a_reminder_that_was_deleted_is_not_sent(customers: InMemoryCustomers, composer: Composer) -> None:
    customers.add(a_profile())
    assert composer.compose(a_delivery(topic=Topic.REMINDER)) is SkipReason.CANCELLED


def test_a_zone_that_broke_after_planning_is_named_and_nothing_is_sent(
    customers: InMemoryCustomers, composer: Composer
) -> None:
    customers.add(a_profile(time_zone="Mars/Phobos"), an_activity(occurred_at=datetime(2026, 11, 18, tzinfo=UTC)))
    with pytest.raises(UnknownTimeZoneError, match="Mars/Phobos"):
        composer.compose(a_delivery())
