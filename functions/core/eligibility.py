"""Whether a delivery may be sent to this person, asked at the last moment before the send."""

from __future__ import annotations

from typing import TYPE_CHECKING

from functions.core.customer import Consent
from functions.core.delivery import SkipReason
from functions.core.identity import Channel

if TYPE_CHECKING:
    from functions.core.customer import Profile
    from functions.core.identity import DeliveryId


def reason_to_skip(delivery_id: DeliveryId, profile: Profile | None) -> SkipReason | None:
    """Return why this delivery must not be sent, or None if it may.

    A profile that is gone was erased; consent that was never given counts as withdrawn.
    """
    if profile is None or not profile.active:
        return SkipReason.INACTIVE
    if delivery_id.channel not in profile.addresses:
        return SkipReason.NO_ADDRESS
    if delivery_id.channel in profile.suppressed:
        return SkipReason.SUPPRESSED
    if profile.consent.get((delivery_id.topic, delivery_id.channel)) is not Consent.OPTED_IN:
        return SkipReason.OPTED_OUT
    return SkipReason.ENDPOINT_DISABLED if _is_disabled(delivery_id.channel, profile) else None


def _is_disabled(channel: Channel, profile: Profile) -> bool:
    if channel is not Channel.WEBHOOK or profile.webhook is None:
        return False
    return profile.webhook.health_at(profile.addresses[channel]).disabled_at is not None
