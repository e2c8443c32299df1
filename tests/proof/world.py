"""One region in moto, from the planner's wake-up until nothing moves any more. Time jumps to whatever comes next."""

from __future__ import annotations

import hashlib
import heapq
import io
import json
import os
import random
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import count
from types import ModuleType
from typing import Any, Final
from unittest import mock

import time_machine
from moto import mock_aws
from moto.dynamodb.models import dynamodb_backends
from moto.sqs.models import Message

from functions import names
from functions.adapters.channel_consumer import ChannelConsumer
from functions.adapters.delivery_rows import from_row
from functions.adapters.items import from_item
from functions.adapters.ledger import DynamoLedger
from functions.adapters.plan_book import DynamoPlanBook
from functions.adapters.receipt_consumer import ReceiptConsumer
from functions.adapters.traffic import DynamoTraffic
from functions.adapters.wiring import dynamodb, sqs
from functions.core.customer import Schedule
from functions.core.delivery import OPEN, Delivery, Status
from functions.core.identity import Channel, DeliveryId
from functions.core.instants import from_text, to_text
from functions.core.receipt_messages import ReceiptMessage
from functions.reconciler.reconciler import ChannelRules
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.environment import (
    ACCOUNT,
    CONTROL,
    CUSTOMERS,
    DELIVERIES,
    ENVIRONMENT,
    REGION,
    channel_environment,
    queue_url,
)
from tests.fakes.lambda_context import FakeLambdaContext
from tests.integration.region import Clock, Region, make_queues, make_table
from tests.proof.carrier import EVENT_AFTER, Carrier, Kind
from tests.proof.event_source import EventSource, seen_at
from tests.proof.outside import Call, Cut, Meanwhile, Outside, Process, Request, perform_quietly
from tests.proof.requests import intercepted

PLANNER_EVERY: Final = timedelta(minutes=5)
RECONCILER_EVERY: Final = timedelta(minutes=1)
RECONCILER_AT: Final = SUNDAY_EVENING + timedelta(seconds=30)  # out of step with the planner, as schedules are
LANDS_AFTER: Final = timedelta(seconds=35)  # longer than a consumer lives
ASYNC_TRIES: Final = 3  # Lambda's own: the schedule's event, and two more tries a minute apart
CONSUMER_TIMEOUT: Final = timedelta(seconds=30)
WAKE_UP_TIMEOUT: Final = timedelta(seconds=50)
STEPS: Final = 2000
STALL: Final = timedelta(seconds=15)  # within a consumer's 30 seconds, so that it lives to go on
A_MILLISECOND: Final = timedelta(milliseconds=1)
RECEIPTS: Final = "receipts"  # the queue
RECEIPTS_ENVIRONMENT: Final = {
    names.ENV_QUEUE_URL: queue_url(RECEIPTS),
    names.ENV_SOFT_BOUNCES: "3",
    names.ENV_SOFT_BOUNCE_WINDOW_S: "5184000",
}
ONE_SHARD: Final = {names.ENV_SHARDS: "1"}


class RestlessError(AssertionError):
    """It never became quiet: something is left that nobody will ever act on, or everybody for ever."""


def load_functions(channel: Channel = Channel.EMAIL) -> tuple[ModuleType, ModuleType, ModuleType]:
    """Return the modules of planner and reconciler and the telemetry, loaded once as Lambda does."""
    with mock.patch.dict(os.environ, ENVIRONMENT | channel_environment(channel)):
        from functions.adapters import telemetry  # noqa: PLC0415 - reads the environment
        from functions.planner import handler as planner  # noqa: PLC0415
        from functions.reconciler import handler as reconciler  # noqa: PLC0415
    return planner, reconciler, telemetry


def new_receipts_function() -> ReceiptConsumer:
    with mock.patch.dict(os.environ, ENVIRONMENT | RECEIPTS_ENVIRONMENT | ONE_SHARD):
        return ReceiptConsumer.from_environment()


@dataclass(order=True, slots=True)
class Happening:
    """Something that comes from outside the system at its time."""

    at: datetime
    order: int
    act: Callable[[], object] = field(compare=False)
    what: str = field(compare=False)


@dataclass(slots=True)
class WakeUp:
    """A schedule's event, and how often Lambda has tried it."""

    at: datetime
    scheduled_time: datetime
    request_id: str
    tries: int = 0


class World:
    """Everything around the functions: EventBridge, SQS and its poller, the provider, the operator and the clock."""

    def __init__(self, kind: Kind, channel: Channel, choose: Callable[[Call], Cut | None], clock: Clock) -> None:
        self.clock = clock
        self.channel = channel
        self.outside = Outside(choose, stall=lambda: _pass(clock, STALL.total_seconds()))
        self.outside.others = {Meanwhile.SWEEP: self._sweep_once, Meanwhile.EVENT: self._hear_everything}
        self.carrier = Carrier(kind, self.outside, clock, self._accepted)
        self.region = Region(dynamodb(), sqs(), shards=1)
        self.ledger = self.region.ledger
        self.traffic = DynamoTraffic(dynamodb(), CONTROL)
        self.consumers_from = clock()  # no consumer runs before
        self.event_after = EVENT_AFTER
        self.rate_per_second = 1000.0
        self.schedules: list[Schedule] = []
        self.letters = EventSource(str(channel), f"{channel} consumer", self._new_consumer, self._consumer_context)
        self.receipts = EventSource(RECEIPTS, "receipts", new_receipts_function, self._consumer_context)
        self._planner, self._reconciler, _ = load_functions()
        self._happenings: list[Happening] = []
        self._wake_ups: list[WakeUp] = []
        self._request_ids = (f"request-{number}" for number in count(1))
        self._order = count()
        self._sweep_again = False
        self._swept_at: datetime | None = None
        self._unheard: list[str] = []
        self.wake_planner(clock())

    # --- what a story may do ---

    def schedule(self, *schedules: Schedule) -> None:
        """Let these be due."""
        self.region.schedule(*schedules)
        self.schedules.extend(schedules)

    def happens(self, at: datetime, act: Callable[[], object], what: str = "") -> None:
        """Let something happen at a time; `what` tells it from other things that may happen then."""
        heapq.heappush(self._happenings, Happening(at, next(self._order), act, what))

    def wake_planner(self, scheduled_time: datetime) -> None:
        """Let the schedule fire."""
        self._wake_ups.append(WakeUp(scheduled_time, scheduled_time, next(self._request_ids)))

    def purge_queue(self) -> None:
        """Lose every message that waits."""
        self.letters.messages.clear()

    def duplicate_messages(self) -> None:
        """Let every message that waits be there twice."""
        self.letters.send([message.body for message in self.letters.messages])

    def redrive(self) -> None:
        """Move every dead letter back to its queue, as new messages: StartMessageMoveTask, which moto lacks."""
        self.letters.send([message.body for message in self.letters.dead_letters])
        self.letters.dead_letters.clear()

    # --- looking without touching ---

    def raw_rows(self) -> Iterator[Mapping[str, Any]]:
        """Rows of the deliveries table as they stand."""
        for item in _table(DELIVERIES).all_items():
            yield from_item(item.to_json()["Attributes"])

    def rows(self) -> list[Delivery]:
        return [from_row(row) for row in self.raw_rows()]

    def next_run_at(self, schedule: Schedule) -> datetime | None:
        for item in _table(CUSTOMERS).all_items():
            row = from_item(item.to_json()["Attributes"])
            if (row[names.CUSTOMER_ID], row[names.RECORD]) == (schedule.customer_id, schedule.record):
                return from_text(row[names.NEXT_RUN_AT]) if names.NEXT_RUN_AT in row else None
        raise LookupError(schedule)

    def open_periods(self) -> list[str]:
        """Weeks that the control table says are open, without asking it."""
        items = [from_item(item.to_json()["Attributes"]) for item in _table(CONTROL).all_items()]
        return [name.removeprefix("open#") for item in items for name in item if name.startswith("open#")]

    def closed_at(self, period: str) -> datetime | None:
        """When the control table says that a week was closed."""
        items = [from_item(item.to_json()["Attributes"]) for item in _table(CONTROL).all_items()]
        return next((from_text(item[f"closed#{period}"]) for item in items if f"closed#{period}" in item), None)

    def state(self) -> bytes:
        """Return a digest of everything that decides how a run goes on from here and how it is judged.

        No process is at work then: what they had in memory died with them, or is made new with each invocation. An
        invocation's name matters only where it is the same as another's.
        """
        tables = [[item.to_json() for item in _table(name).all_items()] for name in (CUSTOMERS, DELIVERIES, CONTROL)]
        outside = (
            [(one.at, one.what) for one in sorted(self._happenings)],
            [(one.at, one.scheduled_time, one.request_id, one.tries) for one in self._wake_ups],
            [[_told(message) for message in (*one.messages, *one.dead_letters)] for one in self._sources],
            [one.warm is None for one in self._sources],
            (self._sweep_again, self._swept_at == self.clock(), self._unheard),
            (self.carrier.answers, sorted(self.carrier.operations.items()), sorted(self.carrier.keys.items())),
        )
        told = json.dumps([tables, f"{self.clock()} {outside}"], sort_keys=True)
        names_in_order: dict[str, str] = {}
        told = re.sub(
            r"request-\d+", lambda found: names_in_order.setdefault(found[0], f"#{len(names_in_order)}"), told
        )
        return hashlib.sha256(told.encode()).digest()

    # --- the run ---

    def play(self, between_steps: Callable[[], None] = lambda: None) -> None:
        """Let one thing happen after the other until nothing does any more. Raises RestlessError."""
        for _ in range(STEPS):
            between_steps()
            random.seed(self.clock().timestamp())  # jitter depends on the time alone: a repetition is the same run
            if self._step():
                continue
            if self._quiet():
                return
            self.clock.move_to(self._next())
        msg = f"not quiet after {STEPS} steps, at {self.clock():%d %b %H:%M:%S}: {self._state()}"
        raise RestlessError(msg)

    def _step(self) -> bool:
        """Let the next thing happen whose time has come, and say whether there was one."""
        now = self.clock()
        if self._happenings and self._happenings[0].at <= now:
            heapq.heappop(self._happenings).act()
        elif wake_up := next((one for one in self._wake_ups if one.at <= now), None):
            self._wake_ups.remove(wake_up)
            self._plan(wake_up)
        elif now >= self.consumers_from and self.letters.has_some(now):
            self._feed(self.letters)
        elif self.receipts.has_some(now):
            self._feed(self.receipts)
        elif self._sweeps_now(now):
            self._swept_at = now
            self._sweep()
        else:
            return False
        return True

    def _sweeps_now(self, now: datetime) -> bool:
        on_the_minute = (now - RECONCILER_AT) % RECONCILER_EVERY == timedelta()
        return on_the_minute and self._swept_at != now and self._something_to_sweep()

    def _plan(self, wake_up: WakeUp) -> None:
        event = {"scheduled_time": to_text(wake_up.scheduled_time), "shards": [0]}

        def work() -> None:
            self._planner.handler(event, self._context(wake_up.request_id, WAKE_UP_TIMEOUT))

        def again() -> None:
            self._planner.handler(event, self._context(next(self._request_ids), WAKE_UP_TIMEOUT))

        with mock.patch.object(self._planner, "planner", self._one_shard_planner()):
            ended = self._run("planner", work, again)
        wake_up.tries += 1
        if (ended.dead or ended.error is not None) and wake_up.tries < ASYNC_TRIES:
            wake_up.at = self.clock() + wake_up.tries * timedelta(minutes=1)
            self._wake_ups.append(wake_up)
        if not self._wake_ups and self._due_schedules():
            self.wake_planner(_next_on(SUNDAY_EVENING, PLANNER_EVERY, self.clock() + A_MILLISECOND))

    def _feed(self, source: EventSource) -> None:
        if self._run(source.process, source.poll, source.poll_again).dead:
            source.warm = None

    def _sweep(self) -> None:
        ended = self._run("reconciler", self._sweep_once, self._sweep_once)
        self._sweep_again = ended.dead or ended.error is not None

    def _sweep_once(self) -> None:
        with mock.patch.object(self._reconciler, "reconciler", self._one_channel_reconciler()):
            self._reconciler.handler({}, self._context(next(self._request_ids), WAKE_UP_TIMEOUT))

    def _run(self, name: str, work: Callable[[], None], again: Callable[[], None]) -> Process:
        ended = self.outside.run(name, work, again=again)
        for request in self.outside.late:
            self._lands(request)
        self.outside.late.clear()
        return ended

    def _lands(self, request: Request) -> None:
        self.happens(self.clock() + LANDS_AFTER, lambda: perform_quietly(request), f"lands {request}")

    def _accepted(self, delivery_id: str, reference: str) -> None:
        if self.carrier.kind is Kind.EVENTS:
            event = _event(delivery_id, reference)
            self._unheard.append(event)
            self.happens(self.clock() + self.event_after, lambda: self.receipts.send([event]), reference)

    def _hear_everything(self) -> None:
        """Let the provider tell at once of all that it has accepted; it tells again in its time."""
        self.receipts.send(self._unheard)
        self.receipts.poll()

    # --- what comes next ---

    def _quiet(self) -> bool:
        busy = (
            self._happenings
            or self._wake_ups
            or self.letters.messages
            or self.receipts.messages
            or self._due_schedules()
            or self._sweep_again
        )
        return not busy and not self._something_to_sweep(in_future=True)

    def _next(self) -> datetime:
        times = [one.at for one in self._happenings[:1]]
        times += [one.at for one in self._wake_ups]
        times += [max(seen_at(one) + A_MILLISECOND, self.consumers_from) for one in self.letters.messages]
        times += [seen_at(one) + A_MILLISECOND for one in self.receipts.messages]
        times += [
            _next_on(RECONCILER_AT, RECONCILER_EVERY, max(at, self.clock() + A_MILLISECOND)) for at in self._sweeps()
        ]
        later = [at for at in times if at > self.clock()]
        if not later:
            msg = f"nothing will ever happen to {self._state()}"
            raise RestlessError(msg)
        return min(later)

    def _something_to_sweep(self, *, in_future: bool = False) -> bool:
        return any(in_future or at <= self.clock() for at in self._sweeps())

    def _sweeps(self) -> Iterator[datetime]:
        """When the reconciler will find something to do."""
        open_rows = False
        for row in self.rows():
            at = row.attention_at or row.selected_at
            if row.status in OPEN:
                open_rows = True
                yield at - RECONCILER_EVERY if row.status is Status.RETRYABLE else at
            elif row.status is Status.UNCERTAIN and self._can_ask(row):
                yield at
        if self._sweep_again or (not open_rows and self.open_periods()):
            yield self.clock()

    def _can_ask(self, row: Delivery) -> bool:
        return self.carrier.guarantee.can_look_up(
            max(self.clock(), row.attention_at or row.selected_at), in_doubt_since=row.in_doubt_since
        )

    def _due_schedules(self) -> bool:
        return any((at := self.next_run_at(one)) is not None and at <= self.clock() for one in self.schedules)

    def _state(self) -> str:
        rows = ", ".join(f"{row.delivery_id} {row.status} (attempt {row.attempt})" for row in self.rows())
        return f"{rows or 'no rows'}; {len(self.letters.messages)} messages; open periods {self.open_periods()}"

    # --- putting it together ---

    def _context(self, request_id: str, timeout: timedelta) -> FakeLambdaContext:
        return FakeLambdaContext(self.clock, request_id=request_id, timeout=timeout)

    def _consumer_context(self) -> FakeLambdaContext:
        return self._context(next(self._request_ids), CONSUMER_TIMEOUT)

    def _new_consumer(self) -> ChannelConsumer:
        rate = {names.ENV_RATE_PER_SECOND: str(self.rate_per_second)}
        with mock.patch.dict(os.environ, ENVIRONMENT | channel_environment(self.channel) | ONE_SHARD | rate):
            return ChannelConsumer.from_environment(self.carrier)

    def _one_shard_planner(self) -> Any:
        book = DynamoPlanBook(
            dynamodb(),
            customers_table=CUSTOMERS,
            deliveries_table=DELIVERIES,
            shards=1,
            keep_for=timedelta(days=90),
        )
        return replace(self._planner.planner, book=book, ledger=self._one_shard_ledger())

    def _one_channel_reconciler(self) -> Any:
        witness = self.carrier if self.carrier.kind is Kind.LOOKUP else None
        rules = ChannelRules(self.carrier.guarantee, witness, self.rate_per_second)
        return replace(
            self._reconciler.reconciler, ledger=self._one_shard_ledger(), shards=1, channels={self.channel: rules}
        )

    def _one_shard_ledger(self) -> DynamoLedger:
        return DynamoLedger(dynamodb(), table=DELIVERIES, shards=1)

    @property
    def _sources(self) -> tuple[EventSource, EventSource]:
        return self.letters, self.receipts


@contextmanager
def a_world(kind: Kind, channel: Channel, choose: Callable[[Call], Cut | None]) -> Iterator[World]:
    """A region with nothing in it yet, at SUNDAY_EVENING."""
    with ExitStack() as stack:
        stack.enter_context(redirect_stdout(io.StringIO()))
        _, _, telemetry = load_functions()
        before = telemetry.logger.registered_handler.setStream(io.StringIO())
        stack.callback(telemetry.logger.registered_handler.setStream, before)
        stack.enter_context(mock.patch.dict(os.environ, ENVIRONMENT))
        stack.enter_context(mock_aws())
        traveller = stack.enter_context(time_machine.travel(SUNDAY_EVENING, tick=False))
        make_table(dynamodb(), CUSTOMERS, (names.CUSTOMER_ID, names.RECORD))
        make_table(dynamodb(), DELIVERIES, (names.DELIVERY_ID,))
        make_table(dynamodb(), CONTROL, (names.CONTROL_KEY,))
        make_queues(sqs(), str(channel))
        make_queues(sqs(), RECEIPTS)
        world = World(kind, channel, choose, Clock(traveller))
        stack.enter_context(intercepted(world.outside, lambda s: _pass(world.clock, s)))
        yield world


def _table(name: str) -> Any:
    return dynamodb_backends[ACCOUNT][REGION].tables[name]


def _event(delivery_id: str, reference: str) -> str:
    """Return the message that says that this was delivered: the same each time, as providers repeat themselves."""
    tags = DeliveryId.parse(delivery_id).as_tags()
    event = ReceiptMessage(
        provider="ses", event_id=f"event-{reference}", kind="Email Delivered", reference=reference, tags=tags
    )
    return event.to_body()


def _told(message: Message) -> tuple[object, ...]:
    return message.body, message.approximate_receive_count, seen_at(message)


def _pass(clock: Clock, seconds: float) -> None:
    clock.advance(timedelta(seconds=seconds))


def _next_on(grid: datetime, step: timedelta, not_before: datetime) -> datetime:
    """The first time on a grid that is not earlier."""
    return grid + -((grid - not_before) // step) * step if not_before > grid else grid
