"""Standard Webhooks signatures of requests to our function URLs, over the bytes as they came."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Final

from standardwebhooks import Webhook

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Svix, whose service many providers sign with, has its own names for the same three headers.
# https://docs.svix.com/receiving/verifying-payloads/how-manual
_PREFIXES: Final = ("webhook", "svix")
_SIGNED: Final = ("id", "timestamp", "signature")
_LABEL: Final = "whsec_"
# The specification asks for 24 to 64 bytes.
# https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
SHORTEST_KEY: Final = 24


class UnusableSecretError(Exception):
    """A signing secret is none: it must be base64 of at least 24 bytes, with or without `whsec_` before it."""


class SignedRequests:
    """Tells genuine requests from others. While a secret is being rotated, both the old and the new one hold."""

    def __init__(self, secrets: str) -> None:
        """Take one secret, or several with spaces between them. Raises UnusableSecretError."""
        self._webhooks: Sequence[Webhook] = [Webhook(_key(secret)) for secret in secrets.split()]
        if not self._webhooks:
            raise UnusableSecretError

    def is_genuine(self, body: bytes, headers: Mapping[str, str]) -> bool:
        """Whether one of the secrets signed just this, within five minutes of now, which is when it arrived."""
        signed = _named_as_standard(headers)
        return any(_verifies(webhook, body, signed) for webhook in self._webhooks)


def message_id(headers: Mapping[str, str]) -> str:
    """Return the id that a request keeps each time it is sent again; empty where it has none."""
    return _named_as_standard(headers).get("webhook-id", "")


def _key(secret: str) -> bytes:
    """The library takes what is nearly base64 for some other key, and then refuses every request without a word."""
    try:
        key = base64.b64decode(secret.removeprefix(_LABEL), validate=True)
    except binascii.Error:
        raise UnusableSecretError from None
    if len(key) < SHORTEST_KEY:
        raise UnusableSecretError
    return key


def _named_as_standard(headers: Mapping[str, str]) -> dict[str, str]:
    small = {name.lower(): value for name, value in headers.items()}
    found = {
        part: [small[f"{prefix}-{part}"] for prefix in _PREFIXES if f"{prefix}-{part}" in small] for part in _SIGNED
    }
    return {f"webhook-{part}": values[0] for part, values in found.items() if values}


def _verifies(webhook: Webhook, body: bytes, headers: dict[str, str]) -> bool:
    try:
        webhook.verify(body, headers, json_parse=False)
    except Exception:  # noqa: BLE001 - whatever it stumbles over (no UTF-8, no base64, no comma) is no signature
        return False
    return True
