"""What a page shows, as a short text that travels with its buttons: an action holds only for what was looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from functions.core.instants import to_text

if TYPE_CHECKING:
    from datetime import datetime

    from functions.core.delivery import Delivery
    from functions.core.traffic import Gate


def mark_of_row(row: Delivery) -> str:
    """State, attempt, and what was decided about it last: `dead_letter|6|2026-11-29T20:05:00.000Z|`."""
    failed_at = None if row.failure is None else row.failure.at
    return "|".join([str(row.status), str(row.attempt), _text(failed_at), _text(row.in_doubt_since)])


def mark_of_gate(gate: Gate) -> str:
    """Since when it is halted, and until when closed."""
    return f"{_text(gate.halted_at)}|{_text(gate.closed_until)}"


def _text(instant: datetime | None) -> str:
    return "" if instant is None else to_text(instant)
