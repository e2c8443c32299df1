"""Why an operator did something, in their own word: one line that is shown to everybody who asks, and names nobody."""

from __future__ import annotations

import re
from typing import Final

LONGEST: Final = 200
# It names a cause or a ticket, not a person.
_PERSONAL: Final = re.compile(r"@|[0-9][0-9 ()./-]{6,}[0-9]")


class ReasonRefusedError(ValueError):
    """The reason cannot go on record; the text says what would be right and never repeats it."""


def checked_reason(text: str) -> str:
    """Return the reason if it may go on record. Raises ReasonRefusedError."""
    if not (text.strip() and text.isprintable() and len(text) <= LONGEST):
        msg = f"must be one line of 1 to {LONGEST} characters"
        raise ReasonRefusedError(msg)
    if _PERSONAL.search(text):
        msg = "holds what may be an address or a number; name the cause, or a ticket"
        raise ReasonRefusedError(msg)
    return text
