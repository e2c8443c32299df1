"""The deliveries table in memory.

It refuses what the table refuses: a write holds only while `attempt` and the row's state are as they were read, and it
changes only what differs between what was read and what is written. `tests/conformance` runs
against it and against DynamoDB alike, so that it stays that way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime
from typing import Any

from functions.core.delivery import (
    ATTENTION_OF,
    FINISHED,
    OPEN,
    UNSETTLED,
    Attention,
    Delivery,
    Status,
    may_have_become,
)
from functions.core.identity import Channel, shard_of
from functions.core.instants import from_text, to_text
from functions.core.ports import Claim, ClaimRefusedError
from functions.core.settlement import claimed, is_own_claim


class InMemoryLedger:
    """A `Ledger` whose `rows` are open to look at."""

    def __init__(self, *, shards: int = 1) -> None:
        self.rows: dict[str, Delivery] = {}
        self.shards = shards

    def put(self, *deliveries: Delivery) -> None:
        """Set rows, without any condition."""
        self.rows |= {str(one.delivery_id): as_stored(one) for one in deliveries}

    def read(self, delivery_ids: Iterable[str]) -> Mapping[str, Delivery]:
        return {one: self.rows[one] for one in delivery_ids if one in self.rows}

    def claim(self, before: Delivery, claim: Claim) -> Delivery:
        after = claimed(before, claim)
        if self.write(before, after):
            return after
        current = self.rows.get(str(before.delivery_id))
        if current is not None and is_own_claim(current, after):
            return current
        raise ClaimRefusedError(current)

    def write(self, before: Delivery, after: Delivery) -> bool:
        current = self.rows.get(str(before.delivery_id))
        if current is None or current.attempt != before.attempt:
            return False
        if current.status not in may_have_become(before.status, after.status):
            return False
        if before.receipt not in (after.receipt, current.receipt):  # written, and not what was read
            return False
        changed = {one.name: getattr(after, one.name) for one in fields(Delivery) if _written(before, after, one.name)}
        self.put(replace(current, **(changed | {"status": after.status})))
        return True

    def took_effect(self, before: Delivery, after: Delivery) -> bool:
        found, written = self.rows.get(str(before.delivery_id)), as_stored(after)
        changed = [one.name for one in fields(Delivery) if getattr(after, one.name) != getattr(before, one.name)]
        return found is not None and all(getattr(found, name) == getattr(written, name) for name in changed)

    def mark_enqueued(self, deliveries: Sequence[Delivery], at: datetime) -> None:
        for delivery in deliveries:
            current = self.rows.get(str(delivery.delivery_id))
            if current is not None and current.status is Status.PLANNED:
                self.put(replace(current, status=Status.QUEUED, enqueued_at=at))

    def needing_attention(self, why: Attention, channel: Channel, shard: int, until: datetime) -> Iterator[str]:
        hints = [
            (row.attention_at or row.selected_at, delivery_id)
            for delivery_id, row in self.rows.items()
            if row.status not in FINISHED
            and ATTENTION_OF[row.status] is why
            and row.delivery_id.channel is channel
            and shard_of(row.delivery_id.customer_id, self.shards) == shard
        ]
        # As from an index: what is read may have moved on by the time that it is looked at.
        yield from [delivery_id for at, delivery_id in sorted(hints) if at <= until]

    def has_open(self, period: str) -> bool:
        return any(row.period == period and row.status in OPEN for row in self.rows.values())


def as_stored(delivery: Delivery) -> Delivery:
    """Return a delivery with its instants as a row keeps them: to the millisecond."""
    failure, receipt = delivery.failure, delivery.receipt
    kept: dict[str, Any] = {
        one.name: as_stored_instant(held)
        for one in fields(Delivery)
        if isinstance(held := getattr(delivery, one.name), datetime)
    }
    return replace(
        delivery,
        **kept,
        failure=None if failure is None else replace(failure, at=as_stored_instant(failure.at)),
        receipt=None if receipt is None else replace(receipt, at=as_stored_instant(receipt.at)),
        history=tuple(replace(one, at=as_stored_instant(one.at)) for one in delivery.history),
    )


def as_stored_instant(instant: datetime) -> datetime:
    return from_text(to_text(instant))


def _written(before: Delivery, after: Delivery, name: str) -> bool:
    rewritten = after.status is Status.ACCEPTED and name in UNSETTLED
    return rewritten or bool(getattr(before, name) != getattr(after, name))
