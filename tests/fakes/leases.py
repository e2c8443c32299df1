"""Planner leases in memory."""

from __future__ import annotations

from datetime import datetime


class InMemoryShardLeases:
    """`ShardLeases`: free, run out, or ours already."""

    def __init__(self) -> None:
        self.held: dict[int, tuple[str, datetime]] = {}

    def take(self, shard: int, *, owner: str, now: datetime, until: datetime) -> bool:
        holder, ends = self.held.get(shard, (owner, now))
        if holder != owner and ends > now:
            return False
        self.held[shard] = (owner, until)
        return True

    def give_back(self, shard: int, *, owner: str) -> None:
        if shard in self.held and self.held[shard][0] == owner:
            del self.held[shard]
