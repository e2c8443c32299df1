"""What is done with one message, whatever brought it. The message only says where to look; the row decides."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from math import ceil
from typing import TYPE_CHECKING, Final

from functions.core.backoff import AT_ONCE, Backoff
from functions.core.composition import Composer, Moment, Quiet, Resting
from functions.core.delivery import FINISHED, Delivery, FailureClass, SkipReason, Status
from functions.core.envelope import EmailEnvelope, TextEnvelope
from functions.core.message import PoisonError, read_message
from functions.core.outcome import RULINGS, Acknowledgement, GateMove, Guarantee, Outcome, OutcomeClass, ruling
from functions.core.ports import InFlightError
from functions.core.settlement import abandoned, allows_resend, doubtful, exhausted, expired, put_off, skipped
from functions.core.text_segments import size_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from functions.core.envelope import Envelope
    from functions.core.identity import Channel, DeliveryId
    from functions.core.ports import Clock, Ledger, Sender
    from functions.core.rows_ahead import RowsAhead
    from functions.core.summary import SummaryNote
    from functions.core.traffic import Lane

STALE_AFTER: Final = timedelta(seconds=1)  # a message that waited longer for its turn is asked about again
WAITED_FOR_S: Final = 5  # a message this little early is kept; an earlier one is dropped, the row being looked after
ON_ITS_WAY: Final = timedelta(seconds=60)  # how long after its last possible start a send may still take effect


@dataclass(frozen=True, slots=True)
class Received:
    """One message as it came off the queue. `receive_count` None: it came from where nobody counts."""

    body: str
    receive_count: int | None
    send_until: datetime  # a send that has not begun by then would not end within the invocation


class Note(StrEnum):
    """What happened to a message, for the log and the counters."""

    SETTLED = "settled"
    SKIPPED = "skipped"
    EXPIRED = "expired"
    DUPLICATE = "duplicate_suppressed"
    NO_ROW = "no_row"
    ABANDONED = "lease_ran_out"
    IN_FLIGHT = "in_flight"
    FAILED = "attempt_failed"
    EARLY = "early"
    GATE_SHUT = "gate_shut"
    PACED = "paced"
    QUIET = "quiet_hours"
    RESTING = "endpoint_resting"
    IN_DOUBT = "in_doubt"


@dataclass(frozen=True, slots=True)
class Disposition:
    """What to do with the message: finished with, or back on the queue in `visible_in_s` seconds.

    `again_at` is when a delivery that waits for its time comes back by itself, without this message.
    """

    note: Note
    visible_in_s: int | None = None
    again_at: datetime | None = None
    delivery: Delivery | None = None
    outcome: Outcome | None = None
    skip_reason: SkipReason | None = None
    summary: SummaryNote | None = None  # of a first attempt: what became of the digest's summary
    segments: int = 0  # of a text that was accepted, as networks bill it

    @property
    def done(self) -> bool:
        """Whether the message may be deleted."""
        return self.visible_in_s is None

    @property
    def dead_letter(self) -> FailureClass | None:
        """Which kind of dead letter the delivery has become, if any."""
        return None if self._in_doubt else self._given_up_as

    @property
    def uncertain(self) -> bool:
        """Whether it may have been sent and must wait for evidence."""
        if self.note is Note.IN_DOUBT or (self.note is Note.ABANDONED and self.done):
            return True
        unsure = {OutcomeClass.UNKNOWN, OutcomeClass.MISMATCH}
        waits = self.done and self.outcome is not None and self.outcome.outcome in unsure
        return waits or (self._in_doubt and self._given_up_as is not None)

    @property
    def _given_up_as(self) -> FailureClass | None:
        if self.outcome is not None and self.outcome.outcome is OutcomeClass.REJECTED:
            return FailureClass.REJECTED
        last = self.note is Note.FAILED and self.visible_in_s == AT_ONCE
        return FailureClass.EXHAUSTED if last else None

    @property
    def _in_doubt(self) -> bool:
        # As the settlement sees it: an earlier attempt may have been accepted, or this one.
        if self.delivery is None or self.outcome is None:
            return False
        return self.delivery.in_doubt_since is not None or RULINGS[self.outcome.outcome].in_doubt


@dataclass(frozen=True, slots=True)
class Consumer:
    """Reads the row, decides whether to send, sends at most once, and says what becomes of the message."""

    channel: Channel
    ledger: Ledger
    composer: Composer
    sender: Sender
    lane: Lane
    guarantee: Guarantee
    backoff: Backoff
    clock: Clock
    rows: RowsAhead | None = None  # None: each message's row is read when its turn comes

    def begin(self, bodies: Iterable[str]) -> None:
        """Begin a batch of messages with these bodies, in whatever state they are."""
        if self.rows is not None:
            self.rows.begin(str(delivery_id) for body in bodies if (delivery_id := self._named_in(body)) is not None)

    def consume(self, received: Received) -> Disposition:
        """Act on one message. Raises PoisonError; any other exception leaves the row for another try."""
        _, delivery_id = read_message(received.body, channel=self.channel)
        row = self._read(delivery_id) if self.rows is None else self.rows.take(str(delivery_id))
        if row is None:
            # Rows are written before ids are sent: this one was erased, or purged long ago.
            return Disposition(Note.NO_ROW)
        return self._finished(row) or self._on_hold(row, received) or self._gate_shut(row) or self._send(row, received)

    def give_up(self, received: Received, *, code: str) -> None:
        """Record that the last allowed receive failed for a reason of our own; SQS moves the message on."""
        _, delivery_id = read_message(received.body, channel=self.channel)
        row = self._read(delivery_id)
        now = self.clock()
        if row is None or row.status not in {Status.PLANNED, Status.QUEUED, Status.RETRYABLE}:
            return
        if row.next_attempt_at is None or row.next_attempt_at <= now:  # else it is put off, and comes back without SQS
            self.ledger.write(row, exhausted(row, code=code, at=now))

    def _named_in(self, body: str) -> DeliveryId | None:
        try:
            return read_message(body, channel=self.channel)[1]
        except PoisonError:
            return None  # told of when its turn comes

    def _read(self, delivery_id: DeliveryId) -> Delivery | None:
        return self.ledger.read([str(delivery_id)]).get(str(delivery_id))

    def _finished(self, row: Delivery) -> Disposition | None:
        rejected = row.status is Status.DEAD_LETTER and not row.exhausted()
        if row.status in FINISHED or row.status is Status.UNCERTAIN or rejected:
            return Disposition(Note.DUPLICATE, delivery=row)
        return None

    def _on_hold(self, row: Delivery, received: Received) -> Disposition | None:
        now = self.clock()
        if row.status is Status.SENDING and not row.lease_ran_out(now):
            return _in_flight(row, row.lease_until, now)
        if row.lease_ran_out(now):
            after = abandoned(row, guarantee=self.guarantee, at=now)
            self.ledger.write(row, after)
            if after.status is Status.UNCERTAIN:
                return Disposition(Note.ABANDONED, delivery=after)
            return Disposition(Note.ABANDONED, visible_in_s=1, delivery=after)
        # The key must still be known when the request arrives, not only now: a send may have to wait for its slot.
        if not allows_resend(row, self.guarantee, max(now, received.send_until) + ON_ITS_WAY):
            self.ledger.write(row, doubtful(row, at=now))
            return Disposition(Note.IN_DOUBT, delivery=row)
        if now >= row.expires_at:
            self.ledger.write(row, expired(row, at=now))
            return Disposition(Note.EXPIRED, delivery=row)
        return _early(row, now)

    def _gate_shut(self, row: Delivery) -> Disposition | None:
        opens_at = self.lane.gate().opens_at(self.clock())
        return None if opens_at is None else self._put_off(row, opens_at, Note.GATE_SHUT)

    def _put_off(self, row: Delivery, until: datetime, note: Note) -> Disposition:
        # The message is done with: waiting in the queue would use up its receives. The reconciler brings the row back.
        after = put_off(row, until=until)
        self.ledger.write(row, after)
        return Disposition(note, delivery=row, again_at=after.next_attempt_at)

    def _send(self, row: Delivery, received: Received) -> Disposition:
        asked_at = self.clock()
        composed = self._compose(row, received)
        if isinstance(composed, Disposition):
            return composed
        slot = self.lane.take_slot(wait_until=received.send_until)
        if slot is not None:
            return self._put_off(row, slot, Note.PACED)
        if self.clock() - asked_at >= STALE_AFTER:
            composed = self._compose(row, received)
            if isinstance(composed, Disposition):
                return composed
        return self._attempt(row, composed, received)

    def _compose(self, row: Delivery, received: Received) -> Envelope | Disposition:
        now = self.clock()
        composed = self.composer.compose(row, Moment(now, latest=max(now, received.send_until)))
        if isinstance(composed, Quiet):
            return self._put_off(row, composed.until, Note.QUIET)
        if isinstance(composed, Resting):
            return self._put_off(row, composed.until, Note.RESTING)
        if isinstance(composed, SkipReason):
            self.ledger.write(row, skipped(row, composed, at=now))
            return Disposition(Note.SKIPPED, delivery=row, skip_reason=composed)
        return composed

    def _attempt(self, row: Delivery, composed: Envelope, received: Received) -> Disposition:
        last = self.backoff.is_last(received.receive_count)
        pause = self._pause_s(row, received)
        try:
            outcome = self.sender.send(row, composed, pause_s=None if last else pause)
        except InFlightError as error:
            return _in_flight(row, error.lease_until, self.clock())
        if outcome.replayed:
            return self._settled_by_another(row, last=last)
        self._move_gate(outcome)
        rule = ruling(outcome.outcome, self.guarantee.at(self.clock(), in_doubt_since=row.in_doubt_since))
        summary = composed.summary if isinstance(composed, EmailEnvelope) and row.attempt == 0 else None
        if rule.message is Acknowledgement.DONE:
            again_at = outcome.retry_at or self.clock() + timedelta(seconds=rule.pause_s)
            waits = rule.status is Status.RETRYABLE
            return Disposition(
                Note.SETTLED,
                delivery=row,
                outcome=outcome,
                again_at=again_at if waits else None,
                summary=summary,
                segments=_segments(composed) if rule.status is Status.ACCEPTED else 0,
            )
        if outcome.retry_at is not None and not last:
            pause = max(pause, ceil((outcome.retry_at - self.clock()).total_seconds()))
        return Disposition(Note.FAILED, visible_in_s=pause, delivery=row, outcome=outcome, summary=summary)

    def _settled_by_another(self, row: Delivery, *, last: bool) -> Disposition:
        current = self._read(row.delivery_id) if last else None
        # Two had the message on its last receive. Given up by the other one, it belongs into the dead-letter queue.
        given_up = current is not None and current.exhausted()
        return Disposition(Note.DUPLICATE, visible_in_s=AT_ONCE if given_up else None, delivery=row)

    def _pause_s(self, row: Delivery, received: Received) -> int:
        if received.receive_count is not None:
            return self.backoff.pause_s(received.receive_count)
        # Nobody counts but the row: the pauses grow with its attempts, and only its expiry says which was the last.
        return self.backoff.pause_s(min(row.attempt + 1, len(self.backoff.pauses_s)))

    def _move_gate(self, outcome: Outcome) -> None:
        rule = ruling(outcome.outcome, self.guarantee.dedupe)
        if rule.gate is GateMove.HALT:
            self.lane.halt(cause=outcome.code)
        elif rule.gate is GateMove.CLOSE:
            until = outcome.retry_at or self.clock() + timedelta(seconds=rule.pause_s)
            self.lane.close(until=until, cause=outcome.code)


def _segments(envelope: Envelope) -> int:
    return size_of(envelope.body).segments if isinstance(envelope, TextEnvelope) else 0


def _early(row: Delivery, now: datetime) -> Disposition | None:
    if row.next_attempt_at is None or row.next_attempt_at <= now:
        return None
    wait = ceil((row.next_attempt_at - now).total_seconds())
    visible_in_s = wait if wait <= WAITED_FOR_S else None
    return Disposition(Note.EARLY, visible_in_s=visible_in_s, delivery=row, again_at=row.next_attempt_at)


def _in_flight(row: Delivery, lease_until: datetime | None, now: datetime) -> Disposition:
    # Back when the lease has run out at the latest: by then the other invocation has settled the row or died.
    wait = 1 if lease_until is None else max(1, round((lease_until - now).total_seconds()) + 1)
    return Disposition(Note.IN_FLIGHT, visible_in_s=wait, delivery=row)
