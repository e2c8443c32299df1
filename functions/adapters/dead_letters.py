"""Deliveries that wait for a person, found by the `attention` index and read from their rows: never by reading a table.

Index entries are hints and hold no class of failure, so each row is read, a hundred in a request.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from functions.adapters.ledger import BATCH_GET_LIMIT
from functions.core.delivery import ATTENTION_OF, Attention, Delivery, FailureClass
from functions.core.identity import Channel

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from functions.adapters.region_tables import RegionTables


@dataclass(frozen=True, slots=True)
class Selection:
    """Which dead letters are meant; None stands for all. They died after `since` and not after `until`."""

    channel: Channel | None = None
    failure_class: FailureClass | None = None
    period: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    def takes(self, row: Delivery) -> bool:
        """Whether a dead letter is among them."""
        died_at = row.attention_at or row.selected_at
        return (
            self.failure_class in {None, class_of(row)}
            and self.period in {None, row.period}
            and (self.since is None or died_at > self.since)
            and (self.until is None or died_at <= self.until)
        )


def dead_letters(region: RegionTables, selection: Selection, *, now: datetime) -> list[Delivery]:
    """The dead letters of a selection, those that died first at the top."""
    rows = waiting(region, Attention.DEAD_LETTER, selection.channel, until=selection.until or now)
    return sorted((row for row in rows if selection.takes(row)), key=lambda row: row.attention_at or row.selected_at)


def waiting(region: RegionTables, why: Attention, channel: Channel | None, *, until: datetime) -> Iterator[Delivery]:
    """Rows of a region, or of one channel, that wait for one reason and are to be looked at by then."""
    for one in Channel if channel is None else (channel,):
        hints = (
            hint for shard in range(region.shards) for hint in region.ledger.needing_attention(why, one, shard, until)
        )
        for page in _pages(hints):
            yield from (row for row in region.ledger.read(page).values() if ATTENTION_OF.get(row.status) is why)


def class_of(row: Delivery) -> FailureClass:
    """Why a dead letter is one."""
    return FailureClass.EXHAUSTED if row.exhausted() else FailureClass.REJECTED


def _pages(ids: Iterable[str]) -> Iterator[list[str]]:
    remaining = iter(ids)
    while page := list(islice(remaining, BATCH_GET_LIMIT)):
        yield page
