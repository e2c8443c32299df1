"""Links by which a person leaves one topic on one channel, and what they prove.

```
https://<function url>/<key id>.<customer id>.<topic>.<channel>.<mac>
```
A link never expires: mail is read late, and an opt-out that fails is worse than one from an old mail. It says nothing
of the person but the opaque id that our own deliveries carry, and whoever has it can do one thing only.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from functions.core.identity import Channel, InvalidIdError, Topic, opaque_id

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from functions.core.delivery import Delivery
    from functions.core.keyring import Key, KeyRing

_PURPOSE: Final = "unsubscribe"
_LONGEST: Final = 256  # characters; ours have 140 at most
# RFC 8058: what a mail program posts when its own "unsubscribe" is pressed.
ONE_CLICK: Final = ("List-Unsubscribe", "One-Click")


class InvalidTokenError(ValueError):
    """The token is not one of ours, or its key is gone. The text says nothing of it."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """What one person gets of one topic on one channel."""

    customer_id: str
    topic: Topic
    channel: Channel


def write_token(subscription: Subscription, keys: KeyRing, *, at: datetime) -> str:
    """Return the token of a subscription, with the key in use at that time; the same whenever it is asked for."""
    key = keys.of(at)
    said = f"{key.key_id}.{subscription.customer_id}.{subscription.topic}.{subscription.channel}"
    return f"{said}.{key.mac(_PURPOSE, said)}"


def read_token(token: str, keys: KeyRing) -> Subscription:
    """Return the subscription that a token is of. Raises InvalidTokenError."""
    if not token.isascii() or len(token) > _LONGEST:
        raise InvalidTokenError
    said, _, mac = token.rpartition(".")
    parts = said.split(".")
    key = keys.named(parts[0])
    if len(parts) != 4 or key is None or not _is_from(key, said, mac):  # noqa: PLR2004 - as drawn above
        raise InvalidTokenError
    _, customer_id, topic, channel = parts
    try:
        return Subscription(opaque_id(customer_id, field="token"), Topic(topic), Channel(channel))
    except (InvalidIdError, ValueError):  # signed by us, for a topic or channel that there was once
        raise InvalidTokenError from None


def _is_from(key: Key, said: str, mac: str) -> bool:
    return hmac.compare_digest(key.mac(_PURPOSE, said).encode(), mac.encode())


@dataclass(frozen=True, slots=True)
class UnsubscribeLinks:
    """Writes the link of each delivery."""

    url: str
    keys: Callable[[], KeyRing]

    def link(self, delivery: Delivery) -> str:
        """Return the link: that of the key in use when the delivery was selected, so that a retry has the same bytes.

        Raises what `keys` raises.
        """
        held = delivery.delivery_id
        subscription = Subscription(held.customer_id, held.topic, held.channel)
        return f"{self.url.rstrip('/')}/{write_token(subscription, self.keys(), at=delivery.selected_at)}"


def one_click_headers(link: str) -> tuple[tuple[str, str], ...]:
    """Return the headers by which a mail program offers to unsubscribe with one click (RFC 2369, RFC 8058)."""
    return ("List-Unsubscribe", f"<{link}>"), ("List-Unsubscribe-Post", "=".join(ONE_CLICK))
