"""How fast a channel may send, and whether it may send at all.

The gate is open, closed until a time, or halted until an operator resumes it. The pace is one clock for each channel
(GCRA: the theoretical arrival time of the next send), so that all consumers together keep to the account's share.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Protocol

from functions.core.wording import utc

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from functions.core.identity import Channel
    from functions.core.ports import Clock

# While a channel is halted its rows are put off for so long at a time. Resuming does not wait for it: the reconciler
# publishes what is due as soon as the gate is open.
HALTED_PAUSE: Final = timedelta(seconds=60)


class GatePosition(StrEnum):
    """Whether a channel sends."""

    OPEN = "open"
    CLOSED = "closed"
    HALTED = "halted"


@dataclass(frozen=True, slots=True)
class Gate:
    """A channel's gate as it was read. `cause` is an error code or an operator's word, never a person's data."""

    halted_at: datetime | None = None
    closed_until: datetime | None = None
    cause: str | None = None

    def position(self, now: datetime) -> GatePosition:
        """Whether sends may go out now."""
        if self.halted_at is not None:
            return GatePosition.HALTED
        if self.closed_until is not None and self.closed_until > now:
            return GatePosition.CLOSED
        return GatePosition.OPEN

    def in_words(self, now: datetime) -> str:
        """`open`, `closed until 2026-11-29 20:05:00 UTC (throttled)`, `halted since ... (INC-47)`."""
        cause = f" ({self.cause})" if self.cause else ""
        if self.position(now) is GatePosition.HALTED and self.halted_at is not None:
            return f"halted since {utc(self.halted_at)}{cause}"
        if self.position(now) is GatePosition.CLOSED and self.closed_until is not None:
            return f"closed until {utc(self.closed_until)}{cause}"
        return "open"

    def opens_at(self, now: datetime) -> datetime | None:
        """When a row that may not be sent now should be looked at again; None if it may be sent."""
        position = self.position(now)
        if position is GatePosition.OPEN:
            return None
        return self.closed_until if position is GatePosition.CLOSED else now + HALTED_PAUSE


@dataclass(frozen=True, slots=True)
class Reservation:
    """The first slot of a reservation; or, where none was made, when the next free slot will be."""

    first: datetime
    reserved: bool


class Traffic(Protocol):
    """The channels' gates and clocks, shared by all consumers of a region."""

    def gate(self, channel: Channel) -> Gate:
        """Read a channel's gate, consistently."""
        ...

    def close(self, channel: Channel, *, until: datetime, cause: str) -> None:
        """Close a gate until a time; a gate that is closed for longer stays so."""
        ...

    def halt(self, channel: Channel, *, at: datetime, cause: str) -> bool:
        """Halt a channel; False if it was halted already."""
        ...

    def resume(self, channel: Channel, *, seen: Gate | None = None) -> bool:
        """Open a channel's gate; False, and nothing changed, if it is no longer the one that was `seen`."""
        ...

    def reserve(
        self, channel: Channel, count: int, *, interval: timedelta, now: datetime, not_after: datetime
    ) -> Reservation:
        """Reserve `count` consecutive slots, `interval` apart, unless the first would come after `not_after`."""
        ...

    def give_back(self, channel: Channel, count: int, *, interval: timedelta, last: datetime) -> None:
        """Give back the last `count` slots of a reservation that ended at `last`, if nobody has reserved since."""
        ...


class Lane:
    """One batch's way onto the channel: the gate read once, the slots reserved once."""

    def __init__(
        self,
        traffic: Traffic,
        channel: Channel,
        *,
        interval: timedelta,
        clock: Clock,
        sleep: Callable[[float], None],
    ) -> None:
        self._traffic = traffic
        self._channel = channel
        self._interval = interval
        self._clock = clock
        self._sleep = sleep
        self._expected = 1
        self._gate: Gate | None = None
        self._next_slot: datetime | None = None
        self._slots_left = 0

    def begin(self, records: int) -> None:
        """Begin a batch of so many records: nothing that an earlier batch knew holds any longer."""
        self._expected = records
        self._gate = None
        self._next_slot = None
        self._slots_left = 0

    def gate(self) -> Gate:
        """Return the channel's gate as this batch found it, or as it has moved it since."""
        if self._gate is None:
            self._gate = self._traffic.gate(self._channel)
        return self._gate

    def close(self, *, until: datetime, cause: str) -> None:
        """Close the gate for everybody, this batch included."""
        self._traffic.close(self._channel, until=until, cause=cause)
        self._gate = Gate(closed_until=until, cause=cause)

    def halt(self, *, cause: str) -> bool:
        """Halt the channel for everybody, this batch included; False if it was halted already."""
        at = self._clock()
        self._gate = Gate(halted_at=at, cause=cause)
        return self._traffic.halt(self._channel, at=at, cause=cause)

    def take_slot(self, *, wait_until: datetime) -> datetime | None:
        """Wait for the next slot and take it.

        Returns None when it has come, or the slot's time when that lies after `wait_until`: the delivery is then put
        off until then, and the slot is not used.
        """
        if self._next_slot is None or not self._slots_left:
            count = max(1, self._expected)
            reservation = self._traffic.reserve(
                self._channel, count, interval=self._interval, now=self._clock(), not_after=wait_until
            )
            if not reservation.reserved:
                return reservation.first
            self._next_slot, self._slots_left = reservation.first, count
        slot = self._next_slot
        if slot > wait_until:
            return slot
        self._expected -= 1
        self._slots_left -= 1
        self._next_slot = slot + self._interval
        wait = (slot - self._clock()).total_seconds()
        if wait > 0:
            self._sleep(wait)
        return None

    def end(self) -> None:
        """Give back the slots that this batch did not use."""
        if self._next_slot is not None and self._slots_left:
            last = self._next_slot + self._slots_left * self._interval
            self._traffic.give_back(self._channel, self._slots_left, interval=self._interval, last=last)
        self._slots_left = 0
        self._next_slot = None


def interval_of(rate_per_second: float) -> timedelta:
    """Return the time between two sends at a rate."""
    return timedelta(seconds=1 / rate_per_second)
