"""A batch of texts off SQS in, those that are not done out. A text that means STOP is never given up quietly.

What cannot be read, or fails each time, ends in the inbound dead-letter queue, whose alarm calls a person.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response

from functions import names
from functions.adapters.clock import utc_now
from functions.adapters.counts import Counts, where_raised
from functions.adapters.environment import InboundEnvironment
from functions.adapters.opt_out_memory import late_opt_outs
from functions.adapters.opt_outs import DynamoOptOuts
from functions.adapters.secrets import SecretKeyRing
from functions.adapters.sqs import SqsVisibility
from functions.adapters.suppressions import DynamoSuppressions
from functions.adapters.telemetry import logger
from functions.adapters.wiring import dynamodb, secrets_manager, sqs
from functions.core.backoff import AT_ONCE, Backoff
from functions.core.identity import Channel
from functions.core.inbound_text import InboundText, Wish, read_inbound_text
from functions.core.message import PoisonError
from functions.core.opting_out import Heard, Listener, Way

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
    from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord
    from aws_lambda_powertools.utilities.typing import LambdaContext


class Inbox:
    """Hands each text to the listener, and says what came of it without a number or a word."""

    def __init__(self, listener: Listener, backoff: Backoff, visibility: SqsVisibility) -> None:
        self._listener = listener
        self._backoff = backoff
        self._visibility = visibility
        self._counts = Counts()

    @classmethod
    def from_environment(cls) -> Inbox:
        """Put an inbox together from the function's environment."""
        environment = InboundEnvironment.load()
        listener = Listener(
            opt_outs=DynamoOptOuts(dynamodb(), environment.customers_table),
            suppressions=DynamoSuppressions(dynamodb(), environment.customers_table),
            keys=SecretKeyRing.named(secrets_manager(), environment.number_keys, clock=utc_now),
            late=late_opt_outs(environment),
            clock=utc_now,
        )
        backoff = Backoff(environment.backoff_s, random.uniform)
        return cls(listener, backoff, SqsVisibility(sqs(), environment.queue_url))

    def handle(self, event: dict[str, Any], context: LambdaContext) -> PartialItemFailureResponse:
        """Work a batch off."""
        processor = BatchProcessor(event_type=EventType.SQS, raise_on_entire_batch_failure=False)
        response = process_partial_response(
            event=event, record_handler=self._work, processor=processor, context=context
        )
        self._counts.flush()
        return response

    def _work(self, record: SQSRecord) -> None:
        try:
            text = read_inbound_text(record.body)
            self._tell(text, self._listener.hear(text))
        except PoisonError as error:
            self._failed(record, reason=str(error))
            self._visibility.set(record.receipt_handle, AT_ONCE)
            raise
        except Exception as error:
            self._failed(record, error=type(error).__name__, at=where_raised(error))
            receives = int(record.attributes.approximate_receive_count)
            self._visibility.set(record.receipt_handle, self._backoff.pause_s(receives))
            raise

    def _tell(self, text: InboundText, heard: Heard) -> None:
        outcome = "stop_unknown_number" if heard.unknown_number else str(heard.wish)
        about = {"inbound_message_id": text.message_id, "wish": outcome, "customer_ids": list(heard.customers)}
        logger.info("inbound.heard", extra=about)
        self._counts.add(names.METRIC_INBOUND_TEXTS, channel=Channel.SMS, outcome=outcome)
        if heard.wish is Wish.STOP and heard.customers:
            count = len(heard.customers)
            self._counts.add(names.METRIC_OPT_OUTS, channel=Channel.SMS, outcome=Way.STOP, count=count)

    def _failed(self, record: SQSRecord, **about: str) -> None:
        logger.error("inbound.failed", extra={"message_id": record.message_id, **about})
        self._counts.add(names.METRIC_INBOUND_TEXTS, channel=Channel.SMS, outcome="failed")
