"""The functions' environment, read once at start into a validated, frozen object."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Json,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from functions.core.allow_list import AllowList
from functions.core.identity import Channel
from functions.core.quiet_hours import QuietHours
from functions.core.text_segments import SMS_SEGMENTS
from functions.core.webhook_endpoint import DISABLE_AFTER

if TYPE_CHECKING:
    from collections.abc import Mapping


class EnvironmentFaultError(Exception):
    """The function was deployed with an environment that it cannot run in; the text names the variables."""


def _listed(value: object) -> object:
    return [part for part in value.split(",") if part] if isinstance(value, str) else value


def _quiet_hours(value: object) -> object:
    return (QuietHours.parse(value) if value else None) if isinstance(value, str) else value


def _recipients(value: object) -> object:
    listed = json.loads(value) if isinstance(value, str) else value
    return AllowList(tuple(listed)) if isinstance(listed, list) else listed


Seconds = Annotated[int, Field(ge=0)]
LOOKUP_TIMEOUT_S: Final = 3.0
Pauses = Annotated[tuple[Seconds, ...], BeforeValidator(_listed)]


@dataclass(frozen=True, slots=True)
class ProviderChoice:
    """A provider as the settings name it: options as JSON text, and the seconds it may take to answer."""

    name: str
    options: str
    timeout_s: float


class Environment(BaseModel):
    """What every function has. A field's name is its variable's (`functions/names.py`), in small letters."""

    # A function loads one of these: the others need not be built when it starts.
    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)

    data_region: str = Field(min_length=1)

    @classmethod
    def load(cls, variables: Mapping[str, str] = os.environ) -> Self:
        """Read and check the environment. Raises EnvironmentFaultError, without values: some of them may be secret."""
        try:
            return cls.model_validate({name.lower(): value for name, value in variables.items()})
        except ValidationError as error:
            faults = "; ".join(
                f"{str(detail['loc'][0]).upper()}: {detail['msg']}" for detail in error.errors(include_input=False)
            )
            raise EnvironmentFaultError(faults) from None


class CommonEnvironment(Environment):
    """What the functions need that work on the tables."""

    customers_table: str = Field(min_length=1)
    deliveries_table: str = Field(min_length=1)
    control_table: str = Field(min_length=1)
    shards: int = Field(ge=1)
    keep_deliveries_days: int = Field(ge=1)


class PublisherEnvironment(CommonEnvironment):
    """What functions need that put ids on the queues."""

    email_queue_url: str = Field(min_length=1)
    sms_queue_url: str = Field(min_length=1)
    webhook_queue_url: str = Field(min_length=1)

    @property
    def queue_urls(self) -> Mapping[Channel, str]:
        """URL of each channel's queue."""
        return {
            Channel.EMAIL: self.email_queue_url,
            Channel.SMS: self.sms_queue_url,
            Channel.WEBHOOK: self.webhook_queue_url,
        }


class PlannerEnvironment(PublisherEnvironment):
    """What the planner needs."""

    attention_after_s: Seconds
    expires_after_s: Seconds
    max_lateness_s: Seconds
    surge_factor: float = Field(ge=1)
    surge_floor: int = Field(ge=1)


class PacedEnvironment(PublisherEnvironment):
    """What functions need that know how fast each channel sends."""

    email_rate_per_second: float = Field(gt=0)
    sms_rate_per_second: float = Field(gt=0)
    webhook_rate_per_second: float = Field(gt=0)

    @property
    def rates(self) -> Mapping[Channel, float]:
        """Sends a second of each channel."""
        return {
            Channel.EMAIL: self.email_rate_per_second,
            Channel.SMS: self.sms_rate_per_second,
            Channel.WEBHOOK: self.webhook_rate_per_second,
        }


class DeskEnvironment(PacedEnvironment):
    """What it takes to draw the dashboards' widgets."""

    email_dead_letter_queue_url: str = Field(min_length=1)
    sms_dead_letter_queue_url: str = Field(min_length=1)
    webhook_dead_letter_queue_url: str = Field(min_length=1)

    @property
    def dead_letter_queue_urls(self) -> Mapping[Channel, str]:
        """URL of each channel's dead-letter queue."""
        return {
            Channel.EMAIL: self.email_dead_letter_queue_url,
            Channel.SMS: self.sms_dead_letter_queue_url,
            Channel.WEBHOOK: self.webhook_dead_letter_queue_url,
        }


class WidgetsEnvironment(DeskEnvironment):
    """What the function needs that draws widgets."""

    operate_function: str = Field(min_length=1)  # ARN of the one that does what their buttons say


class OperateEnvironment(DeskEnvironment):
    """What the function needs that does what the widgets' buttons say."""

    widgets_function: str = Field(min_length=1)  # ARN of the one that draws them


class ReconcilerEnvironment(PacedEnvironment):
    """What the reconciler needs."""

    silence_after_s: Seconds
    expires_after_s: Seconds
    interval_s: int = Field(ge=1)
    email_provider: str
    email_provider_options: str = "{}"
    sms_provider: str
    sms_provider_options: str = "{}"
    webhook_provider: str
    webhook_provider_options: str = "{}"
    receipt_channels: Annotated[tuple[Channel, ...], BeforeValidator(_listed)] = ()
    receipt_silence_s: Seconds = 0

    @property
    def providers(self) -> Mapping[Channel, ProviderChoice]:
        """Provider of each channel."""
        return {
            Channel.EMAIL: ProviderChoice(self.email_provider, self.email_provider_options, LOOKUP_TIMEOUT_S),
            Channel.SMS: ProviderChoice(self.sms_provider, self.sms_provider_options, LOOKUP_TIMEOUT_S),
            Channel.WEBHOOK: ProviderChoice(self.webhook_provider, self.webhook_provider_options, LOOKUP_TIMEOUT_S),
        }


class ReceiptsEnvironment(CommonEnvironment):
    """What the function needs that takes in what providers say afterwards."""

    queue_url: str = Field(min_length=1)
    backoff_s: Pauses
    soft_bounces: int = Field(ge=1)
    soft_bounce_window_s: Seconds
    brake_after: int = Field(ge=1)
    brake_bounces_percent: float = Field(gt=0)
    brake_complaints_percent: float = Field(gt=0)


class ReceiptIntakeEnvironment(Environment):
    """What the function needs at which an email provider's webhooks arrive."""

    receipts_queue_url: str = Field(min_length=1)
    webhook_secret: str = Field(min_length=1, repr=False)  # the name of the secret


class SmokeEndpointEnvironment(Environment):
    """What the endpoint needs that the check after a deployment calls."""

    customers_table: str = Field(min_length=1)
    control_table: str = Field(min_length=1)


class UnsubscribeEnvironment(Environment):
    """What the page needs at which people leave."""

    customers_table: str = Field(min_length=1)
    unsubscribe_keys: str = Field(min_length=1)  # the name of the secret
    opt_out_keys: str = Field(min_length=1)  # the name of the secret
    site_url: str = Field(min_length=1)


class InboundEnvironment(Environment):
    """What the function needs at which texts arrive that customers send."""

    customers_table: str = Field(min_length=1)
    number_keys: str = Field(min_length=1)  # the name of the secret
    opt_out_keys: str = Field(min_length=1)  # the name of the secret
    queue_url: str = Field(min_length=1)
    backoff_s: Pauses


class SummaryOptions(BaseModel):
    """How digests are summarised. Tokens are counted in and out; `tokens_per_period` is a week's in this region."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model_id: str = Field(min_length=1)
    prompt_version: str = Field(min_length=1)
    max_output_tokens: int = Field(ge=1)
    temperature: float | None = Field(default=None, ge=0, le=1)
    tokens_per_digest: int = Field(ge=1)
    tokens_per_period: int = Field(ge=1)
    timeout_s: int = Field(ge=1)


class ChannelEnvironment(CommonEnvironment):
    """What the functions need that send a channel's deliveries."""

    channel: Channel
    provider: str
    provider_options: str = "{}"
    sender: str = Field(repr=False)  # empty for webhooks: who sent one is told by its signature
    site_url: str = Field(min_length=1)
    backoff_s: Pauses
    send_timeout_s: int = Field(ge=1)
    rate_per_second: float = Field(gt=0)
    disable_after_s: Seconds = int(DISABLE_AFTER.total_seconds())
    quiet_hours: Annotated[QuietHours | None, BeforeValidator(_quiet_hours)] = None
    recipients: Annotated[AllowList | None, BeforeValidator(_recipients), Field(repr=False)] = None
    sms_segments: int = Field(default=SMS_SEGMENTS, ge=1)
    summary: Json[SummaryOptions] | None = None  # None: digests have no summary
    unsubscribe_url: str | None = None
    unsubscribe_keys: str | None = Field(default=None, validate_default=True)

    @field_validator("sender")
    @classmethod
    def _for_people(cls, sender: str, info: ValidationInfo) -> str:
        if not sender and info.data.get("channel") is not Channel.WEBHOOK:
            msg = "must say who messages to people come from"
            raise ValueError(msg)
        return sender

    @field_validator("unsubscribe_keys")
    @classmethod
    def _with_its_url(cls, keys: str | None, info: ValidationInfo) -> str | None:
        if (keys is None) != (info.data.get("unsubscribe_url") is None):
            msg = "belongs to UNSUBSCRIBE_URL: both, or neither"
            raise ValueError(msg)
        return keys

    @property
    def choice(self) -> ProviderChoice:
        """The channel's provider."""
        return ProviderChoice(self.provider, self.provider_options, self.send_timeout_s)


class ConsumerEnvironment(ChannelEnvironment):
    """What a channel's consumer needs, which takes its messages off a queue."""

    queue_url: str = Field(min_length=1)


class WorkerEnvironment(ChannelEnvironment):
    """What a channel's worker needs, at which an HTTP queue pushes jobs. Without a secret AWS IAM lets them in."""

    signing_secret: str | None = Field(default=None, min_length=1, repr=False)  # the name of the secret
