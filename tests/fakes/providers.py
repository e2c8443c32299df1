"""A provider that does as it is told, and remembers what it accepted."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, TypeAlias

from functions.core.delivery import Delivery
from functions.core.envelope import Envelope
from functions.core.outcome import Dedupe, Guarantee, Outcome, OutcomeClass

Answer: TypeAlias = "Outcome | BaseException"
NO_KEYS: Final = Guarantee(Dedupe.NONE)


class FakeProvider:
    """A `Provider`. Accepts everything unless `answers` holds what to say (or raise) next.

    `accepted` are the operations that it performed. With a `guarantee` that knows keys, a delivery that it has accepted
    before is acknowledged and not performed again. `while_sending` runs in the middle of each send.
    """

    def __init__(self, *, name: str = "fake", guarantee: Guarantee = NO_KEYS) -> None:
        self.name = name
        self.guarantee = guarantee
        self.calls: list[str] = []
        self.accepted: list[str] = []
        self.envelopes: list[Envelope] = []
        self.answers: deque[Answer] = deque()
        self.while_sending: Callable[[], None] = _nothing

    def will(self, *answers: Answer) -> None:
        """Say, or raise, these in turn."""
        self.answers.extend(answers)

    def accept_unheard(self, error: BaseException) -> None:
        """Accept the next send, and fail it all the same: the answer is lost, or nobody is left to hear it."""
        self.while_sending = self._accept_then(error)

    def send(self, delivery: Delivery, envelope: Envelope) -> Outcome:
        delivery_id = str(delivery.delivery_id)
        self.calls.append(delivery_id)
        self.envelopes.append(envelope)
        self.while_sending()
        answer = self.answers.popleft() if self.answers else Outcome(OutcomeClass.ACCEPTED, "ok", "new")
        if isinstance(answer, BaseException):
            raise answer
        if answer.outcome is OutcomeClass.ACCEPTED:
            return self._perform(delivery_id)
        return answer

    def _perform(self, delivery_id: str) -> Outcome:
        if self.guarantee.dedupe is Dedupe.NONE or delivery_id not in self.accepted:
            self.accepted.append(delivery_id)
        return Outcome(OutcomeClass.ACCEPTED, "ok", f"reference-{self.accepted.index(delivery_id) + 1}")

    def _accept_then(self, error: BaseException) -> Callable[[], None]:
        def accept() -> None:
            self.while_sending = _nothing
            self._perform(self.calls[-1])
            raise error

        return accept


def _nothing() -> None:
    return
