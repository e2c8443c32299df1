"""A provider in memory."""

from __future__ import annotations

from collections import deque
from typing import Final

from functions.core.delivery import Delivery
from functions.core.envelope import Envelope
from functions.core.outcome import Dedupe, Guarantee, Outcome, OutcomeClass


class InMemoryMailer:
    """A `Provider` that accepts everything and keeps it in `sent`, unless `answers` holds what it is to say next."""

    name: Final = "in_memory"
    guarantee: Final = Guarantee(Dedupe.NONE)

    def __init__(self) -> None:
        self.sent: list[Envelope] = []
        self.answers: deque[Outcome] = deque()

    def send(self, delivery: Delivery, envelope: Envelope) -> Outcome:  # noqa: ARG002 - no key is needed here
        if self.answers:
            return self.answers.popleft()
        self.sent.append(envelope)
        return Outcome(OutcomeClass.ACCEPTED, "ok", f"in-memory-{len(self.sent)}")
