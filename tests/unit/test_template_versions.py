"""A version of a template stays as it is: a retry by a later release has to send the bytes of the first attempt.

A change of a pinned value is a change of every message of that version that is on its way, also where it comes from
Babel's data. A version that has been released is left alone; what is to be said differently gets a version of its own.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from functions.core.content import (
    digest_context,
    reminder_context,
    render_digest,
    render_reminder,
    template_ids,
)
from functions.core.customer import Activity, ActivityKind
from functions.core.envelope import fingerprint
from functions.core.identity import Channel
from functions.names import LANGUAGES
from tests.fakes.examples import SITE_URL, a_profile, a_reminder

UNSUBSCRIBE_URL = "https://leave.example.com/token"
BEGIN = datetime(2026, 11, 16, 12, tzinfo=UTC)
WEEK = [
    Activity(
        f"a-{number}",
        BEGIN + timedelta(hours=7 * number),
        kind,
        f"Thing {number} <b> & \u2019so\u2019",
        None if kind is ActivityKind.MESSAGE else 123_456 + number,
        None if kind is ActivityKind.MESSAGE else ("EUR", "JPY", "KWD", "USD")[number % 4],
        1 + number % 3,
    )
    for number, kind in enumerate(list(ActivityKind) * 7)
]
PINNED = {
    "reminder-v1 email en": "362d43282320",
    "reminder-v1 email de": "1688a1870521",
    "reminder-v1 email fr": "e59f686ddcdf",
    "reminder-v1 email es": "cdab34329865",
    "reminder-v1 sms en": "14f9ff22fd03",
    "reminder-v1 sms de": "9535495c908e",
    "reminder-v1 sms fr": "45e38636f002",
    "reminder-v1 sms es": "347e140d43c7",
    "weekly-digest-v1 email en": "251be0cf78a5",
    "weekly-digest-v1 email de": "ce39c0b72ad0",
    "weekly-digest-v1 email fr": "ffc2fbfa6a8f",
    "weekly-digest-v1 email es": "0a833a7a8f46",
    "weekly-digest-v1 sms en": "84bd1556feda",
    "weekly-digest-v1 sms de": "983bdb6da921",
    "weekly-digest-v1 sms fr": "813aa639de55",
    "weekly-digest-v1 sms es": "16d78db58d43",
}


def rendered(template_id: str, language: str, channel: Channel) -> str:
    profile = a_profile(locale=language)
    if template_id.startswith("weekly-digest-"):
        week = digest_context(
            WEEK,
            profile=profile,
            period_start=date(2026, 11, 16),
            site_url=SITE_URL,
            unsubscribe_url=UNSUBSCRIBE_URL,
        )
        return fingerprint(render_digest(week, template_id=template_id, channel=channel, to="-", sender="-"))[:12]
    reminder = reminder_context(a_reminder(), profile=profile, site_url=SITE_URL, unsubscribe_url=UNSUBSCRIBE_URL)
    return fingerprint(render_reminder(reminder, template_id=template_id, channel=channel, to="-", sender="-"))[:12]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("channel", [Channel.EMAIL, Channel.SMS])
@pytest.mark.parametrize("template_id", template_ids())
def test_a_message_of_a_version_stays_as_it_was(template_id: str, channel: Channel, language: str) -> None:
    assert rendered(template_id, language, channel) == PINNED[f"{template_id} {channel} {language}"]
