"""Suppressed channels in memory, on the profiles of `InMemoryCustomers`, as the table keeps them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime

from functions.core.identity import Channel, DeliveryId
from functions.core.receipts import SoftBounce, SuppressionCause, lighter_than
from tests.fakes.customers import InMemoryCustomers


class InMemorySuppressions:
    """`Suppressions`. A cause replaces a lighter one only; what happened before a person's clearing does not count."""

    def __init__(self, customers: InMemoryCustomers) -> None:
        self.customers = customers
        self.cleared: dict[tuple[str, Channel], datetime] = {}
        self.bounces: dict[tuple[str, Channel], set[SoftBounce]] = {}

    def suppress(
        self,
        customer_id: str,
        channel: Channel,
        cause: SuppressionCause,
        *,
        at: datetime,
        code: str,  # noqa: ARG002 - kept for people to read
    ) -> bool:
        profile = self.customers.profiles.get(customer_id)
        if profile is None or self._is_cleared(customer_id, channel, at):
            return False
        held = profile.suppressed.get(channel)
        if held is not None and held not in lighter_than(cause):
            return False
        self.customers.add(replace(profile, suppressed={**profile.suppressed, channel: str(cause)}))
        return True

    def clear(self, customer_id: str, channel: Channel, *, at: datetime) -> bool:
        profile = self.customers.profiles.get(customer_id)
        if profile is None or channel not in profile.suppressed:
            return False
        others = {one: cause for one, cause in profile.suppressed.items() if one is not channel}
        self.customers.add(replace(profile, suppressed=others))
        self.cleared[customer_id, channel] = at
        self.bounces.pop((customer_id, channel), None)
        return True

    def withdraw(self, customer_id: str, channel: Channel, cause: SuppressionCause) -> bool:
        profile = self.customers.profiles.get(customer_id)
        if profile is None or profile.suppressed.get(channel) != cause:
            return False
        others = {one: held for one, held in profile.suppressed.items() if one is not channel}
        self.customers.add(replace(profile, suppressed=others))
        return True

    def note_soft_bounce(self, delivery_id: DeliveryId, *, at: datetime, since: datetime) -> Collection[SoftBounce]:
        key = (delivery_id.customer_id, delivery_id.channel)
        if delivery_id.customer_id not in self.customers.profiles or self._is_cleared(*key, at):
            return set()
        noted = {*self.bounces.get(key, set()), SoftBounce(at, str(delivery_id))}
        self.bounces[key] = {one for one in noted if one.at >= since}
        return self.bounces[key]

    def forget_soft_bounces(self, delivery_id: DeliveryId) -> Collection[SoftBounce]:
        key = (delivery_id.customer_id, delivery_id.channel)
        self.bounces[key] = {one for one in self.bounces.get(key, set()) if one.delivery_id != str(delivery_id)}
        return self.bounces[key]

    def _is_cleared(self, customer_id: str, channel: Channel, at: datetime) -> bool:
        cleared = self.cleared.get((customer_id, channel))
        return cleared is not None and cleared >= at
