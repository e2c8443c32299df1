"""A sender without a ledger behind it: says what the scenario needs it to say."""

from __future__ import annotations

from functions.core.delivery import Delivery
from functions.core.envelope import Envelope
from functions.core.outcome import Outcome
from tests.fakes.examples import ACCEPTED


class ScriptedSender:
    """A `Sender` that answers with one outcome, or raises one error, and remembers what it was asked."""

    def __init__(self, answer: Outcome | Exception = ACCEPTED) -> None:
        self.answer = answer
        self.sent: list[tuple[Delivery, Envelope]] = []
        self.pauses: list[int | None] = []

    def send(self, delivery: Delivery, envelope: Envelope, *, pause_s: int | None) -> Outcome:
        self.sent.append((delivery, envelope))
        self.pauses.append(pause_s)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer
