"""Why there is no digest, or no reminder, of somebody: the answer for each case."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from functions import names
from functions.adapters.schedule_rows import schedule_to_row
from functions.core.absences import NO_REMINDER, NO_SCHEDULE, why_never_selected
from functions.core.identity import Channel, DeliveryId, Topic
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.examples import CUSTOMER, a_digest_schedule, a_profile, a_reminder

NOW = SUNDAY_EVENING
AN_HOUR = timedelta(hours=1)
THIS_WEEK = "2026-11-16"  # what a run at SUNDAY_EVENING reports


def a_digest(occasion: str = THIS_WEEK, channel: Channel = Channel.EMAIL) -> DeliveryId:
    return DeliveryId(Topic.DIGEST, CUSTOMER, occasion, channel)


def runs(hours: float, **differing: Any) -> dict[str, Any]:
    row: dict[str, Any] = schedule_to_row(a_digest_schedule(next_run_at=NOW + hours * AN_HOUR), shards=1)
    return row | differing


def without_a_run(row: dict[str, Any]) -> dict[str, Any]:
    return {name: held for name, held in row.items() if name != names.NEXT_RUN_AT and held is not None}


@pytest.mark.parametrize(
    ("delivery_id", "schedule", "why"),
    [
        (a_digest(), None, NO_SCHEDULE),
        (a_digest(channel=Channel.WEBHOOK), runs(1), "its schedule does not name webhook"),
        (a_digest(), without_a_run(runs(1)), "the schedule is paused"),
        (a_digest(), runs(1), "not due yet: its run is at 2026-11-29 21:00:00 UTC"),
        (
            a_digest(),
            runs(-1),
            "due since 2026-11-29 19:00:00 UTC, and not planned yet; see `digest due`",
        ),
        (
            a_digest("2026-11-23"),
            runs(1),
            "not due yet: the week of 2026-11-16 comes first, at 2026-11-29 21:00:00 UTC",
        ),
        (a_digest("2026-11-09"), runs(1), "before the schedule's first run, or purged since"),
        (
            a_digest(),
            runs(1, time_zone="Mars/Phobos"),
            "the schedule's time zone is unknown; import the customer again",
        ),
        (a_digest("2026-11-17"), runs(1), "no week opens on 2026-11-17; the one that it lies in opens on 2026-11-16"),
        (a_digest("invoice-9"), None, "a digest is about a week: give the Monday that opens it, such as 2026-11-16"),
    ],
)
def test_a_digest_that_was_never_selected(delivery_id: DeliveryId, schedule: dict[str, Any] | None, why: str) -> None:
    assert why_never_selected(delivery_id, a_profile(), schedule, now=NOW) == why


def test_an_inactive_customer_s_schedule_says_that_it_is_paused_for_that() -> None:
    why = why_never_selected(a_digest(), a_profile(active=False), without_a_run(runs(1)), now=NOW)
    assert why == "the customer is inactive, so the schedule is paused"


REMINDER: dict[str, Any] = schedule_to_row(a_reminder(next_run_at=NOW + AN_HOUR), shards=1)


@pytest.mark.parametrize(
    ("schedule", "why"),
    [
        (None, NO_REMINDER),
        (REMINDER, "not due yet: its run is at 2026-11-29 21:00:00 UTC"),
        (without_a_run(REMINDER) | {"obsolete": "cancelled"}, "it is cancelled"),
        (without_a_run(REMINDER), "it was planned, and its row purged since"),
    ],
)
def test_a_reminder_that_was_never_selected(schedule: dict[str, Any] | None, why: str) -> None:
    delivery_id = DeliveryId(Topic.REMINDER, CUSTOMER, "invoice-9", Channel.EMAIL)
    assert why_never_selected(delivery_id, a_profile(), schedule, now=NOW) == why
