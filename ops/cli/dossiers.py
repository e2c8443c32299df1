"""What is on record of one delivery or one customer, found in whichever data region has it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

from functions import names
from functions.adapters.customers import customer_records
from functions.adapters.schedule_rows import endpoint_from_row, profile_from_row, wall_time_from_row
from functions.core.calendar import WEEK, UnknownTimeZoneError, period_reported, zone
from functions.core.customer import DIGEST_SCHEDULE, PROFILE, REMINDER_SCHEDULE, WEBHOOK_ENDPOINT, Profile
from functions.core.delivery import Delivery, SkipReason
from functions.core.eligibility import reason_to_skip
from functions.core.identity import Channel, DeliveryId, Topic
from functions.core.instants import from_text
from functions.core.webhook_endpoint import Health
from ops.cli.absences import why_never_selected
from ops.cli.answers import why_not
from ops.cli.output import masked, utc
from ops.deployment import DeploymentError, RegionDeployment
from ops.imports.fields import WEEKDAYS

PERIODS_SHOWN: Final = 6
REMINDERS_SHOWN: Final = 20
_AFTER_SCHEDULES: Final = "SCHEDULE$"  # "$" comes right after "#"


@dataclass(frozen=True, slots=True)
class FoundDelivery:
    """A delivery, and where it is."""

    data_region: str
    delivery: Delivery


@dataclass(frozen=True, slots=True)
class Absence:
    """A delivery without a row: why, where its customer is, and why it would be skipped if it were sent now."""

    data_region: str
    delivery_id: DeliveryId
    why: str
    would_skip: SkipReason | None


@dataclass(frozen=True, slots=True)
class Contact:
    """One channel of a customer; the address masked, consent by topic (None where nobody asked)."""

    channel: str
    address: str | None
    consent: Mapping[str, str | None]
    suppressed: str | None


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
class Dossier:
    """All that an operator may see of a customer."""

    data_region: str
    profile: Profile = field(repr=False)
    contacts: tuple[Contact, ...]
    schedules: tuple[ScheduleOnRecord, ...]
    deliveries: tuple[Expected, ...]

    @property
    def endpoint(self) -> Health | None:
        """How the customer's webhook endpoint has been answering; None for a customer without one."""
        url = self.profile.addresses.get(Channel.WEBHOOK)
        return None if url is None or self.profile.webhook is None else self.profile.webhook.health_at(url)


# --- a delivery -------------------------------------------------------------------------------------------------------


def look_for_delivery(regions: Sequence[RegionDeployment], delivery_id: DeliveryId) -> FoundDelivery | None:
    """Look for a delivery in each region; None when none has it."""
    for region in regions:
        delivery = region.ledger.read([str(delivery_id)]).get(str(delivery_id))
        if delivery is not None:
            return FoundDelivery(region.data_region, delivery)
    return None


def find_delivery(regions: Sequence[RegionDeployment], delivery_id: DeliveryId) -> FoundDelivery:
    """Look for a delivery in each region. Raises DeploymentError when none has it."""
    found = look_for_delivery(regions, delivery_id)
    if found is not None:
        return found
    raise DeploymentError(
        f"no delivery {delivery_id} in {_named(regions)}: it was never selected, or its row has been purged; see "
        f"`digest show {delivery_id}` for what is known"
    )


def find_absence(regions: Sequence[RegionDeployment], delivery_id: DeliveryId, *, now: datetime) -> Absence:
    """Say why a delivery has no row. Raises DeploymentError where nobody knows its customer."""
    region, rows = _find_rows(regions, delivery_id.customer_id, now=now)
    digest = delivery_id.topic is Topic.DIGEST
    profile = _profile(rows)
    schedule = rows.get(DIGEST_SCHEDULE if digest else REMINDER_SCHEDULE + delivery_id.occasion)
    why = why_never_selected(delivery_id, profile, schedule, now=now)
    return Absence(region.data_region, delivery_id, why, reason_to_skip(delivery_id, profile))


# --- a customer -------------------------------------------------------------------------------------------------------


def find_profile(regions: Sequence[RegionDeployment], customer_id: str) -> tuple[RegionDeployment, Profile]:
    """Look for a customer in each region; return the profile, and where it is. Raises DeploymentError."""
    region, rows = _find_rows(regions, customer_id)
    return region, _profile(rows)


def find_customer(
    regions: Sequence[RegionDeployment], customer_id: str, *, now: datetime, period: str | None = None
) -> Dossier:
    """Look for a customer in each region; of their weeks, only `period` if one is named.

    Raises DeploymentError when no region has them.
    """
    region, rows = _find_rows(regions, customer_id, now=now)
    return _dossier(region, rows, now, period)


def _find_rows(
    regions: Sequence[RegionDeployment], customer_id: str, *, now: datetime | None = None
) -> tuple[RegionDeployment, Mapping[str, Mapping[str, Any]]]:
    for region in regions:
        rows = {row[names.RECORD]: row for row in _rows(region, customer_id)}
        if PROFILE in rows:
            return region, rows
    at = None if now is None else _erased_at(regions, customer_id, now)
    became = "never imported, or erased; check the id" if at is None else f"erased, {utc(at)}"
    raise DeploymentError(f"no customer {customer_id} in {_named(regions)}: {became}")


def _erased_at(regions: Sequence[RegionDeployment], customer_id: str, now: datetime) -> datetime | None:
    """When a customer was erased, as far as the deliveries of the last weeks tell."""
    ids = [str(one) for one in _digest_ids(customer_id, _periods_until(now, zone("UTC")))]
    marks = [row.erased_at for region in regions for row in region.ledger.read(ids).values() if row.erased_at]
    return max(marks, default=None)


def _named(regions: Sequence[RegionDeployment]) -> str:
    return " or ".join(region.data_region for region in regions)


def _rows(region: RegionDeployment, customer_id: str) -> Iterator[Mapping[str, Any]]:
    """Profile, endpoint and schedules: one range of the partition, which leaves the activity out."""
    return customer_records(
        region.dynamodb, region.customers_table, customer_id, first=WEBHOOK_ENDPOINT, last=_AFTER_SCHEDULES
    )


def _dossier(
    region: RegionDeployment, rows: Mapping[str, Mapping[str, Any]], now: datetime, period: str | None
) -> Dossier:
    profile = _profile(rows)
    reminders = sorted(
        (row for record, row in rows.items() if record.startswith(REMINDER_SCHEDULE)),
        key=lambda row: str(row["due_at"]),
        reverse=True,
    )[:REMINDERS_SHOWN]
    digest = rows.get(DIGEST_SCHEDULE)
    schedules = [*([_digest(digest)] if digest else []), *(_reminder(row, now) for row in reminders)]
    return Dossier(
        data_region=region.data_region,
        profile=profile,
        contacts=tuple(_contact(profile, channel) for channel in Channel),
        schedules=tuple(schedules),
        deliveries=tuple(
            _deliveries(region, profile, digest, reminders, now)
            if period is None
            else _deliveries_of(region, profile, digest, period, now)
        ),
    )


def _profile(rows: Mapping[str, Mapping[str, Any]]) -> Profile:
    profile = profile_from_row(rows[PROFILE])
    return replace(profile, webhook=endpoint_from_row(rows[WEBHOOK_ENDPOINT])) if WEBHOOK_ENDPOINT in rows else profile


def _contact(profile: Profile, channel: Channel) -> Contact:
    address = profile.addresses.get(channel)
    consent = {topic: profile.consent.get((topic, channel)) for topic in Topic}
    return Contact(
        channel=str(channel),
        address=None if address is None else masked(channel, address),
        consent={str(topic): None if answer is None else str(answer) for topic, answer in consent.items()},
        suppressed=profile.suppressed.get(channel),
    )


def _next_run(row: Mapping[str, Any]) -> datetime | None:
    return from_text(row[names.NEXT_RUN_AT]) if names.NEXT_RUN_AT in row else None


def _digest(row: Mapping[str, Any]) -> ScheduleOnRecord:
    return ScheduleOnRecord(
        what="digest",
        when=f"{WEEKDAYS[row['weekday']].capitalize()}s {row['local_time']} {row['time_zone']}",
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


# --- the customer's deliveries ----------------------------------------------------------------------------------------


def _deliveries(
    region: RegionDeployment,
    profile: Profile,
    digest: Mapping[str, Any] | None,
    reminders: Sequence[Mapping[str, Any]],
    now: datetime,
) -> Iterator[Expected]:
    """The last weeks and reminders on every channel: ids follow from what they are about, so nothing is searched."""
    ids = [
        *_digest_ids(profile.customer_id, _last_periods(profile, now)),
        *(
            DeliveryId(Topic.REMINDER, profile.customer_id, row["event_id"], channel)
            for row in reminders
            for channel in Channel
        ),
    ]
    rows = region.ledger.read(str(one) for one in ids)
    for one in ids:
        delivery = rows.get(str(one))
        if delivery is not None:
            yield Expected(one, delivery, None if delivery.accepted_at else why_not(delivery))
        elif one.topic is Topic.DIGEST and digest is not None and str(one.channel) in digest["channels"]:
            yield Expected(one, None, why_never_selected(one, profile, digest, now=now))


def _deliveries_of(
    region: RegionDeployment, profile: Profile, digest: Mapping[str, Any] | None, period: str, now: datetime
) -> Iterator[Expected]:
    """One week on every channel, also on those that the schedule does not name."""
    ids = _digest_ids(profile.customer_id, [date.fromisoformat(period)])
    rows = region.ledger.read(str(one) for one in ids)
    for one in ids:
        delivery = rows.get(str(one))
        if delivery is None:
            yield Expected(one, None, why_never_selected(one, profile, digest, now=now))
        else:
            yield Expected(one, delivery, None if delivery.accepted_at else why_not(delivery))


def _digest_ids(customer_id: str, periods: Sequence[date]) -> list[DeliveryId]:
    return [
        DeliveryId(Topic.DIGEST, customer_id, period.isoformat(), channel) for period in periods for channel in Channel
    ]


def _last_periods(profile: Profile, now: datetime) -> list[date]:
    try:
        return _periods_until(now, zone(profile.time_zone))
    except UnknownTimeZoneError:
        return _periods_until(now, zone("UTC"))


def _periods_until(now: datetime, where: ZoneInfo) -> list[date]:
    newest = period_reported(now, where)
    return [newest - WEEK * back for back in range(PERIODS_SHOWN)]
