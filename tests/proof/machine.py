"""Planners, consumers, a reconciler, an operator and a provider, doing anything in any order, on fakes.

Beside them stands a plain model: which deliveries must exist, how often each was carried out, and what has ended. The
fakes keep to the same conformance suites as DynamoDB, and the idempotency engine is the real one.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from enum import StrEnum
from itertools import count
from typing import Any, Final, TypeAlias, cast

import time_machine
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from functions.adapters.channel_consumer import ChannelConsumer
from functions.adapters.channel_work import ChannelWork
from functions.adapters.idempotent_sender import IdempotentSender
from functions.core.backoff import Backoff
from functions.core.composition import Composer
from functions.core.consumption import Consumer
from functions.core.customer import Activity, Consent
from functions.core.delivery import FINISHED, OPEN, Delivery, Status
from functions.core.identity import Channel, Topic
from functions.core.message import DeliveryMessage
from functions.core.outcome import Outcome, OutcomeClass
from functions.core.planning import PlanningRules, SchedulePlan
from functions.core.ports import Claim, EnqueueReceipt, PlanReceipt
from functions.core.redrive import Redrive, Redriven
from functions.core.settlement import confirmed, refuted
from functions.core.traffic import Lane
from functions.planner.planner import Planner
from functions.reconciler.reconciler import ChannelRules, Reconciler
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.customers import InMemoryCustomers
from tests.fakes.examples import EVERYTHING_WANTED, SITE_URL, a_digest_schedule, a_profile, an_activity
from tests.fakes.lambda_context import FakeLambdaContext
from tests.fakes.leases import InMemoryShardLeases
from tests.fakes.ledger import InMemoryLedger, InMemoryPlanBook
from tests.fakes.periods import InMemoryPeriods
from tests.fakes.traffic import InMemoryTraffic
from tests.proof.carrier import Answer, Carrier, Kind, Mishap
from tests.proof.outside import Died, Outside

EMAIL: Final = Channel.EMAIL
CUSTOMERS: Final = ("c-1", "c-2")  # few, so that much happens to each
BACKOFF_S: Final = (30, 120, 600, 1800, 3600)
VISIBILITY: Final = timedelta(seconds=180)
CONSUMER_TIMEOUT: Final = timedelta(seconds=30)
RULES: Final = PlanningRules(expires_after=timedelta(hours=72), attention_after=timedelta(minutes=5))
ENDS: Final = FINISHED | {Status.UNCERTAIN, Status.DEAD_LETTER}
A_MINUTE: Final = timedelta(minutes=1)


class Moment(StrEnum):
    """When somebody else may come between."""

    CLAIM = "claim"
    SEND = "send"
    WRITE = "write"
    COMMIT = "commit"


answers: st.SearchStrategy[Answer] = st.one_of(
    st.sampled_from([Mishap.LOST, Mishap.LOST, Mishap.DIED, Mishap.CRASHED]),
    st.builds(
        Outcome,
        st.sampled_from([one for one in OutcomeClass if one is not OutcomeClass.ACCEPTED]),
        st.just("code"),
        retry_at=st.none() | st.just(SUNDAY_EVENING + timedelta(minutes=20)),
    ),
)
jumps = st.sampled_from([1, 5, 19, 31, 61, 200, 700, 4000, 30_000]).map(lambda seconds: timedelta(seconds=seconds))
interruptions = st.none() | st.tuples(
    st.sampled_from(Moment),
    st.sampled_from(["twin", "twin", "sweep", "planner", "opt-out", "event", "stall"]),
)
mishaps = st.sampled_from(["", "", "", "refuses", "dies before", "dies after", "dies of the commit"])
often = st.sampled_from([True, True, False])
some = st.integers(min_value=0, max_value=1000)  # which of those that there are


Interruption: TypeAlias = "tuple[Moment, str] | None"


@dataclass(slots=True)
class Letter:
    """One message on the queue."""

    body: str
    visible_at: datetime
    receives: int = 0


class Letters:
    """The queue and its dead-letter queue.

    With the mishap `refuses` it takes nothing; with `dies before` and `dies after` the publisher does not live on.
    """

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self.waiting: list[Letter] = []
        self.dead: list[Letter] = []
        self.mishap = ""

    def backlog(self, channel: Channel) -> int:  # noqa: ARG002 - there is one
        return sum(letter.visible_at <= self._clock() for letter in self.waiting)

    def publish(self, deliveries: Sequence[Delivery], *, delay_s: int = 0) -> EnqueueReceipt:
        mishap, self.mishap = self.mishap, ""
        if mishap == "dies before":
            raise Died
        if mishap == "refuses":
            return EnqueueReceipt((), tuple((one, "ServiceUnavailable") for one in deliveries))
        visible_at = self._clock() + timedelta(seconds=min(delay_s, 900))
        self.waiting.extend(Letter(DeliveryMessage.of(one).to_body(), visible_at) for one in deliveries)
        if mishap == "dies after":
            raise Died
        return EnqueueReceipt(tuple(deliveries), ())

    def receive(self, which: int) -> Letter | None:
        """Hand out any message that is visible, in no order; move those that were received too often."""
        visible = [letter for letter in self.waiting if letter.visible_at <= self._clock()]
        worn_out = [letter for letter in visible if letter.receives > len(BACKOFF_S)]
        self.dead.extend(worn_out)
        self.waiting = [letter for letter in self.waiting if letter not in worn_out]
        fresh = [letter for letter in visible if letter not in worn_out]
        if not fresh:
            return None
        letter = fresh[which % len(fresh)]
        letter.receives += 1
        letter.visible_at = self._clock() + VISIBILITY
        return letter

    def redrive(self) -> None:
        """As StartMessageMoveTask does it: new messages, whose receives are counted anew."""
        self.waiting.extend(Letter(letter.body, self._clock()) for letter in self.dead)
        self.dead.clear()


class Visibility:
    """`SqsVisibility` for the letter that is in hand."""

    def __init__(self, letter: Letter, clock: Callable[[], datetime]) -> None:
        self._letter = letter
        self._clock = clock

    def set(self, receipt_handle: str, seconds: int) -> None:  # noqa: ARG002 - there is one
        self._letter.visible_at = self._clock() + timedelta(seconds=seconds)


class InterruptedLedger(InMemoryLedger):
    """A ledger during whose writes somebody else may come between."""

    interrupt: Callable[[Moment], None]

    def claim(self, before: Delivery, claim: Claim) -> Delivery:
        self.interrupt(Moment.CLAIM)
        return super().claim(before, claim)

    def write(self, before: Delivery, after: Delivery) -> bool:
        self.interrupt(Moment.WRITE)
        return super().write(before, after)


class InterruptedBook(InMemoryPlanBook):
    """A plan book whose planner may be interrupted before it commits, or die of it."""

    interrupt: Callable[[Moment], None]
    kills = False

    def commit(self, plans: Sequence[SchedulePlan]) -> PlanReceipt:
        self.interrupt(Moment.COMMIT)
        receipt = super().commit(plans)
        if self.kills:
            self.kills = False
            raise Died
        return receipt


class InterruptedCarrier(Carrier):
    """A provider during whose answer somebody else may come between."""

    interrupt: Callable[[Moment], None]

    def carry_out(self, delivery: Delivery, envelope: Any) -> Outcome:
        self.interrupt(Moment.SEND)
        return super().carry_out(delivery, envelope)


class Deliveries(RuleBasedStateMachine):
    """Every rule is something that may happen to a week; what must always hold is checked after each."""

    def __init__(self) -> None:
        super().__init__()
        self.travel = time_machine.travel(SUNDAY_EVENING, tick=False)
        self.traveller = self.travel.start()
        self.now = SUNDAY_EVENING
        self.ids = count(1)
        self.outside = Outside()
        self.interruption: tuple[Moment, str] | None = None
        self.ledger = InterruptedLedger(shards=1)
        self.ledger.interrupt = self._interrupt
        self.book = InterruptedBook(self.ledger, page=2)
        self.book.interrupt = self._interrupt
        self.leases = InMemoryShardLeases()
        self.periods = InMemoryPeriods()
        self.traffic = InMemoryTraffic()
        self.customers = InMemoryCustomers()
        self.letters = Letters(self.clock)
        self.in_hand: list[Letter] = []
        self._provider(Kind.NONE)
        self.unheard: dict[str, str] = {}
        self.ended: dict[str, Status] = {}
        self.attempts: dict[str, int] = {}
        for customer_id in CUSTOMERS:
            self.customers.add(a_profile(customer_id), *_something_each_week())
            self.book.add(a_digest_schedule(customer_id, channels=[EMAIL]))

    def clock(self) -> datetime:
        return self.now

    def move_to(self, now: datetime) -> None:
        self.now = now
        self.traveller.move_to(now, tick=False)

    @initialize(kind=st.sampled_from(Kind), mishap=mishaps)
    def a_week_begins(self, kind: Kind, mishap: str) -> None:
        self._publishing(mishap)
        self._provider(kind)
        self._run(lambda: self._plan("planner-1"))

    # --- what may happen ---

    @rule(owner=st.sampled_from(["planner-1", "planner-2"]), meanwhile=interruptions)
    def a_planner_wakes(self, owner: str, meanwhile: Interruption) -> None:
        self.interruption = meanwhile
        self._run(lambda: self._plan(owner))
        self.interruption = None

    @rule(mishap=mishaps)
    def publishing_goes_wrong_or_well(self, mishap: str) -> None:
        self._publishing(mishap)

    # Three consumers; each may wait for the next message, and meet with trouble.
    @rule(which=some, waits=often, meanwhile=interruptions)
    def the_first_consumer_gets_a_message(self, which: int, *, waits: bool, meanwhile: Interruption) -> None:
        self._receive(which, waits=waits, meanwhile=meanwhile)

    @rule(which=some, waits=often, meanwhile=interruptions, answer=answers)
    def the_second_consumer_gets_a_message(
        self, which: int, *, waits: bool, meanwhile: Interruption, answer: Answer
    ) -> None:
        self.carrier.answers.append(answer)
        self._receive(which, waits=waits, meanwhile=meanwhile)

    @rule(which=some, waits=often, meanwhile=interruptions, answer=answers)
    def the_third_consumer_gets_a_message(
        self, which: int, *, waits: bool, meanwhile: Interruption, answer: Answer
    ) -> None:
        self.carrier.answers.append(answer)
        self._receive(which, waits=waits, meanwhile=meanwhile)

    @rule(which=some)
    def a_message_is_there_twice(self, which: int) -> None:
        if self.letters.waiting:
            letter = self.letters.waiting[which % len(self.letters.waiting)]
            self.letters.waiting.append(replace(letter))

    @rule()
    def the_reconciler_wakes(self) -> None:
        self._run(self._sweep)

    @rule()
    def the_reconciler_wakes_when_it_should(self) -> None:
        self._sweep_in_time()

    @rule()
    def the_providers_events_arrive(self) -> None:
        self._hear()

    @rule(by=jumps)
    def time_passes(self, by: timedelta) -> None:
        self.move_to(self.now + by)

    @rule(
        act=st.sampled_from(
            ["purge", "redrive", "redrive", "redrive rows", "settle", "close", "halt", "resume", "resume"]
        )
    )
    def the_operator_acts(self, act: str) -> None:
        if act == "purge":
            self.letters.waiting.clear()
        elif act == "redrive":
            self.letters.redrive()
        elif act == "redrive rows":
            self._run(self._redrive_rows)
        elif act == "settle":
            self._settle_what_is_in_doubt()
        elif act == "close":
            self.traffic.close(EMAIL, until=self.now + timedelta(minutes=7), cause="operator")
        elif act == "halt":
            self.traffic.halt(EMAIL, at=self.now, cause="operator")
        else:
            self.traffic.resume(EMAIL)

    @rule(customer_id=st.sampled_from(CUSTOMERS), what=st.sampled_from(["buys", "leaves", "comes back", "comes back"]))
    def a_customer_acts(self, customer_id: str, what: str) -> None:
        if what == "leaves":
            self._opt_out(customer_id)
        elif what == "comes back":
            self.customers.add(a_profile(customer_id))
        else:
            bought_at = self.now - timedelta(days=8)  # in the week that is told of now: a digest rendered anew differs
            activity = an_activity(f"a-{next(self.ids)}", occurred_at=bought_at)
            self.customers.add(self.customers.profiles[customer_id], activity)

    # --- what must always hold ---

    @invariant()
    def nothing_is_sent_twice(self) -> None:
        twice = {one: operations for one, operations in self.carrier.operations.items() if operations > 1}
        assert not twice

    @invariant()
    def everybody_due_has_exactly_their_rows(self) -> None:
        assert set(self.ledger.rows) == self._planned_by_the_model()

    @invariant()
    def what_was_sent_is_known_or_in_doubt(self) -> None:
        for delivery_id, row in self.ledger.rows.items():
            operations = self.carrier.operations[delivery_id]
            if row.status is Status.ACCEPTED:
                assert operations == 1, f"{delivery_id} is accepted, and never was"
            elif operations:
                in_doubt = row.in_doubt_since is not None and row.status in OPEN
                known = in_doubt or row.status in {Status.SENDING, Status.UNCERTAIN}
                assert known, f"{delivery_id} was sent, and its row ({row.status}) does not know"

    @invariant()
    def what_has_ended_stays_as_it_is(self) -> None:
        for delivery_id, row in self.ledger.rows.items():
            assert row.status is self.ended.get(delivery_id, row.status)
            if row.status in FINISHED:
                self.ended[delivery_id] = row.status
                assert row.lease_until is None
                assert row.attention_at is None

    @invariant()
    def attempts_only_rise_and_each_is_told_of(self) -> None:
        for delivery_id, row in self.ledger.rows.items():
            assert row.attempt >= self.attempts.get(delivery_id, 0)
            self.attempts[delivery_id] = row.attempt
            told = [one.attempt for one in row.history]
            tried = row.attempt - (row.status is Status.SENDING)
            assert told == list(range(1, tried + 1))[-10:], f"{delivery_id} tells of {told} of {tried}"

    # --- the end ---

    def teardown(self) -> None:
        """Nothing goes wrong any more: everything must come to rest, and stay as it must be."""
        try:
            self.carrier.answers.clear()
            self._publishing("")
            self.interruption = None
            self.traffic.resume(EMAIL)
            self._come_to_rest()
            for check in (
                self.nothing_is_sent_twice,
                self.everybody_due_has_exactly_their_rows,
                self.what_was_sent_is_known_or_in_doubt,
                self.attempts_only_rise_and_each_is_told_of,
            ):
                check()
            for delivery_id, row in self.ledger.rows.items():
                assert row.status in ENDS
                assert not self._could_be_asked(row), f"{delivery_id} is uncertain, although the provider could tell"
            assert not self.periods.all_open()
        finally:
            self.travel.stop()

    def _come_to_rest(self) -> None:
        for _ in range(300):
            self._run(lambda: self._plan("planner-1"))
            while (letter := self.letters.receive(0)) is not None:
                self._consume(letter)
            self._run(self._sweep)
            self._hear()
            asking = any(self._could_be_asked(row) for row in self.ledger.rows.values())
            busy = self._open_rows() or self.letters.waiting or asking
            if not busy and not self.periods.all_open():
                return
            self.move_to(self.now + 4 * A_MINUTE)
        left = [f"{one} {row.status}" for one, row in self.ledger.rows.items() if row.status in OPEN]
        raise AssertionError(f"never came to rest: {left}, {len(self.letters.waiting)} messages")

    # --- how it is done ---

    def _provider(self, kind: Kind) -> None:
        self.carrier = InterruptedCarrier(kind, self.outside, self.clock, self._accepted)
        self.carrier.interrupt = self._interrupt

    def _run(self, work: Callable[[], None]) -> None:
        """Let planner or reconciler work; it may die of publishing."""
        with suppress(Died):
            work()

    def _plan(self, owner: str) -> None:
        planner = Planner(
            book=self.book,
            ledger=self.ledger,
            queues=self.letters,
            leases=self.leases,
            periods=self.periods,
            clock=self.clock,
            rules=RULES,
            max_lateness=timedelta(hours=24),
        )
        planner.run(scheduled_time=self.now, shards=[0], owner=owner, stop_at=self.now + A_MINUTE)

    def _sweep(self) -> None:
        witness = self.carrier if self.carrier.kind is Kind.LOOKUP else None
        reconciler = Reconciler(
            ledger=self.ledger,
            queues=self.letters,
            traffic=self.traffic,
            periods=self.periods,
            clock=self.clock,
            shards=1,
            silence_after=timedelta(minutes=4),
            horizon=A_MINUTE,
            channels={EMAIL: ChannelRules(self.carrier.guarantee, witness, rate_per_second=100)},
        )
        reconciler.sweep(stop_at=self.now + A_MINUTE)

    def _wait_for(self, times: Iterable[datetime]) -> None:
        """Let time pass until the first of these, if all of them are still to come."""
        self.move_to(max(self.now, min(times, default=self.now)))

    def _publishing(self, mishap: str) -> None:
        self.letters.mishap = mishap
        self.book.kills = mishap == "dies of the commit"

    def _open_rows(self) -> bool:
        return any(row.status in OPEN for row in self.ledger.rows.values())

    def _next_week(self) -> None:
        self._wait_for(at for at in self.book.next_runs.values() if at is not None)
        self._run(lambda: self._plan("planner-2"))

    def _could_be_asked(self, row: Delivery) -> bool:
        guarantee = self.carrier.guarantee
        return row.status is Status.UNCERTAIN and guarantee.can_look_up(self.now, in_doubt_since=row.in_doubt_since)

    def _wait_for_a_letter(self) -> None:
        if not self._open_rows():
            self._next_week()
        if not self.letters.waiting:
            self._sweep_in_time()
        self._wait_for(letter.visible_at for letter in self.letters.waiting)

    def _sweep_in_time(self) -> None:
        self._wait_for(row.attention_at for row in self.ledger.rows.values() if row.attention_at and row.status in OPEN)
        self._run(self._sweep)

    def _receive(self, which: int, *, waits: bool, meanwhile: Interruption) -> None:
        if waits:
            self._wait_for_a_letter()
        letter = self.letters.receive(which)
        if letter is not None:
            self.interruption = meanwhile
            self._consume(letter)
            self.interruption = None

    def _consume(self, letter: Letter) -> None:
        request_id = f"request-{next(self.ids)}"
        context = FakeLambdaContext(self.clock, request_id=request_id, timeout=CONSUMER_TIMEOUT)
        done: list[bool] = []

        def work() -> None:
            with redirect_stdout(io.StringIO()):
                answer = self._consumer(letter).handle({"Records": [_record(letter)]}, context)
            done.append(not answer["batchItemFailures"])

        self.in_hand.append(letter)
        self.outside.run("consumer", work, again=work)
        self.in_hand.pop()
        if done and done[0] and letter in self.letters.waiting:
            self.letters.waiting.remove(letter)

    def _consumer(self, letter: Letter) -> ChannelConsumer:
        sender = IdempotentSender(self.carrier, self.ledger, clock=self.clock)
        lane = Lane(self.traffic, EMAIL, interval=timedelta(milliseconds=10), clock=self.clock, sleep=self._sleep)
        consumer = Consumer(
            channel=EMAIL,
            ledger=self.ledger,
            composer=Composer(self.customers, "digest@example.com", SITE_URL),
            sender=sender,
            lane=lane,
            guarantee=self.carrier.guarantee,
            backoff=Backoff(BACKOFF_S, lambda _low, high: high / 2),
            clock=self.clock,
        )
        visibility = cast("Any", Visibility(letter, self.clock))
        return ChannelConsumer(ChannelWork(consumer, sender, lane, time_per_message_s=7), visibility)

    def _sleep(self, seconds: float) -> None:
        self.move_to(self.now + timedelta(seconds=seconds))

    def _interrupt(self, moment: Moment) -> None:
        """Let somebody come between, once."""
        if self.interruption is None or self.interruption[0] is not moment:
            return
        _, who = self.interruption
        self.interruption = None
        if who == "twin" and self.in_hand:
            self._consume(self.in_hand[-1])
        elif who == "sweep":
            self._run(self._sweep)
        elif who == "planner":
            self._run(lambda: self._plan("planner-2"))
        elif who == "opt-out":
            self._opt_out(CUSTOMERS[0])
        elif who == "event":
            self._hear()
        elif who == "stall":
            self.move_to(self.now + timedelta(seconds=15))

    def _redrive_rows(self) -> None:
        rows = [row for row in self.ledger.rows.values() if row.status is Status.DEAD_LETTER]
        Redrive(self.ledger, self.letters, self.clock, lambda _: None, rate_per_second=10).run(rows, Redriven())

    def _settle_what_is_in_doubt(self) -> None:
        """By what the provider really did, which the operator finds out in an hour."""
        for delivery_id, row in list(self.ledger.rows.items()):
            since = row.in_doubt_since or row.claimed_at
            if row.status is not Status.UNCERTAIN or since is None or since + timedelta(hours=1) > self.now:
                continue
            sent = self.carrier.operations[delivery_id]
            reference = self.carrier.keys[delivery_id].reference if sent else None
            self.ledger.write(row, confirmed(row, reference, at=self.now) if sent else refuted(row, at=self.now))

    def _opt_out(self, customer_id: str) -> None:
        nothing = {**EVERYTHING_WANTED, (Topic.DIGEST, EMAIL): Consent.OPTED_OUT}
        self.customers.add(a_profile(customer_id, consent=nothing))

    def _accepted(self, delivery_id: str, reference: str) -> None:
        if self.carrier.kind is Kind.EVENTS:
            self.unheard[delivery_id] = reference

    def _hear(self) -> None:
        for delivery_id, reference in self.unheard.items():
            row = self.ledger.rows[delivery_id]
            if row.status is not Status.ACCEPTED:
                self.ledger.write(row, confirmed(row, reference, at=self.now))

    def _planned_by_the_model(self) -> set[str]:
        """Each week between a customer's first run and their next one, told without planner or plan book."""
        return {
            f"digest:{customer_id}:{_week_before(run_at)}:email"
            for (customer_id, record), next_run_at in self.book.next_runs.items()
            for run_at in _weekly(SUNDAY_EVENING, cast("datetime", next_run_at))
        }


def _something_each_week() -> list[Activity]:
    first = an_activity().occurred_at
    return [an_activity(f"w-{week}", occurred_at=first + timedelta(weeks=week)) for week in range(80)]


def _weekly(first: datetime, until: datetime) -> list[datetime]:
    # Sundays at 15:00 in New York: the hour in UTC moves with the clocks there, the week does not.
    return [first + timedelta(weeks=week) for week in range(round((until - first) / timedelta(weeks=1)))]


def _week_before(run_at: datetime) -> date:
    day = run_at.date()
    return day - timedelta(days=day.weekday() + 7)


def _record(letter: Letter) -> dict[str, Any]:
    return {
        "messageId": "message-1",
        "receiptHandle": "receipt-1",
        "body": letter.body,
        "attributes": {"ApproximateReceiveCount": str(letter.receives)},
        "messageAttributes": {},
        "md5OfBody": "",
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:us-east-1:123456789012:email",
        "awsRegion": "us-east-1",
    }
