"""Dead letters opened again through their rows, on fakes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from functions.core.delivery import Attempt, Delivery, Status
from functions.core.redrive import Redrive, Redriven
from functions.core.settlement import confirmed, redriven
from tests.fakes.clock import SUNDAY_EVENING, FakeClock
from tests.fakes.examples import EXPIRES_AFTER, a_rejected_delivery, an_exhausted_delivery
from tests.fakes.ledger import InMemoryLedger
from tests.fakes.queues import InMemoryQueues, Killed


@dataclass
class Scene:
    clock: FakeClock = field(default_factory=FakeClock)
    ledger: InMemoryLedger = field(default_factory=InMemoryLedger)
    queues: InMemoryQueues = field(default_factory=InMemoryQueues)
    slept_s: list[float] = field(default_factory=list)
    done: Redriven = field(default_factory=Redriven)

    def redrive(self, rows: Sequence[Delivery], *, rate: float = 500) -> Redriven:
        Redrive(self.ledger, self.queues, self.clock, self.slept_s.append, rate).run(rows, self.done)
        return self.done

    def some(self, number: int) -> list[Delivery]:
        self.ledger.put(*(an_exhausted_delivery(customer_id=f"c-{one}") for one in range(number)))
        return list(self.ledger.rows.values())

    def statuses(self) -> set[Status]:
        return {row.status for row in self.ledger.rows.values()}


@pytest.fixture
def scene() -> Scene:
    return Scene()


@pytest.mark.parametrize("row", [an_exhausted_delivery(), a_rejected_delivery()], ids=["exhausted", "rejected"])
def test_a_redriven_delivery_keeps_its_identity_and_its_history_and_is_looked_after_from_now_on(row: Delivery) -> None:
    at = SUNDAY_EVENING + timedelta(hours=1)
    history = (Attempt(1, SUNDAY_EVENING, "unavailable", "ServiceUnavailable", 3),)
    after = redriven(replace(row, history=history, published=3), at=at)
    assert (after.status, after.enqueued_at, after.attention_at) == (Status.QUEUED, at, at)
    assert (after.delivery_id, after.attempt, after.history) == (row.delivery_id, row.attempt, history)
    assert after.published == 0  # or the reconciler would give it up at the first silence


def test_what_is_too_late_ends_as_expired_and_is_not_published(scene: Scene) -> None:
    rows = scene.some(2)
    scene.clock.advance(EXPIRES_AFTER)
    assert scene.redrive(rows) == Redriven(too_late=2)
    assert (scene.statuses(), scene.queues.sent) == ({Status.EXPIRED}, [])


def test_what_an_event_settled_meanwhile_stays_settled(scene: Scene) -> None:
    (row,) = scene.some(1)
    scene.ledger.put(confirmed(row, "ses-1", at=scene.clock()))
    assert scene.redrive([row]) == Redriven(moved_on=1)
    assert (scene.statuses(), scene.queues.sent) == ({Status.ACCEPTED}, [])


def test_two_operators_publish_an_id_once(scene: Scene) -> None:
    rows = scene.some(3)
    scene.redrive(rows)
    scene.redrive(rows)  # within a millisecond, in which nobody can tell whose it was
    assert len(scene.queues.sent) == 3
    scene.clock.advance(timedelta(milliseconds=1))
    scene.done = Redriven()
    assert scene.redrive(rows) == Redriven(moved_on=3)
    assert len(scene.queues.sent) == 3


def test_ids_go_out_no_faster_than_the_rate(scene: Scene) -> None:
    scene.redrive(scene.some(25), rate=5)
    assert scene.slept_s == [1.0] * 4


def test_a_rate_below_one_waits_longer_than_a_second(scene: Scene) -> None:
    scene.redrive(scene.some(2), rate=0.5)
    assert scene.slept_s == [2.0]


def test_one_that_dies_between_row_and_queue_leaves_it_to_the_reconciler(scene: Scene) -> None:
    rows = scene.some(1)
    scene.queues.dies = True
    with pytest.raises(Killed):
        scene.redrive(rows)
    (row,) = scene.ledger.rows.values()
    assert (row.status, row.attention_at) == (Status.QUEUED, scene.clock())
    assert scene.done == Redriven()


def test_an_id_that_its_queue_does_not_take_is_told(scene: Scene) -> None:
    rows = scene.some(2)
    scene.queues.refused = {str(rows[0].delivery_id)}
    assert scene.redrive(rows) == Redriven(published=1, not_taken=1)
