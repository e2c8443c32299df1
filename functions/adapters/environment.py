"""The functions' environment, read once at start into a validated, frozen object."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from functions import names
from functions.core.identity import Channel

if TYPE_CHECKING:
    from collections.abc import Mapping


class EnvironmentFaultError(Exception):
    """The function was deployed with an environment that it cannot run in; the text names the variables."""


def _seconds(value: object) -> object:
    return [part for part in value.split(",") if part] if isinstance(value, str) else value


Seconds = Annotated[int, Field(ge=0)]
Pauses = Annotated[tuple[Seconds, ...], BeforeValidator(_seconds)]


class CommonEnvironment(BaseModel):
    """What every function needs."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    data_region: str = Field(alias=names.ENV_DATA_REGION, min_length=1)
    customers_table: str = Field(alias=names.ENV_CUSTOMERS_TABLE, min_length=1)
    deliveries_table: str = Field(alias=names.ENV_DELIVERIES_TABLE, min_length=1)
    control_table: str = Field(alias=names.ENV_CONTROL_TABLE, min_length=1)
    shards: int = Field(alias=names.ENV_SHARDS, ge=1)
    keep_deliveries_days: int = Field(alias=names.ENV_KEEP_DELIVERIES_DAYS, ge=1)

    @classmethod
    def load(cls, variables: Mapping[str, str] = os.environ) -> Self:
        """Read and check the environment. Raises EnvironmentFaultError, without values: some of them may be secret."""
        try:
            return cls.model_validate(dict(variables))
        except ValidationError as error:
            faults = "; ".join(f"{detail['loc'][0]}: {detail['msg']}" for detail in error.errors(include_input=False))
            raise EnvironmentFaultError(faults) from None


class PublisherEnvironment(CommonEnvironment):
    """What functions need that put ids on the queues."""

    email_queue_url: str = Field(alias=names.queue_url_env("email"), min_length=1)
    sms_queue_url: str = Field(alias=names.queue_url_env("sms"), min_length=1)
    attention_after_s: Seconds = Field(alias=names.ENV_ATTENTION_AFTER_S)

    @property
    def queue_urls(self) -> Mapping[Channel, str]:
        """URL of each channel's queue."""
        return {Channel.EMAIL: self.email_queue_url, Channel.SMS: self.sms_queue_url}


class PlannerEnvironment(PublisherEnvironment):
    """What the planner needs."""

    expires_after_s: Seconds = Field(alias=names.ENV_EXPIRES_AFTER_S)
    max_lateness_s: Seconds = Field(alias=names.ENV_MAX_LATENESS_S)


class ReconcilerEnvironment(PublisherEnvironment):
    """What the reconciler needs."""

    silence_after_s: Seconds = Field(alias=names.ENV_SILENCE_AFTER_S)
    email_provider: str = Field(alias=names.provider_env("email"))
    sms_provider: str = Field(alias=names.provider_env("sms"))

    @property
    def providers(self) -> Mapping[Channel, str]:
        """Provider of each channel."""
        return {Channel.EMAIL: self.email_provider, Channel.SMS: self.sms_provider}


class ConsumerEnvironment(CommonEnvironment):
    """What a channel's consumer needs."""

    channel: Channel = Field(alias=names.ENV_CHANNEL)
    queue_url: str = Field(alias=names.ENV_QUEUE_URL, min_length=1)
    provider: str = Field(alias=names.ENV_PROVIDER)
    sender: str = Field(alias=names.ENV_SENDER, min_length=1, repr=False)
    site_url: str = Field(alias=names.ENV_SITE_URL, min_length=1)
    backoff_s: Pauses = Field(alias=names.ENV_BACKOFF_S)
    send_timeout_s: int = Field(alias=names.ENV_SEND_TIMEOUT_S, ge=1)
