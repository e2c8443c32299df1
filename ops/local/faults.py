"""What is done to a running region on purpose, what should come of it, and what did.

Each injection is a small state machine that is stepped while the run goes on, because its moment comes only then: a
function can be killed in the middle only while it is in the middle of something. What happened is read from rows,
queues, the providers' outboxes and the functions' logs, once all is quiet.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final, Protocol

from functions import names
from functions.core.consumption import Note
from functions.core.delivery import Delivery, Status
from functions.core.identity import Channel, DeliveryId, Topic
from functions.core.message import SCHEMA_VERSION, PoisonError, read_message
from functions.core.planning import DIGEST_TEMPLATE
from ops.local.emulator import QueueMessage
from ops.local.reckoning import Received
from ops.local.running_region import LogLine, RunningRegion

FROM_THE_FUTURE: Final = SCHEMA_VERSION + 98
REPEATED: Final = 5  # deliveries whose messages are sent again, at each of the two moments
# By then a batch that nobody killed is done: it takes a fraction of a second.
KILL_SHOWS_AFTER_S: Final = 2.5
KILLS_AT_MOST: Final = 6


class Verdict(StrEnum):
    """How a fault ended."""

    AS_EXPECTED = "as expected"
    OTHERWISE = "not as expected"
    NOT_DONE = "could not be done"  # its moment never came, as in a run of a few customers


@dataclass(frozen=True, slots=True)
class Fault:
    """An injected fault, told for the report."""

    name: str
    region: str
    done: str
    expected: str
    happened: str
    verdict: Verdict

    @property
    def held(self) -> bool:
        """Whether nothing happened that should not have."""
        return self.verdict is not Verdict.OTHERWISE


def verdict_of(*, held: bool) -> Verdict:
    return Verdict.AS_EXPECTED if held else Verdict.OTHERWISE


@dataclass(frozen=True)
class Aftermath:
    """A region when all is quiet."""

    rows: Mapping[str, Delivery]
    received: Sequence[Received] = field(repr=False)
    lines: Sequence[LogLine] = field(repr=False)
    settled_from_evidence: frozenset[str] = frozenset()

    def times_received(self, delivery_id: str) -> int:
        """How often a provider took this delivery, by the reference that its row holds."""
        reference = self.rows[delivery_id].provider_reference if delivery_id in self.rows else None
        return sum(one.message_id == reference for one in self.received)

    def unaccounted_for(self) -> int:
        """How many messages the providers took that no row refers to."""
        known = {row.provider_reference for row in self.rows.values()}
        return sum(one.message_id not in known for one in self.received)

    def notes(self, delivery_ids: Sequence[str]) -> Counter[str]:
        """What consumers logged about the messages of these deliveries, other than that an attempt was made."""
        wanted = frozenset(delivery_ids)
        records = (line.record for line in self.lines)
        return Counter(
            str(record["message"]).removeprefix("message.")
            for record in records
            if record.get("delivery_id") in wanted and str(record.get("message", "")).startswith("message.")
        )


class Injection(Protocol):
    """One fault of one region."""

    def step(self) -> None:
        """Do what is to be done now, if its moment has come."""
        ...

    @property
    def is_over(self) -> bool:
        """Whether everything has been done, and has had its time to show."""
        ...

    def fault(self, aftermath: Aftermath) -> Fault:
        """Tell what came of it."""
        ...


# --- messages that nobody can work on ---------------------------------------------------------------------------------


class PoisonMessage:
    """A message that no release can work on ends in the dead-letter queue within seconds, and nothing is sent."""

    def __init__(self, region: RunningRegion, channel: Channel, *, name: str, done: str, body: str) -> None:
        self._region = region
        self._channel = channel
        self._name = name
        self._done = done
        self._body = body
        self._sent_at = datetime.now(UTC)
        self._dead: QueueMessage | None = None
        self.message_id: str | None = None

    @classmethod
    def that_does_not_parse(cls, region: RunningRegion) -> PoisonMessage:
        """Half of a JSON object, on the email queue."""
        return cls(
            region,
            Channel.EMAIL,
            name="a message that does not parse",
            done="half a JSON object was sent to the email queue",
            body='{"schema_version": 1, "delivery_id": ',
        )

    @classmethod
    def from_the_future(cls, region: RunningRegion, customer_id: str, period: str) -> PoisonMessage:
        """A message of a schema version that this release does not know, about a real delivery, on the SMS queue."""
        delivery_id = str(DeliveryId(Topic.DIGEST, customer_id, period, Channel.SMS))
        return cls(
            region,
            Channel.SMS,
            name="an unsupported schema version",
            done=f"a message of schema version {FROM_THE_FUTURE} was sent to the SMS queue",
            body=message_for(delivery_id, Channel.SMS, schema_version=FROM_THE_FUTURE),
        )

    @property
    def is_over(self) -> bool:
        return self._dead is not None

    def step(self) -> None:
        if self.message_id is None:
            self._sent_at = datetime.now(UTC)
            self.message_id = self._region.send(self._channel, self._body)
        elif self._dead is None:
            self._look()

    def _look(self) -> None:
        queue = self._region.dead_letter_queue(self._channel)
        dead = self._region.messages(queue) if self._region.backlog(queue) else []
        self._dead = next((message for message in dead if message.message_id == self.message_id), None)

    def fault(self, aftermath: Aftermath) -> Fault:
        refusals = [
            line.at
            for line in aftermath.lines
            if line.record.get("message") == "message.poison" and line.record.get("message_id") == self.message_id
        ]
        strange = aftermath.unaccounted_for()
        took_s = (max(refusals) - self._sent_at).total_seconds() if refusals else 0.0
        if self._dead is None:
            happened = f"it is not in the dead-letter queue; it was refused {len(refusals)} times"
        else:
            happened = (
                f"refused {len(refusals)} times within {took_s:.1f} s, and in the dead-letter queue after "
                f"{self._dead.receive_count} receives, unchanged; {_accounted_for(strange)}"
            )
        return Fault(
            self._name,
            self._region.name,
            self._done,
            "in the dead-letter queue within seconds, with no call to the provider",
            happened,
            verdict_of(
                held=self._dead is not None and self._dead.body == self._body and bool(refusals) and strange == 0
            ),
        )


def _accounted_for(strange: int) -> str:
    if strange:
        return f"{strange} messages at the provider belong to no delivery"
    return "every message at the provider belongs to a delivery"


# --- the same thing again ---------------------------------------------------------------------------------------------


class TwinPlanners:
    """The planner's schedule fires twice at once, and once more when everything is over: nothing is planned twice."""

    def __init__(self, region: RunningRegion) -> None:
        self._region = region
        self._again: Mapping[str, object] | None = None
        self._started = False

    @property
    def is_over(self) -> bool:
        return self._started

    def step(self) -> None:
        if not self._started:
            self._started = True
            self._region.wake(names.OUTPUT_PLANNER_SCHEDULE, times=2)

    def fire_again(self) -> None:
        """Deliver the same schedule event a third time, now that all is planned."""
        planning = [run for run in self._region.planner_runs() if run["planned"]]
        if planning:
            self._again = self._region.invoke_planner(str(planning[0]["scheduled_time"]))

    def fault(self, aftermath: Aftermath) -> Fault:
        runs = [line.record for line in aftermath.lines if line.record.get("message") == "planner.finished"]
        planned = sum(int(run["planned"]) for run in runs)
        again = -1 if self._again is None else int(str(self._again.get("planned", -1)))
        told = "did not answer" if again < 0 else f"planned {again:,}"
        return Fault(
            "a duplicate planner run",
            self._region.name,
            "its schedule fired twice at the same time, and once more for that time when all was sent",
            "each delivery planned once, and nothing by the run that came last",
            f"{len(runs)} runs, the regular ones among them, planned {planned:,} deliveries, and "
            f"{len(aftermath.rows):,} rows are there; the one that came last {told}",
            # A run that died tells of fewer than it wrote; one that planned something again, of more than there are.
            verdict_of(held=planned <= len(aftermath.rows) and again == 0),
        )


class RepeatedMessages:
    """A channel's messages come a second time, while the first is being worked on and after it was: one send each."""

    def __init__(self, region: RunningRegion, channel: Channel, period: str) -> None:
        self._region = region
        self._channel = channel
        self._period = period
        self._in_flight: tuple[str, ...] = ()
        self._accepted: tuple[str, ...] = ()

    @property
    def is_over(self) -> bool:
        return bool(self._in_flight and self._accepted)

    def step(self) -> None:
        if not self._in_flight:
            self._in_flight = self._repeat_what_is_in_flight()
        elif not self._accepted:
            self._accepted = self._repeat_what_was_accepted()

    def _repeat_what_is_in_flight(self) -> tuple[str, ...]:
        messages = self._region.messages(self._region.queue(self._channel))
        bodies = [
            message.body for message in messages if not message.visible and _delivery_of(message.body, self._channel)
        ]
        for body in bodies[:REPEATED]:
            self._region.send(self._channel, body)
        return tuple(_delivery_of(body, self._channel) for body in bodies[:REPEATED])

    def _repeat_what_was_accepted(self) -> tuple[str, ...]:
        ids = self._region.accepted_ids(self._period, self._channel, REPEATED)
        for delivery_id in ids:
            self._region.send(self._channel, message_for(delivery_id, self._channel))
        return tuple(ids)

    def fault(self, aftermath: Aftermath) -> Fault:
        ids = dict.fromkeys((*self._in_flight, *self._accepted))
        twice = [one for one in ids if aftermath.times_received(one) > 1]
        sent = sum(aftermath.times_received(one) for one in ids)
        wanted = sum(one in aftermath.rows and aftermath.rows[one].status is Status.ACCEPTED for one in ids)
        notes = aftermath.notes(tuple(ids))
        word = "emails" if self._channel is Channel.EMAIL else "texts"
        return Fault(
            f"a duplicated message ({self._channel})",
            self._region.name,
            f"{len(self._in_flight)} messages were sent again while in flight, and {len(self._accepted)} after their "
            "delivery was accepted",
            "one send for each delivery",
            f"{sent} {word} for {wanted} accepted deliveries; {notes[Note.DUPLICATE]} messages were dropped as "
            f"duplicates, {notes[Note.IN_FLIGHT]} waited for the one in flight",
            verdict_of(held=not twice and sent == wanted) if ids else Verdict.NOT_DONE,
        )


def message_for(delivery_id: str, channel: Channel, *, schema_version: int = SCHEMA_VERSION) -> str:
    """The body of a queue message about a delivery."""
    body = {
        "schema_version": schema_version,
        "delivery_id": delivery_id,
        "channel": str(channel),
        "template_id": DIGEST_TEMPLATE,
    }
    return json.dumps(body)


def _delivery_of(body: str, channel: Channel) -> str:
    """The delivery that a body is about; empty for one that no consumer would work on."""
    try:
        return str(read_message(body, channel=channel)[1])
    except PoisonError:
        return ""


# --- a function that dies ---------------------------------------------------------------------------------------------


class KilledConsumer:
    """A worker process of a consumer is killed while it works on a batch.

    A kill strikes when messages stay in flight that a living worker would have finished by then; one that found the
    worker between two batches changes nothing and is tried again.
    """

    def __init__(
        self, region: RunningRegion, channel: Channel, *, clock_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._region = region
        self._channel = channel
        self._clock_s = clock_s
        self._kills = 0
        self._killed_at: float | None = None
        self._suspects: dict[str, str] = {}  # message id -> delivery id, in flight when the worker was killed
        self._struck: tuple[str, ...] = ()
        self._states: Counter[Status] = Counter()
        self._is_over = False

    @property
    def is_over(self) -> bool:
        return self._is_over

    def step(self) -> None:
        if self._is_over:
            return
        since_kill = 0.0 if self._killed_at is None else self._clock_s() - self._killed_at
        if self._killed_at is None:
            self._kill()
        elif since_kill >= KILL_SHOWS_AFTER_S:
            self._look()

    def _kill(self) -> None:
        in_flight = self._in_flight()
        workers = self._region.workers(self._channel)
        if not in_flight or not workers:
            return
        workers[0].kill()
        self._kills += 1
        self._killed_at = self._clock_s()
        self._suspects = in_flight

    def _look(self) -> None:
        still = self._in_flight()
        self._struck = tuple(delivery for message, delivery in self._suspects.items() if message in still)
        if not self._struck:
            self._killed_at = None
        self._is_over = bool(self._struck) or self._kills >= KILLS_AT_MOST
        rows = self._region.deployment.ledger.read(self._struck)
        self._states = Counter(row.status for row in rows.values())

    def _in_flight(self) -> dict[str, str]:
        """Messages that consumers hold right now: message id to delivery id."""
        messages = self._region.messages(self._region.queue(self._channel))
        found = {
            message.message_id: _delivery_of(message.body, self._channel) for message in messages if not message.visible
        }
        return {message_id: delivery_id for message_id, delivery_id in found.items() if delivery_id}

    def fault(self, aftermath: Aftermath) -> Fault:
        return Fault(
            "a function killed in the middle",
            self._region.name,
            f"a worker process of the {self._channel} consumer was ended with SIGKILL while it worked on a batch",
            "each of its deliveries comes back or becomes uncertain; none is sent twice, none is lost",
            self._happened(aftermath),
            verdict_of(held=self._held(aftermath)) if self._struck else Verdict.NOT_DONE,
        )

    def _happened(self, aftermath: Aftermath) -> str:
        if not self._struck:
            return f"{self._kills} kills, and each found the worker between two batches"
        then = Counter(aftermath.rows[one].status for one in self._struck if one in aftermath.rows)
        return (
            f"{len(self._struck)} deliveries were in its hands, {_listed(self._states)} when it died; "
            f"in the end {_listed(then)}{self._evidence(aftermath)}"
        )

    def _evidence(self, aftermath: Aftermath) -> str:
        settled = sum(one in aftermath.settled_from_evidence for one in self._struck)
        if settled == 0:
            return ""
        return f"; {settled} had been uncertain, until the provider's outbox showed that it had been sent"

    def _held(self, aftermath: Aftermath) -> bool:
        rows = [aftermath.rows[one] for one in self._struck if one in aftermath.rows]
        ended = {Status.ACCEPTED, Status.SKIPPED, Status.UNCERTAIN}
        return (
            len(rows) == len(self._struck)
            and all(row.status in ended for row in rows)
            and all(
                aftermath.times_received(str(row.delivery_id)) == 1 for row in rows if row.status is Status.ACCEPTED
            )
        )


def _listed(states: Counter[Status]) -> str:
    return ", ".join(f"{count} {str(status).replace('_', ' ')}" for status, count in states.most_common()) or "none"
