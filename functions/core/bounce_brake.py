"""The brake: a channel of which too much comes back is halted before its provider does that to the whole account.

SES puts an account under review from 5 % bounces or 0.1 % complaints on, and may pause it from 10 % or 0.5 %:
https://docs.aws.amazon.com/ses/latest/dg/reputationdashboardmessages.html
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from functions.core.delivery import ReceiptState

if TYPE_CHECKING:
    from functions.core.identity import Channel
    from functions.core.ports import Clock, ReceiptTallies
    from functions.core.traffic import Traffic


class BrakeCause(StrEnum):
    """Why a channel was halted, as its gate says."""

    BOUNCES = "bounce_rate"
    COMPLAINTS = "complaint_rate"


@dataclass(frozen=True, slots=True)
class Tally:
    """How many deliveries arrived, came back for good, and were complained about."""

    delivered: int = 0
    bounced: int = 0
    complained: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.delivered + other.delivered, self.bounced + other.bounced, self.complained + other.complained)

    @property
    def told_of(self) -> int:
        """Deliveries of which it is known whether they arrived. Who complains has got it, and is counted as such."""
        return self.delivered + self.bounced

    @property
    def bounces_percent(self) -> float:
        """How many of them came back for good, in percent."""
        return 100 * self.bounced / max(1, self.told_of)

    @property
    def complaints_percent(self) -> float:
        """How many complaints there were, in percent of them."""
        return 100 * self.complained / max(1, self.told_of)


OF_STATE: Mapping[ReceiptState | None, Tally] = {
    ReceiptState.DELIVERED: Tally(delivered=1),
    ReceiptState.BOUNCED: Tally(bounced=1),
    ReceiptState.COMPLAINED: Tally(complained=1),
}
Braked: TypeAlias = "Callable[[Channel, BrakeCause, Tally], None]"
Rated: TypeAlias = "Callable[[Channel, Tally], None]"


@dataclass(frozen=True, slots=True)
class BrakeRule:
    """What is too much, in percent of the deliveries of a day, once so many have been told of."""

    after: int
    bounces_percent: float
    complaints_percent: float

    def enough(self, tally: Tally) -> bool:
        """Whether a day's tally says anything yet: two bounces of three deliveries do not."""
        return tally.told_of >= self.after

    def broken_by(self, tally: Tally) -> BrakeCause | None:
        """Return what a day's tally has too much of, if anything."""
        if not self.enough(tally):
            return None
        if tally.bounces_percent > self.bounces_percent:
            return BrakeCause.BOUNCES
        if tally.complaints_percent > self.complaints_percent:
            return BrakeCause.COMPLAINTS
        return None


@dataclass(frozen=True, slots=True)
class BounceBrake:
    """Adds up what a day's receipts say of each channel, and halts a channel that the rule is broken by.

    After that it counts anew: an operator who resumes the channel has seen what was, and is told again of what comes.
    `rated` hears of each tally that says anything, so that a person sees the brake coming.
    """

    tallies: ReceiptTallies
    traffic: Traffic
    rule: BrakeRule
    clock: Clock
    braked: Braked
    rated: Rated

    def note(self, found: Mapping[Channel, Tally]) -> None:
        """Take a batch's tallies in."""
        now = self.clock()
        for channel, tally in found.items():
            total = self.tallies.add(channel, tally, day=now.date())
            if self.rule.enough(total):
                self.rated(channel, total)
            cause = self.rule.broken_by(total)
            if cause is not None:
                self.traffic.halt(channel, at=now, cause=cause)
                self.tallies.clear(channel, day=now.date())
                self.braked(channel, cause, total)
