"""A file of reminders: each is sent once, whatever is imported afterwards."""

from __future__ import annotations

from typing import Any

import pytest

from functions.adapters.schedule_rows import schedule_from_row
from functions.core.customer import REMINDER_SCHEDULE, ReminderSchedule
from functions.core.identity import Channel
from functions.core.instants import from_text
from ops.imports.reminders import import_reminders
from ops.imports.report import ImportReport
from tests.fakes.clock import FakeClock
from tests.fakes.customer_rows import FakeRegions

HEADER = "customer_id,data_region,event_id,due_at,expires_at,channels,subject,cancelled"
INVOICE = "c-1,us,invoice-9,2026-12-01T09:00:00+01:00,,sms email,Pay invoice 9,"
DUE_AT = from_text("2026-12-01T08:00:00Z")


@pytest.fixture
def regions() -> FakeRegions:
    return FakeRegions()


def importing(regions: FakeRegions, *lines: str) -> ImportReport:
    return import_reminders([HEADER, *lines], regions, clock=FakeClock())


def row(regions: FakeRegions) -> dict[str, Any]:
    return regions.us.rows.held["c-1", f"{REMINDER_SCHEDULE}invoice-9"]


def planned(regions: FakeRegions) -> None:
    """As the planner leaves a reminder behind."""
    del row(regions)["next_run_at"], row(regions)["due_shard"]


def test_a_reminder_is_due_at_its_time_and_expires_a_day_later(regions: FakeRegions) -> None:
    assert importing(regions, INVOICE).kept == 1
    assert schedule_from_row(row(regions)) == ReminderSchedule(
        customer_id="c-1",
        event_id="invoice-9",
        channels=(Channel.EMAIL, Channel.SMS),
        next_run_at=DUE_AT,
        expires_at=from_text("2026-12-02T08:00:00Z"),
        subject="Pay invoice 9",
    )


def test_a_reminder_that_waits_may_be_moved(regions: FakeRegions) -> None:
    importing(regions, INVOICE)
    importing(regions, INVOICE.replace("T09:00", "T11:00"))
    assert row(regions)["next_run_at"] == "2026-12-01T10:00:00.000Z"


def test_a_cancelled_reminder_leaves_the_due_index_and_stays_cancelled(regions: FakeRegions) -> None:
    importing(regions, INVOICE)
    importing(regions, INVOICE + "true")
    assert row(regions)["cancelled"]
    assert not {"next_run_at", "due_shard"} & row(regions).keys()
    report = importing(regions, INVOICE)
    assert report.bad == ((2, "event_id: this reminder was cancelled; give the new one an event_id of its own"),)


def test_a_cancellation_that_comes_before_its_reminder_holds(regions: FakeRegions) -> None:
    importing(regions, INVOICE + "true")
    assert "due_shard" not in row(regions)
    assert len(importing(regions, INVOICE).bad) == 1


def test_a_reminder_that_was_planned_is_not_planned_again_by_the_same_file(regions: FakeRegions) -> None:
    importing(regions, INVOICE)
    planned(regions)
    report = importing(regions, INVOICE)
    assert (report.kept, report.unchanged) == (1, 1)
    assert "due_shard" not in row(regions)


def test_a_reminder_that_was_planned_cannot_be_moved(regions: FakeRegions) -> None:
    importing(regions, INVOICE)
    planned(regions)
    report = importing(regions, INVOICE.replace("T09:00", "T11:00"))
    assert report.bad == (
        (2, "due_at: this reminder has been planned already; give another one an event_id of its own"),
    )


def test_a_reminder_that_is_planned_while_it_is_moved_is_reported_and_not_due_twice(regions: FakeRegions) -> None:
    importing(regions, INVOICE)
    regions.us.rows.before_write = lambda: planned(regions)
    report = importing(regions, INVOICE.replace("T09:00", "T11:00"))
    assert len(report.bad) == 1
    assert "due_shard" not in row(regions)


@pytest.mark.parametrize(
    ("was", "is_now", "reason"),
    [
        ("sms email", "", "channels: must list channels out of email, sms, webhook, such as email,sms"),
        (",,sms", ",2026-12-01T07:00:00Z,sms", "expires_at: must be after due_at; leave it empty for a day later"),
        (
            "2026-12-01T09:00:00+01:00,",
            "2026-11-01T09:00:00Z,",
            "expires_at: is past, so the reminder would never be sent; leave the line out",
        ),
        ("Pay invoice 9", "", "subject: must be one line of 1 to 200 characters"),
        ("2026-12-01T09", "tomorrow", "due_at: must be an ISO 8601 time with its offset, such as 2026-11-29T20:05:00Z"),
    ],
)
def test_a_field_that_does_not_fit_is_named(regions: FakeRegions, was: str, is_now: str, reason: str) -> None:
    assert [line.reason for line in importing(regions, INVOICE.replace(was, is_now)).bad] == [reason]
