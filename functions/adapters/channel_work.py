"""One message of a channel at a time, claimed, sent, settled and told of, whatever brought it: a queue or a request."""

from __future__ import annotations

import random
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Self

from functions.adapters.clock import utc_now
from functions.adapters.composing import composer_of
from functions.adapters.consumer_telemetry import ConsumerTelemetry, opt_out_unnoted
from functions.adapters.customers import DynamoCustomers
from functions.adapters.endpoint_telemetry import endpoint_disabled, endpoint_unnoted
from functions.adapters.endpoints import DynamoEndpoints
from functions.adapters.idempotent_sender import IdempotentSender
from functions.adapters.providers import make_provider
from functions.adapters.providers.allow_listed import only_to
from functions.adapters.summarising import summariser_of
from functions.adapters.suppressions import DynamoSuppressions
from functions.adapters.traffic import DynamoTraffic
from functions.adapters.wiring import dynamodb, ledger, secrets_manager
from functions.core.backoff import Backoff
from functions.core.consumption import Consumer, Disposition, Received
from functions.core.content import prepare
from functions.core.endpoint_watch import EndpointWatch
from functions.core.identity import Channel
from functions.core.message import PoisonError
from functions.core.opt_out_watch import OptOutWatch
from functions.core.rows_ahead import RowsAhead
from functions.core.traffic import Lane, interval_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aws_lambda_powertools.utilities.typing import LambdaContext

    from functions.adapters.environment import ChannelEnvironment
    from functions.core.ports import Provider, Sender

SPARE_S: Final = 2  # for everything around the provider call


class ChannelWork:
    """What an invocation does with a channel's messages, between `begin` and `end`."""

    def __init__(self, consumer: Consumer, sender: IdempotentSender, lane: Lane, *, time_per_message_s: float) -> None:
        self.consumer = consumer
        self._sender = sender
        self._lane = lane
        self._time_per_message_s = time_per_message_s
        self._telemetry = ConsumerTelemetry(consumer.channel)

    @classmethod
    def of(cls, environment: ChannelEnvironment, provider: Provider | None = None) -> Self:
        """Put everything together from a function's environment, which also names its provider if none is given."""
        prepare(environment.channel)
        rows = ledger(environment)
        provider = only_to(environment.recipients, provider or make_provider(environment.choice))
        sender = IdempotentSender(provider, rows, clock=utc_now)
        lane = Lane(
            DynamoTraffic(dynamodb(), environment.control_table),
            environment.channel,
            interval=interval_of(environment.rate_per_second),
            clock=utc_now,
            sleep=time.sleep,
        )
        customers = DynamoCustomers(dynamodb(), environment.customers_table)
        consumer = Consumer(
            channel=environment.channel,
            ledger=rows,
            composer=composer_of(environment, customers, secrets_manager, summariser_of(environment)),
            sender=_watched(environment, sender),
            lane=lane,
            guarantee=provider.guarantee,
            backoff=Backoff(environment.backoff_s, random.uniform),
            clock=utc_now,
            rows=RowsAhead(rows, clock=utc_now),
        )
        return cls(consumer, sender, lane, time_per_message_s=environment.send_timeout_s + SPARE_S)

    def begin(self, context: LambdaContext, bodies: Sequence[str]) -> None:
        """Begin an invocation that got these messages. The context is registered first: every claim's lease ends."""
        self._sender.begin(context)
        self._lane.begin(len(bodies))
        self.consumer.begin(bodies)

    def receive(self, body: str, receive_count: int | None, context: LambdaContext) -> Received | None:
        """Return a message to act on; None if the invocation would be over before a send is."""
        spare_s = context.get_remaining_time_in_millis() / 1000 - self._time_per_message_s
        if spare_s < 0:
            return None
        return Received(body, receive_count, send_until=self.consumer.clock() + timedelta(seconds=spare_s))

    def consume(self, received: Received, *, message_id: str) -> Disposition:
        """Act on one message and tell of it. Raises PoisonError, or any fault of our own, which was told of as well."""
        began = time.perf_counter()
        try:
            disposition = self.consumer.consume(received)
        except PoisonError as error:
            last = self.consumer.backoff.is_last(received.receive_count)
            self._telemetry.poison(message_id, error, last_receive=last)
            raise
        except Exception as error:
            self._telemetry.failed(message_id, error)
            raise
        self._telemetry.acted(disposition, took_ms=round((time.perf_counter() - began) * 1000))
        return disposition

    def end(self) -> None:
        """End the invocation: give back the slots that were not used, and write the counts."""
        self._lane.end()
        self._telemetry.flush()


def _watched(environment: ChannelEnvironment, sender: IdempotentSender) -> Sender:
    if environment.channel is Channel.SMS:
        suppressions = DynamoSuppressions(dynamodb(), environment.customers_table)
        return OptOutWatch(sender, suppressions, clock=utc_now, unnoted=opt_out_unnoted)
    if environment.channel is not Channel.WEBHOOK:
        return sender
    return EndpointWatch(
        sender,
        DynamoEndpoints(dynamodb(), environment.customers_table),
        disable_after=timedelta(seconds=environment.disable_after_s),
        clock=utc_now,
        disabled=endpoint_disabled,
        unnoted=endpoint_unnoted,
    )
