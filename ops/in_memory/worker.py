"""The HTTP worker without AWS: the same handler on tables in memory, with a mailer that keeps what it is given."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final
from uuid import uuid4

from aws_lambda_powertools.utilities.typing import LambdaContext
from standardwebhooks import Webhook

from functions.adapters.channel_work import ChannelWork
from functions.adapters.clock import utc_now
from functions.adapters.idempotent_sender import IdempotentSender
from functions.adapters.webhook_secrets import new_secret
from functions.core.backoff import Backoff
from functions.core.composition import Composer
from functions.core.consumption import Consumer
from functions.core.identity import Channel
from functions.core.ports import Provider
from functions.core.traffic import Lane
from functions.worker.authentication import BySignature
from functions.worker.worker import Worker
from ops.in_memory.customers import InMemoryCustomers
from ops.in_memory.ledger import InMemoryLedger
from ops.in_memory.mailer import InMemoryMailer
from ops.in_memory.traffic import InMemoryTraffic

SENDER: Final = "digest@example.com"
SITE_URL: Final = "https://shop.example.com"
BACKOFF_S: Final = (30, 120, 600, 1800, 3600)
INVOCATION: Final = timedelta(seconds=30)
TIME_PER_MESSAGE_S: Final = 7


class InMemoryWorker:
    """A channel's worker. What it works on is open to look at, and to change: `ledger`, `customers`, `traffic`.

    `mailer` keeps what is sent, unless another provider is given.
    """

    def __init__(self, channel: Channel = Channel.EMAIL, *, provider: Provider | None = None) -> None:
        self.ledger = InMemoryLedger()
        self.customers = InMemoryCustomers()
        self.traffic = InMemoryTraffic()
        self.mailer = InMemoryMailer()
        self.secret = new_secret()
        provider = provider or self.mailer
        sender = IdempotentSender(provider, self.ledger, clock=utc_now)
        lane = Lane(self.traffic, channel, interval=timedelta(), clock=utc_now, sleep=time.sleep)
        consumer = Consumer(
            channel=channel,
            ledger=self.ledger,
            composer=Composer(self.customers, SENDER, SITE_URL),
            sender=sender,
            lane=lane,
            guarantee=provider.guarantee,
            backoff=Backoff(BACKOFF_S, random.uniform),
            clock=utc_now,
        )
        work = ChannelWork(consumer, sender, lane, time_per_message_s=TIME_PER_MESSAGE_S)
        self._worker = Worker(work, BySignature(lambda: self.secret))

    def handler(self, event: Mapping[str, Any], context: LambdaContext) -> dict[str, Any]:
        """Answer a request as the function behind the URL does."""
        return self._worker.answer(event, context)

    def push(self, job: Mapping[str, Any]) -> dict[str, Any]:
        """Push a job as an HTTP queue would, signed; return the response: `statusCode`, `headers`, `body` (JSON)."""
        return self.handler(signed_request(json.dumps(job), self.secret), Invocation())


class Invocation(LambdaContext):
    """An invocation that began when it was made."""

    def __init__(self) -> None:
        self._aws_request_id = str(uuid4())
        self._ends_at = utc_now() + INVOCATION

    def get_remaining_time_in_millis(self) -> int:  # type: ignore[override] # a static method in the stub, by mistake
        """Return the milliseconds that are left of it."""
        return max(0, int((self._ends_at - utc_now()).total_seconds() * 1000))


def signed_request(body: str, secret: str, *, method: str = "POST") -> dict[str, Any]:
    """Return the event that Lambda makes of a signed request to a function URL (payload format 2.0)."""
    message_id, now = f"msg_{uuid4()}", utc_now()
    return {
        "requestContext": {"http": {"method": method}},
        "headers": {
            "content-type": "application/json",
            "webhook-id": message_id,
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": Webhook(secret).sign(message_id, now, body),
        },
        "body": body,
        "isBase64Encoded": False,
    }
