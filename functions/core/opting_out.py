"""People who leave: one topic on one channel by a link, every text by STOP. It wins over all that is planned or queued.

Nothing here opts anybody in again, and neither does an import.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from functions.core.identity import Channel
from functions.core.inbound_text import Wish
from functions.core.receipts import SuppressionCause

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from functions.core.inbound_text import InboundText
    from functions.core.keyring import Key, KeyRing
    from functions.core.opt_out_memory import LateOptOuts
    from functions.core.ports import Clock, Suppressions
    from functions.core.unsubscribe_token import Subscription

_PURPOSE = "number"


class Way(StrEnum):
    """How somebody opted out."""

    LINK = "link"
    STOP = "stop"
    REMEMBERED = "remembered"  # one way or the other, before they were erased and came back by an import


class OptOuts(Protocol):
    """The consent on record, as far as a person can withdraw it."""

    def opt_out(self, subscription: Subscription, *, at: datetime) -> bool:
        """Withdraw consent for one topic on one channel. False if nothing changed: withdrawn before, or erased."""
        ...

    def stop_texts(self, customer_id: str, number_hash: str, *, at: datetime) -> bool:
        """Withdraw consent for every topic by text. False if the customer has another number by now."""
        ...

    def customers_at(self, number_hashes: Iterable[str]) -> Sequence[str]:
        """Return the customers whose number has one of these hashes. A hint: `stop_texts` checks."""
        ...


def number_hash(number: str, key: Key) -> str:
    """Return what a phone number is found by: only who has the key can tell a number's hash, or try numbers out."""
    return f"{key.key_id}.{key.mac(_PURPOSE, number)}"


@dataclass(frozen=True, slots=True)
class Heard:
    """What came of a text: how many customers have its number."""

    wish: Wish
    customers: tuple[str, ...] = ()

    @property
    def unknown_number(self) -> bool:
        """Whether somebody wants to be left alone whom we do not know."""
        return self.wish is Wish.STOP and not self.customers


@dataclass(frozen=True, slots=True)
class Listener:
    """Takes people at their word."""

    opt_outs: OptOuts
    suppressions: Suppressions
    keys: Callable[[], KeyRing]
    late: LateOptOuts
    clock: Clock

    def hear(self, text: InboundText) -> Heard:
        """Act on a text; again with the same one does no harm, half-way done or not. Raises what `keys` raises."""
        if text.wish is not Wish.STOP:
            return Heard(text.wish)
        now = self.clock()
        hashes = [number_hash(text.number, key) for key in self.keys()]
        there = self.opt_outs.customers_at(hashes)
        heard = Heard(Wish.STOP, tuple(one for one in there if self._stop(one, hashes, now)))
        if heard.unknown_number:
            self.late.stop(text.number, at=now)  # they may have been erased with a text on its way to them
        return heard

    def _stop(self, customer_id: str, hashes: Iterable[str], now: datetime) -> bool:
        has_number = any(self.opt_outs.stop_texts(customer_id, one, at=now) for one in hashes)
        if has_number:
            self.suppressions.suppress(customer_id, Channel.SMS, SuppressionCause.STOP, at=now, code="keyword")
        return has_number
