"""The message on the queues: an id and what is needed to route it, nothing about the person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from functions.core.identity import Channel, DeliveryId, InvalidIdError

if TYPE_CHECKING:
    from functions.core.delivery import Delivery

SCHEMA_VERSION: Final = 1


class PoisonError(Exception):
    """The message can never be worked on by this release: it goes to the dead-letter queue as it is."""


class DeliveryMessage(BaseModel):
    """Body of a queue message. Contract: under 1 KB, no personal data."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: Literal[1] = SCHEMA_VERSION
    delivery_id: str = Field(max_length=256)
    channel: Channel
    template_id: str = Field(min_length=1, max_length=64)

    @classmethod
    def of(cls, delivery: Delivery) -> DeliveryMessage:
        """Return the message that asks a consumer to act on a delivery."""
        return cls(
            delivery_id=str(delivery.delivery_id),
            channel=delivery.delivery_id.channel,
            template_id=delivery.template_id,
        )

    def to_body(self) -> str:
        """Return the JSON text to send."""
        return self.model_dump_json()


def read_message(body: str, *, channel: Channel) -> tuple[DeliveryMessage, DeliveryId]:
    """Read a body that arrived on a channel's queue.

    Raises PoisonError for what does not parse, an unknown schema version, or another channel's message. Its text names
    the field but never a value: whatever was sent here may hold anything.
    """
    try:
        message = DeliveryMessage.model_validate_json(body)
        delivery_id = DeliveryId.parse(message.delivery_id)
    except ValidationError as error:
        msg = f"not a delivery message of version {SCHEMA_VERSION}: {', '.join(_fields(error))}"
        raise PoisonError(msg) from None
    except InvalidIdError as error:
        raise PoisonError(str(error)) from None
    if message.channel is not channel or delivery_id.channel is not channel:
        msg = f"channel: only {channel} is taken here"
        raise PoisonError(msg)
    return message, delivery_id


def _fields(error: ValidationError) -> list[str]:
    # Even the name of a field that we do not know is somebody else's text.
    named = [str(detail["loc"][0]) if detail["loc"] else "body" for detail in error.errors(include_input=False)]
    return sorted({name if name in {*DeliveryMessage.model_fields, "body"} else "an unknown field" for name in named})
