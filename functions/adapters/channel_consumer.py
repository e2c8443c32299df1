"""One channel's consumer on Lambda: a batch off SQS in, the messages that are not done out."""

from __future__ import annotations

import random
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response

from functions.adapters.clock import utc_now
from functions.adapters.composing import composer_of
from functions.adapters.consumer_telemetry import ConsumerTelemetry, opt_out_unnoted
from functions.adapters.customers import DynamoCustomers
from functions.adapters.endpoint_telemetry import endpoint_disabled, endpoint_unnoted
from functions.adapters.endpoints import DynamoEndpoints
from functions.adapters.environment import ConsumerEnvironment
from functions.adapters.idempotent_sender import IdempotentSender
from functions.adapters.providers import make_provider
from functions.adapters.providers.allow_listed import only_to
from functions.adapters.sqs import NotDoneError, SqsVisibility
from functions.adapters.suppressions import DynamoSuppressions
from functions.adapters.traffic import DynamoTraffic
from functions.adapters.wiring import dynamodb, ledger, secrets_manager, sqs
from functions.core.backoff import AT_ONCE, Backoff
from functions.core.consumption import Consumer, Disposition, Received
from functions.core.content import prepare
from functions.core.endpoint_watch import EndpointWatch
from functions.core.identity import Channel
from functions.core.message import PoisonError
from functions.core.opt_out_watch import OptOutWatch
from functions.core.traffic import Lane, interval_of

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
    from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord
    from aws_lambda_powertools.utilities.typing import LambdaContext

    from functions.core.ports import Provider, Sender

SPARE_S: Final = 2  # for everything around the provider call


class ChannelConsumer:
    """Works a batch off record by record and answers with those that are not done."""

    def __init__(
        self,
        consumer: Consumer,
        sender: IdempotentSender,
        lane: Lane,
        visibility: SqsVisibility,
        *,
        time_per_record_s: float,
    ) -> None:
        self._consumer = consumer
        self._sender = sender
        self._lane = lane
        self._visibility = visibility
        self._time_per_record_s = time_per_record_s
        self._telemetry = ConsumerTelemetry(consumer.channel)

    @classmethod
    def from_environment(cls, provider: Provider | None = None) -> ChannelConsumer:
        """Put a consumer together from the function's environment, which also names its provider if none is given."""
        environment = ConsumerEnvironment.load()
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
            composer=composer_of(environment, customers, secrets_manager),
            sender=_watched(environment, sender),
            lane=lane,
            guarantee=provider.guarantee,
            backoff=Backoff(environment.backoff_s, random.uniform),
            clock=utc_now,
        )
        return cls(
            consumer,
            sender,
            lane,
            SqsVisibility(sqs(), environment.queue_url),
            time_per_record_s=environment.send_timeout_s + SPARE_S,
        )

    def handle(self, event: dict[str, Any], context: LambdaContext) -> PartialItemFailureResponse:
        """Work a batch off. The context is registered first, so that every claim has a lease that ends."""
        self._sender.begin(context)
        self._lane.begin(len(event["Records"]))
        # A batch in which everything failed is still a partial failure: raising would throttle the poller and raise the
        # function's error metric for what the provider did.
        processor = BatchProcessor(event_type=EventType.SQS, raise_on_entire_batch_failure=False)
        response = process_partial_response(
            event=event, record_handler=self._work, processor=processor, context=context
        )
        self._lane.end()
        self._telemetry.flush()
        return response

    def _work(self, record: SQSRecord, lambda_context: LambdaContext) -> None:
        spare_s = lambda_context.get_remaining_time_in_millis() / 1000 - self._time_per_record_s
        if spare_s < 0:
            self._not_done(record, AT_ONCE, "out of time")
        received = Received(
            record.body,
            int(record.attributes.approximate_receive_count),
            send_until=utc_now() + timedelta(seconds=spare_s),
        )
        began = time.perf_counter()
        disposition = self._consume(record, received)
        self._telemetry.acted(disposition, took_ms=round((time.perf_counter() - began) * 1000))
        if disposition.visible_in_s is not None:
            self._not_done(record, disposition.visible_in_s, disposition.note)

    def _consume(self, record: SQSRecord, received: Received) -> Disposition:
        try:
            return self._consumer.consume(received)
        except PoisonError as error:
            # No receive of it can end differently, so none is waited for: the queue gives it up within seconds.
            last = self._consumer.backoff.is_last(received.receive_count)
            self._telemetry.poison(record.message_id, error, last_receive=last)
            self._back(record, AT_ONCE)
            raise
        except Exception as error:
            self._telemetry.failed(record.message_id, error)
            if self._consumer.backoff.is_last(received.receive_count):
                self._consumer.give_up(received, code=type(error).__name__)
            self._back(record, self._consumer.backoff.pause_s(received.receive_count))
            raise

    def _not_done(self, record: SQSRecord, seconds: int, why: str) -> None:
        self._back(record, seconds)
        raise NotDoneError(why)

    def _back(self, record: SQSRecord, seconds: int) -> None:
        self._visibility.set(record.receipt_handle, seconds)


def _watched(environment: ConsumerEnvironment, sender: IdempotentSender) -> Sender:
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
