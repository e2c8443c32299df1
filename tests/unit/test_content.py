"""What a person reads: the same in every form, in their own language and day, safe in every form."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import combinations_with_replacement
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import TemplateNotFound, UndefinedError

from functions.core.content import (
    LISTED,
    DigestContext,
    digest_context,
    prepare,
    reminder_context,
    render_digest,
    render_reminder,
)
from functions.core.content.rendering import _environment, _template
from functions.core.content.safety import UnsafeLinkError
from functions.core.customer import Activity, ActivityKind
from functions.core.envelope import EmailEnvelope, TextEnvelope
from functions.core.identity import Channel
from functions.core.money import minor_digits
from functions.core.planning import DIGEST_TEMPLATE, REMINDER_TEMPLATE
from functions.core.text_segments import SMS_SEGMENTS, Encoding, size_of
from functions.names import LANGUAGES
from tests.fakes.examples import EMAIL_ADDRESS, PERIOD, SITE_URL, a_profile, a_reminder, an_activity
from tests.fakes.readers import Page, Told, squeezed, told_in_page, told_in_text

ATTACK = "<script>alert('1')</script> & \"{{ 7 * 7 }}\" {count}\r\nBcc: everybody@example.com"
UNSUBSCRIBE_URL = "https://unsubscribe.example.com/?t=abc-123&c=email"
MIXES = [mix for size in (1, 2, 3) for mix in combinations_with_replacement(ActivityKind, size)]


@dataclass(frozen=True)
class Message:
    """Every form of one digest or reminder."""

    subject: str
    html: str
    text: str
    sms: str

    @property
    def forms(self) -> tuple[str, ...]:
        return self.subject, Page(self.html).text, self.text, self.sms


def context_of(
    *activities: Activity, locale: str = "en", time_zone: str = "America/New_York", **differing: Any
) -> DigestContext:
    return digest_context(
        activities,
        profile=a_profile(time_zone=time_zone, locale=locale),
        **{"period_start": PERIOD, "site_url": SITE_URL, **differing},
    )


def digest_of(*activities: Activity, **differing: Any) -> Message:
    context = context_of(*activities, **differing)
    email, text = (
        render_digest(context, template_id=DIGEST_TEMPLATE, channel=channel, to=EMAIL_ADDRESS, sender="digest")
        for channel in (Channel.EMAIL, Channel.SMS)
    )
    assert isinstance(email, EmailEnvelope)
    assert isinstance(text, TextEnvelope)
    return Message(email.subject, email.html, email.text, text.body)


def reminder_of(subject: str, *, locale: str = "en", **differing: Any) -> Message:
    context = reminder_context(
        a_reminder(subject=subject), profile=a_profile(locale=locale), site_url=SITE_URL, **differing
    )
    email, text = (
        render_reminder(context, template_id=REMINDER_TEMPLATE, channel=channel, to=EMAIL_ADDRESS, sender="digest")
        for channel in (Channel.EMAIL, Channel.SMS)
    )
    assert isinstance(email, EmailEnvelope)
    assert isinstance(text, TextEnvelope)
    return Message(email.subject, email.html, email.text, text.body)


def of_kinds(kinds: Sequence[ActivityKind]) -> list[Activity]:
    return [an_activity(f"a-{number}", kind=kind) for number, kind in enumerate(kinds)]


# --- every form says the same -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("locale", LANGUAGES)
@pytest.mark.parametrize("mix", MIXES, ids="+".join)
def test_every_mix_of_activity_reads_well_in_every_form_and_language(
    mix: tuple[ActivityKind, ...], locale: str
) -> None:
    for form in digest_of(*of_kinds(mix), locale=locale).forms:
        assert form
        assert not re.search(r"[{}]|None|, \.|,,|: \n|  +\S", form)


TITLES = st.text(st.characters(categories=("L", "N", "P", "S")), min_size=1, max_size=60).map(lambda text: f"T{text}")
WEEKS = st.lists(
    st.builds(
        Activity,
        activity_id=st.uuids().map(str),
        occurred_at=st.integers(0, 7 * 24 * 60 - 1).map(
            lambda minutes: datetime(2026, 11, 16, 5, tzinfo=UTC) + timedelta(minutes=minutes)
        ),
        kind=st.sampled_from(ActivityKind),
        title=TITLES,
        amount_minor=st.none() | st.integers(0, 10**9),
        currency=st.sampled_from(("USD", "EUR", "JPY", "KWD")),
        quantity=st.none() | st.integers(1, 999),
    ),
    min_size=1,
    max_size=LISTED + 5,
)


def written_by_hand(amount_minor: int, currency: str) -> str:
    """Digits of an amount, without the symbol and the separators that differ by language."""
    digits = minor_digits(currency)
    return str(amount_minor).rjust(digits + 1, "0")


def digits_of(line: str) -> str:
    return re.sub(r"[^0-9]", "", line.rpartition("(")[2])


@given(week=WEEKS, locale=st.sampled_from(LANGUAGES))
def test_every_form_tells_the_same_counts_sums_and_days(week: list[Activity], locale: str) -> None:
    message, page = digest_of(*week, locale=locale), Page(digest_of(*week, locale=locale).html)
    say = _template(DIGEST_TEMPLATE, locale).say
    happened = Counter(one.kind for one in week)
    counts = [say(str(kind), happened[kind]) for kind in ActivityKind if happened[kind]]
    assert message.subject.endswith(", ".join(counts))
    assert message.text.split("\n")[1] == ", ".join(counts)
    assert ("p", " · ".join(" ".join(count.split()) for count in counts)) in page.blocks
    for kind in ActivityKind:
        number, noun = say(str(kind), happened[kind]).split(" ", 1)
        assert not happened[kind] or f"{number} {noun}" in message.sms or message.sms.count("...") == 1

    spent = context_of(*week, locale=locale).spent
    for form in (message.text, page.text):
        assert spent is None or squeezed(say("spent", spent=spent)) in squeezed(form)

    told = told_in_text(message.text)
    assert told == told_in_page(message.html)
    newest = sorted(week, key=lambda one: (one.occurred_at, one.activity_id), reverse=True)[:LISTED]
    assert len(told) == len(newest)
    for shown, one in zip(told, newest, strict=True):
        local = one.occurred_at.astimezone(ZoneInfo("America/New_York"))
        assert str(local.day) in re.findall("[0-9]+", shown.day)
        assert squeezed(one.title) in shown.line
        if one.amount_minor is not None:
            assert digits_of(shown.line) == written_by_hand(one.amount_minor, one.currency or "")


def test_a_digest_reads_like_this() -> None:
    week = [
        replace(an_activity("a-1"), quantity=2),
        replace(an_activity("a-2", kind=ActivityKind.PRICE_DROP), title="Red chair", amount_minor=123456),
        replace(an_activity("a-3", kind=ActivityKind.MESSAGE), title="Is it still there?"),
    ]
    message = digest_of(*week, unsubscribe_url=UNSUBSCRIBE_URL)
    assert message.text.splitlines() == [
        "Your week, Nov 16\u2009\u2013\u200922",
        "1 order, 1 price drop, 1 message",
        "You spent $11.77.",
        "",
        "Wednesday, November 18",
        "- Message: Is it still there?",
        "- Price drop: Red chair ($1,234.56)",
        "- Order: 2 \u00d7 Canary blue lamp ($11.77)",
        "",
        "See all of it: https://shop.example.com/activity",
        "",
        "-- ",
        "You get this once a week because you asked for it.",
        "Choose what you get: https://shop.example.com/settings",
        "Unsubscribe: https://unsubscribe.example.com/?t=abc-123&c=email",
    ]
    assert message.subject == "Your week Nov 16\u2009\u2013\u200922: 1 order, 1 price drop, 1 message"
    assert message.sms == (
        "Your week Nov 16 - 22: 1 order for $11.77, 1 price drop, 1 message. https://shop.example.com/activity"
    )
    assert told_in_page(message.html)[-1] == Told("Wednesday,November18", "Order:2\u00d7Canarybluelamp($11.77)")


def test_money_is_added_up_for_orders_only_and_for_each_currency() -> None:
    orders = [
        an_activity("a-1"),
        replace(an_activity("a-2"), amount_minor=250, currency="EUR"),
        replace(an_activity("a-3"), amount_minor=1, currency="USD"),
        an_activity("a-4", kind=ActivityKind.PRICE_DROP),
    ]
    message = digest_of(*orders)
    assert "You spent \u20ac2.50 and $11.78." in message.text
    assert "You spent \u20ac2.50 and $11.78." in message.html
    assert "3 orders for \u20ac2.50 and $11.78, 1 price drop." in message.sms


def test_orders_without_an_amount_say_nothing_of_money() -> None:
    message = digest_of(replace(an_activity(), amount_minor=None, currency=None))
    assert "spent" not in message.text
    assert message.sms.startswith("Your week Nov 16 - 22: 1 order. ")


def test_an_activity_whose_time_was_corrected_counts_once_as_it_was_last_told() -> None:
    first = an_activity("a-1", occurred_at=datetime(2026, 11, 17, 12, tzinfo=UTC))
    corrected = replace(first, occurred_at=datetime(2026, 11, 18, 12, tzinfo=UTC), title="Green lamp")
    message = digest_of(corrected, first)
    assert message.subject.endswith(": 1 order")
    assert [one.line for one in told_in_text(message.text)] == ["Order:Greenlamp($11.77)"]


def test_the_newest_comes_first_and_a_long_week_says_how_much_more_there_was() -> None:
    begin = datetime(2026, 11, 17, 12, tzinfo=UTC)
    week = [
        replace(an_activity(f"a-{n:03d}", occurred_at=begin + timedelta(minutes=n)), title=f"Thing {n:03d}.")
        for n in range(1_620)
    ]
    message = digest_of(*week)
    told = told_in_text(message.text)
    assert len(told) == LISTED
    assert "Thing1619." in told[0].line
    assert "and 1,600 more" in message.text
    assert "and 1,600 more" in message.html
    assert len(message.html) < 32_000  # Gmail cuts at 102 KB


def test_a_reminder_reads_like_this() -> None:
    message = reminder_of("Pay invoice 9", unsubscribe_url=UNSUBSCRIBE_URL)
    assert message.text.splitlines() == [
        "A reminder that you asked for",
        "",
        "Pay invoice 9",
        "",
        "See your reminders: https://shop.example.com/reminders",
        "",
        "-- ",
        "You get this because you asked to be reminded.",
        "Choose what you get: https://shop.example.com/settings",
        "Unsubscribe: https://unsubscribe.example.com/?t=abc-123&c=email",
    ]
    assert message.subject == "Reminder: Pay invoice 9"
    assert message.sms == "Reminder: Pay invoice 9 https://shop.example.com/reminders"
    assert ("h1", "Pay invoice 9") in Page(message.html).blocks


# --- the customer's own days ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("time_zone", "locale", "day"),
    [
        ("America/Los_Angeles", "en", "Friday, November 20"),
        ("Europe/Berlin", "de", "Samstag, 21. November"),
        ("America/Los_Angeles", "fr", "Vendredi 20 novembre"),
        ("Europe/Madrid", "es", "S\u00e1bado, 21 de noviembre"),
    ],
)
def test_the_day_is_the_customers_own(time_zone: str, locale: str, day: str) -> None:
    ends = an_activity(occurred_at=datetime(2026, 11, 21, 1, tzinfo=UTC))
    message = digest_of(ends, time_zone=time_zone, locale=locale)
    assert day in message.text
    assert ("h2", day) in Page(message.html).blocks


@pytest.mark.parametrize(("locale", "period"), [("en", "Aug 10 - 16"), ("fr", "10/08 - 16/08"), ("es", "10-16 ago")])
def test_a_month_that_would_double_the_price_of_a_text_is_a_number(locale: str, period: str) -> None:
    august = an_activity(occurred_at=datetime(2026, 8, 12, tzinfo=UTC))
    message = digest_of(august, locale=locale, period_start=august.occurred_at.date() - timedelta(days=2))
    assert period in message.sms
    assert size_of(message.sms).encoding is Encoding.GSM_7


def test_a_week_over_the_turn_of_the_year_names_both_months() -> None:
    message = digest_of(an_activity(), period_start=datetime(2026, 12, 28, tzinfo=UTC).date())
    assert message.subject.startswith("Your week Dec 28\u2009\u2013\u2009Jan 3: ")


# --- what other people wrote ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "hostile",
    [replace(an_activity(), title=ATTACK), replace(an_activity(), currency=ATTACK)],
    ids=["title", "currency"],
)
def test_what_others_wrote_cannot_become_markup_or_a_message_of_ours(hostile: Activity) -> None:
    message = digest_of(hostile)
    assert "<script>alert" not in message.html
    assert "&lt;script&gt;" in message.html
    assert "{{ 7 * 7 }}" in message.html
    assert "{count}" in message.text
    assert not [line for form in (message.text, message.subject) for line in form.split("\n") if line[:4] == "Bcc:"]


def test_plain_text_stays_as_it_was_written() -> None:
    assert "Tom & Jerry's <best>" in digest_of(replace(an_activity(), title="Tom & Jerry's <best>")).text


@given(st.text(st.characters(), max_size=400), st.sampled_from(LANGUAGES))
def test_a_header_is_one_printable_line_whatever_a_reminder_says(subject: str, locale: str) -> None:
    message = reminder_of(subject, locale=locale)
    assert message.subject.encode()
    for header in (message.subject, message.sms):
        assert len(header.splitlines()) == 1
        assert not re.search("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", header)


def test_a_title_cannot_turn_the_rest_of_the_line_around() -> None:
    turned = digest_of(replace(an_activity(), title="lamp \u202e77.11$"))
    assert "\u202e" not in turned.text + turned.html


@given(st.text(max_size=2000), st.sampled_from(LANGUAGES))
def test_a_text_message_is_never_longer_than_two_segments_and_keeps_its_link(subject: str, locale: str) -> None:
    body = reminder_of(subject, locale=locale).sms
    assert size_of(body).segments <= SMS_SEGMENTS == 2
    assert body.endswith(f" {SITE_URL}/reminders")


def test_a_text_message_that_was_cut_says_so_and_ends_with_a_whole_word() -> None:
    assert reminder_of("very " * 200).sms.endswith(f" very... {SITE_URL}/reminders")


def test_a_text_message_is_as_long_as_somebody_set_it() -> None:
    context = reminder_context(a_reminder(subject="very " * 200), profile=a_profile(), site_url=SITE_URL)
    sizes = [
        size_of(rendered.body).segments
        for segments in (1, 2, 3)
        if isinstance(
            rendered := render_reminder(
                context, template_id=REMINDER_TEMPLATE, channel=Channel.SMS, to="-", sender="-", sms_segments=segments
            ),
            TextEnvelope,
        )
    ]
    assert sizes == [1, 2, 3]


# --- links ------------------------------------------------------------------------------------------------------------


def test_links_go_to_the_shop_and_nothing_is_loaded_from_outside() -> None:
    message = digest_of(an_activity())
    assert set(Page(message.html).links) == {f"{SITE_URL}/activity", f"{SITE_URL}/settings"}
    assert not re.search(r"src=|@import|url\(|<link", message.html)


@pytest.mark.parametrize("render", [lambda: digest_of(an_activity()), lambda: reminder_of("Pay")])
def test_without_a_way_to_unsubscribe_none_is_shown(render: Any) -> None:
    message = render()
    assert "nsubscribe" not in message.html + message.text


def test_the_way_to_unsubscribe_is_in_both_forms_of_an_email() -> None:
    for message in (
        digest_of(an_activity(), unsubscribe_url=UNSUBSCRIBE_URL),
        reminder_of("Pay", unsubscribe_url=UNSUBSCRIBE_URL),
    ):
        assert Page(message.html).links[-1] == UNSUBSCRIBE_URL
        assert message.text.endswith(f"Unsubscribe: {UNSUBSCRIBE_URL}")


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "http://shop.example.com",
        "https://",
        "https://user:secret@shop.example.com",
        "https://shop.example.com/a b",
        'https://shop.example.com/"onmouseover="x',
        "https://shop.example.com/\r\nBcc:",
        "https://shop.example.com:port",
        "https://[::1",
        "//shop.example.com",
        "",
    ],
)
def test_an_address_that_is_no_safe_link_is_refused(address: str) -> None:
    for name in ("site_url", "unsubscribe_url"):
        with pytest.raises(UnsafeLinkError, match=f"^{name}: .* https://shop.example.com"):
            digest_of(an_activity(), **{name: address})


def test_a_link_that_is_refused_does_not_give_its_token_away() -> None:
    with pytest.raises(UnsafeLinkError) as refused:
        digest_of(an_activity(), unsubscribe_url="http://unsubscribe.example.com/?t=canary")
    assert "canary" not in str(refused.value)


def test_on_a_developers_machine_links_may_be_plain_http() -> None:
    local = "http://abc.lambda-url.us-east-1.localhost:4566/?t=1"
    assert digest_of(an_activity(), unsubscribe_url=local).text.endswith(local)


# --- looks ------------------------------------------------------------------------------------------------------------

LIGHT, DARK = "#ffffff", "#161b22"
BY_DAY = {"#1b1f24": LIGHT, "#57606a": LIGHT, "#0b5cad": LIGHT, LIGHT: "#0b5cad"}
BY_NIGHT = {"#e6edf3": DARK, "#9da7b3": DARK, "#79b8ff": DARK, "#0d1117": "#79b8ff"}
ON = BY_DAY | BY_NIGHT  # every colour of a text, and what it stands on
NO_TEXT = {"#f4f5f7", DARK, "#d8dee4", "#30363d"}  # pages, sheets and rules


def brightness(colour: str) -> float:
    """Relative luminance by WCAG 2."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("html", [digest_of(an_activity()).html, reminder_of("Pay").html], ids=["digest", "reminder"])
def test_every_word_can_be_read_by_day_and_by_night(html: str) -> None:
    assert set(re.findall("#[0-9a-f]{6}", html)) <= ON.keys() | NO_TEXT
    for colour, ground in ON.items():
        lighter, darker = sorted((brightness(colour), brightness(ground)), reverse=True)
        assert (lighter + 0.05) / (darker + 0.05) >= 4.5, colour


@pytest.mark.parametrize("locale", LANGUAGES)
def test_a_screen_reader_knows_the_language_and_takes_no_table_for_data(locale: str) -> None:
    for html in (digest_of(an_activity(), locale=locale).html, reminder_of("Pay", locale=locale).html):
        page = Page(html)
        assert ("html", {"lang": locale, "dir": "ltr"}) in page.tags
        assert all(attributes["role"] == "presentation" for tag, attributes in page.tags if tag == "table")
        assert [tag for tag, _ in page.tags].count("h1") == 1


def test_a_mailbox_previews_what_the_subject_does_not_say() -> None:
    hidden = [text for tag, text in Page(digest_of(an_activity()).html).blocks if tag == "div"]
    assert hidden == ["You spent $11.77."]
    message = an_activity(kind=ActivityKind.MESSAGE)
    assert [text for tag, text in Page(digest_of(message).html).blocks if tag == "div"] == [message.title]


# --- starting ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("channel", [Channel.EMAIL, Channel.SMS])
def test_a_cold_start_has_every_form_of_its_channel_ready(channel: Channel) -> None:
    _template.cache_clear()
    _environment.cache_clear()
    prepare(channel)
    assert _template.cache_info().currsize == 2 * len(LANGUAGES)
    ready = {key[1] for key in (_environment().cache or {})}
    sms = {f"{version}/sms.txt.j2" for version in (DIGEST_TEMPLATE, REMINDER_TEMPLATE)}
    assert ready == (sms if channel is Channel.SMS else set(_environment().list_templates(["j2"])) - sms)


def test_only_who_sends_pays_for_templates_and_languages() -> None:
    others = ("functions.planner.planner", "functions.reconciler.reconciler", "functions.adapters.environment")
    program = f"import sys, {', '.join(others)}; print([name for name in ('babel', 'jinja2') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"


# --- versions ---------------------------------------------------------------------------------------------------------


def test_a_template_that_asks_for_what_is_not_there_fails_instead_of_leaving_a_hole() -> None:
    with pytest.raises(UndefinedError):
        _environment().get_template(f"{DIGEST_TEMPLATE}/sms.txt.j2").render()


@pytest.mark.parametrize("channel", Channel)
def test_a_version_of_a_template_that_this_release_does_not_have_is_not_guessed(channel: Channel) -> None:
    with pytest.raises(TemplateNotFound):
        render_digest(context_of(an_activity()), template_id="weekly-digest-v0", channel=channel, to="-", sender="-")
