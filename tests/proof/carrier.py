"""A provider that counts what it carried out, forgets keys when their window has passed, and reports what it did."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, TypeAlias

from functions.core.delivery import Delivery
from functions.core.envelope import Envelope, fingerprint
from functions.core.outcome import Dedupe, Guarantee, Outcome, OutcomeClass, Sight, Sighting
from functions.core.ports import Clock
from tests.proof.outside import Outside, Side


class Kind(StrEnum):
    """What a provider can do about duplicates, and what it tells afterwards."""

    KEY = "key"
    KEY_PASSED = "key, window passed"
    LOOKUP = "look-up"
    NONE = "no key"
    EVENTS = "no key, events"


GUARANTEES: Final = {
    Kind.KEY: Guarantee(Dedupe.WINDOW, window=timedelta(hours=24)),
    # Shorter than a lease: a second try finds the key forgotten, or sees it forgotten while it is under way.
    Kind.KEY_PASSED: Guarantee(Dedupe.WINDOW, window=timedelta(seconds=20)),
    Kind.LOOKUP: Guarantee(Dedupe.LOOKUP, window=timedelta(hours=24), lookup_window=timedelta(hours=48)),
    Kind.NONE: Guarantee(Dedupe.NONE),
    Kind.EVENTS: Guarantee(Dedupe.NONE),
}
EVENT_AFTER: Final = timedelta(minutes=4)  # later than any lease, so that it finds the row settled or given up


class Mishap(StrEnum):
    """What may happen to a send, other than an answer."""

    LOST = "lost"  # accepted, and the answer never arrives
    DIED = "died"  # accepted, and nobody is left to hear it
    CRASHED = "crashed"  # the process died of what it was about to send


Answer: TypeAlias = "Outcome | Mishap"
_UNKNOWN: Final = Outcome(OutcomeClass.UNKNOWN, "ReadTimeoutError")


@dataclass(slots=True)
class Key:
    """What the provider remembers under a key: since when, for which bytes, and what it answered."""

    since: datetime
    fingerprint: str
    reference: str


@dataclass(slots=True)
class Carrier:
    """`Provider` and `Witness`. Accepts everything, unless `answers` holds what to say next."""

    kind: Kind
    outside: Outside
    clock: Clock
    on_accepted: Callable[[str, str], None]
    name: str = "carrier"
    answers: deque[Answer] = field(default_factory=deque)
    operations: Counter[str] = field(default_factory=Counter)
    acknowledged: int = 0
    guarantee: Guarantee = field(init=False)
    keys: dict[str, Key] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.guarantee = GUARANTEES[self.kind]

    def send(self, delivery: Delivery, envelope: Envelope) -> Outcome:
        answer: Outcome = self.outside.reach(_Send(self, delivery, envelope))
        return answer

    def look_up(self, delivery: Delivery) -> Sighting:
        answer: Sighting = self.outside.reach(_LookUp(self, delivery))
        return answer

    def carry_out(self, delivery: Delivery, envelope: Envelope) -> Outcome:
        """Answer a send as the provider would, with all the effect that it has there."""
        answer = self.answers.popleft() if self.answers else None
        if isinstance(answer, Outcome):
            return answer
        if answer is Mishap.CRASHED:
            self.outside.kill()
        done = self._accept(str(delivery.delivery_id), fingerprint(envelope))
        if answer is Mishap.DIED:
            self.outside.kill()
        return _UNKNOWN if answer is Mishap.LOST else done

    def sighting(self, delivery_id: str) -> Sighting:
        """Answer a look-up."""
        key = self.keys.get(delivery_id)
        return Sighting(Sight.ABSENT) if key is None else Sighting(Sight.ACCEPTED, key.reference)

    def _accept(self, delivery_id: str, fingerprint: str) -> Outcome:
        key = self._remembered(delivery_id)
        if key is not None and key.fingerprint != fingerprint:
            return Outcome(OutcomeClass.MISMATCH, "invalid_idempotent_request")
        if key is not None:
            self.acknowledged += 1
            return Outcome(OutcomeClass.ACCEPTED, "ok", key.reference, provider_duplicate=True)
        self.operations[delivery_id] += 1
        reference = f"reference-{self.operations.total()}"
        self.keys[delivery_id] = Key(self.clock(), fingerprint, reference)
        self.on_accepted(delivery_id, reference)
        return Outcome(OutcomeClass.ACCEPTED, "ok", reference)

    def _remembered(self, delivery_id: str) -> Key | None:
        key = self.keys.get(delivery_id)
        if key is None or self.guarantee.dedupe is Dedupe.NONE or self.clock() >= key.since + self.guarantee.window:
            return None
        return key


@dataclass(frozen=True, slots=True)
class _Send:
    carrier: Carrier
    delivery: Delivery
    envelope: Envelope
    name: str = "provider send"
    sides: tuple[Side, ...] = (
        *(Side.KILLED_BEFORE, Side.KILLED_AFTER, Side.LANDS_LATE, Side.STALLED),
        *(Side.THROTTLED, Side.TIMED_OUT_BEFORE, Side.TIMED_OUT_AFTER, Side.RAISED),
    )

    def perform(self) -> Any:
        return self.carrier.carry_out(self.delivery, self.envelope)

    def fail(self, side: Side) -> Any:
        if side is Side.THROTTLED:
            return Outcome(OutcomeClass.THROTTLED, "rate_limit_exceeded")
        if side in {Side.TIMED_OUT_AFTER, Side.RAISED}:
            self.perform()
        if side is Side.RAISED:
            msg = "a provider never raises; this one did"
            raise RuntimeError(msg)
        return _UNKNOWN


@dataclass(frozen=True, slots=True)
class _LookUp:
    carrier: Carrier
    delivery: Delivery
    name: str = "provider look-up"
    sides: tuple[Side, ...] = (Side.KILLED_BEFORE, Side.KILLED_AFTER, Side.STALLED, Side.TIMED_OUT_BEFORE)

    def perform(self) -> Any:
        return self.carrier.sighting(str(self.delivery.delivery_id))

    def fail(self, side: Side) -> Any:  # noqa: ARG002 - it has no effect, so every failure looks the same
        return Sighting(Sight.NO_ANSWER)
