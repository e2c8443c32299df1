"""How long a message waits before it is received again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

AT_ONCE: Final = 0


@dataclass(frozen=True, slots=True)
class Backoff:
    """Seconds to wait after the first, second, ... receive; full jitter spreads a burst of failures out.

    The list is one shorter than `maxReceiveCount`, so that every receive but the last has its pause.
    """

    pauses_s: Sequence[int]
    jitter: Callable[[float, float], float]

    @property
    def receives(self) -> int:
        """How often a message may be received before SQS moves it to the dead-letter queue."""
        return len(self.pauses_s) + 1

    def is_last(self, receive_count: int | None) -> bool:
        """Whether no further receive is allowed. Where nobody counts them there is always another one."""
        return receive_count is not None and receive_count >= self.receives

    def pause_s(self, receive_count: int) -> int:
        """Seconds until the message may be seen again; 0 after the last receive, so that SQS moves it at once."""
        if self.is_last(receive_count):
            return AT_ONCE
        longest = self.pauses_s[max(receive_count, 1) - 1]
        return max(1, round(self.jitter(0, longest)))
