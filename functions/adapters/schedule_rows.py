"""Profiles, schedules and activity as rows of the customers table, and back."""

from __future__ import annotations

from datetime import datetime, time
from typing import TYPE_CHECKING, Any

from functions import names
from functions.core.customer import (
    ACTIVITY,
    DIGEST_SCHEDULE,
    PROFILE,
    WEBHOOK_ENDPOINT,
    Activity,
    ActivityKind,
    Consent,
    DigestSchedule,
    Obsolete,
    Profile,
    ReminderSchedule,
    Schedule,
    WallTime,
)
from functions.core.identity import Channel, Topic, shard_of
from functions.core.instants import from_text, to_text
from functions.core.webhook_endpoint import DisabledBecause, Health, SigningSecret, WebhookEndpoint

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from functions.adapters.items import Plain


def due_shard(customer_id: str, shards: int) -> str:
    """Partition of the `due` index that a customer's schedules are in."""
    return f"due#{shard_of(customer_id, shards)}"


def schedule_to_row(schedule: Schedule, *, shards: int) -> dict[str, Plain]:
    """Return the row of a schedule that will run."""
    row: dict[str, Plain] = {
        names.CUSTOMER_ID: schedule.customer_id,
        names.RECORD: schedule.record,
        "channels": [str(channel) for channel in schedule.channels],
        names.NEXT_RUN_AT: to_text(schedule.next_run_at),
        names.DUE_SHARD: due_shard(schedule.customer_id, shards),
    }
    if isinstance(schedule, DigestSchedule):
        return row | {
            "weekday": schedule.weekday,
            "local_time": schedule.local_time.isoformat("minutes"),
            "time_zone": schedule.time_zone,
        }
    local = schedule.due_local
    return row | {
        "event_id": schedule.event_id,
        "due_at": to_text(schedule.next_run_at),
        "due_local": None if local is None else local.shown.isoformat(timespec="minutes"),
        "time_zone": None if local is None else local.time_zone,
        "expires_at": to_text(schedule.expires_at),
        "subject": schedule.subject,
        "obsolete": schedule.obsolete,
    }


def schedule_from_row(row: Mapping[str, Any]) -> Schedule:
    """Read a schedule's row."""
    channels = tuple(Channel(channel) for channel in row["channels"])
    if row[names.RECORD] == DIGEST_SCHEDULE:
        return DigestSchedule(
            customer_id=row[names.CUSTOMER_ID],
            weekday=row["weekday"],
            local_time=time.fromisoformat(row["local_time"]),
            time_zone=row["time_zone"],
            channels=channels,
            next_run_at=from_text(row[names.NEXT_RUN_AT]),
        )
    return ReminderSchedule(
        customer_id=row[names.CUSTOMER_ID],
        event_id=row["event_id"],
        channels=channels,
        next_run_at=from_text(row["due_at"]),
        expires_at=from_text(row["expires_at"]),
        subject=row["subject"],
        due_local=wall_time_from_row(row),
        obsolete=Obsolete(row["obsolete"]) if "obsolete" in row else None,
    )


def wall_time_from_row(row: Mapping[str, Any]) -> WallTime | None:
    """Return the local time at which a reminder is due; None where it is due at an instant."""
    return WallTime(datetime.fromisoformat(row["due_local"]), row["time_zone"]) if "due_local" in row else None


def profile_to_row(profile: Profile) -> dict[str, Plain]:
    """Return a profile's row. Consent is one attribute per (topic, channel), so that each changes alone."""
    return {
        names.CUSTOMER_ID: profile.customer_id,
        names.RECORD: PROFILE,
        "locale": profile.locale,
        "time_zone": profile.time_zone,
        "active": profile.active,
        "addresses": {str(channel): address for channel, address in profile.addresses.items()},
        **{consent_attribute(topic, channel): str(held) for (topic, channel), held in profile.consent.items()},
        "suppressed": {str(channel): {"cause": cause} for channel, cause in profile.suppressed.items()} or None,
    }


def consent_attribute(topic: Topic, channel: Channel) -> str:
    """`consent_digest_email`."""
    return f"consent_{topic}_{channel}"


def profile_from_row(row: Mapping[str, Any]) -> Profile:
    """Read a profile's row."""
    return Profile(
        customer_id=row[names.CUSTOMER_ID],
        locale=row["locale"],
        time_zone=row["time_zone"],
        active=row.get("active", True),
        addresses={Channel(channel): address for channel, address in row.get("addresses", {}).items()},
        consent={
            (topic, channel): Consent(row[consent_attribute(topic, channel)])
            for topic in Topic
            for channel in Channel
            if consent_attribute(topic, channel) in row
        },
        suppressed={Channel(channel): held["cause"] for channel, held in row.get("suppressed", {}).items()},
    )


def endpoint_from_row(row: Mapping[str, Any]) -> WebhookEndpoint:
    """Read what is on record of a customer's webhook endpoint."""
    return WebhookEndpoint(
        secrets=tuple(
            SigningSecret(one["text"], from_text(one["ends_at"]) if "ends_at" in one else None)
            for one in row.get("secrets", [])
        ),
        health=_health_from_row(row.get("health", {})),
        version=row.get("version", 0),
    )


def endpoint_to_row(customer_id: str, endpoint: WebhookEndpoint) -> dict[str, Plain]:
    """Return the row of a customer's webhook endpoint."""
    return {
        names.CUSTOMER_ID: customer_id,
        names.RECORD: WEBHOOK_ENDPOINT,
        "secrets": secrets_to_row(endpoint.secrets),
        "health": health_to_row(endpoint.health),
        "version": endpoint.version,
    }


def secrets_to_row(secrets: Iterable[SigningSecret]) -> list[Plain]:
    """Return the attribute `secrets` of an endpoint's row."""
    return [{"text": one.text} | ({} if one.ends_at is None else {"ends_at": to_text(one.ends_at)}) for one in secrets]


def health_to_row(health: Health) -> dict[str, Plain]:
    """Return the attribute `health` of an endpoint's row."""
    return {
        "address_mark": health.address_mark,
        "failures": health.failures,
        "failing_since": _text(health.failing_since),
        "last_failure_at": _text(health.last_failure_at),
        "last_code": health.last_code,
        "disabled_at": _text(health.disabled_at),
        "disabled_because": health.disabled_because,
    }


def _health_from_row(held: Mapping[str, Any]) -> Health:
    cause = held.get("disabled_because")
    return Health(
        address_mark=held.get("address_mark", ""),
        failures=held.get("failures", 0),
        failing_since=_instant(held.get("failing_since")),
        last_failure_at=_instant(held.get("last_failure_at")),
        last_code=held.get("last_code"),
        disabled_at=_instant(held.get("disabled_at")),
        disabled_because=None if cause is None else DisabledBecause(cause),
    )


def _text(instant: datetime | None) -> str | None:
    return None if instant is None else to_text(instant)


def _instant(text: str | None) -> datetime | None:
    return None if text is None else from_text(text)


def activity_record(activity: Activity) -> str:
    """Sort key of an activity: by time, so that a period is one range."""
    return f"{ACTIVITY}{to_text(activity.occurred_at)}#{activity.activity_id}"


def activity_to_row(customer_id: str, activity: Activity, *, purge_at: int) -> dict[str, Plain]:
    """Return an activity's row."""
    return {
        names.CUSTOMER_ID: customer_id,
        names.RECORD: activity_record(activity),
        "activity_id": activity.activity_id,
        "occurred_at": to_text(activity.occurred_at),
        "kind": str(activity.kind),
        "title": activity.title,
        "amount_minor": activity.amount_minor,
        "currency": activity.currency,
        "quantity": activity.quantity,
        names.TTL: purge_at,
    }


def activity_from_row(row: Mapping[str, Any]) -> Activity:
    """Read an activity's row."""
    return Activity(
        activity_id=row["activity_id"],
        occurred_at=from_text(row["occurred_at"]),
        kind=ActivityKind(row["kind"]),
        title=row["title"],
        amount_minor=row.get("amount_minor"),
        currency=row.get("currency"),
        quantity=row.get("quantity"),
    )
