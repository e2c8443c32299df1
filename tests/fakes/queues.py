"""The channels' queues in memory, for those who publish."""

from __future__ import annotations

from collections.abc import Sequence

from functions.core.delivery import Delivery
from functions.core.identity import Channel
from functions.core.ports import EnqueueReceipt


class Killed(BaseException):
    """The process died here: no handler of errors runs."""


class InMemoryQueues:
    """`DeliveryQueues`. `refused` holds ids that the queue does not take; `dies` ends the process before sending.

    `waiting` is the backlog that it reports, `delays_s` what each publication was delayed by.
    """

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.refused: set[str] = set()
        self.dies = False
        self.waiting: dict[Channel, int] = {}
        self.delays_s: list[int] = []

    def backlog(self, channel: Channel) -> int:
        return self.waiting.get(channel, 0)

    def publish(self, deliveries: Sequence[Delivery], *, delay_s: int = 0) -> EnqueueReceipt:
        if self.dies:
            raise Killed
        self.delays_s.append(delay_s)
        sent = tuple(one for one in deliveries if str(one.delivery_id) not in self.refused)
        failed = tuple((one, "ThrottlingException") for one in deliveries if str(one.delivery_id) in self.refused)
        self.sent.extend(str(one.delivery_id) for one in sent)
        return EnqueueReceipt(sent, failed)
