"""Which accepted deliveries the provider owes an answer for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from functions.core.identity import Channel
    from functions.core.ports import AwaitedReceipts, Clock

# A digest is counted in the week that it reports, which is the one before it is sent; it may be sent a week late, and
# its receipt may take three days. What is older than that has been counted for weeks, and is left.
WEEKS: Final = 5


@dataclass(frozen=True, slots=True)
class ReceiptWatch:
    """Counts deliveries that were accepted `silence` ago or earlier and of which nothing conclusive was heard since.

    Only of channels whose provider tells: with others, silence means nothing.
    """

    awaited: AwaitedReceipts
    channels: Sequence[Channel]
    silence: timedelta
    clock: Clock

    def count(self) -> Mapping[Channel, int]:
        """Count each channel's, over the last weeks."""
        now = self.clock()
        return {
            channel: sum(
                self.awaited.count(week, channel, accepted_before=now - self.silence) for week in recent_weeks(now)
            )
            for channel in self.channels
        }


def recent_weeks(now: datetime) -> list[str]:
    """ISO dates of the Mondays that opened the last weeks, this one included."""
    monday = now.date() - timedelta(days=now.weekday())
    return [(monday - timedelta(weeks=ago)).isoformat() for ago in range(WEEKS)]
