"""From a delivery to the message that would be sent now, or to the reason why none should be."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, TypeAlias

from functions.core.calendar import period_bounds, zone
from functions.core.content import (
    digest_context,
    digest_payload,
    reminder_context,
    reminder_payload,
    render_digest,
    render_reminder,
)
from functions.core.delivery import SkipReason
from functions.core.eligibility import reason_to_skip
from functions.core.envelope import EmailEnvelope, WebhookEnvelope
from functions.core.identity import Channel, Topic
from functions.core.text_segments import SMS_SEGMENTS
from functions.core.unsubscribe_token import one_click_headers
from functions.core.webhook_endpoint import WebhookEndpoint

if TYPE_CHECKING:
    from datetime import datetime

    from functions.core.allow_list import AllowList
    from functions.core.customer import Profile
    from functions.core.delivery import Delivery
    from functions.core.envelope import Envelope
    from functions.core.ports import Customers
    from functions.core.quiet_hours import QuietHours
    from functions.core.summarising import Summariser
    from functions.core.summary import Summary
    from functions.core.unsubscribe_token import UnsubscribeLinks


@dataclass(frozen=True, slots=True)
class Quiet:
    """The person is to be left alone until then. Waiting is not an attempt."""

    until: datetime


@dataclass(frozen=True, slots=True)
class Resting:
    """The customer's endpoint has failed again and again, and is not called until then. No attempt either."""

    until: datetime


Composed: TypeAlias = "Envelope | SkipReason | Quiet | Resting"


@dataclass(frozen=True, slots=True)
class Moment:
    """When a send would begin: now, or up to `latest` if it has to wait for its turn."""

    now: datetime
    latest: datetime


@dataclass(frozen=True, slots=True)
class Composer:
    """Reads the customer consistently, asks whether the delivery may be sent, and renders it.

    `quiet_hours` None: the channel has none. `allow_list` None: everybody may be written to. `sms_segments`: how
    long a text message may be. `unsubscribe` None: emails without a link to leave, which only a trial may be.
    `spares_endpoints` False: endpoints that keep failing are not given a rest, which only a look ahead may do.
    `summariser` None: digests never have a summary; where there is one, those that go out by email may.
    """

    customers: Customers
    sender: str
    site_url: str
    quiet_hours: QuietHours | None = None
    allow_list: AllowList | None = None
    sms_segments: int = SMS_SEGMENTS
    unsubscribe: UnsubscribeLinks | None = None
    spares_endpoints: bool = True
    summariser: Summariser | None = None

    def compose(self, delivery: Delivery, moment: Moment) -> Composed:
        """Return the finished message, or why there is none, or until when person or endpoint is to be left alone."""
        if delivery.delivery_id.topic is Topic.DIGEST:
            return self._digest(delivery, moment)
        return self._reminder(delivery, moment)

    def _digest(self, delivery: Delivery, moment: Moment) -> Composed:
        period_start = date.fromisoformat(delivery.delivery_id.occasion)
        profile, activities = self.customers.digest_material(delivery.delivery_id.customer_id, period_start)
        reason = self._reason_to_skip(delivery, profile)
        if reason is not None or profile is None:
            return reason or SkipReason.INACTIVE
        begins, ends = period_bounds(period_start, zone(profile.time_zone))
        of_the_week = [one for one in activities if begins <= one.occurred_at < ends]
        if not of_the_week:
            return SkipReason.EMPTY
        if (wait := self._wait(delivery, profile, moment)) is not None:
            return wait
        channel = delivery.delivery_id.channel
        if channel is Channel.WEBHOOK:
            payload = digest_payload(
                of_the_week, delivery=delivery, profile=profile, period_start=period_start, site_url=self.site_url
            )
            return _to_endpoint(profile, payload)
        link = self._unsubscribe_link(delivery)
        context = digest_context(
            of_the_week, profile=profile, period_start=period_start, site_url=self.site_url, unsubscribe_url=link
        )
        summary = None
        if self.summariser is not None and channel is Channel.EMAIL:
            summary = self.summariser.summary_for(delivery, context, moment)
        envelope = render_digest(
            context if summary is None else replace(context, summary=summary.text),
            template_id=delivery.template_id,
            channel=channel,
            to=profile.addresses[channel],
            sender=self.sender,
            sms_segments=self.sms_segments,
        )
        return _with_note(_with_one_click(envelope, link), summary)

    def _reminder(self, delivery: Delivery, moment: Moment) -> Composed:
        profile, reminder = self.customers.reminder_material(
            delivery.delivery_id.customer_id, delivery.delivery_id.occasion
        )
        reason = self._reason_to_skip(delivery, profile)
        if reason is not None or profile is None:
            return reason or SkipReason.INACTIVE
        if reminder is None:
            return SkipReason.CANCELLED
        if reminder.obsolete is not None:
            return SkipReason(reminder.obsolete)
        if (wait := self._wait(delivery, profile, moment)) is not None:
            return wait
        channel = delivery.delivery_id.channel
        if channel is Channel.WEBHOOK:
            return _to_endpoint(profile, reminder_payload(reminder, delivery=delivery, site_url=self.site_url))
        link = self._unsubscribe_link(delivery)
        envelope = render_reminder(
            reminder_context(reminder, profile=profile, site_url=self.site_url, unsubscribe_url=link),
            template_id=delivery.template_id,
            channel=channel,
            to=profile.addresses[channel],
            sender=self.sender,
            sms_segments=self.sms_segments,
        )
        return _with_one_click(envelope, link)

    def _reason_to_skip(self, delivery: Delivery, profile: Profile | None) -> SkipReason | None:
        reason = reason_to_skip(delivery.delivery_id, profile)
        if reason is not None or profile is None or self.allow_list is None:
            return reason
        allowed = self.allow_list.allows(profile.addresses[delivery.delivery_id.channel])
        return None if allowed else SkipReason.NOT_ON_ALLOW_LIST

    def _unsubscribe_link(self, delivery: Delivery) -> str | None:
        # A text is answered with STOP instead: the link would take most of its room.
        if self.unsubscribe is None or delivery.delivery_id.channel is not Channel.EMAIL:
            return None
        return self.unsubscribe.link(delivery)

    def _wait(self, delivery: Delivery, profile: Profile, moment: Moment) -> SkipReason | Quiet | Resting | None:
        if delivery.delivery_id.channel is Channel.WEBHOOK and profile.webhook is not None and self.spares_endpoints:
            until = profile.webhook.health_at(profile.addresses[Channel.WEBHOOK]).rests_until(moment.now)
            if until is not None:
                return Resting(until)
        return self._quiet(delivery, profile, moment)

    def _quiet(self, delivery: Delivery, profile: Profile, moment: Moment) -> SkipReason | Quiet | None:
        if self.quiet_hours is None:
            return None
        where = zone(profile.time_zone)
        over_at = self.quiet_hours.over_at(moment.now, where) or self.quiet_hours.over_at(moment.latest, where)
        if over_at is None:
            return None
        return Quiet(over_at) if over_at < delivery.expires_at else SkipReason.QUIET


def _to_endpoint(profile: Profile, body: str) -> WebhookEnvelope:
    return WebhookEnvelope(profile.addresses[Channel.WEBHOOK], body, profile.webhook or WebhookEndpoint())


def _with_one_click(envelope: Envelope, link: str | None) -> Envelope:
    if link is None or not isinstance(envelope, EmailEnvelope):
        return envelope
    return replace(envelope, headers=one_click_headers(link))


def _with_note(envelope: Envelope, summary: Summary | None) -> Envelope:
    if summary is None or not isinstance(envelope, EmailEnvelope):
        return envelope
    return replace(envelope, summary=summary.note)
