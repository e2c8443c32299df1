"""Who a delivery is for, over which channel, and the one name it ever has."""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from collections.abc import Mapping


class Channel(StrEnum):
    """How a person is reached."""

    EMAIL = "email"
    SMS = "sms"
    WEBHOOK = "webhook"


class Topic(StrEnum):
    """What a person gave, or withdrew, consent for."""

    DIGEST = "digest"
    REMINDER = "reminder"


class InvalidIdError(ValueError):
    """The id cannot be used; the text says why and what would be right, and never repeats what may be personal."""


_OPAQUE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_PHONE_LIKE: Final = re.compile(r"(?:[0-9][-_]?){9,15}")


def opaque_id(text: str, *, field: str) -> str:
    """Check an id that will stand in keys, messages, tags and logs, and so must not say who the person is.

    1 to 64 letters, digits, `-` or `_`, starting with a letter or digit; nothing that reads as an email address or a
    phone number. Raises InvalidIdError.
    """
    if "@" in text:
        msg = f"{field}: looks like an email address; use an opaque id such as c-10428"
        raise InvalidIdError(msg)
    if _PHONE_LIKE.fullmatch(text.lstrip("+")):
        msg = f"{field}: looks like a phone number; use an opaque id such as c-10428"
        raise InvalidIdError(msg)
    if not _OPAQUE.fullmatch(text):
        msg = f"{field}: must be 1 to 64 letters, digits, '-' or '_', starting with a letter or digit"
        raise InvalidIdError(msg)
    return text


def shard_of(customer_id: str, shards: int) -> int:
    """Which of `shards` index partitions a customer's rows are in: stable across processes and releases."""
    return zlib.crc32(customer_id.encode()) % shards


ID_TAGS: Final = ("topic", "customer_id", "occasion", "channel")  # as `DeliveryId.as_tags` names its parts


@dataclass(frozen=True, slots=True)
class DeliveryId:
    """`digest:<customer_id>:<period_start>:<channel>` or `reminder:<customer_id>:<event_id>:<channel>`.

    The idempotency key, and the only identity a delivery ever has: replays, redrives and retries all carry it.
    """

    topic: Topic
    customer_id: str
    occasion: str
    channel: Channel

    def __str__(self) -> str:
        """Return the text that stands in rows and messages."""
        return f"{self.topic}:{self.customer_id}:{self.occasion}:{self.channel}"

    def as_tags(self) -> dict[str, str]:
        """Return the parts under their names: tags of a sent email may not hold the colon that joins them in the text.

        SES allows "only alphanumeric ASCII characters, '_', and '-'", in values too, and so do others.
        """
        return {
            "topic": str(self.topic),
            "customer_id": self.customer_id,
            "occasion": self.occasion,
            "channel": str(self.channel),
        }

    @classmethod
    def from_tags(cls, tags: Mapping[str, str]) -> Self:
        """Read what `as_tags` wrote, among other tags or none; InvalidIdError where a part is missing or wrong."""
        return cls.parse(":".join(tags.get(part, "") for part in ID_TAGS))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the text form; InvalidIdError where it is not one."""
        parts = text.split(":")
        if len(parts) != 4:  # noqa: PLR2004 - the four parts of the contract
            msg = "delivery_id: must be <topic>:<customer_id>:<period or event>:<channel>: digest:c-1:2026-11-16:sms"
            raise InvalidIdError(msg)
        topic, customer_id, occasion, channel = parts
        try:
            return cls(
                Topic(topic),
                opaque_id(customer_id, field="delivery_id"),
                opaque_id(occasion, field="delivery_id"),
                Channel(channel),
            )
        except InvalidIdError:
            raise
        except ValueError:
            msg = "delivery_id: begins with digest or reminder, and ends with email, sms or webhook"
            raise InvalidIdError(msg) from None
