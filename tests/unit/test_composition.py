"""From a delivery to the message that would be sent now, or to why there is none."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta

import pytest

from functions.core.allow_list import AllowList
from functions.core.calendar import UnknownTimeZoneError
from functions.core.composition import Composer, Moment, Quiet, Resting
from functions.core.customer import Consent, Obsolete
from functions.core.delivery import Delivery, SkipReason
from functions.core.envelope import EmailEnvelope, Envelope, TextEnvelope, WebhookEnvelope, fingerprint
from functions.core.identity import Channel, Topic
from functions.core.keyring import KeyRing
from functions.core.quiet_hours import QuietHours
from functions.core.unsubscribe_token import UnsubscribeLinks
from functions.core.webhook_endpoint import RESTS_FROM, Health, WebhookEndpoint, address_mark
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.customers import InMemoryCustomers
from tests.fakes.examples import (
    AN_ENDPOINT,
    EMAIL_ADDRESS,
    PHONE_NUMBER,
    SITE_URL,
    WEBHOOK_URL,
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


AFTERNOON = Moment(SUNDAY_EVENING, SUNDAY_EVENING + timedelta(seconds=20))  # 15:00 where the customer is


def composed(composer: Composer, delivery: Delivery) -> Envelope:
    envelope = composer.compose(delivery, AFTERNOON)
    assert not isinstance(envelope, SkipReason | Quiet | Resting)
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
    assert composer.compose(a_delivery(), AFTERNOON) is SkipReason.EMPTY


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
    assert (composer.compose(a_delivery(), AFTERNOON) is not SkipReason.EMPTY) is belongs


def test_an_opt_out_after_planning_wins(customers: InMemoryCustomers, composer: Composer) -> None:
    customers.add(a_profile(), an_activity())
    composed(composer, a_delivery())
    customers.add(a_profile(consent={(Topic.DIGEST, Channel.EMAIL): Consent.OPTED_OUT}))
    assert composer.compose(a_delivery(), AFTERNOON) is SkipReason.OPTED_OUT


@pytest.mark.parametrize("topic", Topic)
def test_nothing_is_made_for_a_person_who_was_erased(composer: Composer, topic: Topic) -> None:
    assert composer.compose(a_delivery(topic=topic), AFTERNOON) is SkipReason.INACTIVE


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
    assert composer.compose(a_delivery(topic=Topic.REMINDER), AFTERNOON) is SkipReason.OPTED_OUT


@pytest.mark.parametrize("obsolete", Obsolete)
def test_an_old_message_does_not_revive_an_obsolete_reminder(
    customers: InMemoryCustomers, composer: Composer, obsolete: Obsolete
) -> None:
    customers.add(a_profile())
    customers.remind(a_reminder(obsolete=obsolete))
    assert composer.compose(a_delivery(topic=Topic.REMINDER), AFTERNOON) is SkipReason[obsolete.name]


def test_a_reminder_that_was_deleted_is_not_sent(customers: InMemoryCustomers, composer: Composer) -> None:
    customers.add(a_profile())
    assert composer.compose(a_delivery(topic=Topic.REMINDER), AFTERNOON) is SkipReason.CANCELLED


def test_a_zone_that_broke_after_planning_is_named_and_nothing_is_sent(
    customers: InMemoryCustomers, composer: Composer
) -> None:
    customers.add(a_profile(time_zone="Mars/Phobos"), an_activity(occurred_at=datetime(2026, 11, 18, tzinfo=UTC)))
    with pytest.raises(UnknownTimeZoneError, match="Mars/Phobos"):
        composer.compose(a_delivery(), AFTERNOON)


# --- quiet hours ---

NIGHT = QuietHours(time(21), time(8))
FIVE_TO_NINE = datetime(2026, 11, 30, 1, 55, tzinfo=UTC)  # Sunday, 20:55 in New York
EIGHT_IN_THE_MORNING = datetime(2026, 11, 30, 13, tzinfo=UTC)


def at(now: datetime, *, waiting_up_to: timedelta = timedelta()) -> Moment:
    return Moment(now, now + waiting_up_to)


@pytest.mark.parametrize("topic", Topic)
def test_a_text_is_put_off_from_the_evening_until_the_morning(
    customers: InMemoryCustomers, composer: Composer, topic: Topic
) -> None:
    customers.add(a_profile(), an_activity())
    customers.remind(a_reminder())
    texting, text = replace(composer, quiet_hours=NIGHT), a_delivery(channel=Channel.SMS, topic=topic)
    assert isinstance(texting.compose(text, at(FIVE_TO_NINE)), TextEnvelope)
    assert texting.compose(text, at(FIVE_TO_NINE + timedelta(minutes=15))) == Quiet(EIGHT_IN_THE_MORNING)
    assert isinstance(texting.compose(text, at(EIGHT_IN_THE_MORNING)), TextEnvelope)


def test_a_text_that_would_wait_for_its_turn_into_the_night_is_put_off(
    customers: InMemoryCustomers, composer: Composer
) -> None:
    customers.add(a_profile(), an_activity())
    moment = at(FIVE_TO_NINE, waiting_up_to=timedelta(minutes=5))
    night_off = replace(composer, quiet_hours=NIGHT).compose(a_delivery(channel=Channel.SMS), moment)
    assert night_off == Quiet(EIGHT_IN_THE_MORNING)


def test_quiet_hours_are_those_of_where_the_customer_lives_now(
    customers: InMemoryCustomers, composer: Composer
) -> None:
    customers.add(a_profile(time_zone="America/Los_Angeles"), an_activity())
    envelope = replace(composer, quiet_hours=NIGHT).compose(
        a_delivery(channel=Channel.SMS), at(FIVE_TO_NINE + timedelta(minutes=15))
    )
    assert isinstance(envelope, TextEnvelope)


def test_what_would_expire_in_the_night_is_skipped_as_quiet(customers: InMemoryCustomers, composer: Composer) -> None:
    customers.add(a_profile(), an_activity())
    delivery = a_delivery(channel=Channel.SMS, expires_at=EIGHT_IN_THE_MORNING)
    assert replace(composer, quiet_hours=NIGHT).compose(delivery, at(FIVE_TO_NINE + timedelta(hours=1))) is (
        SkipReason.QUIET
    )


def test_who_opted_out_is_not_waited_for_until_the_morning(customers: InMemoryCustomers, composer: Composer) -> None:
    customers.add(a_profile(consent={}), an_activity())
    reason = replace(composer, quiet_hours=NIGHT).compose(
        a_delivery(channel=Channel.SMS), at(FIVE_TO_NINE + timedelta(hours=1))
    )
    assert reason is SkipReason.OPTED_OUT


# --- staging ---


@pytest.mark.parametrize("topic", Topic)
def test_a_staging_deployment_writes_to_nobody_who_is_not_on_its_list(
    customers: InMemoryCustomers, composer: Composer, topic: Topic
) -> None:
    customers.add(a_profile(), an_activity())
    customers.remind(a_reminder())
    staging = replace(composer, allow_list=AllowList(("*@qa.example.com", "+1555010*")))
    assert staging.compose(a_delivery(topic=topic), AFTERNOON) is SkipReason.NOT_ON_ALLOW_LIST
    assert isinstance(staging.compose(a_delivery(topic=topic, channel=Channel.SMS), AFTERNOON), TextEnvelope)


# --- leaving ---

KEYS = KeyRing.parse('{"0": "%s"}' % ("k" * 40))
LINKS = UnsubscribeLinks("https://leave.example.com", lambda: KEYS)


@pytest.mark.parametrize("topic", Topic)
def test_every_email_says_how_to_leave_to_the_person_and_to_their_mail_program(
    customers: InMemoryCustomers, composer: Composer, topic: Topic
) -> None:
    customers.add(a_profile(), an_activity())
    customers.remind(a_reminder())
    delivery = a_delivery(topic=topic)
    envelope = composed(replace(composer, unsubscribe=LINKS), delivery)
    assert isinstance(envelope, EmailEnvelope)
    link = LINKS.link(delivery)
    assert dict(envelope.headers) == {
        "List-Unsubscribe": f"<{link}>",
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
    }
    assert f'href="{link}"' in envelope.html
    assert link in envelope.text
    assert f".{topic}.email." in link
    assert link not in repr(envelope)


def test_a_retry_of_an_email_has_the_same_bytes(customers: InMemoryCustomers, composer: Composer) -> None:
    customers.add(a_profile(), an_activity())
    attempts = [composed(replace(composer, unsubscribe=LINKS), a_delivery()) for _ in range(2)]
    assert fingerprint(attempts[0]) == fingerprint(attempts[1])


def test_a_text_spends_no_room_on_a_link_to_leave(customers: InMemoryCustomers, composer: Composer) -> None:
    customers.add(a_profile(), an_activity())
    envelope = composed(replace(composer, unsubscribe=LINKS), a_delivery(channel=Channel.SMS))
    assert isinstance(envelope, TextEnvelope)
    assert "leave.example.com" not in envelope.body


# --- webhooks ---

WEBHOOK_DIGEST = a_delivery(channel=Channel.WEBHOOK)


def failing(failures: int, *, disabled_at: datetime | None = None) -> WebhookEndpoint:
    health = Health(
        address_mark(WEBHOOK_URL),
        failures,
        failing_since=SUNDAY_EVENING,
        last_failure_at=SUNDAY_EVENING,
        disabled_at=disabled_at,
    )
    return replace(AN_ENDPOINT, health=health)


@pytest.mark.parametrize("topic", Topic)
def test_a_webhook_goes_to_the_address_of_now_and_carries_the_secrets_of_now(
    customers: InMemoryCustomers, composer: Composer, topic: Topic
) -> None:
    customers.add(a_profile(webhook=AN_ENDPOINT), an_activity())
    customers.remind(a_reminder())
    envelope = composed(composer, a_delivery(channel=Channel.WEBHOOK, topic=topic))
    assert isinstance(envelope, WebhookEnvelope)
    assert (envelope.to, envelope.endpoint) == (WEBHOOK_URL, AN_ENDPOINT)
    assert json.loads(envelope.body)["delivery_id"] == str(a_delivery(channel=Channel.WEBHOOK, topic=topic).delivery_id)


@pytest.mark.parametrize("topic", Topic)
def test_an_endpoint_that_rests_is_left_alone_until_its_rest_is_over(
    customers: InMemoryCustomers, composer: Composer, topic: Topic
) -> None:
    customers.add(a_profile(webhook=failing(RESTS_FROM)), an_activity())
    customers.remind(a_reminder())
    delivery = a_delivery(channel=Channel.WEBHOOK, topic=topic)
    assert composer.compose(delivery, AFTERNOON) == Resting(SUNDAY_EVENING + timedelta(minutes=1))
    later = Moment(SUNDAY_EVENING + timedelta(minutes=1), SUNDAY_EVENING + timedelta(minutes=1))
    assert isinstance(composer.compose(delivery, later), WebhookEnvelope)
    looking_ahead = replace(composer, spares_endpoints=False)
    assert isinstance(looking_ahead.compose(delivery, AFTERNOON), WebhookEnvelope)


def test_an_endpoint_that_is_disabled_gets_nothing_and_other_channels_go_on(
    customers: InMemoryCustomers, composer: Composer
) -> None:
    customers.add(a_profile(webhook=failing(RESTS_FROM, disabled_at=SUNDAY_EVENING)), an_activity())
    assert composer.compose(WEBHOOK_DIGEST, AFTERNOON) is SkipReason.ENDPOINT_DISABLED
    assert isinstance(composed(composer, a_delivery()), EmailEnvelope)


def test_an_empty_week_is_told_to_no_endpoint(customers: InMemoryCustomers, composer: Composer) -> None:
    customers.add(a_profile(webhook=failing(RESTS_FROM)))
    assert composer.compose(WEBHOOK_DIGEST, AFTERNOON) is SkipReason.EMPTY


def test_a_staging_deployment_calls_the_listed_endpoints_only(customers: InMemoryCustomers, composer: Composer) -> None:
    customers.add(a_profile(webhook=AN_ENDPOINT), an_activity())
    ours = replace(composer, allow_list=AllowList(("https://hooks.example.com/*",)))
    others = replace(composer, allow_list=AllowList(("https://hooks.example.co/*", "*@example.com")))
    assert isinstance(composed(ours, WEBHOOK_DIGEST), WebhookEnvelope)
    assert others.compose(WEBHOOK_DIGEST, AFTERNOON) is SkipReason.NOT_ON_ALLOW_LIST
