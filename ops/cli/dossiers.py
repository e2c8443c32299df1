"""What is on record of one delivery or one customer, found in whichever data region has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime

from functions.adapters.dossiers import (
    Absence,
    CustomerRows,
    Expected,
    ScheduleOnRecord,
    customer_rows,
    erased_at,
)
from functions.core.customer import Profile
from functions.core.delivery import Delivery
from functions.core.identity import Channel, DeliveryId, Topic
from functions.core.webhook_endpoint import Health
from functions.core.wording import utc
from ops.cli.output import masked
from ops.deployment import DeploymentError, RegionDeployment


@dataclass(frozen=True, slots=True)
class FoundDelivery:
    """A delivery, and where it is."""

    data_region: str
    delivery: Delivery


@dataclass(frozen=True, slots=True)
class Contact:
    """One channel of a customer; the address masked, consent by topic (None where nobody asked)."""

    channel: str
    address: str | None
    consent: Mapping[str, str | None]
    suppressed: str | None


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
    _, customer = _find_customer(regions, delivery_id.customer_id, now=now)
    return customer.absence(delivery_id, now=now)


# --- a customer -------------------------------------------------------------------------------------------------------


def find_profile(regions: Sequence[RegionDeployment], customer_id: str) -> tuple[RegionDeployment, Profile]:
    """Look for a customer in each region; return the profile, and where it is. Raises DeploymentError."""
    region, customer = _find_customer(regions, customer_id)
    return region, customer.profile


def find_customer(
    regions: Sequence[RegionDeployment], customer_id: str, *, now: datetime, period: str | None = None
) -> Dossier:
    """Look for a customer in each region; of their weeks, only `period` if one is named.

    Raises DeploymentError when no region has them.
    """
    region, customer = _find_customer(regions, customer_id, now=now)
    profile = customer.profile
    week = None if period is None else date.fromisoformat(period)
    return Dossier(
        data_region=region.data_region,
        profile=profile,
        contacts=tuple(_contact(profile, channel) for channel in Channel),
        schedules=customer.schedules(now),
        deliveries=tuple(customer.deliveries(now) if week is None else customer.week(week, now=now)),
    )


def _find_customer(
    regions: Sequence[RegionDeployment], customer_id: str, *, now: datetime | None = None
) -> tuple[RegionDeployment, CustomerRows]:
    for region in regions:
        customer = customer_rows(region, customer_id)
        if customer is not None:
            return region, customer
    at = None if now is None else erased_at(regions, customer_id, now)
    became = "never imported, or erased; check the id" if at is None else f"erased, {utc(at)}"
    raise DeploymentError(f"no customer {customer_id} in {_named(regions)}: {became}")


def _named(regions: Sequence[RegionDeployment]) -> str:
    return " or ".join(region.data_region for region in regions)


def _contact(profile: Profile, channel: Channel) -> Contact:
    address = profile.addresses.get(channel)
    consent = {topic: profile.consent.get((topic, channel)) for topic in Topic}
    return Contact(
        channel=str(channel),
        address=None if address is None else masked(channel, address),
        consent={str(topic): None if answer is None else str(answer) for topic, answer in consent.items()},
        suppressed=profile.suppressed.get(channel),
    )
