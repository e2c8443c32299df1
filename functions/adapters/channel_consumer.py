"""One channel's consumer on Lambda: a batch off SQS in, the messages that are not done out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response

from functions.adapters.channel_work import ChannelWork
from functions.adapters.environment import ConsumerEnvironment
from functions.adapters.sqs import NotDoneError, SqsVisibility
from functions.adapters.wiring import sqs
from functions.core.backoff import AT_ONCE
from functions.core.message import PoisonError

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
    from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord
    from aws_lambda_powertools.utilities.typing import LambdaContext

    from functions.core.consumption import Disposition, Received
    from functions.core.ports import Provider


class ChannelConsumer:
    """Works a batch off record by record and answers with those that are not done."""

    def __init__(self, work: ChannelWork, visibility: SqsVisibility) -> None:
        self._work = work
        self._visibility = visibility

    @classmethod
    def from_environment(cls, provider: Provider | None = None) -> ChannelConsumer:
        """Put a consumer together from the function's environment, which also names its provider if none is given."""
        environment = ConsumerEnvironment.load()
        return cls(ChannelWork.of(environment, provider), SqsVisibility(sqs(), environment.queue_url))

    def handle(self, event: dict[str, Any], context: LambdaContext) -> PartialItemFailureResponse:
        """Work a batch off."""
        self._work.begin(context, [record["body"] for record in event["Records"]])
        # A batch in which everything failed is still a partial failure: raising would throttle the poller and raise the
        # function's error metric for what the provider did.
        processor = BatchProcessor(event_type=EventType.SQS, raise_on_entire_batch_failure=False)
        response = process_partial_response(
            event=event, record_handler=self._take, processor=processor, context=context
        )
        self._work.end()
        return response

    def _take(self, record: SQSRecord, lambda_context: LambdaContext) -> None:
        received = self._work.receive(record.body, _receives(record), lambda_context)
        if received is None:
            self._not_done(record, AT_ONCE, "out of time")
        disposition = self._consume(record, received)
        if disposition.visible_in_s is not None:
            self._not_done(record, disposition.visible_in_s, disposition.note)

    def _consume(self, record: SQSRecord, received: Received) -> Disposition:
        try:
            return self._work.consume(received, message_id=record.message_id)
        except PoisonError:
            # No receive of it can end differently, so none is waited for: the queue gives it up within seconds.
            self._back(record, AT_ONCE)
            raise
        except Exception as error:
            consumer = self._work.consumer
            if consumer.backoff.is_last(received.receive_count):
                consumer.give_up(received, code=type(error).__name__)
            self._back(record, consumer.backoff.pause_s(_receives(record)))
            raise

    def _not_done(self, record: SQSRecord, seconds: int, why: str) -> NoReturn:
        self._back(record, seconds)
        raise NotDoneError(why)

    def _back(self, record: SQSRecord, seconds: int) -> None:
        self._visibility.set(record.receipt_handle, seconds)


def _receives(record: SQSRecord) -> int:
    return int(record.attributes.approximate_receive_count)
