"""What the tallies of receipts must do, whatever they stand on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import timedelta

import pytest

from functions.core.bounce_brake import Tally
from functions.core.identity import Channel
from functions.core.ports import ReceiptTallies
from tests.fakes.clock import SUNDAY_EVENING

TODAY = SUNDAY_EVENING.date()


class ReceiptTalliesConformance(ABC):
    @pytest.fixture
    @abstractmethod
    def tallies(self) -> ReceiptTallies: ...

    def test_the_first_of_a_day_is_all_there_is(self, tallies: ReceiptTallies) -> None:
        assert tallies.add(Channel.EMAIL, Tally(3, 2, 1), day=TODAY) == Tally(3, 2, 1)

    def test_batches_of_a_day_add_up(self, tallies: ReceiptTallies) -> None:
        tallies.add(Channel.EMAIL, Tally(delivered=9), day=TODAY)
        assert tallies.add(Channel.EMAIL, Tally(bounced=1), day=TODAY) == Tally(9, 1, 0)

    def test_channels_and_days_are_counted_apart(self, tallies: ReceiptTallies) -> None:
        tallies.add(Channel.EMAIL, Tally(delivered=9), day=TODAY)
        assert tallies.add(Channel.SMS, Tally(bounced=1), day=TODAY) == Tally(0, 1, 0)
        assert tallies.add(Channel.EMAIL, Tally(bounced=2), day=TODAY + timedelta(days=1)) == Tally(0, 2, 0)

    def test_a_day_that_was_cleared_begins_anew(self, tallies: ReceiptTallies) -> None:
        tallies.add(Channel.EMAIL, Tally(9, 9, 9), day=TODAY)
        tallies.clear(Channel.EMAIL, day=TODAY)
        assert tallies.add(Channel.EMAIL, Tally(delivered=1), day=TODAY) == Tally(1, 0, 0)
