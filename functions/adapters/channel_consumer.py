"""One channel's consumer on Lambda: a batch off SQS in, the messages that are not done out."""

from __future__ import annotations

import random
import time
from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from aws_lambda_powertools.metrics import MetricUnit, single_metric
from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response

from functions import names
from functions.adapters.clock import utc_now
from functions.adapters.customers import DynamoCustomers
from functions.adapters.environment import ConsumerEnvironment
from functions.adapters.idempotent_sender import IdempotentSender
from functions.adapters.providers import make_provider
from functions.adapters.sqs import SqsVisibility
from functions.adapters.telemetry import logger, metrics
from functions.adapters.traffic import DynamoTraffic
from functions.adapters.wiring import dynamodb, ledger, sqs
from functions.core.composition import Composer
from functions.core.consumption import AT_ONCE, Backoff, Consumer, Disposition, Note, Received
from functions.core.message import PoisonError
from functions.core.traffic import Lane, interval_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
    from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord
    from aws_lambda_powertools.utilities.typing import LambdaContext

    from functions.core.identity import Channel

SPARE_S: Final = 2  # for everything around the provider call


class NotDoneError(Exception):
    """Reports a message as not done; its visibility has been set. Not a fault of the function."""


class ChannelConsumer:
    """Works a batch off record by record and answers with those that are not done."""

    def __init__(
        self,
        consumer: Consumer,
        sender: IdempotentSender,
        lane: Lane,
        visibility: SqsVisibility,
        *,
        channel: Channel,
        time_per_record_s: float,
    ) -> None:
        self._consumer = consumer
        self._sender = sender
        self._lane = lane
        self._visibility = visibility
        self._channel = channel
        self._time_per_record_s = time_per_record_s
        self._counts: Counter[tuple[str, str]] = Counter()

    @classmethod
    def from_environment(cls) -> ChannelConsumer:
        """Put a consumer together from the function's environment."""
        environment = ConsumerEnvironment.load()
        rows = ledger(environment)
        provider = make_provider(environment)
        sender = IdempotentSender(provider, rows, clock=utc_now)
        composer = Composer(
            DynamoCustomers(dynamodb(), environment.customers_table), environment.sender, environment.site_url
        )
        lane = Lane(
            DynamoTraffic(dynamodb(), environment.control_table),
            environment.channel,
            interval=interval_of(environment.rate_per_second),
            clock=utc_now,
            sleep=time.sleep,
        )
        consumer = Consumer(
            channel=environment.channel,
            ledger=rows,
            composer=composer,
            sender=sender,
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
            channel=environment.channel,
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
        self._flush()
        return response

    def _work(self, record: SQSRecord, lambda_context: LambdaContext) -> None:
        spare_s = lambda_context.get_remaining_time_in_millis() / 1000 - self._time_per_record_s
        if spare_s < 0:
            self._back(record, AT_ONCE)
            msg = "out of time"
            raise NotDoneError(msg)
        received = Received(
            record.body,
            int(record.attributes.approximate_receive_count),
            send_until=utc_now() + timedelta(seconds=spare_s),
        )
        began = time.perf_counter()
        disposition = self._consume(record, received)
        self._tell(disposition, took_ms=round((time.perf_counter() - began) * 1000))
        if disposition.visible_in_s is not None:
            self._back(record, disposition.visible_in_s)
            raise NotDoneError(disposition.note)

    def _consume(self, record: SQSRecord, received: Received) -> Disposition:
        try:
            return self._consumer.consume(received)
        except PoisonError as error:
            # No receive of it can end differently, so none is waited for: the queue gives it up within seconds.
            logger.warning("message.poison", extra={"message_id": record.message_id, "reason": str(error)})
            self._counts["poison", ""] += 1
            self._back(record, AT_ONCE)
            raise
        except Exception as error:
            self._fail(record, received, error)
            raise

    def _fail(self, record: SQSRecord, received: Received, error: Exception) -> None:
        backoff = self._consumer.backoff
        # The type says what broke. The text might quote what was being worked on.
        code = type(error).__name__
        logger.error("message.failed", extra={"message_id": record.message_id, "error": code, "at": _where(error)})
        self._counts["error", ""] += 1
        if backoff.is_last(received.receive_count):
            self._consumer.give_up(received, code=code)
        self._back(record, backoff.pause_s(received.receive_count))

    def _back(self, record: SQSRecord, seconds: int) -> None:
        self._visibility.set(record.receipt_handle, seconds)

    def _tell(self, disposition: Disposition, *, took_ms: int) -> None:
        row, outcome = disposition.delivery, disposition.outcome
        if outcome is None or row is None:
            reason = disposition.skip_reason or ""
            self._counts[disposition.note, reason] += 1
            logger.info(f"message.{disposition.note}", extra=_about(disposition))
            return
        self._counts["attempted", outcome.outcome] += 1
        logger.info(
            "delivery.attempted",
            extra={
                "delivery_id": str(row.delivery_id),
                "channel": str(self._channel),
                "attempt": row.attempt + 1,
                "outcome": str(outcome.outcome),
                "code": outcome.code,
                "took_ms": took_ms,
                "visible_in_s": disposition.visible_in_s,
            },
        )
        if disposition.note is Note.SETTLED and outcome.reference is not None:
            latency_s = (utc_now() - row.due_at).total_seconds()
            metrics.add_metric(names.METRIC_LATENCY, MetricUnit.Seconds, latency_s)

    def _flush(self) -> None:
        for (note, detail), count in sorted(self._counts.items()):
            with single_metric(
                name=names.METRIC_ATTEMPTS if note == "attempted" else names.METRIC_MESSAGES,
                unit=MetricUnit.Count,
                value=count,
                namespace=names.METRICS_NAMESPACE,
                default_dimensions={
                    "service": names.SERVICE,
                    "region": _region(),
                    "channel": str(self._channel),
                    "outcome": detail if note == "attempted" else note,
                },
            ):
                pass
        self._counts.clear()


def _region() -> str:
    return str(metrics.default_dimensions["region"])


def _about(disposition: Disposition) -> Mapping[str, Any]:
    row = disposition.delivery
    about = {
        "delivery_id": None if row is None else str(row.delivery_id),
        "skip_reason": disposition.skip_reason,
        "visible_in_s": disposition.visible_in_s,
    }
    return {name: value for name, value in about.items() if value is not None}


def _where(error: Exception) -> str:
    """Return the innermost file and line of an exception, without its text."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return "unknown"
    return f"{trace.tb_frame.f_code.co_name}:{trace.tb_lineno}"
