"""Consent on record and suppressions, in memory."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

from functions.core.identity import Channel, DeliveryId, Topic
from functions.core.opt_out_memory import Memory
from functions.core.receipts import SoftBounce, SuppressionCause
from functions.core.unsubscribe_token import Subscription


class InMemoryOptOuts:
    """`OptOuts`. `numbers` are the hashes of known customers; `stale` what the index says beside them, wrongly."""

    def __init__(self, numbers: Mapping[str, str] | None = None) -> None:
        self.numbers = dict(numbers or {})
        self.stale: list[str] = []
        self.opted_out: dict[Subscription, datetime] = {}
        self.fails: Exception | None = None

    def opt_out(self, subscription: Subscription, *, at: datetime) -> bool:
        if self.fails is not None:
            raise self.fails
        changed = subscription not in self.opted_out and subscription.customer_id in self.numbers
        if changed:
            self.opted_out[subscription] = at
        return changed

    def stop_texts(self, customer_id: str, number_hash: str, *, at: datetime) -> bool:
        if self.numbers.get(customer_id) != number_hash:
            return False
        self.opted_out |= {Subscription(customer_id, topic, Channel.SMS): at for topic in Topic}
        return True

    def customers_at(self, number_hashes: Iterable[str]) -> Sequence[str]:
        wanted = set(number_hashes)
        return [*(one for one, held in self.numbers.items() if held in wanted), *self.stale]


class InMemoryOptOutMemory:
    """`OptOutMemory`. `since` is when each mark was remembered first."""

    def __init__(self) -> None:
        self.held: dict[str, Memory] = {}
        self.since: dict[str, datetime] = {}

    def remember(self, mark: str, memory: Memory, *, at: datetime) -> None:
        known = self.held.get(mark, Memory())
        self.held[mark] = Memory(known.opted_out | memory.opted_out, known.causes | memory.causes)
        self.since.setdefault(mark, at)


class InMemorySuppressions:
    """`Suppressions`, as far as a STOP needs them."""

    def __init__(self) -> None:
        self.held: dict[tuple[str, Channel], SuppressionCause] = {}

    def suppress(self, customer_id: str, channel: Channel, cause: SuppressionCause, *, at: datetime, code: str) -> bool:  # noqa: ARG002
        self.held[customer_id, channel] = cause
        return True

    def clear(self, customer_id: str, channel: Channel, *, at: datetime) -> bool:  # noqa: ARG002
        return self.held.pop((customer_id, channel), None) is not None

    def withdraw(self, customer_id: str, channel: Channel, cause: SuppressionCause) -> bool:
        raise NotImplementedError

    def note_soft_bounce(self, delivery_id: DeliveryId, *, at: datetime, since: datetime) -> Collection[SoftBounce]:
        raise NotImplementedError

    def forget_soft_bounces(self, delivery_id: DeliveryId) -> Collection[SoftBounce]:
        raise NotImplementedError
