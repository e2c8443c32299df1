"""One sweep of the reconciler, on fakes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import pytest

from functions.core.delivery import Delivery, Status
from functions.core.identity import Channel
from functions.core.outcome import Dedupe, Guarantee, Outcome, OutcomeClass, Sight, Sighting
from functions.core.settlement import settled
from functions.reconciler.reconciler import PUBLISHED_IN_VAIN, ChannelRules, Finding, Reconciler, Sweep
from tests.fakes.clock import SUNDAY_EVENING, FakeClock
from tests.fakes.examples import (
    EXPIRES_AFTER,
    a_delivery,
    a_rejected_delivery,
    a_sending_delivery,
    an_exhausted_delivery,
)
from tests.fakes.ledger import InMemoryLedger
from tests.fakes.periods import InMemoryPeriods
from tests.fakes.queues import InMemoryQueues
from tests.fakes.traffic import InMemoryTraffic

NO_KEYS = Guarantee(Dedupe.NONE)
KEYS_FOR_A_DAY = Guarantee(Dedupe.WINDOW, window=timedelta(days=1))
CAN_BE_ASKED = Guarantee(Dedupe.LOOKUP, window=timedelta(days=1), lookup_window=timedelta(days=7))
SILENCE = timedelta(minutes=4)
A_MINUTE = timedelta(minutes=1)
EMAIL = Channel.EMAIL
WEEK = "2026-11-16"


class FakeWitness:
    """A provider that says of every key what the scenario tells it to."""

    def __init__(self, sighting: Sighting) -> None:
        self.sighting = sighting
        self.asked: list[str] = []

    def look_up(self, delivery: Delivery) -> Sighting:
        self.asked.append(str(delivery.delivery_id))
        return self.sighting


@dataclass
class Scene:
    guarantee: Guarantee = NO_KEYS
    witness: FakeWitness | None = None
    rate_per_second: float = 10
    horizon: timedelta = A_MINUTE
    clock: FakeClock = field(default_factory=FakeClock)
    ledger: InMemoryLedger = field(default_factory=lambda: InMemoryLedger(shards=4))
    queues: InMemoryQueues = field(default_factory=InMemoryQueues)
    traffic: InMemoryTraffic = field(default_factory=InMemoryTraffic)
    periods: InMemoryPeriods = field(default_factory=InMemoryPeriods)

    def sweep(self, *, stop_at: datetime | None = None) -> Sweep:
        rules = ChannelRules(self.guarantee, self.witness, self.rate_per_second)
        reconciler = Reconciler(
            ledger=self.ledger,
            queues=self.queues,
            traffic=self.traffic,
            periods=self.periods,
            clock=self.clock,
            shards=self.ledger.shards,
            silence_after=SILENCE,
            horizon=self.horizon,
            channels={Channel.EMAIL: rules, Channel.SMS: rules},
        )
        return reconciler.sweep(stop_at=stop_at or self.clock() + A_MINUTE)

    def row(self, delivery: Delivery) -> Delivery:
        return self.ledger.rows[str(delivery.delivery_id)]


@pytest.fixture
def scene() -> Scene:
    return Scene()


def due_now(row: Delivery) -> Delivery:
    return replace(row, attention_at=SUNDAY_EVENING)


PLANNED = due_now(a_delivery())
QUEUED = due_now(a_delivery(status=Status.QUEUED, enqueued_at=SUNDAY_EVENING - SILENCE))
RETRYABLE = due_now(a_delivery(status=Status.RETRYABLE, attempt=1, next_attempt_at=SUNDAY_EVENING))


# --- what the queue lost ---


def test_a_planned_delivery_whose_id_never_went_out_is_published(scene: Scene) -> None:
    scene.ledger.put(PLANNED)
    assert scene.sweep().found == Counter({Finding.NOT_ENQUEUED: 1})
    assert scene.queues.sent == [str(PLANNED.delivery_id)]
    row = scene.row(PLANNED)
    assert (row.status, row.enqueued_at) == (Status.QUEUED, scene.clock())
    assert row.attention_at == scene.clock() + SILENCE


def test_a_delivery_of_which_nothing_was_heard_is_published_again_under_the_same_id(scene: Scene) -> None:
    scene.ledger.put(QUEUED)
    assert scene.sweep().found == Counter({Finding.SILENT: 1})
    assert scene.queues.sent == [str(QUEUED.delivery_id)]
    assert scene.row(QUEUED).published == 1


def test_a_delivery_that_waits_its_turn_in_a_long_queue_is_not_published_again(scene: Scene) -> None:
    scene.queues.waiting[EMAIL] = 5000
    scene.ledger.put(QUEUED)
    assert scene.sweep().found == Counter({Finding.ALL_RIGHT: 1})
    assert scene.queues.sent == []
    assert scene.row(QUEUED).attention_at == scene.clock() + timedelta(seconds=500) + SILENCE


def test_a_delivery_published_in_vain_is_given_up_and_shown_to_a_person(scene: Scene) -> None:
    scene.ledger.put(replace(QUEUED, published=PUBLISHED_IN_VAIN))
    assert scene.sweep().found == Counter({Finding.IN_VAIN: 1})
    assert scene.row(QUEUED).exhausted()
    assert scene.queues.sent == []


def test_what_the_queue_does_not_take_stays_as_it_is_and_is_told(scene: Scene) -> None:
    scene.queues.refused = {str(PLANNED.delivery_id)}
    scene.ledger.put(PLANNED)
    assert scene.sweep().not_enqueued == 1
    assert scene.row(PLANNED) == PLANNED


def test_the_delivery_that_has_waited_longest_for_a_queue_is_told_until_one_takes_it(scene: Scene) -> None:
    waiting = [due_now(a_delivery(f"c-{number}", selected_at=SUNDAY_EVENING - number * A_MINUTE)) for number in (2, 9)]
    again = due_now(a_delivery("c-0", status=Status.RETRYABLE, attempt=1, next_attempt_at=SUNDAY_EVENING))
    scene.ledger.put(*waiting, again)
    scene.queues.refused = {str(row.delivery_id) for row in (*waiting, again)}
    refused = scene.sweep()
    assert (refused.not_enqueued, refused.enqueued) == (3, 0)
    assert refused.planned_since == SUNDAY_EVENING - 9 * A_MINUTE
    scene.queues.refused = set()
    taken = scene.sweep()
    assert (taken.not_enqueued, taken.enqueued, taken.planned_since) == (0, 2, None)  # the third had been before


def test_what_a_sweep_ends_by_itself_is_told_by_channel_and_state(scene: Scene) -> None:
    late = replace(RETRYABLE, delivery_id=a_delivery("c-late").delivery_id, expires_at=SUNDAY_EVENING)
    lost = due_now(
        replace(a_sending_delivery(lease_until=SUNDAY_EVENING), delivery_id=a_delivery("c-lost").delivery_id)
    )
    scene.ledger.put(replace(QUEUED, published=PUBLISHED_IN_VAIN), late, lost)
    assert scene.sweep().ended == Counter(
        {("email", Status.DEAD_LETTER): 1, ("email", Status.EXPIRED): 1, ("email", Status.UNCERTAIN): 1}
    )


def test_a_queued_delivery_is_left_alone_while_it_is_young(scene: Scene) -> None:
    young = due_now(a_delivery(status=Status.QUEUED, enqueued_at=SUNDAY_EVENING - A_MINUTE))
    scene.ledger.put(young)
    assert scene.sweep().found == Counter({Finding.ALL_RIGHT: 1})
    assert scene.row(young).attention_at == scene.clock() + SILENCE


# --- leases ---


def test_a_delivery_that_is_being_sent_is_left_alone_until_its_lease_ends(scene: Scene) -> None:
    sending = due_now(a_sending_delivery())
    scene.ledger.put(sending)
    assert scene.sweep().found == Counter({Finding.ALL_RIGHT: 1})
    assert scene.row(sending).attention_at == sending.lease_until
    assert scene.row(sending).status is Status.SENDING


@pytest.mark.parametrize(
    ("guarantee", "status", "sent"),
    [(NO_KEYS, Status.UNCERTAIN, 0), (KEYS_FOR_A_DAY, Status.QUEUED, 1)],
    ids=["not sent again", "asked again under the same key"],
)
def test_a_lease_that_ran_out_follows_what_the_provider_can_do(guarantee: Guarantee, status: Status, sent: int) -> None:
    scene = Scene(guarantee=guarantee)
    scene.ledger.put(due_now(a_sending_delivery(lease_until=SUNDAY_EVENING)))
    assert scene.sweep().found[Finding.LEASE_RAN_OUT] == 1
    assert scene.row(a_delivery()).status is status
    assert len(scene.queues.sent) == sent


# --- what is due again ---


def test_a_retryable_delivery_goes_out_when_its_time_has_come(scene: Scene) -> None:
    scene.ledger.put(RETRYABLE)
    assert scene.sweep().found == Counter({Finding.DUE_AGAIN: 1})
    assert scene.queues.sent == [str(RETRYABLE.delivery_id)]
    assert (scene.row(RETRYABLE).status, scene.row(RETRYABLE).attempt) == (Status.QUEUED, 1)


@pytest.mark.parametrize(("wait_ms", "delay_s"), [(1, 1), (999, 1), (1000, 1), (17_001, 18), (60_000, 60)])
def test_what_falls_due_before_the_next_sweep_goes_out_with_a_delay_and_never_early(
    scene: Scene, wait_ms: int, delay_s: int
) -> None:
    again = SUNDAY_EVENING + timedelta(milliseconds=wait_ms)
    scene.ledger.put(replace(RETRYABLE, next_attempt_at=again, attention_at=again))
    scene.sweep()
    assert scene.queues.delays_s == [delay_s]


def test_what_falls_due_after_the_next_sweep_waits(scene: Scene) -> None:
    again = SUNDAY_EVENING + A_MINUTE + timedelta(milliseconds=1)
    waiting = replace(RETRYABLE, next_attempt_at=again, attention_at=again)
    scene.ledger.put(waiting)
    assert scene.sweep().found == Counter()
    assert scene.row(waiting) == waiting


@pytest.mark.parametrize("horizon", [A_MINUTE, timedelta(minutes=5), timedelta(hours=1)])
def test_a_message_that_backs_off_and_will_come_back_by_itself_gets_no_copy(horizon: timedelta) -> None:
    scene = Scene(horizon=horizon)
    busy = Outcome(OutcomeClass.UNAVAILABLE, "ServiceUnavailable")
    backing_off = settled(a_sending_delivery(), busy, guarantee=NO_KEYS, pause_s=120, at=scene.clock())
    scene.ledger.put(backing_off)
    for _ in range(3):
        scene.sweep()
        scene.clock.advance(A_MINUTE - timedelta(seconds=1))
    assert scene.queues.sent == []
    assert scene.row(backing_off) == backing_off


def test_a_message_that_backed_off_and_did_not_come_back_is_replaced() -> None:
    scene = Scene()
    busy = Outcome(OutcomeClass.UNAVAILABLE, "ServiceUnavailable")
    lost = settled(a_sending_delivery(), busy, guarantee=NO_KEYS, pause_s=120, at=scene.clock())
    scene.ledger.put(lost)
    scene.clock.advance(timedelta(minutes=3))
    scene.sweep()
    assert scene.queues.sent == [str(lost.delivery_id)]


def test_no_more_goes_out_than_the_provider_takes_until_the_next_sweep() -> None:
    scene = Scene(rate_per_second=0.5)
    for number in range(50):
        scene.ledger.put(replace(RETRYABLE, delivery_id=a_delivery(f"c-{number}").delivery_id))
    scene.queues.waiting[EMAIL] = 10
    scene.sweep()
    assert len(scene.queues.sent) == 20


def test_a_closed_gate_keeps_what_waits_where_it_is(scene: Scene) -> None:
    scene.traffic.close(EMAIL, until=scene.clock() + timedelta(minutes=10), cause="429")
    scene.ledger.put(RETRYABLE)
    assert scene.sweep().found == Counter()
    assert scene.row(RETRYABLE) == RETRYABLE


def test_a_gate_that_opens_before_the_next_sweep_lets_it_out_at_that_time(scene: Scene) -> None:
    scene.traffic.close(EMAIL, until=scene.clock() + timedelta(seconds=20), cause="429")
    scene.ledger.put(RETRYABLE)
    scene.sweep()
    assert scene.queues.delays_s == [20]


def test_a_halted_channel_is_told_and_left_alone_and_the_other_goes_on(scene: Scene) -> None:
    scene.traffic.halt(EMAIL, at=scene.clock(), cause="AccessDenied")
    text = replace(RETRYABLE, delivery_id=a_delivery(channel=Channel.SMS).delivery_id)
    scene.ledger.put(RETRYABLE, text)
    assert scene.sweep().halted == ["email"]
    assert scene.queues.sent == [str(text.delivery_id)]


# --- ends ---


@pytest.mark.parametrize("row", [PLANNED, QUEUED, RETRYABLE], ids=lambda row: row.status)
def test_a_delivery_past_its_time_expires_instead_of_going_out(scene: Scene, row: Delivery) -> None:
    scene.ledger.put(row)
    scene.clock.advance(EXPIRES_AFTER)
    assert scene.sweep().found == Counter({Finding.TOO_LATE: 1})
    assert (scene.row(row).status, scene.queues.sent) == (Status.EXPIRED, [])


@pytest.mark.parametrize(
    "row",
    [a_delivery(status=Status.UNCERTAIN, attempt=1), an_exhausted_delivery(), a_rejected_delivery()],
    ids=["uncertain", "exhausted", "rejected"],
)
def test_what_waits_for_a_person_is_left_to_the_person(scene: Scene, row: Delivery) -> None:
    scene.ledger.put(due_now(row))
    scene.clock.advance(timedelta(days=2))
    assert scene.sweep().found == Counter()
    assert scene.queues.sent == []


def test_an_entry_of_the_index_that_is_out_of_date_does_nothing(scene: Scene) -> None:
    class Stale(InMemoryLedger):
        def needing_attention(self, *_: object) -> list[str]:  # type: ignore[override]
            return [str(PLANNED.delivery_id), "digest:c-gone:2026-11-16:email"]

    scene.ledger = Stale()
    sent_already = replace(PLANNED, status=Status.ACCEPTED, attention_at=None)
    scene.ledger.put(sent_already)
    report = scene.sweep()
    assert set(report.found) == {Finding.FINISHED}
    assert scene.row(PLANNED) == sent_already
    assert scene.queues.sent == []


# --- uncertain deliveries, where the provider can be asked ---


def uncertain() -> Delivery:
    return a_delivery(
        status=Status.UNCERTAIN, attempt=1, in_doubt_since=SUNDAY_EVENING - A_MINUTE, attention_at=SUNDAY_EVENING
    )


@pytest.mark.parametrize(
    ("sighting", "finding", "status"),
    [
        (Sighting(Sight.ACCEPTED, "reference-7"), Finding.CONFIRMED, Status.ACCEPTED),
        (Sighting(Sight.ABSENT), Finding.REFUTED, Status.RETRYABLE),
        (Sighting(Sight.RUNNING), Finding.STILL_UNCERTAIN, Status.UNCERTAIN),
        (Sighting(Sight.NO_ANSWER), Finding.STILL_UNCERTAIN, Status.UNCERTAIN),
    ],
    ids=lambda value: value.sight if isinstance(value, Sighting) else str(value),
)
def test_doubt_ends_with_the_providers_word(sighting: Sighting, finding: Finding, status: Status) -> None:
    scene = Scene(guarantee=CAN_BE_ASKED, witness=FakeWitness(sighting))
    scene.ledger.put(uncertain())
    assert scene.sweep().found == Counter({finding: 1})
    assert scene.row(uncertain()).status is status


def test_nothing_is_asked_that_the_provider_can_no_longer_know() -> None:
    witness = FakeWitness(Sighting(Sight.ABSENT))
    scene = Scene(guarantee=CAN_BE_ASKED, witness=witness)
    scene.ledger.put(uncertain())
    scene.clock.advance(timedelta(days=8))
    assert scene.sweep().found == Counter({Finding.STILL_UNCERTAIN: 1})
    assert witness.asked == []
    assert scene.row(uncertain()).status is Status.UNCERTAIN


# --- weeks ---


def test_a_week_is_closed_when_none_of_its_deliveries_is_open(scene: Scene) -> None:
    scene.periods.open(WEEK, at=scene.clock())
    scene.ledger.put(a_delivery(status=Status.ACCEPTED, attention_at=None))
    assert scene.sweep().closed_periods == [WEEK]
    assert scene.periods.closed == {WEEK: scene.clock()}


def test_one_open_delivery_keeps_its_week_open(scene: Scene) -> None:
    scene.periods.open(WEEK, at=scene.clock())
    scene.ledger.put(replace(RETRYABLE, attention_at=scene.clock() + timedelta(days=1)))
    assert scene.sweep().closed_periods == []


class LedgerBehind(InMemoryLedger):
    """Its index has not caught up when a week's open rows are looked for."""

    def has_open(self, period: str) -> bool:  # noqa: ARG002 - whichever
        return False


def test_a_week_that_the_sweep_has_seen_open_is_not_closed_by_an_index_that_is_behind() -> None:
    scene = Scene(ledger=LedgerBehind(shards=4))
    scene.periods.open(WEEK, at=scene.clock())
    scene.ledger.put(RETRYABLE)
    assert scene.sweep().closed_periods == []


# --- told ---


def test_the_oldest_delivery_that_is_still_open_is_told(scene: Scene) -> None:
    old = replace(PLANNED, delivery_id=a_delivery("c-old").delivery_id, due_at=SUNDAY_EVENING - timedelta(hours=3))
    scene.ledger.put(PLANNED, old)
    assert scene.sweep().oldest_due_at == SUNDAY_EVENING - timedelta(hours=3)


def test_a_quiet_hour_finds_nothing(scene: Scene) -> None:
    report = scene.sweep()
    assert (report.found, report.oldest_due_at, report.unfinished) == (Counter(), None, False)


# --- stopped, or twice at once ---


def test_a_sweep_out_of_time_says_so_and_the_next_one_goes_on(scene: Scene) -> None:
    scene.ledger.put(PLANNED)
    report = scene.sweep(stop_at=scene.clock())
    assert (report.unfinished, scene.queues.sent) == (True, [])
    assert not scene.sweep().unfinished
    assert scene.queues.sent == [str(PLANNED.delivery_id)]


def test_a_consumer_that_is_quicker_than_the_sweep_keeps_its_row(scene: Scene) -> None:
    scene.ledger.put(due_now(a_sending_delivery(lease_until=SUNDAY_EVENING)))

    class Quick(InMemoryLedger):
        def write(self, before: Delivery, after: Delivery) -> bool:
            self.put(replace(before, status=Status.ACCEPTED, attention_at=None))
            return super().write(before, after)

    quick = Quick(shards=4)
    quick.rows = scene.ledger.rows
    scene.ledger = quick
    scene.sweep()
    assert scene.row(a_delivery()).status is Status.ACCEPTED


def test_two_sweeps_over_the_same_rows_end_as_one(scene: Scene) -> None:
    rows = [replace(PLANNED, delivery_id=a_delivery(f"c-{number}").delivery_id) for number in range(20)]
    scene.ledger.put(*rows)
    scene.sweep()
    scene.sweep()
    assert len(scene.queues.sent) == 20
    assert {row.status for row in scene.ledger.rows.values()} == {Status.QUEUED}
