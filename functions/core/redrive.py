"""Dead letters opened again through their rows: same identity, same history, at a rate.

```
row: dead_letter ── queued (only if it still is one) ── its id published ── a consumer claims it
                    │ dying here: the reconciler finds it queued and unheard of, and publishes its id
```
So a redrive may be interrupted anywhere and run again: what was opened is no dead letter any more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from functions.core.delivery import Status
from functions.core.settlement import redriven

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from functions.core.delivery import Delivery
    from functions.core.ports import Clock, DeliveryQueues, Ledger

BATCH: Final = 10


@dataclass(slots=True)
class Redriven:
    """What has been done so far."""

    published: int = 0
    not_taken: int = 0  # opened, but the id did not reach SQS: the reconciler publishes it
    too_late: int = 0  # ended as expired
    moved_on: int = 0  # were no dead letters any more

    @property
    def opened(self) -> int:
        """Deliveries that will be sent again."""
        return self.published + self.not_taken


@dataclass(frozen=True, slots=True)
class Redrive:
    """Opens dead letters again, `rate_per_second` at most."""

    ledger: Ledger
    queues: DeliveryQueues
    clock: Clock
    sleep: Callable[[float], None]
    rate_per_second: float

    def run(self, rows: Sequence[Delivery], done: Redriven) -> None:
        """Open the rows in turn; `done` says how far it is, whatever ends it."""
        for page in self._pages(rows):
            self._open(page, done)

    def _pages(self, rows: Sequence[Delivery]) -> Iterator[Sequence[Delivery]]:
        size = max(1, min(BATCH, int(self.rate_per_second)))
        for start in range(0, len(rows), size):
            if start:
                self.sleep(size / self.rate_per_second)
            yield rows[start : start + size]

    def _open(self, page: Sequence[Delivery], done: Redriven) -> None:
        opened: list[Delivery] = []
        for row in page:
            after = redriven(row, at=self.clock())
            written = self.ledger.write(row, after)
            if not (written or self.ledger.took_effect(row, after)):
                done.moved_on += 1
            elif after.status is not Status.QUEUED:
                done.too_late += 1
            elif written:
                opened.append(after)
            else:  # somebody else's redrive in this very millisecond looks the same, and an id is published once
                done.not_taken += 1
        receipt = self.queues.publish(opened)
        done.published += len(receipt.sent)
        done.not_taken += len(receipt.failed)
