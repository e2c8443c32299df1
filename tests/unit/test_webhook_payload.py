"""What an endpoint is told of a week and of a reminder: facts, the same at every attempt."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from functions.core.content import digest_payload, reminder_payload
from functions.core.content.payload import PAYLOAD_ENTRIES, PAYLOAD_VERSION, UnknownTemplateError
from functions.core.content.rendering import template_ids
from functions.core.customer import Activity, ActivityKind
from functions.core.identity import Channel, Topic
from tests.fakes.examples import CUSTOMER, PERIOD, SITE_URL, a_delivery, a_profile, a_reminder, an_activity

DIGEST = a_delivery(channel=Channel.WEBHOOK)
REMINDER = a_delivery(channel=Channel.WEBHOOK, topic=Topic.REMINDER)


def told(*activities: Activity, **differing: Any) -> Any:
    body = digest_payload(
        activities,
        delivery=DIGEST,
        profile=a_profile(**differing),
        period_start=PERIOD,
        site_url=SITE_URL,
    )
    return json.loads(body)


def test_a_digest_is_told_as_documented() -> None:
    assert told(an_activity()) == {
        "type": "digest.weekly",
        "version": 1,
        "timestamp": "2026-11-29T20:00:00.000Z",
        "delivery_id": "digest:c-417:2026-11-16:webhook",
        "customer_id": CUSTOMER,
        "period": {
            "first_day": "2026-11-16",
            "last_day": "2026-11-22",
            "begins_at": "2026-11-16T05:00:00.000Z",
            "ends_at": "2026-11-23T05:00:00.000Z",
            "time_zone": "America/New_York",
        },
        "counts": {"order": 1, "price_drop": 0, "message": 0},
        "spent": [{"currency": "USD", "minor_units": 1177}],
        "entries": [
            {
                "id": "a-1",
                "kind": "order",
                "occurred_at": "2026-11-18T12:00:00.000Z",
                "title": "Canary blue lamp",
                "amount": {"currency": "USD", "minor_units": 1177},
                "quantity": 1,
            }
        ],
        "more_entries": 0,
        "url": SITE_URL,
    }


def test_a_reminder_is_told_as_documented() -> None:
    assert json.loads(reminder_payload(a_reminder(), delivery=REMINDER, site_url=SITE_URL)) == {
        "type": "reminder.due",
        "version": 1,
        "timestamp": "2026-11-29T20:00:00.000Z",
        "delivery_id": "reminder:c-417:invoice-9:webhook",
        "customer_id": CUSTOMER,
        "event_id": "invoice-9",
        "subject": "Pay invoice 9",
        "due_at": "2026-11-29T20:00:00.000Z",
        "url": SITE_URL,
    }


def test_entries_come_newest_first_and_a_corrected_one_once() -> None:
    first, corrected = datetime(2026, 11, 17, 9, tzinfo=UTC), datetime(2026, 11, 17, 10, tzinfo=UTC)
    entries = told(
        an_activity("a-1", occurred_at=first),
        an_activity("a-1", occurred_at=corrected),
        an_activity("a-2", kind=ActivityKind.MESSAGE),
    )["entries"]
    assert [(one["id"], one["occurred_at"]) for one in entries] == [
        ("a-2", "2026-11-18T12:00:00.000Z"),
        ("a-1", "2026-11-17T10:00:00.000Z"),
    ]
    assert (entries[0]["amount"], entries[0]["quantity"]) == (None, None)


def test_a_long_week_says_how_many_entries_more_there_were() -> None:
    begins = datetime(2026, 11, 17, tzinfo=UTC)
    count = PAYLOAD_ENTRIES + 3
    week = told(*(an_activity(f"a-{one}", occurred_at=begins + timedelta(minutes=one)) for one in range(count)))
    assert (len(week["entries"]), week["more_entries"], week["counts"]["order"]) == (PAYLOAD_ENTRIES, 3, count)
    assert week["spent"] == [{"currency": "USD", "minor_units": 1177 * count}]


def test_a_retry_an_hour_later_sends_the_same_bytes_whatever_the_customers_language() -> None:
    bodies = {
        digest_payload(
            [an_activity()],
            delivery=DIGEST,
            profile=a_profile(locale=locale),
            period_start=PERIOD,
            site_url=SITE_URL,
        )
        for locale in ("en", "de")
    }
    assert len(bodies) == 1


def test_words_of_others_are_told_whole_and_cannot_break_the_text() -> None:
    title = 'Lamp "\u00e9t\u00e9" </script> \\ \u2028 \ud83d'
    strange = Activity("a-9", datetime(2026, 11, 18, 12, tzinfo=UTC), ActivityKind.MESSAGE, title)
    (entry,) = told(strange)["entries"]
    assert entry["title"] == 'Lamp "\u00e9t\u00e9" </script> \\'


def test_a_template_of_another_release_is_not_guessed() -> None:
    with pytest.raises(UnknownTemplateError, match="weekly-digest-v9"):
        digest_payload(
            [an_activity()],
            delivery=a_delivery(channel=Channel.WEBHOOK, template_id="weekly-digest-v9"),
            profile=a_profile(),
            period_start=PERIOD,
            site_url=SITE_URL,
        )


def test_every_template_has_a_payload() -> None:
    assert set(template_ids()) == set(PAYLOAD_VERSION)
