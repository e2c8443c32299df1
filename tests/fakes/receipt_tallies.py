"""Receipts of each channel and day, counted in memory."""

from __future__ import annotations

from datetime import date

from functions.core.bounce_brake import Tally
from functions.core.identity import Channel


class InMemoryReceiptTallies:
    """A `ReceiptTallies`."""

    def __init__(self) -> None:
        self._tallies: dict[tuple[Channel, date], Tally] = {}

    def add(self, channel: Channel, tally: Tally, *, day: date) -> Tally:
        total = self._tallies.get((channel, day), Tally()) + tally
        self._tallies[channel, day] = total
        return total

    def clear(self, channel: Channel, *, day: date) -> None:
        self._tallies.pop((channel, day), None)
