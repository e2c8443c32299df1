"""A sender that remembers how endpoints answer, and disables those that are gone or have long been failing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from functions.core.envelope import WebhookEnvelope

if TYPE_CHECKING:
    from datetime import timedelta

    from functions.core.delivery import Delivery
    from functions.core.envelope import Envelope
    from functions.core.outcome import Outcome
    from functions.core.ports import Clock, Endpoints, Sender
    from functions.core.webhook_endpoint import Health

TRIES: Final = 3

TellDisabled: TypeAlias = "Callable[[str, Health], None]"
TellUnnoted: TypeAlias = "Callable[[str, Exception], None]"


@dataclass(frozen=True, slots=True)
class EndpointWatch:
    """`Sender` that notes each outcome with the endpoint, once the row is settled: what is noted is never in its way.

    `disabled` is told of a customer whose endpoint has just been disabled, `unnoted` of one whose record could not be
    written: the next failure is noted instead.
    """

    sender: Sender
    endpoints: Endpoints
    disable_after: timedelta
    clock: Clock
    disabled: TellDisabled
    unnoted: TellUnnoted

    def send(self, delivery: Delivery, envelope: Envelope, *, pause_s: int | None) -> Outcome:
        """Send as the sender does, then note what came of it."""
        outcome = self.sender.send(delivery, envelope, pause_s=pause_s)
        if isinstance(envelope, WebhookEnvelope) and not outcome.replayed:
            try:
                self._note(delivery.delivery_id.customer_id, envelope, outcome)
            except Exception as error:  # noqa: BLE001 - the delivery is settled, whatever becomes of the note
                self.unnoted(delivery.delivery_id.customer_id, error)
        return outcome

    def _note(self, customer_id: str, envelope: WebhookEnvelope, outcome: Outcome) -> None:
        endpoint = envelope.endpoint
        for _ in range(TRIES):
            before = endpoint.health_at(envelope.to)
            after = before.after(outcome, at=self.clock(), disable_after=self.disable_after)
            if after == before:
                return
            if self.endpoints.note(customer_id, after, version=endpoint.version):
                if after.disabled_at is not None and before.disabled_at is None:
                    self.disabled(customer_id, after)
                return
            now = self.endpoints.read(customer_id)
            if now is None:
                return
            endpoint = now
