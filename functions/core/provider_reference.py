"""A provider's id for a message, as a person found it in the provider's log and types it."""

from __future__ import annotations

import re
from typing import Final

_REFERENCE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/+=-]{0,199}")


class ReferenceRefusedError(ValueError):
    """The text is no provider's id; the error says what would be, and never repeats it."""


def checked_reference(text: str) -> str:
    """Return the reference if it can be one. Raises ReferenceRefusedError."""
    if not _REFERENCE.fullmatch(text):
        msg = "must be the provider's id for the message: letters, digits and . _ : / + = - only"
        raise ReferenceRefusedError(msg)
    return text
