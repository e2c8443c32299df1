"""Gates and clocks of the channels in memory."""

from __future__ import annotations

from ops.in_memory.traffic import InMemoryTraffic

__all__ = ["InMemoryTraffic"]
