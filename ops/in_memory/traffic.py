"""Gates and clocks of the channels in memory."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from functions.core.identity import Channel
from functions.core.traffic import Gate, Reservation


class InMemoryTraffic:
    """`Traffic`. `gates` and `slot_clocks` are open to look at."""

    def __init__(self) -> None:
        self.gates: dict[Channel, Gate] = {}
        self.slot_clocks: dict[Channel, datetime] = {}

    def gate(self, channel: Channel) -> Gate:
        return self.gates.get(channel, Gate())

    def close(self, channel: Channel, *, until: datetime, cause: str) -> None:
        held = self.gate(channel)
        if held.halted_at is None and (held.closed_until is None or held.closed_until < until):
            self.gates[channel] = replace(held, closed_until=until, cause=cause)

    def halt(self, channel: Channel, *, at: datetime, cause: str) -> bool:
        if self.gate(channel).halted_at is not None:
            return False
        self.gates[channel] = Gate(halted_at=at, cause=cause)
        return True

    def resume(self, channel: Channel, *, seen: Gate | None = None) -> bool:
        if seen is not None and seen != self.gate(channel):
            return False
        self.gates.pop(channel, None)
        return True

    def reserve(
        self, channel: Channel, count: int, *, interval: timedelta, now: datetime, not_after: datetime
    ) -> Reservation:
        first = max(self.slot_clocks.get(channel, now), now)
        if first > not_after:
            return Reservation(first, reserved=False)
        self.slot_clocks[channel] = first + count * interval
        return Reservation(first, reserved=True)

    def give_back(self, channel: Channel, count: int, *, interval: timedelta, last: datetime) -> None:
        if self.slot_clocks.get(channel) == last:
            self.slot_clocks[channel] = last - count * interval
