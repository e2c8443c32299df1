"""What a provider's answer means for the row and for the message. One table, versioned, tested row by row."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Self

from functions.core.delivery import Status
from functions.core.instants import from_text, to_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

# Raised whenever a row of this table, or of the tables of codes, changes its meaning; stored with every attempt.
POLICY_VERSION: Final = 3


class OutcomeClass(StrEnum):
    """The classes of answers."""

    ACCEPTED = "accepted"
    THROTTLED = "throttled"  # too fast for the account: everybody waits
    DEFERRED = "deferred"  # not now for this recipient: nobody else waits
    QUOTA = "quota"  # the period's allowance is used up
    UNAVAILABLE = "unavailable"  # the request had no effect
    UNKNOWN = "unknown"  # the request may have had its effect
    RUNNING = "running"  # an earlier request with our key is still being worked on
    MISMATCH = "mismatch"  # an earlier request with our key carried other bytes
    REJECTED = "rejected"  # never for this message
    AUTH = "auth"  # never for any message, until somebody mends our account


class Dedupe(StrEnum):
    """What a provider does with a second send of the same delivery."""

    NONE = "none"  # sends it again
    WINDOW = "window"  # answers as the first time, for as long as it remembers the key
    LOOKUP = "lookup"  # as WINDOW, and can be asked what became of a key


@dataclass(frozen=True, slots=True)
class Guarantee:
    """What a provider promises about duplicates, and for how long it remembers a key or can be asked about it."""

    dedupe: Dedupe
    window: timedelta = timedelta()
    lookup_window: timedelta = timedelta()

    def at(self, now: datetime, *, in_doubt_since: datetime | None) -> Dedupe:
        """Return what still holds for a delivery that has been in doubt since then."""
        if in_doubt_since is not None and now >= in_doubt_since + self.window:
            return Dedupe.NONE
        return self.dedupe

    def can_look_up(self, now: datetime, *, in_doubt_since: datetime | None) -> bool:
        """Whether asking the provider about this delivery still gives an answer that can be relied on."""
        if self.dedupe is not Dedupe.LOOKUP or in_doubt_since is None:
            return False
        return now < in_doubt_since + self.lookup_window


class Sight(StrEnum):
    """What a provider says of a key."""

    ACCEPTED = "accepted"
    RUNNING = "running"
    ABSENT = "absent"
    NO_ANSWER = "no_answer"


@dataclass(frozen=True, slots=True)
class Sighting:
    """A provider's answer to a look-up."""

    sight: Sight
    reference: str | None = None


class Acknowledgement(StrEnum):
    """What becomes of the queue's message."""

    DONE = "done"
    BACK_OFF = "back_off"


class GateMove(StrEnum):
    """What an answer to one delivery does to the whole channel."""

    NONE = "none"
    CLOSE = "close"  # until the provider's time, or for the class's pause
    HALT = "halt"  # until an operator resumes it


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one attempt came to. `code` is the provider's error code, never its words, which may quote an address."""

    outcome: OutcomeClass
    code: str
    reference: str | None = None
    retry_at: datetime | None = None  # the provider's own wish, read from Retry-After
    provider_duplicate: bool = False  # the provider recognised our key and answered as the first time
    replayed: bool = False  # not this attempt's: the delivery had been finished by another

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object that the idempotency engine carries."""
        return {
            "outcome": str(self.outcome),
            "code": self.code,
            "reference": self.reference,
            "retry_at": None if self.retry_at is None else to_text(self.retry_at),
            "provider_duplicate": self.provider_duplicate,
            "replayed": self.replayed,
        }

    @classmethod
    def from_json(cls, held: Mapping[str, Any]) -> Self:
        """Read what `to_json` wrote."""
        return cls(
            OutcomeClass(held["outcome"]),
            held["code"],
            held["reference"],
            None if held["retry_at"] is None else from_text(held["retry_at"]),
            held["provider_duplicate"],
            held["replayed"],
        )


@dataclass(frozen=True, slots=True)
class Ruling:
    """What a class of outcome does: to the row, to the message, to the channel, and to what we know.

    `pause_s` is how long a row waits before the reconciler brings it back, where the provider does not say.
    """

    status: Status
    message: Acknowledgement
    gate: GateMove = GateMove.NONE
    pause_s: int = 0
    in_doubt: bool = False  # the provider may hold an acceptance that we have not seen


_DONE, _BACK_OFF = Acknowledgement.DONE, Acknowledgement.BACK_OFF

RULINGS: Final[Mapping[OutcomeClass, Ruling]] = {
    OutcomeClass.ACCEPTED: Ruling(Status.ACCEPTED, _DONE),
    OutcomeClass.THROTTLED: Ruling(Status.RETRYABLE, _DONE, GateMove.CLOSE, pause_s=5),
    OutcomeClass.DEFERRED: Ruling(Status.RETRYABLE, _DONE, pause_s=60),
    OutcomeClass.QUOTA: Ruling(Status.RETRYABLE, _DONE, GateMove.CLOSE, pause_s=3600),
    OutcomeClass.UNAVAILABLE: Ruling(Status.RETRYABLE, _BACK_OFF),
    OutcomeClass.UNKNOWN: Ruling(Status.RETRYABLE, _BACK_OFF, in_doubt=True),
    OutcomeClass.RUNNING: Ruling(Status.RETRYABLE, _BACK_OFF, in_doubt=True),
    OutcomeClass.MISMATCH: Ruling(Status.UNCERTAIN, _DONE, in_doubt=True),
    OutcomeClass.REJECTED: Ruling(Status.DEAD_LETTER, _DONE),
    OutcomeClass.AUTH: Ruling(Status.RETRYABLE, _DONE, GateMove.HALT, pause_s=60),
}

# A provider that would send again cannot be asked again.
_UNKNOWN_WITHOUT_KEY: Final = Ruling(Status.UNCERTAIN, _DONE, in_doubt=True)


def ruling(outcome: OutcomeClass, dedupe: Dedupe) -> Ruling:
    """Return the rule for a class of outcome, given what the provider can do about duplicates.

    An answer that nobody got may still be an acceptance. A provider that knows our key may be asked again; with one
    that does not, the row waits.
    """
    if outcome is OutcomeClass.UNKNOWN and dedupe is Dedupe.NONE:
        return _UNKNOWN_WITHOUT_KEY
    return RULINGS[outcome]
