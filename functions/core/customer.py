"""What is held of a customer: the profile, the schedules, and what happened to them in the marketplace."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, time
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from functions.core.calendar import at_local, zone

if TYPE_CHECKING:
    from collections.abc import Mapping

    from functions.core.identity import Channel, Topic
    from functions.core.webhook_endpoint import WebhookEndpoint

PROFILE: Final = "PROFILE"
# Between the activity and the profile, so that the one query which reads both for a digest reads it too.
WEBHOOK_ENDPOINT: Final = "ENDPOINT#webhook"
DIGEST_SCHEDULE: Final = "SCHEDULE#digest"
REMINDER_SCHEDULE: Final = "SCHEDULE#reminder#"
ACTIVITY: Final = "ACTIVITY#"


class Consent(StrEnum):
    """Whether a person wants a topic on a channel. No answer is no consent."""

    OPTED_IN = "opted_in"
    OPTED_OUT = "opted_out"


class ActivityKind(StrEnum):
    """What can happen to a customer in the marketplace."""

    ORDER = "order"
    PRICE_DROP = "price_drop"
    MESSAGE = "message"


class Obsolete(StrEnum):
    """Why a reminder is not to be sent any more."""

    CANCELLED = "cancelled"
    PAID = "paid"


@dataclass(frozen=True, slots=True)
class Profile:
    """Where a customer can be reached, in which language and zone, and with whose permission.

    `repr` leaves addresses out, so that no traceback and no log line can carry one.
    """

    customer_id: str
    locale: str
    time_zone: str
    active: bool = True
    addresses: Mapping[Channel, str] = field(default_factory=dict, repr=False)
    consent: Mapping[tuple[Topic, Channel], Consent] = field(default_factory=dict)
    suppressed: Mapping[Channel, str] = field(default_factory=dict)  # channel -> cause
    webhook: WebhookEndpoint | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class DigestSchedule:
    """A weekly digest: a local weekday (Monday is 0) and time, and the instant that they next mean."""

    customer_id: str
    weekday: int
    local_time: time
    time_zone: str
    channels: tuple[Channel, ...]
    next_run_at: datetime

    @property
    def record(self) -> str:
        """Sort key of the schedule in the customer's partition."""
        return DIGEST_SCHEDULE


@dataclass(frozen=True, slots=True)
class WallTime:
    """A time as clocks show it where the customer lives, and the zone in which it was last looked up."""

    shown: datetime  # without a zone
    time_zone: str

    def instant(self) -> datetime:
        """Return the one instant that it means (`calendar.at_local`). Raises UnknownTimeZoneError."""
        return at_local(self.shown.date(), self.shown.time(), zone(self.time_zone))


@dataclass(frozen=True, slots=True)
class ReminderSchedule:
    """A reminder that falls due once: at an instant, or at a local time, whose instant is `next_run_at`."""

    customer_id: str
    event_id: str
    channels: tuple[Channel, ...]
    next_run_at: datetime
    expires_at: datetime
    subject: str = field(default="", repr=False)
    due_local: WallTime | None = None
    obsolete: Obsolete | None = None

    @property
    def record(self) -> str:
        """Sort key of the schedule in the customer's partition."""
        return REMINDER_SCHEDULE + self.event_id


Schedule = DigestSchedule | ReminderSchedule


@dataclass(frozen=True, slots=True)
class Activity:
    """One thing that happened. Amounts are in minor units of `currency` (cents)."""

    activity_id: str
    occurred_at: datetime
    kind: ActivityKind
    title: str = field(repr=False)
    amount_minor: int | None = None
    currency: str | None = None
    quantity: int | None = None
