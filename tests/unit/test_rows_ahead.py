"""The rows of a batch, read in one request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta

import pytest

from functions.core.delivery import Delivery, Status
from functions.core.rows_ahead import GOOD_FOR, RowsAhead
from tests.fakes.clock import FakeClock
from tests.fakes.examples import a_delivery
from tests.fakes.ledger import InMemoryLedger

ANNA, BEN = (a_delivery(name, status=Status.QUEUED) for name in ("c-anna", "c-ben"))


class CountingLedger(InMemoryLedger):
    """Says what it was asked for, request by request."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[tuple[str, ...]] = []

    def read(self, delivery_ids: Iterable[str]) -> Mapping[str, Delivery]:
        self.requests.append(tuple(delivery_ids))
        return super().read(self.requests[-1])


class UnreachableError(Exception):
    """What an adapter raises when DynamoDB does not answer."""


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def ledger() -> CountingLedger:
    ledger = CountingLedger()
    ledger.put(ANNA)
    ledger.put(BEN)
    return ledger


@pytest.fixture
def rows(ledger: CountingLedger, clock: FakeClock) -> RowsAhead:
    return RowsAhead(ledger, clock=clock)


def id_of(row: Delivery) -> str:
    return str(row.delivery_id)


def test_a_batch_is_read_in_one_request(rows: RowsAhead, ledger: CountingLedger) -> None:
    rows.begin([id_of(ANNA), id_of(BEN)])
    assert (rows.take(id_of(ANNA)), rows.take(id_of(BEN))) == (ANNA, BEN)
    assert ledger.requests == [(id_of(ANNA), id_of(BEN))]


def test_a_batch_that_nobody_works_on_is_not_read(rows: RowsAhead, ledger: CountingLedger) -> None:
    rows.begin([id_of(ANNA), id_of(BEN)])
    assert ledger.requests == []


def test_a_delivery_without_a_row_has_none(rows: RowsAhead) -> None:
    rows.begin(["digest:c-erased:2026-11-16:email", id_of(ANNA)])
    assert rows.take("digest:c-erased:2026-11-16:email") is None


def test_a_message_that_comes_twice_in_a_batch_finds_what_became_of_the_first(
    rows: RowsAhead, ledger: CountingLedger
) -> None:
    rows.begin([id_of(ANNA), id_of(ANNA)])
    rows.take(id_of(ANNA))
    accepted = a_delivery("c-anna", status=Status.ACCEPTED, attention_at=None)
    ledger.put(accepted)
    assert rows.take(id_of(ANNA)) == accepted


def test_what_was_read_too_long_ago_is_read_again_for_all_that_are_left(
    rows: RowsAhead, ledger: CountingLedger, clock: FakeClock
) -> None:
    rows.begin([id_of(ANNA), id_of(BEN)])
    rows.take(id_of(ANNA))
    clock.advance(GOOD_FOR)
    rows.take(id_of(BEN))
    assert ledger.requests[1:] == [(id_of(BEN),)]


def test_what_was_just_read_is_not_read_again(rows: RowsAhead, ledger: CountingLedger, clock: FakeClock) -> None:
    rows.begin([id_of(ANNA), id_of(BEN)])
    rows.take(id_of(ANNA))
    clock.advance(GOOD_FOR - timedelta(milliseconds=1))
    rows.take(id_of(BEN))
    assert len(ledger.requests) == 1


def test_a_new_batch_knows_nothing_of_the_last_one(rows: RowsAhead, ledger: CountingLedger) -> None:
    rows.begin([id_of(ANNA), id_of(BEN)])
    rows.take(id_of(ANNA))
    rows.begin([id_of(BEN)])
    rows.take(id_of(BEN))
    assert ledger.requests[1:] == [(id_of(BEN),)]


def test_where_the_read_fails_the_next_message_tries_again(clock: FakeClock) -> None:
    class Failing(CountingLedger):
        def read(self, delivery_ids: Iterable[str]) -> Mapping[str, Delivery]:
            answer = super().read(delivery_ids)
            if len(self.requests) == 1:
                raise UnreachableError
            return answer

    ledger = Failing()
    ledger.put(ANNA)
    ledger.put(BEN)
    rows = RowsAhead(ledger, clock=clock)
    rows.begin([id_of(ANNA), id_of(BEN)])
    with pytest.raises(UnreachableError):
        rows.take(id_of(ANNA))
    assert rows.take(id_of(BEN)) == BEN
