"""What a person reads: the same in every form, safe in every form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import combinations_with_replacement

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import TemplateNotFound, UndefinedError

from functions.core.content import (
    LISTED,
    SMS_LIMIT,
    _templates,
    digest_context,
    money,
    render_digest,
    render_reminder,
)
from functions.core.customer import Activity, ActivityKind
from functions.core.envelope import EmailEnvelope, TextEnvelope
from functions.core.identity import Channel
from functions.core.planning import DIGEST_TEMPLATE, REMINDER_TEMPLATE
from tests.fakes.examples import (
    EMAIL_ADDRESS,
    PERIOD,
    PHONE_NUMBER,
    SITE_URL,
    a_profile,
    a_reminder,
    an_activity,
)

ATTACK = "<script>alert('1')</script> & \"{{ 7 * 7 }}\"\r\nBcc: everybody@example.com"


def email_of(*activities: Activity, time_zone: str = "America/New_York") -> EmailEnvelope:
    context = digest_context(activities, profile=a_profile(time_zone=time_zone), period_start=PERIOD, site_url=SITE_URL)
    envelope = render_digest(
        context, template_id=DIGEST_TEMPLATE, channel=Channel.EMAIL, to=EMAIL_ADDRESS, sender="digest@example.com"
    )
    assert isinstance(envelope, EmailEnvelope)
    return envelope


def text_of(*activities: Activity, time_zone: str = "America/New_York") -> TextEnvelope:
    context = digest_context(activities, profile=a_profile(time_zone=time_zone), period_start=PERIOD, site_url=SITE_URL)
    envelope = render_digest(
        context, template_id=DIGEST_TEMPLATE, channel=Channel.SMS, to=PHONE_NUMBER, sender="DIGEST"
    )
    assert isinstance(envelope, TextEnvelope)
    return envelope


def reminder_in(channel: Channel, subject: str) -> EmailEnvelope | TextEnvelope:
    return render_reminder(
        a_reminder(subject=subject),
        template_id=REMINDER_TEMPLATE,
        channel=channel,
        to=EMAIL_ADDRESS,
        sender="digest@example.com",
        site_url=SITE_URL,
    )


def of_kinds(kinds: Sequence[ActivityKind]) -> list[Activity]:
    return [an_activity(f"a-{number}", kind=kind) for number, kind in enumerate(kinds)]


MIXES = [mix for size in (1, 2, 3) for mix in combinations_with_replacement(ActivityKind, size)]


@pytest.mark.parametrize("mix", MIXES, ids="+".join)
def test_every_mix_of_activity_renders_in_every_form(mix: tuple[ActivityKind, ...]) -> None:
    email, text = email_of(*of_kinds(mix)), text_of(*of_kinds(mix))
    for form in (email.subject, email.html, email.text, text.body):
        assert form
        assert "{{" not in form
        assert "{%" not in form
        assert "None" not in form


@pytest.mark.parametrize("mix", MIXES, ids="+".join)
def test_subject_and_text_message_count_what_happened(mix: tuple[ActivityKind, ...]) -> None:
    body = text_of(*of_kinds(mix)).body
    for kind, noun in (
        (ActivityKind.ORDER, "order"),
        (ActivityKind.PRICE_DROP, "price drop"),
        (ActivityKind.MESSAGE, "message"),
    ):
        count = mix.count(kind)
        assert (f"{count} {noun}" in body) is bool(count)
        assert (f"{count} {noun}s" in body) is (count > 1)
    assert "  " not in body
    assert ", ." not in body
    assert ",," not in body


def test_money_is_added_up_for_orders_only_and_for_each_currency() -> None:
    orders = [
        an_activity("a-1"),
        replace(an_activity("a-2"), amount_minor=250, currency="EUR"),
        replace(an_activity("a-3"), amount_minor=1, currency="USD"),
        an_activity("a-4", kind=ActivityKind.PRICE_DROP),
    ]
    email = email_of(*orders)
    assert "You spent EUR 2.50 and USD 11.78 on 3 orders." in email.text
    assert "You spent EUR 2.50 and USD 11.78 on 3 orders." in email.html


def test_orders_without_an_amount_say_nothing_of_money() -> None:
    order = replace(an_activity(), amount_minor=None, currency=None)
    assert "spent" not in email_of(order).text
    assert "Your week: 1 order." in text_of(order).body


@pytest.mark.parametrize(
    ("minor", "written"),
    [(0, "USD 0.00"), (5, "USD 0.05"), (1177, "USD 11.77"), (123_456_789, "USD 1,234,567.89"), (-250, "USD -2.50")],
)
def test_money_is_written_out(minor: int, written: str) -> None:
    assert money(minor, "USD") == written


def test_the_day_is_the_customers_own() -> None:
    ends = an_activity(occurred_at=datetime(2026, 11, 21, 1, tzinfo=UTC))
    assert "Friday, 20 November" in email_of(ends, time_zone="America/Los_Angeles").text
    assert "Saturday, 21 November" in email_of(ends, time_zone="Europe/Berlin").text


def test_the_week_is_named_from_monday_to_sunday() -> None:
    email = email_of(an_activity())
    assert "Monday, 16 November to Sunday, 22 November" in email.html
    assert email.subject == "Your week: 1 order, Monday, 16 November to Sunday, 22 November"


def test_the_newest_comes_first_and_a_long_week_says_how_much_more_there_was() -> None:
    begin = datetime(2026, 11, 17, 12, tzinfo=UTC)
    week = [
        replace(an_activity(f"a-{n:03d}", occurred_at=begin + timedelta(minutes=n)), title=f"Thing {n:03d}.")
        for n in range(600)
    ]
    email = email_of(*week)
    listed = [line for line in email.text.splitlines() if line.startswith("- ")]
    assert len(listed) == LISTED
    assert "Thing 599." in listed[0]
    assert f"and {600 - LISTED} more" in email.text
    assert len(email.html) < 32_000


@pytest.mark.parametrize(
    "hostile",
    [replace(an_activity(), title=ATTACK), replace(an_activity(), currency=ATTACK)],
    ids=["title", "currency"],
)
def test_what_others_wrote_cannot_become_markup(hostile: Activity) -> None:
    html = email_of(hostile).html
    assert "<script>alert" not in html
    assert "&lt;script&gt;" in html
    assert "{{ 7 * 7 }}" in html


def test_plain_text_stays_as_it_was_written() -> None:
    assert "Tom & Jerry's <best>" in email_of(replace(an_activity(), title="Tom & Jerry's <best>")).text


@pytest.mark.parametrize("channel", Channel)
def test_a_reminder_cannot_put_a_line_into_the_headers(channel: Channel) -> None:
    envelope = reminder_in(channel, ATTACK)
    header = envelope.subject if isinstance(envelope, EmailEnvelope) else envelope.body
    assert "\n" not in header
    assert "\r" not in header


@given(st.text(max_size=400))
def test_a_subject_is_one_line_whatever_a_reminder_says(subject: str) -> None:
    envelope = reminder_in(Channel.EMAIL, subject)
    assert isinstance(envelope, EmailEnvelope)
    assert len(envelope.subject.splitlines()) == 1
    assert envelope.subject.startswith("Reminder:")


@given(st.text(max_size=2000))
def test_a_text_message_is_never_longer_than_two_segments(subject: str) -> None:
    envelope = reminder_in(Channel.SMS, subject)
    assert isinstance(envelope, TextEnvelope)
    assert len(envelope.body) <= SMS_LIMIT <= 306


def test_a_text_message_that_was_cut_says_so() -> None:
    envelope = reminder_in(Channel.SMS, "very " * 200)
    assert isinstance(envelope, TextEnvelope)
    assert envelope.body.endswith("ver...")


def test_a_template_that_asks_for_what_is_not_there_fails_instead_of_leaving_a_hole() -> None:
    with pytest.raises(UndefinedError):
        _templates().get_template(f"{DIGEST_TEMPLATE}/sms.txt.j2").render()


def test_a_version_of_a_template_that_this_release_does_not_have_is_not_guessed() -> None:
    context = digest_context([an_activity()], profile=a_profile(), period_start=PERIOD, site_url=SITE_URL)
    with pytest.raises(TemplateNotFound):
        render_digest(context, template_id="weekly-digest-v0", channel=Channel.SMS, to=PHONE_NUMBER, sender="DIGEST")


def test_links_go_to_the_shop_and_nothing_is_loaded_from_outside() -> None:
    html = email_of(an_activity()).html
    assert f'href="{SITE_URL}/activity"' in html
    assert f'href="{SITE_URL}/settings"' in html
    assert "src=" not in html
    assert "@import" not in html
