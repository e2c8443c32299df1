"""Customers, schedules, deliveries and outcomes to start a scenario from. Each takes what the scenario is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final

from functions.core.customer import (
    Activity,
    ActivityKind,
    Consent,
    DigestSchedule,
    Obsolete,
    Profile,
    ReminderSchedule,
    WallTime,
)
from functions.core.delivery import Delivery, Failure, FailureClass, Status
from functions.core.identity import Channel, DeliveryId, Topic
from functions.core.outcome import Outcome, OutcomeClass
from functions.core.planning import DIGEST_TEMPLATE, REMINDER_TEMPLATE, SchedulePlan
from functions.core.ports import Claim
from functions.core.webhook_endpoint import SigningSecret, WebhookEndpoint
from tests.fakes.clock import SUNDAY_EVENING

CUSTOMER: Final = "c-417"
PERIOD: Final = date(2026, 11, 16)  # the last whole week before SUNDAY_EVENING
EMAIL_ADDRESS: Final = "canary.person@example.com"
PHONE_NUMBER: Final = "+15550104170"
WEBHOOK_URL: Final = "https://hooks.example.com/canary-token-4170"
WEBHOOK_SECRET: Final = "whsec_Y2FuYXJ5LXNlY3JldC00MTcwLWNhbmFyeS1zZWNyZXQ="
ADDRESSES: Final = {Channel.EMAIL: EMAIL_ADDRESS, Channel.SMS: PHONE_NUMBER, Channel.WEBHOOK: WEBHOOK_URL}
AN_ENDPOINT: Final = WebhookEndpoint(secrets=(SigningSecret(WEBHOOK_SECRET),))
SITE_URL: Final = "https://shop.example.com"
BOTH: Final = (Channel.EMAIL, Channel.SMS)
ACCEPTED: Final = Outcome(OutcomeClass.ACCEPTED, "ok", "reference-1")
EXPIRES_AFTER: Final = timedelta(hours=72)
EVERYTHING_WANTED: Final = {(topic, channel): Consent.OPTED_IN for topic in Topic for channel in Channel}


def a_profile(customer_id: str = CUSTOMER, **differing: Any) -> Profile:
    profile = Profile(
        customer_id=customer_id,
        locale="en",
        time_zone="America/New_York",
        addresses=ADDRESSES,
        consent=EVERYTHING_WANTED,
    )
    return replace(profile, **differing)


def a_digest_schedule(
    customer_id: str = CUSTOMER,
    *,
    channels: Sequence[Channel] = BOTH,
    time_zone: str = "America/New_York",
    next_run_at: datetime = SUNDAY_EVENING,
) -> DigestSchedule:
    """Sundays at 15:00 in New York, which is 20:00 UTC in November."""
    return DigestSchedule(
        customer_id=customer_id,
        weekday=6,
        local_time=time(15),
        time_zone=time_zone,
        channels=tuple(channels),
        next_run_at=next_run_at,
    )


def a_reminder(
    customer_id: str = CUSTOMER,
    event_id: str = "invoice-9",
    *,
    subject: str = "Pay invoice 9",
    next_run_at: datetime = SUNDAY_EVENING,
    due_local: WallTime | None = None,
    obsolete: Obsolete | None = None,
) -> ReminderSchedule:
    return ReminderSchedule(
        customer_id=customer_id,
        event_id=event_id,
        channels=BOTH,
        next_run_at=next_run_at,
        expires_at=next_run_at + EXPIRES_AFTER,
        subject=subject,
        due_local=due_local,
        obsolete=obsolete,
    )


def an_activity(
    activity_id: str = "a-1", *, occurred_at: datetime | None = None, kind: ActivityKind = ActivityKind.ORDER
) -> Activity:
    """An order of the period, unless the scenario says otherwise."""
    money: Mapping[str, Any] = {} if kind is ActivityKind.MESSAGE else {"amount_minor": 1177, "currency": "USD"}
    return Activity(
        activity_id=activity_id,
        occurred_at=occurred_at or datetime(2026, 11, 18, 12, tzinfo=UTC),
        kind=kind,
        title="Canary blue lamp",
        quantity=1 if kind is ActivityKind.ORDER else None,
        **money,
    )


def a_delivery(
    customer_id: str = CUSTOMER,
    *,
    channel: Channel = Channel.EMAIL,
    status: Status = Status.PLANNED,
    topic: Topic = Topic.DIGEST,
    **differing: Any,
) -> Delivery:
    """Selected at SUNDAY_EVENING, for the week of PERIOD."""
    occasion = PERIOD.isoformat() if topic is Topic.DIGEST else "invoice-9"
    delivery = Delivery(
        delivery_id=DeliveryId(topic, customer_id, occasion, channel),
        template_id=DIGEST_TEMPLATE if topic is Topic.DIGEST else REMINDER_TEMPLATE,
        period=PERIOD.isoformat(),
        status=status,
        due_at=SUNDAY_EVENING,
        selected_at=SUNDAY_EVENING,
        expires_at=SUNDAY_EVENING + EXPIRES_AFTER,
        attention_at=SUNDAY_EVENING + timedelta(minutes=5),
    )
    return replace(delivery, **differing)


def a_sending_delivery(*, lease_until: datetime = SUNDAY_EVENING + timedelta(seconds=30), **differing: Any) -> Delivery:
    return a_delivery(
        status=Status.SENDING,
        attempt=1,
        lease_until=lease_until,
        claimed_by="request-1",
        enqueued_at=SUNDAY_EVENING,
        **differing,
    )


def an_exhausted_delivery(**differing: Any) -> Delivery:
    return a_delivery(
        status=Status.DEAD_LETTER,
        attempt=6,
        failure=Failure(FailureClass.EXHAUSTED, "ServiceUnavailable", SUNDAY_EVENING),
        **differing,
    )


def a_rejected_delivery(**differing: Any) -> Delivery:
    return a_delivery(
        status=Status.DEAD_LETTER,
        attempt=1,
        failure=Failure(FailureClass.REJECTED, "InvalidParameter", SUNDAY_EVENING),
        **differing,
    )


def a_plan(*deliveries: Delivery, customer_id: str = CUSTOMER, next_run_at: datetime | None = None) -> SchedulePlan:
    """What a customer's digest schedule turns into: these rows, and its next run a week later."""
    schedule = a_digest_schedule(customer_id)
    return SchedulePlan(schedule, deliveries, next_run_at or schedule.next_run_at + timedelta(days=7))


def a_claim(
    *,
    owner: str = "request-1",
    at: datetime = SUNDAY_EVENING,
    lease: timedelta = timedelta(seconds=30),
    last_receive: bool = False,
) -> Claim:
    return Claim(
        at=at,
        lease_until=at + lease,
        owner=owner,
        provider="fake",
        fingerprint="f" * 64,
        last_receive=last_receive,
    )


def in_unfinished_states() -> Sequence[Delivery]:
    """One row for every state that is not an end."""
    return (
        a_delivery(),
        a_delivery(status=Status.QUEUED, enqueued_at=SUNDAY_EVENING),
        a_sending_delivery(),
        a_delivery(status=Status.RETRYABLE, attempt=1, next_attempt_at=SUNDAY_EVENING),
        a_delivery(status=Status.UNCERTAIN, attempt=1),
        an_exhausted_delivery(),
    )
