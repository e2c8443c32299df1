"""What would be sent now, made by the very code that sends; nothing is claimed, written or sent."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import TYPE_CHECKING, Final

from functions.adapters.composing import composer_of
from functions.adapters.customers import DynamoCustomers
from functions.adapters.environment import ConsumerEnvironment, EnvironmentFaultError
from functions.adapters.secrets import SecretError
from functions.adapters.summaries import DynamoSummaries
from functions.core.calendar import WEEK, UnknownTimeZoneError, period_reported, zone
from functions.core.composition import Composer, Moment, Quiet, Resting
from functions.core.content import template_ids
from functions.core.content.language import language_of
from functions.core.delivery import Delivery, SkipReason, Status
from functions.core.envelope import EmailEnvelope
from functions.core.identity import Channel, DeliveryId, Topic
from functions.core.keyring import FIRST, SHORTEST, Key, KeyRing, KeyRingError
from functions.core.planning import DIGEST_TEMPLATE, REMINDER_TEMPLATE
from functions.core.summarising import Summariser
from functions.core.unsubscribe_token import UnsubscribeLinks
from ops.cli.dossiers import find_customer
from ops.cli.sample_week import SENDERS, SITE_URL, SampleCustomers
from ops.deployment import DeploymentError, RegionDeployment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from functions.core.customer import Profile
    from functions.core.envelope import Envelope
    from functions.core.summary import SummaryNote

_TEMPLATE_OF: Final = {Topic.DIGEST: DIGEST_TEMPLATE, Topic.REMINDER: REMINDER_TEMPLATE}
_SAMPLE_LINK: Final = UnsubscribeLinks(f"{SITE_URL}/unsubscribe", lambda: KeyRing((Key(FIRST, b"s" * SHORTEST),)))


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be shown. `period` and `event_id` None: the last whole week's digest."""

    channel: Channel
    period: date | None
    event_id: str | None
    template_id: str | None

    @property
    def topic(self) -> Topic:
        """Digest or reminder."""
        return Topic.DIGEST if self.event_id is None else Topic.REMINDER


@dataclass(frozen=True, slots=True)
class Preview:
    """A message, or why there is none. `waits_until`: quiet hours, or the endpoint rests.

    `summary_to_come`: a model will be asked for one right before the first attempt, and nobody asks it for a look.
    """

    delivery: Delivery
    data_region: str | None
    language: str
    envelope: Envelope | None = field(repr=False)
    reason: SkipReason | None
    waits_until: datetime | None
    summary_to_come: bool = False

    @property
    def summary(self) -> SummaryNote | None:
        """What became of the summary, where the message is an email that was to have one."""
        return self.envelope.summary if isinstance(self.envelope, EmailEnvelope) else None


def preview_customer(
    regions: Sequence[RegionDeployment], customer_id: str, wanted: Wanted, *, now: datetime
) -> Preview:
    """Compose for a customer, with the settings that the channel's consumer is deployed with.

    Raises DeploymentError when the customer, or what the message needs, is not there.
    """
    dossier = find_customer(regions, customer_id, now=now)
    (region,) = (one for one in regions if one.data_region == dossier.data_region)
    customers = DynamoCustomers(region.dynamodb, region.customers_table)
    if wanted.event_id is not None and customers.reminder_material(customer_id, wanted.event_id)[1] is None:
        raise DeploymentError(
            f"no reminder {wanted.event_id} of {customer_id} in {region.data_region}; "
            f"`digest show --customer {customer_id}` lists those that there are"
        )
    try:
        delivery_id = _delivery_id(dossier.profile, wanted, now)
        row = region.ledger.read([str(delivery_id)]).get(str(delivery_id))
        delivery = row or _as_if_planned(delivery_id, now)
        environment = _environment(region, wanted.channel)
        summariser = Summariser(DynamoSummaries(region.dynamodb, region.customers_table), looks_ahead=True)
        composer = composer_of(environment, customers, lambda: region.secrets_manager, summariser)
        preview = _compose(composer, delivery, wanted, dossier.profile, now)
    except (SecretError, KeyRingError) as error:
        raise DeploymentError(
            f"the link to unsubscribe needs its keys ({error}): use a role that may read the region's secret"
        ) from None
    except UnknownTimeZoneError as error:
        raise DeploymentError(f"{error}; import the customer again") from None
    to_come = environment.summary is not None and delivery.attempt == 0 and preview.summary is None
    return replace(preview, data_region=region.data_region, summary_to_come=to_come)


def preview_sample(locale: str, wanted: Wanted, *, now: datetime) -> Preview:
    """Compose for somebody who is not there; needs no deployment."""
    customers = SampleCustomers(locale, now)
    composer = Composer(customers, SENDERS[wanted.channel], SITE_URL, unsubscribe=_SAMPLE_LINK)
    delivery = _as_if_planned(_delivery_id(customers.profile, wanted, now), now)
    return _compose(composer, delivery, wanted, customers.profile, now)


def versions_of(topic: Topic) -> tuple[str, ...]:
    """Templates that can say a topic."""
    stem = _stem(_TEMPLATE_OF[topic])
    return tuple(one for one in template_ids() if _stem(one) == stem)


def _stem(template_id: str) -> str:
    return template_id.rpartition("-v")[0]


def _environment(region: RegionDeployment, channel: Channel) -> ConsumerEnvironment:
    try:
        return ConsumerEnvironment.load(region.consumer_variables(channel))
    except (EnvironmentFaultError, KeyError):
        raise DeploymentError(
            f"the {channel} consumer in {region.data_region} is of another release: deploy it again with "
            f"`npx cdk deploy {region.stack_name}`"
        ) from None


def _compose(composer: Composer, delivery: Delivery, wanted: Wanted, profile: Profile, now: datetime) -> Preview:
    if wanted.template_id is not None:
        delivery = replace(delivery, template_id=wanted.template_id)
    composed = composer.compose(delivery, Moment(now, now))
    waits_until = None
    if isinstance(composed, Quiet | Resting):
        waits_until = composed.until
        composed = replace(composer, quiet_hours=None, spares_endpoints=False).compose(delivery, Moment(now, now))
    skipped = isinstance(composed, SkipReason)
    return Preview(
        delivery,
        data_region=None,
        language=language_of(profile.locale).code,
        envelope=None if isinstance(composed, SkipReason | Quiet | Resting) else composed,
        reason=composed if isinstance(composed, SkipReason) else None,
        waits_until=None if skipped else waits_until,
    )


def _delivery_id(profile: Profile, wanted: Wanted, now: datetime) -> DeliveryId:
    if wanted.event_id is not None:
        return DeliveryId(Topic.REMINDER, profile.customer_id, wanted.event_id, wanted.channel)
    period = wanted.period or period_reported(now, zone(profile.time_zone))
    return DeliveryId(Topic.DIGEST, profile.customer_id, period.isoformat(), wanted.channel)


def _as_if_planned(delivery_id: DeliveryId, now: datetime) -> Delivery:
    return Delivery(
        delivery_id=delivery_id,
        template_id=_TEMPLATE_OF[delivery_id.topic],
        period=period_reported(now, zone("UTC")).isoformat(),
        status=Status.PLANNED,
        due_at=now,
        selected_at=now,
        expires_at=now + WEEK,
    )
