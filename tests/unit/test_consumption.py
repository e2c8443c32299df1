"""What a consumer does with one message, branch by branch."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, time, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.core.backoff import AT_ONCE, Backoff
from functions.core.composition import Composer
from functions.core.consumption import WAITED_FOR_S, Consumer, Disposition, Note, Received
from functions.core.customer import Consent, Obsolete
from functions.core.delivery import Delivery, FailureClass, SkipReason, Status
from functions.core.identity import Channel, Topic
from functions.core.message import DeliveryMessage, PoisonError
from functions.core.outcome import Dedupe, Guarantee, Outcome, OutcomeClass
from functions.core.ports import InFlightError, LeaseLostError
from functions.core.quiet_hours import QuietHours
from functions.core.traffic import HALTED_PAUSE, GatePosition, Lane
from tests.fakes.clock import FakeClock
from tests.fakes.customers import InMemoryCustomers
from tests.fakes.examples import (
    CUSTOMER,
    EXPIRES_AFTER,
    SITE_URL,
    a_delivery,
    a_profile,
    a_rejected_delivery,
    a_reminder,
    a_sending_delivery,
    an_activity,
    an_exhausted_delivery,
)
from tests.fakes.ledger import InMemoryLedger
from tests.fakes.senders import ScriptedSender
from tests.fakes.traffic import InMemoryTraffic

NO_KEYS = Guarantee(Dedupe.NONE)
KEYS_FOR_A_DAY = Guarantee(Dedupe.WINDOW, window=timedelta(days=1))
PAUSES_S = (30, 120, 600, 1800, 3600)
LAST = len(PAUSES_S) + 1
SECOND = timedelta(seconds=1)


def longest(_low: float, high: float) -> float:
    return high


@dataclass
class Scene:
    """A consumer of emails on fakes, and one customer who wants the digest of a week in which something happened."""

    clock: FakeClock = field(default_factory=FakeClock)
    ledger: InMemoryLedger = field(default_factory=InMemoryLedger)
    customers: InMemoryCustomers = field(default_factory=InMemoryCustomers)
    traffic: InMemoryTraffic = field(default_factory=InMemoryTraffic)
    sender: ScriptedSender = field(default_factory=ScriptedSender)
    guarantee: Guarantee = NO_KEYS
    slept: list[float] = field(default_factory=list)
    interval: timedelta = timedelta(milliseconds=1)
    quiet_hours: QuietHours | None = None

    def __post_init__(self) -> None:
        self.customers.add(a_profile(), an_activity())
        self.lane = Lane(self.traffic, Channel.EMAIL, interval=self.interval, clock=self.clock, sleep=self.slept.append)
        self.consumer = Consumer(
            channel=Channel.EMAIL,
            ledger=self.ledger,
            composer=Composer(self.customers, "digest@example.com", SITE_URL, quiet_hours=self.quiet_hours),
            sender=self.sender,
            lane=self.lane,
            guarantee=self.guarantee,
            backoff=Backoff(PAUSES_S, longest),
            clock=self.clock,
        )

    def receive(self, row: Delivery, *, receive_count: int = 1) -> Disposition:
        """Put a row there and receive its message."""
        self.ledger.put(row)
        self.lane.begin(1)
        return self.consumer.consume(self.message(row, receive_count=receive_count))

    def message(self, row: Delivery, *, receive_count: int = 1) -> Received:
        body = DeliveryMessage.of(row).to_body()
        return Received(body, receive_count, send_until=self.clock() + timedelta(seconds=20))

    def row(self) -> Delivery:
        (row,) = self.ledger.rows.values()
        return row


@pytest.fixture
def scene() -> Scene:
    return Scene()


QUEUED = a_delivery(status=Status.QUEUED)


# --- what is sent ---


@pytest.mark.parametrize("row", [a_delivery(), QUEUED, a_delivery(status=Status.RETRYABLE, attempt=2)])
def test_a_waiting_delivery_is_sent_and_its_message_is_done(scene: Scene, row: Delivery) -> None:
    disposition = scene.receive(row)
    assert (disposition.note, disposition.done) == (Note.SETTLED, True)
    assert [str(sent.delivery_id) for sent, _ in scene.sender.sent] == [str(row.delivery_id)]


def test_a_redriven_exhausted_delivery_is_sent_under_its_own_id(scene: Scene) -> None:
    disposition = scene.receive(an_exhausted_delivery(), receive_count=LAST)
    assert disposition.note is Note.SETTLED
    assert len(scene.sender.sent) == 1


# --- what is not sent again ---


@pytest.mark.parametrize(
    "row",
    [
        a_delivery(status=Status.ACCEPTED, attention_at=None),
        a_delivery(status=Status.SKIPPED, attention_at=None),
        a_delivery(status=Status.EXPIRED, attention_at=None),
        a_delivery(status=Status.UNCERTAIN, attempt=1),
        a_rejected_delivery(),
    ],
    ids=lambda row: row.status,
)
def test_a_message_for_a_delivery_that_has_ended_changes_nothing(scene: Scene, row: Delivery) -> None:
    disposition = scene.receive(row)
    assert (disposition.note, disposition.done) == (Note.DUPLICATE, True)
    assert scene.row() == row
    assert scene.sender.sent == []


def test_a_message_whose_delivery_was_erased_is_done(scene: Scene) -> None:
    disposition = scene.consumer.consume(scene.message(a_delivery()))
    assert (disposition.note, disposition.done) == (Note.NO_ROW, True)


def test_a_delivery_that_somebody_is_sending_comes_back_when_that_lease_has_ended(scene: Scene) -> None:
    disposition = scene.receive(a_sending_delivery(lease_until=scene.clock() + timedelta(seconds=25)))
    assert disposition.note is Note.IN_FLIGHT
    assert disposition.visible_in_s is not None
    assert 25 <= disposition.visible_in_s <= 27
    assert scene.sender.sent == []


def test_a_claim_that_somebody_else_won_comes_back_when_that_lease_has_ended(scene: Scene) -> None:
    scene.sender.answer = InFlightError(scene.clock() + timedelta(seconds=25))
    disposition = scene.receive(QUEUED)
    assert disposition.note is Note.IN_FLIGHT
    assert disposition.visible_in_s == 26
    scene.sender.answer = InFlightError(None)
    assert scene.receive(QUEUED).visible_in_s == 1


def test_an_outcome_that_another_attempt_had_is_told_as_a_duplicate(scene: Scene) -> None:
    scene.sender.answer = Outcome(OutcomeClass.ACCEPTED, "ok", "reference-1", replayed=True)
    assert scene.receive(QUEUED).note is Note.DUPLICATE


@dataclass
class TwinGaveUp:
    """A sender that finds the delivery given up by who had the same message at the same time."""

    ledger: InMemoryLedger

    def send(self, delivery: Delivery, envelope: object, *, pause_s: int | None) -> Outcome:  # noqa: ARG002 - a Sender's
        self.ledger.put(an_exhausted_delivery())
        return Outcome(OutcomeClass.UNAVAILABLE, "ServiceUnavailable", replayed=True)


@pytest.mark.parametrize(("receive_count", "visible_in_s"), [(LAST, AT_ONCE), (LAST - 1, None)])
def test_a_message_on_its_last_receive_follows_its_row_into_the_dead_letters(
    scene: Scene, receive_count: int, visible_in_s: int | None
) -> None:
    """Deleted, it would be missing where an operator redrives; before its last receive it is a copy, and is done."""
    scene.consumer = replace(scene.consumer, sender=TwinGaveUp(scene.ledger))
    disposition = scene.receive(QUEUED, receive_count=receive_count)
    assert (disposition.note, disposition.visible_in_s) == (Note.DUPLICATE, visible_in_s)


# --- a lease that ran out ---


def test_a_delivery_whose_invocation_died_is_not_sent_blindly(scene: Scene) -> None:
    disposition = scene.receive(a_sending_delivery(lease_until=scene.clock()))
    assert (disposition.note, disposition.done, disposition.uncertain) == (Note.ABANDONED, True, True)
    assert scene.row().status is Status.UNCERTAIN
    assert scene.sender.sent == []


def test_with_a_provider_that_knows_our_key_it_is_tried_again_at_once() -> None:
    scene = Scene(guarantee=KEYS_FOR_A_DAY)
    disposition = scene.receive(a_sending_delivery(lease_until=scene.clock(), claimed_at=scene.clock()))
    assert (disposition.note, disposition.visible_in_s) == (Note.ABANDONED, 1)
    assert scene.row().status is Status.RETRYABLE
    scene.clock.advance(SECOND)
    assert scene.receive(scene.row()).note is Note.SETTLED


def test_a_key_that_the_provider_has_forgotten_is_not_sent_again() -> None:
    scene = Scene(guarantee=KEYS_FOR_A_DAY)
    day_old = a_delivery(status=Status.RETRYABLE, attempt=1, in_doubt_since=scene.clock() - timedelta(hours=25))
    disposition = scene.receive(day_old)
    assert (disposition.note, disposition.done, disposition.uncertain) == (Note.IN_DOUBT, True, True)
    assert scene.row().status is Status.UNCERTAIN
    assert scene.sender.sent == []


# --- too late, too early, not now ---


@pytest.mark.parametrize("row", [QUEUED, a_delivery(status=Status.RETRYABLE, attempt=3), an_exhausted_delivery()])
def test_nothing_is_sent_after_its_expiry_whatever_redelivered_it(scene: Scene, row: Delivery) -> None:
    scene.clock.advance(EXPIRES_AFTER)
    disposition = scene.receive(row)
    assert (disposition.note, disposition.done) == (Note.EXPIRED, True)
    assert scene.row().status is Status.EXPIRED
    assert scene.sender.sent == []


def test_a_copy_that_comes_before_the_time_of_the_next_attempt_is_dropped(scene: Scene) -> None:
    row = a_delivery(status=Status.RETRYABLE, attempt=1, next_attempt_at=scene.clock() + timedelta(minutes=10))
    disposition = scene.receive(row)
    assert (disposition.note, disposition.done) == (Note.EARLY, True)
    assert scene.row() == row
    assert scene.sender.sent == []


@pytest.mark.parametrize("early", [timedelta(milliseconds=1), timedelta(seconds=WAITED_FOR_S)])
def test_a_message_that_is_a_moment_early_waits_and_is_not_sent_early(scene: Scene, early: timedelta) -> None:
    row = a_delivery(status=Status.RETRYABLE, attempt=1, next_attempt_at=scene.clock() + early)
    disposition = scene.receive(row)
    assert disposition.note is Note.EARLY
    assert disposition.visible_in_s is not None
    assert disposition.visible_in_s >= early.total_seconds()
    scene.clock.advance(timedelta(seconds=disposition.visible_in_s))
    assert scene.receive(row).note is Note.SETTLED


def test_a_closed_gate_puts_a_delivery_off_without_an_attempt(scene: Scene) -> None:
    opens_at = scene.clock() + timedelta(minutes=2)
    scene.traffic.close(Channel.EMAIL, until=opens_at, cause="TooManyRequestsException")
    disposition = scene.receive(QUEUED)
    assert (disposition.note, disposition.done) == (Note.GATE_SHUT, True)
    row = scene.row()
    assert (row.status, row.next_attempt_at, row.attempt, row.history) == (Status.RETRYABLE, opens_at, 0, ())
    assert scene.sender.sent == []


def test_a_halted_channel_sends_nothing_and_loses_nothing(scene: Scene) -> None:
    scene.traffic.halt(Channel.EMAIL, at=scene.clock(), cause="AccessDenied")
    assert scene.receive(QUEUED, receive_count=LAST).note is Note.GATE_SHUT
    assert scene.row().next_attempt_at == scene.clock() + HALTED_PAUSE
    assert scene.sender.sent == []


def test_a_delivery_too_late_to_send_expires_although_the_gate_is_closed(scene: Scene) -> None:
    scene.traffic.halt(Channel.EMAIL, at=scene.clock(), cause="AccessDenied")
    scene.clock.advance(EXPIRES_AFTER)
    assert scene.receive(QUEUED).note is Note.EXPIRED


def test_a_send_waits_for_its_slot() -> None:
    scene = Scene(interval=timedelta(seconds=2))
    scene.traffic.reserve(
        Channel.EMAIL, 1, interval=scene.interval, now=scene.clock(), not_after=scene.clock() + timedelta(minutes=1)
    )
    assert scene.receive(QUEUED).note is Note.SETTLED
    assert scene.slept == [2]


def test_a_slot_that_comes_after_the_invocation_puts_the_delivery_off() -> None:
    scene = Scene(interval=timedelta(minutes=5))
    scene.traffic.reserve(
        Channel.EMAIL, 1, interval=scene.interval, now=scene.clock(), not_after=scene.clock() + timedelta(minutes=1)
    )
    disposition = scene.receive(QUEUED)
    assert (disposition.note, disposition.done) == (Note.PACED, True)
    assert scene.row().next_attempt_at == scene.clock() + timedelta(minutes=5)
    assert (scene.sender.sent, scene.slept) == ([], [])


# --- quiet hours ---

TONIGHT = datetime(2026, 11, 30, 4, 0, tzinfo=UTC)  # Sunday, 23:00 where the customer lives
EIGHT_IN_THE_MORNING = datetime(2026, 11, 30, 13, 0, tzinfo=UTC)


def at_night() -> Scene:
    return Scene(clock=FakeClock(TONIGHT), quiet_hours=QuietHours(time(21), time(8)))


@pytest.mark.parametrize(
    "row",
    [
        QUEUED,
        a_delivery(status=Status.RETRYABLE, attempt=2, next_attempt_at=TONIGHT),
        an_exhausted_delivery(),
    ],
    ids=["due at night", "backed off into the night", "redriven at night"],
)
def test_at_night_a_delivery_waits_for_the_morning_without_an_attempt_or_a_receive(row: Delivery) -> None:
    scene = at_night()
    disposition = scene.receive(row, receive_count=LAST)
    assert (disposition.note, disposition.done, disposition.dead_letter) == (Note.QUIET, True, None)
    after = scene.row()
    assert (after.status, after.attempt, after.next_attempt_at) == (Status.RETRYABLE, row.attempt, EIGHT_IN_THE_MORNING)
    assert after.attention_at == EIGHT_IN_THE_MORNING
    assert (scene.sender.sent, scene.traffic.slot_clocks) == ([], {})


def test_in_the_morning_it_is_sent() -> None:
    scene = at_night()
    scene.receive(QUEUED)
    scene.clock.now = EIGHT_IN_THE_MORNING
    assert scene.receive(scene.row()).note is Note.SETTLED


def test_what_expires_before_the_morning_is_skipped_as_quiet() -> None:
    scene = at_night()
    disposition = scene.receive(replace(QUEUED, expires_at=EIGHT_IN_THE_MORNING - SECOND))
    assert (disposition.note, disposition.skip_reason) == (Note.SKIPPED, SkipReason.QUIET)
    assert scene.row().status is Status.SKIPPED


# --- skipped ---


def test_who_opts_out_while_a_message_waits_for_its_turn_gets_nothing() -> None:
    scene = Scene(interval=timedelta(seconds=5))

    def opt_out_meanwhile(seconds: float) -> None:
        scene.clock.advance(timedelta(seconds=seconds))
        scene.customers.add(a_profile(consent={}))

    scene.traffic.slot_clocks[Channel.EMAIL] = scene.clock() + timedelta(seconds=5)
    scene.lane = Lane(scene.traffic, Channel.EMAIL, interval=scene.interval, clock=scene.clock, sleep=opt_out_meanwhile)
    scene.consumer = replace(scene.consumer, lane=scene.lane)
    assert scene.receive(QUEUED).skip_reason is SkipReason.OPTED_OUT
    assert scene.sender.sent == []


A_REMINDER = a_delivery(topic=Topic.REMINDER, status=Status.QUEUED)


@pytest.mark.parametrize("obsolete", Obsolete)
@pytest.mark.parametrize(
    "row",
    [
        A_REMINDER,
        replace(A_REMINDER, status=Status.RETRYABLE, attempt=1),
        an_exhausted_delivery(topic=Topic.REMINDER),
    ],
    ids=["on the queue", "backed off", "redriven"],
)
def test_a_reminder_that_became_obsolete_is_not_revived_by_its_message(
    scene: Scene, row: Delivery, obsolete: Obsolete
) -> None:
    scene.customers.remind(a_reminder(obsolete=obsolete))
    assert scene.receive(row).note is Note.SKIPPED
    assert (scene.row().status, scene.row().skip_reason) == (Status.SKIPPED, SkipReason[obsolete.name])
    assert scene.sender.sent == []


def test_a_reminder_that_becomes_obsolete_while_it_is_being_sent_is_left_to_that_send(scene: Scene) -> None:
    scene.customers.remind(a_reminder(obsolete=Obsolete.PAID))
    sending = a_sending_delivery(topic=Topic.REMINDER)
    assert scene.receive(sending).note is Note.IN_FLIGHT
    assert scene.row() == sending


def test_an_obsolete_reminder_that_may_have_been_sent_is_uncertain_and_not_sent_again() -> None:
    scene = Scene(guarantee=KEYS_FOR_A_DAY)
    scene.customers.remind(a_reminder(obsolete=Obsolete.PAID))
    scene.receive(replace(A_REMINDER, status=Status.RETRYABLE, attempt=1, in_doubt_since=scene.clock()))
    assert (scene.row().status, scene.row().skip_reason) == (Status.UNCERTAIN, SkipReason.PAID)
    assert scene.sender.sent == []


def test_a_customer_who_opts_out_after_planning_gets_nothing(scene: Scene) -> None:
    scene.customers.add(a_profile(consent={(Topic.DIGEST, Channel.EMAIL): Consent.OPTED_OUT}))
    disposition = scene.receive(QUEUED)
    assert (disposition.note, disposition.skip_reason, disposition.done) == (Note.SKIPPED, SkipReason.OPTED_OUT, True)
    assert (scene.row().status, scene.row().skip_reason) == (Status.SKIPPED, SkipReason.OPTED_OUT)
    assert scene.sender.sent == []


def test_a_customer_with_an_empty_week_gets_nothing(scene: Scene) -> None:
    scene.customers.activities.clear()
    assert scene.receive(QUEUED).skip_reason is SkipReason.EMPTY


def test_a_skipped_delivery_takes_no_slot(scene: Scene) -> None:
    scene.customers.activities.clear()
    scene.receive(QUEUED)
    assert scene.traffic.slot_clocks == {}


# --- what a send came to ---


@pytest.mark.parametrize("receive_count", range(1, LAST))
def test_a_passing_failure_backs_off_longer_each_time(scene: Scene, receive_count: int) -> None:
    scene.sender.answer = Outcome(OutcomeClass.UNAVAILABLE, "ServiceUnavailable")
    disposition = scene.receive(QUEUED, receive_count=receive_count)
    assert (disposition.note, disposition.visible_in_s) == (Note.FAILED, PAUSES_S[receive_count - 1])
    assert scene.sender.pauses == [PAUSES_S[receive_count - 1]]
    assert disposition.dead_letter is None


def test_the_last_passing_failure_gives_the_message_up_at_once(scene: Scene) -> None:
    scene.sender.answer = Outcome(OutcomeClass.UNAVAILABLE, "ServiceUnavailable")
    disposition = scene.receive(QUEUED, receive_count=LAST)
    assert (disposition.note, disposition.visible_in_s) == (Note.FAILED, AT_ONCE)
    assert scene.sender.pauses == [None]
    assert disposition.dead_letter is FailureClass.EXHAUSTED


def test_a_providers_wish_for_a_longer_pause_is_met(scene: Scene) -> None:
    wish = scene.clock() + timedelta(seconds=299, milliseconds=1)
    scene.sender.answer = Outcome(OutcomeClass.UNAVAILABLE, "503", retry_at=wish)
    assert scene.receive(QUEUED).visible_in_s == 300


@pytest.mark.parametrize(
    ("outcome", "position"),
    [
        (OutcomeClass.THROTTLED, GatePosition.CLOSED),
        (OutcomeClass.QUOTA, GatePosition.CLOSED),
        (OutcomeClass.AUTH, GatePosition.HALTED),
        (OutcomeClass.DEFERRED, GatePosition.OPEN),
        (OutcomeClass.REJECTED, GatePosition.OPEN),
        (OutcomeClass.UNKNOWN, GatePosition.OPEN),
        (OutcomeClass.ACCEPTED, GatePosition.OPEN),
    ],
)
def test_an_answer_that_concerns_everybody_moves_the_gate(
    scene: Scene, outcome: OutcomeClass, position: GatePosition
) -> None:
    scene.sender.answer = Outcome(outcome, "Code")
    disposition = scene.receive(QUEUED)
    assert disposition.done
    assert scene.traffic.gate(Channel.EMAIL).position(scene.clock()) is position
    assert scene.lane.gate().position(scene.clock()) is position


def test_a_throttled_answer_closes_the_gate_until_the_providers_own_time(scene: Scene) -> None:
    wish = scene.clock() + timedelta(minutes=3)
    scene.sender.answer = Outcome(OutcomeClass.THROTTLED, "429", retry_at=wish)
    scene.receive(QUEUED)
    assert scene.traffic.gate(Channel.EMAIL).closed_until == wish


def test_a_rejected_delivery_is_counted_as_a_dead_letter(scene: Scene) -> None:
    scene.sender.answer = Outcome(OutcomeClass.REJECTED, "InvalidParameter")
    disposition = scene.receive(QUEUED)
    assert (disposition.done, disposition.dead_letter) == (True, FailureClass.REJECTED)


def test_an_answer_that_nobody_got_is_counted_as_uncertain(scene: Scene) -> None:
    scene.sender.answer = Outcome(OutcomeClass.UNKNOWN, "ReadTimeoutError")
    assert scene.receive(QUEUED).uncertain


# --- faults of our own ---


def test_a_result_that_could_not_be_written_is_no_reason_to_forget_the_message(scene: Scene) -> None:
    scene.sender.answer = LeaseLostError()
    with pytest.raises(LeaseLostError):
        scene.receive(QUEUED)


def test_a_message_that_cannot_be_read_reaches_no_provider(scene: Scene) -> None:
    scene.ledger.put(QUEUED)
    with pytest.raises(PoisonError):
        scene.consumer.consume(replace(scene.message(QUEUED), body="{"))
    assert scene.sender.sent == []
    assert scene.row() == QUEUED


@pytest.mark.parametrize("row", [a_delivery(), QUEUED, a_delivery(status=Status.RETRYABLE, attempt=2)])
def test_the_last_receive_of_a_message_that_we_cannot_work_on_is_recorded(scene: Scene, row: Delivery) -> None:
    scene.ledger.put(row)
    scene.consumer.give_up(scene.message(row), code="TemplateNotFound")
    given_up = scene.row()
    assert given_up.exhausted()
    assert given_up.failure is not None
    assert given_up.failure.code == "TemplateNotFound"


@pytest.mark.parametrize(
    "row", [a_sending_delivery(), a_delivery(status=Status.ACCEPTED), a_delivery(status=Status.UNCERTAIN)]
)
def test_giving_up_touches_no_delivery_that_somebody_is_sending_or_has_sent(scene: Scene, row: Delivery) -> None:
    scene.ledger.put(row)
    scene.consumer.give_up(scene.message(row), code="LeaseLostError")
    assert scene.row() == row


def test_giving_up_on_a_delivery_that_was_erased_does_nothing(scene: Scene) -> None:
    scene.consumer.give_up(scene.message(a_delivery()), code="ValueError")
    assert scene.ledger.rows == {}


def test_another_customers_row_is_never_touched(scene: Scene) -> None:
    other = a_delivery("c-other", status=Status.QUEUED)
    scene.ledger.put(other)
    scene.ledger.put(QUEUED)
    scene.lane.begin(1)
    scene.consumer.consume(scene.message(QUEUED))
    assert scene.ledger.rows[str(other.delivery_id)] == other
    assert {sent.delivery_id.customer_id for sent, _ in scene.sender.sent} == {CUSTOMER}


# --- backoff ---


@given(st.lists(st.integers(0, 43_200), min_size=4, max_size=10), st.integers(0, 20), st.floats(0, 1, allow_nan=False))
def test_a_pause_is_never_negative_never_nothing_and_never_longer_than_its_bound(
    pauses: list[int], receive_count: int, chance: float
) -> None:
    backoff = Backoff(pauses, lambda low, high: low + chance * (high - low))
    pause = backoff.pause_s(receive_count)
    if receive_count >= len(pauses) + 1:
        assert backoff.is_last(receive_count)
        assert pause == AT_ONCE
    else:
        assert 1 <= pause <= max(1, pauses[max(receive_count, 1) - 1])


def test_every_receive_but_the_last_has_its_pause() -> None:
    backoff = Backoff(PAUSES_S, longest)
    assert backoff.receives == 6
    assert [backoff.is_last(count) for count in range(1, 8)] == [False] * 5 + [True] * 2


def test_a_delivery_given_up_in_doubt_is_counted_as_uncertain_and_not_as_a_dead_letter() -> None:
    doubtful = a_delivery(in_doubt_since=datetime(2026, 11, 29, 20, tzinfo=UTC))
    rejected = Disposition(Note.SETTLED, delivery=doubtful, outcome=Outcome(OutcomeClass.REJECTED, "validation_error"))
    last = Disposition(Note.FAILED, 0, delivery=a_delivery(), outcome=Outcome(OutcomeClass.UNKNOWN, "ReadTimeout"))
    assert [(one.dead_letter, one.uncertain) for one in (rejected, last)] == [(None, True), (None, True)]


def test_a_delivery_put_off_in_doubt_is_not_uncertain_yet() -> None:
    put_off = Disposition(
        Note.SETTLED,
        delivery=a_delivery(in_doubt_since=datetime(2026, 11, 29, 20, tzinfo=UTC)),
        outcome=Outcome(OutcomeClass.THROTTLED, "rate_limit_exceeded"),
    )
    assert not put_off.uncertain
