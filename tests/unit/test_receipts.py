"""What a provider says afterwards: any order of the same events ends the same, and each does once what it must."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import reduce
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.core.delivery import FINISHED, Delivery, Receipt, ReceiptState, Status
from functions.core.identity import Channel, DeliveryId, Topic
from functions.core.receipts import (
    MARKS,
    PRECEDENCE,
    Note,
    ReceiptEvent,
    Receiver,
    Reception,
    SuppressionCause,
    SuppressionRule,
    joined,
)
from tests.fakes.clock import SUNDAY_EVENING, FakeClock
from tests.fakes.customers import InMemoryCustomers
from tests.fakes.examples import (
    CUSTOMER,
    a_delivery,
    a_profile,
    a_rejected_delivery,
    a_sending_delivery,
    an_exhausted_delivery,
)
from tests.fakes.ledger import InMemoryLedger
from tests.fakes.suppressions import InMemorySuppressions

SENT, DELAYED, DELIVERED = ReceiptState.SENT, ReceiptState.DELAYED, ReceiptState.DELIVERED
SOFT, BOUNCED, COMPLAINED = ReceiptState.SOFT_BOUNCED, ReceiptState.BOUNCED, ReceiptState.COMPLAINED
FAILED = ReceiptState.FAILED
REFERENCE = "ses-1"
A_DAY = timedelta(days=1)


def an_event(
    state: ReceiptState | None,
    *,
    delivery_id: DeliveryId | None = a_delivery().delivery_id,  # noqa: B008 - frozen
    at: datetime = SUNDAY_EVENING,
    event_id: str | None = None,
    reference: str | None = REFERENCE,
) -> ReceiptEvent:
    return ReceiptEvent(
        provider="ses",
        event_id=event_id or f"event-{state}-{at.isoformat()}",
        reference=reference,
        delivery_id=delivery_id,
        kind=f"Email {state}",
        state=state,
        at=at,
        arrived_at=at,
        code=str(state),
    )


def an_accepted_delivery(**differing: object) -> Delivery:
    row = a_delivery(
        status=Status.ACCEPTED,
        attempt=1,
        accepted_at=SUNDAY_EVENING,
        attention_at=None,
        provider_reference=REFERENCE,
    )
    return replace(row, **differing)  # type: ignore[arg-type]


@dataclass
class World:
    """A receiver on tables in memory."""

    clock: FakeClock = field(default_factory=FakeClock)
    customers: InMemoryCustomers = field(default_factory=InMemoryCustomers)
    ledger: InMemoryLedger = field(default_factory=InMemoryLedger)

    def __post_init__(self) -> None:
        self.customers.add(a_profile())
        self.suppressions = InMemorySuppressions(self.customers)
        self.receiver = Receiver(
            self.ledger, self.suppressions, SuppressionRule(3, timedelta(days=60)), clock=self.clock
        )

    def receive(self, *events: ReceiptEvent) -> list[Reception]:
        return [self.receiver.receive(event) for event in events]

    def row(self, delivery: Delivery) -> Delivery:
        return self.ledger.rows[str(delivery.delivery_id)]

    @property
    def suppressed(self) -> dict[Channel, str]:
        return dict(self.customers.profiles[CUSTOMER].suppressed)


@pytest.fixture
def world() -> World:
    return World()


# --- any order ends the same ---

MOMENTS = [SUNDAY_EVENING + timedelta(minutes=minutes) for minutes in range(5)]
STORIES: dict[str, Sequence[tuple[ReceiptState, datetime]]] = {
    "delivered": [(SENT, MOMENTS[0]), (DELIVERED, MOMENTS[1])],
    "late": [(SENT, MOMENTS[0]), (DELAYED, MOMENTS[1]), (DELAYED, MOMENTS[2]), (DELIVERED, MOMENTS[3])],
    "back after all": [(SENT, MOMENTS[0]), (DELIVERED, MOMENTS[1]), (BOUNCED, MOMENTS[2])],
    "complained about": [(SENT, MOMENTS[0]), (DELIVERED, MOMENTS[1]), (COMPLAINED, MOMENTS[4])],
    "everything": [
        (SENT, MOMENTS[0]),
        (DELIVERED, MOMENTS[1]),
        (BOUNCED, MOMENTS[2]),
        (COMPLAINED, MOMENTS[3]),
        (DELIVERED, MOMENTS[4]),
    ],
    "an absence note": [(DELIVERED, MOMENTS[0]), (SOFT, MOMENTS[1])],
    "a full mailbox": [(SENT, MOMENTS[0]), (DELAYED, MOMENTS[1]), (SOFT, MOMENTS[2]), (SOFT, MOMENTS[3])],
    "refused by the carrier": [(SENT, MOMENTS[0]), (DELIVERED, MOMENTS[1]), (FAILED, MOMENTS[2])],
}
ENDS = {
    "delivered": DELIVERED,
    "late": DELIVERED,
    "back after all": BOUNCED,
    "complained about": COMPLAINED,
    "everything": COMPLAINED,
    "an absence note": DELIVERED,
    "a full mailbox": SOFT,
    "refused by the carrier": FAILED,
}


@pytest.mark.parametrize("channel", list(Channel))
@pytest.mark.parametrize("story", list(STORIES))
def test_the_same_events_in_any_order_leave_the_same_row_and_the_same_profile(story: str, channel: Channel) -> None:
    row = replace(an_accepted_delivery(), delivery_id=a_delivery(channel=channel).delivery_id)
    events = [an_event(state, delivery_id=row.delivery_id, at=at) for state, at in STORIES[story]]
    ends = set()
    for order in permutations(events):
        world = World()
        world.ledger.put(row)
        assert {one.note for one in world.receive(*order)} == {Note.TAKEN}
        end = world.row(row)
        bounces = world.suppressions.bounces.get((CUSTOMER, channel), set())
        ends.add((end, tuple(world.suppressed.items()), frozenset(bounces)))
    ((end, _, _),) = ends
    assert end.receipt is not None
    assert end.receipt.state is ENDS[story]


@pytest.mark.parametrize("status", [Status.UNCERTAIN, Status.RETRYABLE, Status.QUEUED])
def test_the_same_events_in_any_order_settle_a_row_that_was_in_doubt(status: Status) -> None:
    before = a_delivery(status=status, attempt=1, in_doubt_since=SUNDAY_EVENING)
    events = [an_event(state, at=at) for state, at in STORIES["everything"]]
    for order in permutations(events):
        world = World()
        world.ledger.put(before)
        world.receive(*order)
        row = world.row(before)
        assert (row.status, row.provider_reference) == (Status.ACCEPTED, REFERENCE)
        assert row.receipt is not None
        assert row.receipt.state is COMPLAINED


RECEIPTS = st.builds(
    Receipt,
    state=st.sampled_from(list(ReceiptState)),
    at=st.sampled_from(MOMENTS),
    code=st.sampled_from(["a", "b"]),
    seen=st.frozensets(st.integers(0, 40).map(str), max_size=MARKS).map(lambda marks: tuple(sorted(marks))),
)


@given(st.lists(RECEIPTS, min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_joining_does_not_know_of_order_grouping_or_repetition(receipts: list[Receipt], random: object) -> None:
    shuffled = [*receipts, *receipts]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert all_joined(shuffled) == all_joined(receipts)
    halves = all_joined(receipts[: len(receipts) // 2]), all_joined(receipts[len(receipts) // 2 :])
    assert halves[1] is not None
    assert joined(halves[0], halves[1]) == all_joined(receipts)


def all_joined(receipts: Iterable[Receipt]) -> Receipt | None:
    nothing: Receipt | None = None
    return reduce(joined, receipts, nothing)


def test_every_state_has_its_weight() -> None:
    assert set(PRECEDENCE) == set(ReceiptState)
    assert len(PRECEDENCE) == len(ReceiptState)


def test_a_row_remembers_a_bounded_number_of_events(world: World) -> None:
    world.ledger.put(an_accepted_delivery())
    world.receive(*(an_event(DELAYED, at=SUNDAY_EVENING + timedelta(minutes=one)) for one in range(30)))
    receipt = world.row(a_delivery()).receipt
    assert receipt is not None
    assert len(receipt.seen) == MARKS
    assert receipt.at == SUNDAY_EVENING


# --- repeated events ---


def test_an_event_that_comes_twice_is_done_with_and_not_counted_again(world: World) -> None:
    world.ledger.put(an_accepted_delivery())
    assert [one.note for one in world.receive(an_event(DELIVERED), an_event(DELIVERED))] == [Note.TAKEN, Note.DUPLICATE]


def test_an_event_that_comes_under_another_id_is_known_by_what_it_says(world: World) -> None:
    world.ledger.put(an_accepted_delivery())
    first, again = an_event(BOUNCED, event_id="one"), an_event(BOUNCED, event_id="two")
    assert [one.note for one in world.receive(first, again)] == [Note.TAKEN, Note.DUPLICATE]


def test_a_second_bounce_at_another_time_is_another_event(world: World) -> None:
    world.ledger.put(an_accepted_delivery())
    later = an_event(BOUNCED, at=SUNDAY_EVENING + timedelta(seconds=1))
    assert [one.note for one in world.receive(an_event(BOUNCED), later)] == [Note.TAKEN, Note.TAKEN]


def test_an_event_that_died_after_the_address_was_suppressed_is_taken_by_its_repetition(world: World) -> None:
    world.ledger.put(an_accepted_delivery())
    world.suppressions.suppress(CUSTOMER, Channel.EMAIL, SuppressionCause.HARD_BOUNCE, at=SUNDAY_EVENING, code="-")
    (reception,) = world.receive(an_event(BOUNCED))
    assert (reception.note, reception.suppressed) == (Note.TAKEN, None)


# --- which row ---


def test_an_event_for_a_delivery_that_nobody_knows_is_kept_for_later(world: World) -> None:
    (reception,) = world.receive(an_event(DELIVERED))
    assert (reception.note, reception.done, reception.visible_in_s) == (Note.UNKNOWN, False, None)


def test_an_event_without_our_tag_is_given_up_at_once(world: World) -> None:
    (reception,) = world.receive(an_event(DELIVERED, delivery_id=None))
    assert (reception.note, reception.done, reception.visible_in_s) == (Note.UNTAGGED, False, 0)


def test_an_opened_email_says_nothing_of_its_delivery(world: World) -> None:
    world.ledger.put(an_accepted_delivery())
    (reception,) = world.receive(an_event(None))
    assert (reception.note, reception.done) == (Note.IGNORED, True)
    assert world.row(a_delivery()).receipt is None


def test_an_event_that_is_quicker_than_our_own_write_waits_for_it(world: World) -> None:
    sending = a_sending_delivery(lease_until=world.clock() + timedelta(seconds=20))
    world.ledger.put(sending)
    (early,) = world.receive(an_event(DELIVERED))
    assert (early.note, early.done, early.visible_in_s) == (Note.IN_FLIGHT, False, 21)
    assert world.row(sending) == sending
    world.ledger.put(an_accepted_delivery())  # our own write
    (again,) = world.receive(an_event(DELIVERED))
    assert (again.note, again.confirmed) == (Note.TAKEN, False)


def test_an_event_settles_a_row_whose_invocation_died_before_it_could_write(world: World) -> None:
    sending = a_sending_delivery(lease_until=world.clock() - timedelta(seconds=1))
    world.ledger.put(sending)
    (reception,) = world.receive(an_event(DELIVERED))
    row = world.row(sending)
    assert (row.status, row.provider_reference, reception.confirmed) == (Status.ACCEPTED, REFERENCE, True)
    assert row.accepted_at == SUNDAY_EVENING


@pytest.mark.parametrize(
    "before",
    [a_delivery(status=Status.UNCERTAIN, attempt=1), an_exhausted_delivery(), a_rejected_delivery(), a_delivery()],
    ids=["uncertain", "exhausted", "rejected", "planned, in a table that was taken back to yesterday"],
)
@pytest.mark.parametrize("state", [SENT, DELAYED, DELIVERED, BOUNCED, COMPLAINED, FAILED])
def test_any_event_proves_that_the_provider_had_accepted(world: World, before: Delivery, state: ReceiptState) -> None:
    world.ledger.put(before)
    (reception,) = world.receive(an_event(state))
    assert (world.row(before).status, reception.confirmed) == (Status.ACCEPTED, True)


@pytest.mark.parametrize("status", sorted(FINISHED))
def test_an_event_about_a_row_that_has_ended_is_kept_with_it_and_changes_no_end(world: World, status: Status) -> None:
    world.ledger.put(a_delivery(status=status, attempt=1))
    (reception,) = world.receive(an_event(DELIVERED))
    row = world.row(a_delivery())
    assert (row.status, reception.confirmed) == (status, False)
    assert row.receipt is not None


def test_an_event_about_another_message_than_ours_tells_of_a_second_send(world: World) -> None:
    world.ledger.put(an_accepted_delivery())
    receptions = world.receive(an_event(DELIVERED), an_event(DELIVERED, reference="ses-2", event_id="other"))
    assert [(one.note, one.second_send) for one in receptions] == [(Note.TAKEN, False), (Note.TAKEN, True)]
    assert world.row(a_delivery()).provider_reference == REFERENCE


class MovingLedger(InMemoryLedger):
    """A ledger in which something else happens between the next reads and their writes."""

    def __init__(self, *moves: Callable[[InMemoryLedger], None]) -> None:
        super().__init__()
        self.moves = list(moves)

    def write(self, before: Delivery, after: Delivery) -> bool:
        if self.moves:
            self.moves.pop(0)(self)
        return super().write(before, after)


def test_a_row_that_was_claimed_meanwhile_is_looked_at_again(world: World) -> None:
    def claim(ledger: InMemoryLedger) -> None:
        ledger.put(a_sending_delivery(lease_until=world.clock() + timedelta(seconds=30)))

    receiver = replace(world.receiver, ledger=MovingLedger(claim))
    receiver.ledger.put(a_delivery(status=Status.RETRYABLE))  # type: ignore[attr-defined]
    assert receiver.receive(an_event(DELIVERED)).note is Note.IN_FLIGHT


def test_two_events_at_once_are_joined_and_none_is_lost(world: World) -> None:
    def complain(ledger: InMemoryLedger) -> None:
        complaint = an_event(COMPLAINED).as_receipt()
        ledger.put(an_accepted_delivery(receipt=complaint))

    receiver = replace(world.receiver, ledger=MovingLedger(complain))
    receiver.ledger.put(an_accepted_delivery())  # type: ignore[attr-defined]
    assert receiver.receive(an_event(DELIVERED)).note is Note.TAKEN
    receipt = receiver.ledger.read([str(a_delivery().delivery_id)])[str(a_delivery().delivery_id)].receipt
    assert receipt is not None
    assert receipt.state is COMPLAINED
    assert set(receipt.seen) == {*an_event(COMPLAINED).marks, *an_event(DELIVERED).marks}


def test_a_row_that_never_stands_still_is_tried_again_later(world: World) -> None:
    def another(ledger: InMemoryLedger) -> None:
        row = ledger.rows[str(a_delivery().delivery_id)]
        event = an_event(DELAYED, at=SUNDAY_EVENING + timedelta(minutes=len(row.receipt.seen) if row.receipt else 0))
        ledger.put(replace(row, receipt=joined(row.receipt, event.as_receipt())))

    receiver = replace(world.receiver, ledger=MovingLedger(*[another] * 10))
    receiver.ledger.put(an_accepted_delivery())  # type: ignore[attr-defined]
    reception = receiver.receive(an_event(DELIVERED))
    assert (reception.note, reception.done, reception.visible_in_s) == (Note.CONTENDED, False, 1)


# --- suppression ---


@pytest.mark.parametrize(("state", "cause"), [(BOUNCED, "hard_bounce"), (COMPLAINED, "complaint")])
def test_a_hard_bounce_and_a_complaint_suppress_that_channel(world: World, state: ReceiptState, cause: str) -> None:
    world.ledger.put(an_accepted_delivery())
    (reception,) = world.receive(an_event(state))
    assert world.suppressed == {Channel.EMAIL: cause}
    assert reception.suppressed == cause


@pytest.mark.parametrize("state", [SENT, DELAYED, SOFT, DELIVERED, FAILED])
def test_nothing_else_suppresses_by_itself(world: World, state: ReceiptState) -> None:
    world.ledger.put(an_accepted_delivery())
    world.receive(an_event(state))
    assert world.suppressed == {}


def weekly(weeks: int) -> list[Delivery]:
    first = datetime(2026, 9, 7).date()  # noqa: DTZ001 - a Monday
    ids = [DeliveryId(Topic.DIGEST, CUSTOMER, str(first + timedelta(weeks=one)), Channel.EMAIL) for one in range(weeks)]
    return [an_accepted_delivery(delivery_id=one) for one in ids]


def soft_bounces(world: World, rows: Sequence[Delivery], *, apart: timedelta = timedelta(weeks=1)) -> list[Reception]:
    world.ledger.put(*rows)
    return world.receive(
        *(
            an_event(SOFT, delivery_id=row.delivery_id, at=SUNDAY_EVENING + number * apart)
            for number, row in enumerate(rows)
        )
    )


def test_soft_bounces_of_three_deliveries_suppress_the_channel(world: World) -> None:
    receptions = soft_bounces(world, weekly(3))
    assert [one.suppressed for one in receptions] == [None, None, SuppressionCause.SOFT_BOUNCES]
    assert world.suppressed == {Channel.EMAIL: "soft_bounces"}


def test_three_soft_bounces_of_one_delivery_are_one(world: World) -> None:
    (row,) = weekly(1)
    world.ledger.put(row)
    world.receive(*(an_event(SOFT, delivery_id=row.delivery_id, at=moment) for moment in MOMENTS[:3]))
    assert world.suppressed == {}


def test_soft_bounces_far_apart_suppress_nothing(world: World) -> None:
    soft_bounces(world, weekly(4), apart=timedelta(days=31))
    assert world.suppressed == {}


def test_a_soft_bounce_that_arrived_after_all_does_not_count(world: World) -> None:
    rows = weekly(3)
    soft_bounces(world, rows[:2])
    world.receive(an_event(DELIVERED, delivery_id=rows[0].delivery_id, at=SUNDAY_EVENING + timedelta(minutes=1)))
    soft_bounces(world, rows[2:])
    assert world.suppressed == {}


def test_soft_bounces_whose_deliveries_arrived_after_all_suppress_no_more(world: World) -> None:
    rows = weekly(3)
    soft_bounces(world, rows, apart=timedelta(minutes=1))
    assert world.suppressed == {Channel.EMAIL: "soft_bounces"}
    (reception,) = world.receive(an_event(DELIVERED, delivery_id=rows[0].delivery_id, at=SUNDAY_EVENING + A_DAY))
    assert (reception.lifted, world.suppressed) == (SuppressionCause.SOFT_BOUNCES, {})


def test_enough_other_soft_bounces_keep_a_channel_suppressed(world: World) -> None:
    rows = weekly(4)
    soft_bounces(world, rows)
    (reception,) = world.receive(an_event(DELIVERED, delivery_id=rows[3].delivery_id, at=SUNDAY_EVENING + 30 * A_DAY))
    assert (reception.lifted, world.suppressed) == (None, {Channel.EMAIL: "soft_bounces"})


# What is heard of several deliveries of one customer, by their number, and how the channel ends.
HEARD: dict[str, tuple[Sequence[tuple[int, ReceiptState, timedelta]], str | None]] = {
    "close together": ([(0, SOFT, 0 * A_DAY), (1, SOFT, 30 * A_DAY), (2, SOFT, 60 * A_DAY)], "soft_bounces"),
    "too far apart": ([(0, SOFT, 0 * A_DAY), (1, SOFT, 31 * A_DAY), (2, SOFT, 62 * A_DAY)], None),
    "three of four": (
        [(0, SOFT, 0 * A_DAY), (1, SOFT, 50 * A_DAY), (2, SOFT, 60 * A_DAY), (3, SOFT, 100 * A_DAY)],
        "soft_bounces",
    ),
    "long past": (
        [(0, SOFT, 0 * A_DAY), (1, SOFT, 1 * A_DAY), (2, SOFT, 2 * A_DAY), (3, SOFT, 62 * A_DAY)],
        "soft_bounces",
    ),
    "one arrived": (
        [(0, SOFT, 0 * A_DAY), (1, SOFT, 1 * A_DAY), (2, SOFT, 2 * A_DAY), (0, DELIVERED, 3 * A_DAY)],
        None,
    ),
    "one bounced for good": (
        [(0, SOFT, 0 * A_DAY), (1, SOFT, 1 * A_DAY), (2, SOFT, 2 * A_DAY), (0, BOUNCED, 3 * A_DAY)],
        "hard_bounce",
    ),
    "one twice": (
        [(0, SOFT, 0 * A_DAY), (0, SOFT, 1 * A_DAY), (1, SOFT, 2 * A_DAY), (1, SOFT, 3 * A_DAY)],
        None,
    ),
}


@pytest.mark.parametrize("heard", HEARD)
def test_what_is_heard_of_several_deliveries_ends_the_same_in_any_order(heard: str) -> None:
    happenings, cause = HEARD[heard]
    expected = {} if cause is None else {Channel.EMAIL: cause}
    for order in permutations(happenings):
        assert after_hearing(order).suppressed == expected


@given(
    st.lists(st.tuples(st.integers(0, 3), st.just(SOFT), st.integers(0, 60)), min_size=3, max_size=5),
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from([DELIVERED, BOUNCED, COMPLAINED]), st.integers(0, 60))),
    st.data(),
)
def test_all_deliveries_of_a_customer_end_the_same_whatever_is_heard_of_first(
    soft: list[tuple[int, ReceiptState, int]], others: list[tuple[int, ReceiptState, int]], data: st.DataObject
) -> None:
    happenings = [(number, state, days * A_DAY) for number, state, days in soft + others[:2]]
    one, other = after_hearing(happenings), after_hearing(data.draw(st.permutations(happenings)))
    assert (one.suppressed, one.ledger.rows) == (other.suppressed, other.ledger.rows)


def after_hearing(happenings: Sequence[tuple[int, ReceiptState, timedelta]]) -> World:
    world, rows = World(), weekly(4)
    world.ledger.put(*rows)
    for number, state, after in happenings:
        at = SUNDAY_EVENING + after
        world.receive(an_event(state, delivery_id=rows[number].delivery_id, at=at, event_id=f"{number} {state} {at}"))
    return world


def test_an_old_bounce_that_comes_late_does_not_undo_what_a_person_lifted(world: World) -> None:
    rows = weekly(2)
    world.ledger.put(*rows)
    world.receive(an_event(BOUNCED, delivery_id=rows[1].delivery_id, at=SUNDAY_EVENING + timedelta(hours=1)))
    world.suppressions.clear(CUSTOMER, Channel.EMAIL, at=SUNDAY_EVENING + timedelta(days=1))
    (late,) = world.receive(an_event(BOUNCED, delivery_id=rows[0].delivery_id, at=SUNDAY_EVENING))
    assert (late.note, late.suppressed, world.suppressed) == (Note.TAKEN, None, {})


def test_a_customer_who_was_erased_is_not_brought_back_by_a_bounce(world: World) -> None:
    del world.customers.profiles[CUSTOMER]
    world.ledger.put(an_accepted_delivery())
    (reception,) = world.receive(an_event(BOUNCED))
    assert (reception.note, reception.suppressed) == (Note.TAKEN, None)
    assert CUSTOMER not in world.customers.profiles


def test_a_row_that_was_erased_while_its_event_was_on_its_way_is_no_row(world: World) -> None:
    (reception,) = world.receive(an_event(COMPLAINED))
    assert reception.note is Note.UNKNOWN
    assert world.suppressed == {}
