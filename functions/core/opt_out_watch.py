"""A sender that hears when a provider refuses a number because its owner has said STOP there.

Opt-outs live at the provider, for a number or a pool of numbers; whoever changes those would text people who have left.
So what a provider knows is kept with the customer as well, where it holds for every provider.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from functions.core.provider_codes import OPTED_OUT
from functions.core.receipts import SuppressionCause

if TYPE_CHECKING:
    from functions.core.delivery import Delivery
    from functions.core.envelope import Envelope
    from functions.core.outcome import Outcome
    from functions.core.ports import Clock, Sender, Suppressions

TellUnnoted: TypeAlias = "Callable[[str, Exception], None]"


@dataclass(frozen=True, slots=True)
class OptOutWatch:
    """`Sender` that suppresses a channel whose provider says that the person has left, once the row is settled.

    `unnoted` is told of a customer whose profile could not be written: the next refusal is noted instead.
    """

    sender: Sender
    suppressions: Suppressions
    clock: Clock
    unnoted: TellUnnoted

    def send(self, delivery: Delivery, envelope: Envelope, *, pause_s: int | None) -> Outcome:
        """Send as the sender does, then note who has left."""
        outcome = self.sender.send(delivery, envelope, pause_s=pause_s)
        if outcome.code in OPTED_OUT and not outcome.replayed:
            who = delivery.delivery_id
            try:
                self.suppressions.suppress(
                    who.customer_id, who.channel, SuppressionCause.STOP, at=self.clock(), code=outcome.code
                )
            except Exception as error:  # noqa: BLE001 - the delivery is settled, whatever becomes of the note
                self.unnoted(who.customer_id, error)
        return outcome
