"""Hours in which a person is left alone, by the clock on their own wall.

Asked again at every attempt: what was due before them may come after, by a backoff, a closed gate or a redrive.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import time, timedelta
from typing import TYPE_CHECKING, Final, Self

from functions.core.calendar import at_local, last_at_local

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from zoneinfo import ZoneInfo

_DAY: Final = timedelta(days=1)
_TEXT: Final = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])-([01][0-9]|2[0-3]):([0-5][0-9])")


@dataclass(frozen=True, slots=True)
class QuietHours:
    """From one local time until another, every day; over midnight where `begins` is the later one.

    ```
    21:00-08:00   ── quiet ──┤08:00 ......... 21:00├── quiet ──┤08:00 ...
    09:00-09:00   never quiet: no time lies between a time and itself
    ```
    In the night in which the clocks change, quiet begins at the first time that the wall shows `begins` and ends at the
    last time that it shows `ends`; a time that the clocks skip is the next one that exists. So it may be an hour longer
    than on other days, and is never broken by an hour that comes twice.
    """

    begins: time
    ends: time

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `21:00-08:00`; ValueError otherwise."""
        found = _TEXT.fullmatch(text)
        if found is None:
            msg = "quiet hours: must be two local times such as 21:00-08:00"
            raise ValueError(msg)
        begin_hour, begin_minute, end_hour, end_minute = map(int, found.groups())
        return cls(time(begin_hour, begin_minute), time(end_hour, end_minute))

    def __str__(self) -> str:
        """Return the text that `parse` reads."""
        return f"{self.begins:%H:%M}-{self.ends:%H:%M}"

    def over_at(self, instant: datetime, where: ZoneInfo) -> datetime | None:
        """Return the UTC instant at which the quiet that `instant` falls into is over; None if it falls into none."""
        if self.begins == self.ends:
            return None
        over_at: datetime | None = None
        for opens, closes in self._around(instant, where):
            if opens <= (over_at or instant) < closes:
                over_at = closes  # a night that the clocks made longer may run into the next one
        return over_at

    def _around(self, instant: datetime, where: ZoneInfo) -> Iterator[tuple[datetime, datetime]]:
        """Quiet times that an instant can lie in, earliest first."""
        today = instant.astimezone(where).date()
        ends_later = _DAY if self.begins > self.ends else timedelta()
        for days in (-1, 0, 1):
            day = today + days * _DAY
            yield at_local(day, self.begins, where), last_at_local(day + ends_later, self.ends, where)
