"""What is on record of one delivery or one customer in a region: rows, and why there is none. Nothing is searched.

Ids follow from what they are about, so a customer's weeks are read by key, also those that never came to be.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from functions import names
from functions.adapters.customers import customer_records
from functions.adapters.schedule_rows import endpoint_from_row, profile_from_row, wall_time_from_row
from functions.core.absences import why_never_selected
from functions.core.answers import why_not
from functions.core.calendar import WEEK, UnknownTimeZoneError, period_reported, zone
from functions.core.customer import DIGEST_SCHEDULE, PROFILE, REMINDER_SCHEDULE, WEBHOOK_ENDPOINT, Profile
from functions.core.eligibility import reason_to_skip
from functions.core.identity import Channel, DeliveryId, Topic
from functions.core.instants import from_text
from functions.core.wording import utc

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import date, datetime
    from zoneinfo import ZoneInfo

    from functions.adapters.region_tables import RegionTables
    from functions.core.delivery import Delivery, SkipReason

PERIODS_SHOWN: Final = 6
REMINDERS_SHOWN: Final = 20
WEEKDAYS: Final = ("Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays", "Sundays")
_AFTER_SCHEDULES: Final = "SCHEDULE$"  # "$" comes right after "#"


@dataclass(frozen=True, slots=True)
class Absence:
    """A delivery without a row: why, where its customer is, and why it would be skipped if it were sent now."""

    data_region: str
    delivery_id: DeliveryId
    why: str
    would_skip: SkipReason | None


@dataclass(frozen=True, slots=True)
class ScheduleOnRecord:
    """A schedule in words, and its next run where it has one."""

    what: str
    when: str
    channels: tuple[str, ...]
    next_run_at: datetime | None
    state: str


@dataclass(frozen=True, slots=True)
class Expected:
    """A delivery that there should have been, whether or not it ever was; `why` it was not accepted."""

    delivery_id: DeliveryId
    delivery: Delivery | None
    why: str | None


@dataclass(frozen=True, slots=True)
class CustomerRows:
    """A customer's profile, endpoint and schedules, by sort key."""

    region: RegionTables
    rows: Mapping[str, Mapping[str, Any]]

    @property
    def profile(self) -> Profile:
        """The profile, with its endpoint."""
        profile = profile_from_row(self.rows[PROFILE])
        endpoint = self.rows.get(WEBHOOK_ENDPOINT)
        return profile if endpoint is None else replace(profile, webhook=endpoint_from_row(endpoint))

    def absence(self, delivery_id: DeliveryId, *, now: datetime) -> Absence:
        """Why one of the customer's deliveries has no row."""
        digest = delivery_id.topic is Topic.DIGEST
        schedule = self.rows.get(DIGEST_SCHEDULE if digest else REMINDER_SCHEDULE + delivery_id.occasion)
        profile = self.profile
        why = why_never_selected(delivery_id, profile, schedule, now=now)
        return Absence(self.region.data_region, delivery_id, why, reason_to_skip(delivery_id, profile))

    def schedules(self, now: datetime) -> tuple[ScheduleOnRecord, ...]:
        """The digest's schedule, and the latest reminders."""
        digest = self.rows.get(DIGEST_SCHEDULE)
        return (*([_digest(digest)] if digest else []), *(_reminder(row, now) for row in self._reminders()))

    def deliveries(self, now: datetime) -> Iterator[Expected]:
        """The last weeks and reminders on every channel."""
        profile, digest = self.profile, self.rows.get(DIGEST_SCHEDULE)
        reminders = (
            DeliveryId(Topic.REMINDER, profile.customer_id, row["event_id"], channel)
            for row in self._reminders()
            for channel in Channel
        )
        ids = [*digest_ids(profile.customer_id, _last_periods(profile, now)), *reminders]
        rows = self.region.ledger.read(str(one) for one in ids)
        for one in ids:
            delivery = rows.get(str(one))
            if delivery is not None:
                yield Expected(one, delivery, None if delivery.accepted_at else why_not(delivery))
            elif one.topic is Topic.DIGEST and digest is not None and str(one.channel) in digest["channels"]:
                yield Expected(one, None, why_never_selected(one, profile, digest, now=now))

    def week(self, period: date, *, now: datetime) -> Iterator[Expected]:
        """One week on every channel, also on those that the schedule does not name."""
        profile = self.profile
        ids = digest_ids(profile.customer_id, [period])
        rows = self.region.ledger.read(str(one) for one in ids)
        for one in ids:
            delivery = rows.get(str(one))
            if delivery is None:
                yield Expected(one, None, why_never_selected(one, profile, self.rows.get(DIGEST_SCHEDULE), now=now))
            else:
                yield Expected(one, delivery, None if delivery.accepted_at else why_not(delivery))

    def _reminders(self) -> Sequence[Mapping[str, Any]]:
        rows = (row for record, row in self.rows.items() if record.startswith(REMINDER_SCHEDULE))
        return sorted(rows, key=lambda row: str(row["due_at"]), reverse=True)[:REMINDERS_SHOWN]


def customer_rows(region: RegionTables, customer_id: str) -> CustomerRows | None:
    """Look for a customer: one range of the partition, which leaves the activity out. None where nobody knows them."""
    found = customer_records(
        region.dynamodb, region.customers_table, customer_id, first=WEBHOOK_ENDPOINT, last=_AFTER_SCHEDULES
    )
    rows = {row[names.RECORD]: row for row in found}
    return CustomerRows(region, rows) if PROFILE in rows else None


def erased_at(regions: Sequence[RegionTables], customer_id: str, now: datetime) -> datetime | None:
    """When a customer was erased, as far as the deliveries of the last weeks tell."""
    ids = [str(one) for one in digest_ids(customer_id, _periods_until(now, zone("UTC")))]
    marks = [row.erased_at for region in regions for row in region.ledger.read(ids).values() if row.erased_at]
    return max(marks, default=None)


def digest_ids(customer_id: str, periods: Sequence[date]) -> list[DeliveryId]:
    """Ids of a customer's digests of these weeks, on every channel."""
    return [
        DeliveryId(Topic.DIGEST, customer_id, period.isoformat(), channel) for period in periods for channel in Channel
    ]


def _next_run(row: Mapping[str, Any]) -> datetime | None:
    return from_text(row[names.NEXT_RUN_AT]) if names.NEXT_RUN_AT in row else None


def _digest(row: Mapping[str, Any]) -> ScheduleOnRecord:
    return ScheduleOnRecord(
        what="digest",
        when=f"{WEEKDAYS[row['weekday']]} {row['local_time']} {row['time_zone']}",
        channels=tuple(row["channels"]),
        next_run_at=_next_run(row),
        state="runs" if names.NEXT_RUN_AT in row else "paused",
    )


def _reminder(row: Mapping[str, Any], now: datetime) -> ScheduleOnRecord:
    if "obsolete" in row:
        state = row["obsolete"]
    elif names.NEXT_RUN_AT not in row:
        state = "planned"
    else:
        state = "waits for the planner" if from_text(row[names.NEXT_RUN_AT]) <= now else "waits"
    return ScheduleOnRecord(
        what=f"reminder {row['event_id']}",
        when=f"due {_due(row)}",
        channels=tuple(row["channels"]),
        next_run_at=_next_run(row),
        state=state,
    )


def _due(row: Mapping[str, Any]) -> str:
    local = wall_time_from_row(row)
    return utc(from_text(row["due_at"])) if local is None else f"{local.shown:%Y-%m-%d %H:%M} {local.time_zone}"


def _last_periods(profile: Profile, now: datetime) -> list[date]:
    try:
        return _periods_until(now, zone(profile.time_zone))
    except UnknownTimeZoneError:
        return _periods_until(now, zone("UTC"))


def _periods_until(now: datetime, where: ZoneInfo) -> list[date]:
    newest = period_reported(now, where)
    return [newest - WEEK * back for back in range(PERIODS_SHOWN)]
