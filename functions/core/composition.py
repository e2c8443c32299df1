"""From a delivery to the message that would be sent now, or to the reason why none should be."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from functions.core.calendar import period_bounds, zone
from functions.core.content import digest_context, render_digest, render_reminder
from functions.core.delivery import SkipReason
from functions.core.eligibility import reason_to_skip
from functions.core.identity import Topic

if TYPE_CHECKING:
    from functions.core.delivery import Delivery
    from functions.core.envelope import Envelope
    from functions.core.ports import Customers


@dataclass(frozen=True, slots=True)
class Composer:
    """Reads the customer consistently, asks whether the delivery may be sent, and renders it."""

    customers: Customers
    sender: str
    site_url: str

    def compose(self, delivery: Delivery) -> Envelope | SkipReason:
        """Return the finished message, or why there is none."""
        if delivery.delivery_id.topic is Topic.DIGEST:
            return self._digest(delivery)
        return self._reminder(delivery)

    def _digest(self, delivery: Delivery) -> Envelope | SkipReason:
        period_start = date.fromisoformat(delivery.delivery_id.occasion)
        profile, activities = self.customers.digest_material(delivery.delivery_id.customer_id, period_start)
        reason = reason_to_skip(delivery.delivery_id, profile)
        if reason is not None or profile is None:
            return reason or SkipReason.INACTIVE
        begins, ends = period_bounds(period_start, zone(profile.time_zone))
        of_the_week = [one for one in activities if begins <= one.occurred_at < ends]
        if not of_the_week:
            return SkipReason.EMPTY
        channel = delivery.delivery_id.channel
        context = digest_context(of_the_week, profile=profile, period_start=period_start, site_url=self.site_url)
        return render_digest(
            context,
            template_id=delivery.template_id,
            channel=channel,
            to=profile.addresses[channel],
            sender=self.sender,
        )

    def _reminder(self, delivery: Delivery) -> Envelope | SkipReason:
        profile, reminder = self.customers.reminder_material(
            delivery.delivery_id.customer_id, delivery.delivery_id.occasion
        )
        reason = reason_to_skip(delivery.delivery_id, profile)
        if reason is not None or profile is None:
            return reason or SkipReason.INACTIVE
        if reminder is None or reminder.cancelled:
            return SkipReason.CANCELLED
        channel = delivery.delivery_id.channel
        return render_reminder(
            reminder,
            template_id=delivery.template_id,
            channel=channel,
            to=profile.addresses[channel],
            sender=self.sender,
            site_url=self.site_url,
        )
