"""What is handed to a provider: the finished message and where it goes."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field


@dataclass(frozen=True, slots=True)
class EmailEnvelope:
    """A finished email. `repr` shows nothing of it, so that no log line or traceback can."""

    to: str = field(repr=False)
    sender: str = field(repr=False)
    subject: str = field(repr=False)
    html: str = field(repr=False)
    text: str = field(repr=False)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)  # beside those that follow from the rest


@dataclass(frozen=True, slots=True)
class TextEnvelope:
    """A finished text message."""

    to: str = field(repr=False)
    sender: str
    body: str = field(repr=False)


Envelope = EmailEnvelope | TextEnvelope


def fingerprint(envelope: Envelope) -> str:
    """SHA-256 of what is handed to the provider, in hex: equal only when a retry sends the same bytes."""
    return hashlib.sha256(json.dumps(asdict(envelope), sort_keys=True).encode()).hexdigest()
