"""What `OptOutMemory` must do, whatever it stands on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest

from functions.core.identity import Channel, Topic
from functions.core.opt_out_memory import STOPPED, Memory, OptOutMemory
from functions.core.receipts import SuppressionCause
from tests.fakes.clock import SUNDAY_EVENING

LEFT_THE_DIGEST = Memory(frozenset({(Topic.DIGEST, Channel.EMAIL)}))
COMPLAINED = Memory(causes=frozenset({SuppressionCause.COMPLAINT}))
MARK, OTHER = "0.mark", "0.other"


@dataclass(frozen=True)
class Remembered:
    """A memory, and a look at what is under a mark and since when."""

    memory: OptOutMemory
    under: Callable[[str], tuple[Memory, datetime | None]]


class OptOutMemoryConformance(ABC):
    @pytest.fixture
    @abstractmethod
    def world(self) -> Remembered: ...

    @pytest.mark.parametrize("memory", [LEFT_THE_DIGEST, COMPLAINED, STOPPED], ids=["topic", "cause", "both"])
    def test_what_is_remembered_is_there_as_often_as_it_is_said(self, world: Remembered, memory: Memory) -> None:
        for _ in range(2):
            world.memory.remember(MARK, memory, at=SUNDAY_EVENING)
        assert world.under(MARK) == (memory, SUNDAY_EVENING)

    def test_more_is_added_and_the_first_time_stays(self, world: Remembered) -> None:
        for hours, memory in enumerate((LEFT_THE_DIGEST, COMPLAINED, STOPPED)):
            world.memory.remember(MARK, memory, at=SUNDAY_EVENING + timedelta(hours=hours))
        everything = Memory(LEFT_THE_DIGEST.opted_out | STOPPED.opted_out, COMPLAINED.causes | STOPPED.causes)
        assert world.under(MARK) == (everything, SUNDAY_EVENING)

    def test_nothing_is_remembered_of_anybody_else(self, world: Remembered) -> None:
        world.memory.remember(OTHER, STOPPED, at=SUNDAY_EVENING)
        assert world.under(MARK) == (Memory(), None)
