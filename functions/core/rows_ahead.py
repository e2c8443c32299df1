"""The rows of a batch's messages, read in one request instead of one each.

What is read ahead is as good as what is read just before: every write is fenced by what was read, so a row that has
moved on meanwhile refuses the claim. It is used for a moment only, so that this stays the exception.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from functions.core.delivery import Delivery
    from functions.core.ports import Clock, Ledger

GOOD_FOR: Final = timedelta(seconds=2)


class RowsAhead:
    """Rows that a batch will ask for. The first that is asked for brings all of them, in one request."""

    def __init__(self, ledger: Ledger, *, clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock
        self._awaited: dict[str, None] = {}
        self._rows: dict[str, Delivery] = {}
        self._read_at: datetime | None = None

    def begin(self, delivery_ids: Iterable[str]) -> None:
        """Begin a batch, whose messages name these deliveries."""
        self._awaited = dict.fromkeys(delivery_ids)
        self._rows = {}
        self._read_at = None

    def take(self, delivery_id: str) -> Delivery | None:
        """Return a delivery's row. Asked again, or about one that was not announced, it is read anew."""
        if delivery_id not in self._awaited:
            return self._ledger.read([delivery_id]).get(delivery_id)
        now = self._clock()
        if self._read_at is None or now - self._read_at >= GOOD_FOR:
            self._rows = dict(self._ledger.read(self._awaited))
            self._read_at = now
        del self._awaited[delivery_id]
        return self._rows.pop(delivery_id, None)
