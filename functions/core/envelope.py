"""What is handed to a provider: the finished message and where it goes."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, fields
from typing import Final

from functions.core.summary import SummaryNote
from functions.core.webhook_endpoint import WebhookEndpoint

_NOT_SENT: Final = {"not_sent": True}


@dataclass(frozen=True, slots=True)
class EmailEnvelope:
    """A finished email. `repr` shows nothing of it, so that no log line or traceback can."""

    to: str = field(repr=False)
    sender: str = field(repr=False)
    subject: str = field(repr=False)
    html: str = field(repr=False)
    text: str = field(repr=False)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)  # beside those that follow from the rest
    summary: SummaryNote | None = field(default=None, metadata=_NOT_SENT)  # what became of the digest's


@dataclass(frozen=True, slots=True)
class TextEnvelope:
    """A finished text message."""

    to: str = field(repr=False)
    sender: str
    body: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class WebhookEnvelope:
    """A finished webhook. The signature is made at the send: by then a secret may have a successor."""

    to: str = field(repr=False)
    body: str = field(repr=False)  # JSON; its UTF-8 bytes are what is signed and what is sent
    endpoint: WebhookEndpoint = field(default=WebhookEndpoint(), repr=False, metadata=_NOT_SENT)


Envelope = EmailEnvelope | TextEnvelope | WebhookEnvelope


def fingerprint(envelope: Envelope) -> str:
    """SHA-256 of what is handed to the provider, in hex: equal only when a retry sends the same bytes."""
    sent = {one.name: getattr(envelope, one.name) for one in fields(envelope) if "not_sent" not in one.metadata}
    return hashlib.sha256(json.dumps(sent, sort_keys=True).encode()).hexdigest()
