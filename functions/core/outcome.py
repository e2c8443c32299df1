"""What a provider's answer means for the row and for the message. One table, versioned, tested row by row."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from functions.core.delivery import Status

if TYPE_CHECKING:
    from collections.abc import Mapping

POLICY_VERSION: Final = 1


class OutcomeClass(StrEnum):
    """The classes of answers."""

    ACCEPTED = "accepted"
    THROTTLED = "throttled"
    UNAVAILABLE = "unavailable"
    UNKNOWN = "unknown"
    REJECTED = "rejected"
    AUTH = "auth"
    QUOTA = "quota"


class Dedupe(StrEnum):
    """What a provider does with a second send of the same delivery."""

    NONE = "none"  # sends it again
    WINDOW = "window"  # answers as the first time, for as long as it remembers the key
    LOOKUP = "lookup"  # as WINDOW, and can be asked about a key


class Acknowledgement(StrEnum):
    """What becomes of the queue's message."""

    DONE = "done"
    BACK_OFF = "back_off"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one attempt came to. `code` is the provider's error code, never its words, which may quote an address."""

    outcome: OutcomeClass
    code: str
    reference: str | None = None
    replayed: bool = False  # not this attempt's: the delivery had been finished by another


@dataclass(frozen=True, slots=True)
class Ruling:
    """What an outcome does: the row's next state, and whether the message is finished with."""

    status: Status
    message: Acknowledgement


def ruling(outcome: OutcomeClass, dedupe: Dedupe) -> Ruling:
    """Return the rule for a class of outcome, given what the provider can do about duplicates.

    An answer that nobody got may still be an acceptance. A provider that knows our key may be asked again; with one
    that does not, the row waits.
    """
    if outcome is OutcomeClass.UNKNOWN:
        if dedupe is Dedupe.NONE:
            return Ruling(Status.UNCERTAIN, Acknowledgement.DONE)
        return Ruling(Status.RETRYABLE, Acknowledgement.BACK_OFF)
    return _RULINGS[outcome]


_RULINGS: Final[Mapping[OutcomeClass, Ruling]] = {
    OutcomeClass.ACCEPTED: Ruling(Status.ACCEPTED, Acknowledgement.DONE),
    OutcomeClass.THROTTLED: Ruling(Status.RETRYABLE, Acknowledgement.DONE),
    OutcomeClass.UNAVAILABLE: Ruling(Status.RETRYABLE, Acknowledgement.BACK_OFF),
    OutcomeClass.REJECTED: Ruling(Status.DEAD_LETTER, Acknowledgement.DONE),
    OutcomeClass.AUTH: Ruling(Status.RETRYABLE, Acknowledgement.DONE),
    OutcomeClass.QUOTA: Ruling(Status.RETRYABLE, Acknowledgement.DONE),
}

# How long a row waits before the reconciler brings it back, where the provider does not say. Seconds.
WAIT_S: Final[Mapping[OutcomeClass, int]] = {
    OutcomeClass.THROTTLED: 5,
    OutcomeClass.UNAVAILABLE: 60,
    OutcomeClass.UNKNOWN: 60,
    OutcomeClass.AUTH: 300,
    OutcomeClass.QUOTA: 3600,
}
