"""A file of reminders: each is sent once, whatever is imported afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import pytest

from functions.adapters.schedule_rows import schedule_from_row
from functions.core.customer import PROFILE, REMINDER_SCHEDULE, Obsolete, ReminderSchedule, WallTime
from functions.core.identity import Channel
from functions.core.instants import from_text
from ops.imports.customers import import_customers
from ops.imports.reminders import import_reminders
from ops.imports.report import ImportReport
from ops.imports.rows import Refused, RowChange
from tests.fakes.clock import FakeClock
from tests.fakes.customer_rows import FakeRegions, FakeRows

HEADER = "customer_id,data_region,event_id,due_at,expires_at,channels,subject,obsolete"
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


@pytest.mark.parametrize("why", ["cancelled", "paid"])
def test_an_obsolete_reminder_leaves_the_due_index_and_stays_obsolete(regions: FakeRegions, why: str) -> None:
    importing(regions, INVOICE)
    importing(regions, INVOICE + why)
    assert row(regions)["obsolete"] == why
    assert not {"next_run_at", "due_shard"} & row(regions).keys()
    report = importing(regions, INVOICE)
    assert report.bad == ((2, f"event_id: this reminder is obsolete ({why}); give the new one an event_id of its own"),)


def test_an_order_that_was_paid_before_its_reminder_came_is_not_reminded_of(regions: FakeRegions) -> None:
    importing(regions, INVOICE + "paid")
    assert "due_shard" not in row(regions)
    assert len(importing(regions, INVOICE).bad) == 1


def test_a_reminder_that_is_on_its_way_may_still_become_obsolete(regions: FakeRegions) -> None:
    importing(regions, INVOICE)
    planned(regions)
    assert importing(regions, INVOICE + "paid").bad == ()
    reminder = schedule_from_row(row(regions))
    assert isinstance(reminder, ReminderSchedule)
    assert reminder.obsolete is Obsolete.PAID


def test_what_made_a_reminder_obsolete_first_stays_on_record(regions: FakeRegions) -> None:
    importing(regions, INVOICE + "paid")
    assert importing(regions, INVOICE + "cancelled").unchanged == 1
    assert row(regions)["obsolete"] == "paid"


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
        (
            ",,sms",
            ",2026-12-01T07:00:00Z,sms",
            "expires_at: must be after the reminder is due; leave it empty for a day later",
        ),
        (
            "2026-12-01T09:00:00+01:00,",
            "2026-11-01T09:00:00Z,",
            "expires_at: is past, so the reminder would never be sent; leave the line out",
        ),
        ("Pay invoice 9", "", "subject: must be one line of 1 to 200 characters"),
        ("invoice 9,", "invoice 9,true", "obsolete: must be one of cancelled, paid"),
        ("2026-12-01T09:00:00+01:00", "", "due_at and due_local: give one of them"),
        ("2026-12-01T09", "tomorrow", "due_at: must be an ISO 8601 time with its offset, such as 2026-11-29T20:05:00Z"),
    ],
)
def test_a_field_that_does_not_fit_is_named(regions: FakeRegions, was: str, is_now: str, reason: str) -> None:
    assert [line.reason for line in importing(regions, INVOICE.replace(was, is_now)).bad] == [reason]


# --- at a local time --------------------------------------------------------------------------------------------------

LOCAL_HEADER = "customer_id,data_region,event_id,due_local,expires_at,expires_after_hours,channels,subject,obsolete"
LOCAL = "c-1,us,invoice-9,2026-12-01T09:00,,,email,Pay invoice 9,"


@pytest.fixture
def at_home(regions: FakeRegions) -> FakeRegions:
    """`c-1` lives in Berlin, where it is nine at 08:00Z in winter."""
    lives_in(regions, "Europe/Berlin")
    return regions


def lives_in(regions: FakeRegions, time_zone: str) -> ImportReport:
    return import_customers(["customer_id,data_region,time_zone", f"c-1,us,{time_zone}"], regions, clock=FakeClock())


def importing_local(regions: FakeRegions, *lines: str) -> ImportReport:
    return import_reminders([LOCAL_HEADER, *lines], regions, clock=FakeClock())


def test_a_local_time_is_that_of_the_customers_zone(at_home: FakeRegions) -> None:
    assert importing_local(at_home, LOCAL).kept == 1
    assert schedule_from_row(row(at_home)) == ReminderSchedule(
        customer_id="c-1",
        event_id="invoice-9",
        channels=(Channel.EMAIL,),
        next_run_at=DUE_AT,
        expires_at=from_text("2026-12-02T08:00:00Z"),
        subject="Pay invoice 9",
        due_local=WallTime(datetime(2026, 12, 1, 9), "Europe/Berlin"),  # noqa: DTZ001 - a wall time
    )


@pytest.mark.parametrize(
    ("shown", "comes"),
    [
        ("2027-03-28T02:30", "2027-03-28T01:00:00.000Z"),  # skipped: three o'clock is next
        ("2027-10-31T02:30", "2027-10-31T00:30:00.000Z"),  # comes twice: taken once, the first time
    ],
)
def test_a_night_in_which_the_clocks_change_has_one_instant_for_it(
    at_home: FakeRegions, shown: str, comes: str
) -> None:
    importing_local(at_home, LOCAL.replace("2026-12-01T09:00", shown))
    assert row(at_home)["next_run_at"] == comes


def test_a_customer_who_moves_is_reminded_by_the_new_clock(at_home: FakeRegions) -> None:
    importing_local(at_home, LOCAL)
    lives_in(at_home, "America/New_York")
    moved = schedule_from_row(row(at_home))
    assert moved.next_run_at == from_text("2026-12-01T14:00:00Z")
    assert isinstance(moved, ReminderSchedule)
    assert (moved.due_local, moved.expires_at) == (
        WallTime(datetime(2026, 12, 1, 9), "America/New_York"),  # noqa: DTZ001 - a wall time
        from_text("2026-12-02T14:00:00Z"),
    )
    assert row(at_home)["next_run_at"] == row(at_home)["due_at"]


def test_a_reminder_with_its_own_length_keeps_it_and_one_with_an_end_keeps_that(at_home: FakeRegions) -> None:
    importing_local(at_home, LOCAL.replace(",,email", ",6,email"))
    lives_in(at_home, "America/New_York")
    assert row(at_home)["expires_at"] == "2026-12-01T20:00:00.000Z"
    importing_local(at_home, LOCAL.replace(",,,email", ",2026-12-01T18:00:00Z,,email"))
    lives_in(at_home, "Asia/Tokyo")
    assert (row(at_home)["due_at"], row(at_home)["expires_at"]) == (
        "2026-12-01T00:00:00.000Z",
        "2026-12-01T18:00:00.000Z",
    )


def test_a_customer_who_moves_to_where_it_is_past_that_time_is_reminded_at_once(at_home: FakeRegions) -> None:
    importing_local(at_home, LOCAL.replace("2026-12-01T09:00", "2026-11-30T02:00"))  # in five hours
    lives_in(at_home, "Asia/Tokyo")
    assert row(at_home)["next_run_at"] == "2026-11-29T17:00:00.000Z"


def test_a_reminder_at_an_instant_stays_when_its_customer_moves(at_home: FakeRegions) -> None:
    importing(at_home, INVOICE)
    lives_in(at_home, "Asia/Tokyo")
    assert from_text(row(at_home)["next_run_at"]) == DUE_AT


def test_a_reminder_that_was_planned_is_not_due_again_when_its_customer_moves(at_home: FakeRegions) -> None:
    importing_local(at_home, LOCAL)
    planned(at_home)
    lives_in(at_home, "America/New_York")
    assert "next_run_at" not in row(at_home)
    assert importing_local(at_home, LOCAL).unchanged == 1
    report = importing_local(at_home, LOCAL.replace("T09", "T10"))
    assert report.bad == (
        (2, "due_local: this reminder has been planned already; give another one an event_id of its own"),
    )


def test_a_reminder_that_is_planned_while_its_customer_moves_is_not_due_twice(at_home: FakeRegions) -> None:
    importing_local(at_home, LOCAL)
    at_home.us.rows.before_write = lambda: planned(at_home)
    assert lives_in(at_home, "America/New_York").bad == ()
    assert "next_run_at" not in row(at_home)
    assert at_home.us.rows.held["c-1", PROFILE]["time_zone"] == "America/New_York"


def test_a_move_that_was_written_in_part_is_finished_by_the_next_import(at_home: FakeRegions) -> None:
    class Throttled(FakeRows):
        def write(self, changes: Sequence[RowChange]) -> Sequence[Refused]:
            reminders = [one for one in changes if one.key[1].startswith(REMINDER_SCHEDULE)]
            others = [one for one in changes if one not in reminders]
            return [*(Refused(one, "ThrottlingError") for one in reminders), *super().write(others)]

    importing_local(at_home, LOCAL)
    at_home.us.rows = Throttled(held=at_home.us.rows.held)
    assert len(lives_in(at_home, "America/New_York").bad) == 1
    at_home.us.rows = FakeRows(held=at_home.us.rows.held)
    assert lives_in(at_home, "America/New_York").bad == ()
    assert row(at_home)["next_run_at"] == "2026-12-01T14:00:00.000Z"


def test_a_local_time_needs_a_customer_whose_zone_is_known(regions: FakeRegions) -> None:
    (line,) = importing_local(regions, LOCAL).bad
    assert line.reason.startswith("due_local: the zone of a customer who is not on record here is not known")
    lives_in(regions, "Europe/Berlin")
    regions.us.rows.held["c-1", PROFILE]["time_zone"] = "Mars/Phobos"
    (line,) = importing_local(regions, LOCAL).bad
    assert line.reason.startswith("due_local: the customer's zone on record does not exist any more")


def test_a_paid_order_needs_nobodys_zone(at_home: FakeRegions) -> None:
    importing_local(at_home, LOCAL)
    del at_home.us.rows.held["c-1", PROFILE]
    assert importing_local(at_home, LOCAL + "paid").bad == ()
    assert row(at_home)["obsolete"] == "paid"


@pytest.mark.parametrize(
    ("was", "is_now", "reason"),
    [
        (
            "T09:00,",
            "T09:00:00+01:00,",
            "due_local: must be a local time such as 2026-12-01T09:00; a time with its offset goes into due_at",
        ),
        (
            "2026-12-01",
            "2026-02-30",
            "due_local: must be a local time such as 2026-12-01T09:00; a time with its offset goes into due_at",
        ),
        (",,email", ",0,email", "expires_after_hours: must be a whole number from 1 to 720"),
        (
            ",,,email",
            ",2026-12-01T18:00:00Z,6,email",
            "expires_at and expires_after_hours: give one, or neither for 24 hours",
        ),
        (
            ",,,email",
            ",2026-12-01T08:00:00Z,,email",
            "expires_at: must be after the reminder is due; leave it empty for a day later",
        ),
    ],
)
def test_a_field_of_a_local_time_that_does_not_fit_is_named(
    at_home: FakeRegions, was: str, is_now: str, reason: str
) -> None:
    assert [line.reason for line in importing_local(at_home, LOCAL.replace(was, is_now)).bad] == [reason]
