"""What a ledger must do about receipts, whatever it stands on: two that come at once are joined, and none is lost."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from datetime import timedelta

import pytest

from functions.core.delivery import Delivery, Receipt, ReceiptState, Status
from functions.core.settlement import confirmed, settled
from tests.conformance.ledger import NO_KEYS, World
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.examples import ACCEPTED, a_claim, a_delivery

AT = SUNDAY_EVENING + timedelta(minutes=1)
DELIVERED = Receipt(ReceiptState.DELIVERED, AT, "Email Delivered", ("0a", "0b"))
BOUNCED = Receipt(ReceiptState.BOUNCED, AT, "Permanent/General/5.1.1", ("0c", "0d"))


def accepted(**differing: object) -> Delivery:
    row = a_delivery(status=Status.ACCEPTED, attempt=1, attention_at=None, accepted_at=AT, provider_reference="ref-1")
    return replace(row, **differing)  # type: ignore[arg-type]


class ReceiptRowsConformance(ABC):
    @pytest.fixture
    @abstractmethod
    def world(self) -> World: ...

    def test_a_receipt_comes_back_as_it_was_written(self, world: World) -> None:
        world.put(accepted())
        assert world.ledger.write(accepted(), accepted(receipt=DELIVERED))
        assert world.row(accepted()).receipt == DELIVERED

    def test_of_two_first_receipts_at_once_the_second_has_to_read_again(self, world: World) -> None:
        world.put(accepted())
        assert world.ledger.write(accepted(), accepted(receipt=DELIVERED))
        assert not world.ledger.write(accepted(), accepted(receipt=BOUNCED))
        assert world.row(accepted()).receipt == DELIVERED

    def test_of_two_later_receipts_at_once_the_second_has_to_read_again(self, world: World) -> None:
        world.put(accepted(receipt=DELIVERED))
        seen = accepted(receipt=DELIVERED)
        assert world.ledger.write(seen, accepted(receipt=BOUNCED))
        assert not world.ledger.write(seen, accepted(receipt=replace(DELIVERED, seen=("0a", "0b", "0e"))))
        assert world.row(accepted()).receipt == BOUNCED

    def test_a_receipt_settles_a_row_in_doubt_in_the_same_write(self, world: World) -> None:
        before = a_delivery(status=Status.UNCERTAIN, attempt=1)
        world.put(before)
        after = confirmed(replace(before, receipt=DELIVERED), "ref-1", at=AT)
        assert world.ledger.write(before, after)
        assert world.row(before) == after

    def test_a_row_that_was_claimed_again_since_is_not_settled_by_what_was_read(self, world: World) -> None:
        before = a_delivery(status=Status.RETRYABLE, attempt=1)
        world.put(before)
        world.ledger.claim(before, a_claim())
        assert not world.ledger.write(before, confirmed(replace(before, receipt=DELIVERED), "ref-1", at=AT))
        assert world.row(before).status is Status.SENDING

    def test_settling_a_send_leaves_a_receipt_alone_that_came_before(self, world: World) -> None:
        world.put(a_delivery())
        claimed = world.ledger.claim(a_delivery(), a_claim())
        assert world.ledger.write(claimed, replace(claimed, receipt=DELIVERED))
        assert world.ledger.write(claimed, settled(claimed, ACCEPTED, guarantee=NO_KEYS, pause_s=5, at=AT))
        row = world.row(a_delivery())
        assert (row.status, row.receipt) == (Status.ACCEPTED, DELIVERED)
