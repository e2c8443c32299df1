"""The receipts queue on Lambda: a batch of providers' events in, those that are not done out."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NoReturn

from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response

from functions.adapters.clock import utc_now
from functions.adapters.environment import ReceiptsEnvironment
from functions.adapters.receipt_tallies import DynamoReceiptTallies
from functions.adapters.receipt_telemetry import ReceiptTelemetry
from functions.adapters.sqs import NotDoneError, SqsVisibility
from functions.adapters.suppressions import DynamoSuppressions
from functions.adapters.traffic import DynamoTraffic
from functions.adapters.wiring import dynamodb, ledger, sqs
from functions.core.backoff import AT_ONCE, Backoff
from functions.core.bounce_brake import OF_STATE, BounceBrake, BrakeRule, Tally
from functions.core.message import PoisonError
from functions.core.receipt_messages import read_receipt
from functions.core.receipts import Note, Receiver, SuppressionRule

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
    from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord
    from aws_lambda_powertools.utilities.typing import LambdaContext

    from functions.core.identity import Channel
    from functions.core.receipts import ReceiptEvent, Reception


class ReceiptConsumer:
    """Works a batch of events off one by one. An event that cannot be matched waits, and is parked in the end."""

    def __init__(
        self,
        receiver: Receiver,
        brake: BounceBrake,
        backoff: Backoff,
        visibility: SqsVisibility,
        telemetry: ReceiptTelemetry,
    ) -> None:
        self._receiver = receiver
        self._brake = brake
        self._backoff = backoff
        self._visibility = visibility
        self._telemetry = telemetry
        self._tallies: dict[Channel, Tally] = {}

    @classmethod
    def from_environment(cls) -> ReceiptConsumer:
        """Put the consumer together from the function's environment."""
        environment = ReceiptsEnvironment.load()
        receiver = Receiver(
            ledger=ledger(environment),
            suppressions=DynamoSuppressions(dynamodb(), environment.customers_table),
            rule=SuppressionRule(environment.soft_bounces, timedelta(seconds=environment.soft_bounce_window_s)),
            clock=utc_now,
        )
        telemetry = ReceiptTelemetry()
        brake = BounceBrake(
            DynamoReceiptTallies(dynamodb(), environment.control_table),
            DynamoTraffic(dynamodb(), environment.control_table),
            BrakeRule(environment.brake_after, environment.brake_bounces_percent, environment.brake_complaints_percent),
            utc_now,
            telemetry.braked,
            telemetry.rated,
        )
        backoff = Backoff(environment.backoff_s, random.uniform)
        return cls(receiver, brake, backoff, SqsVisibility(sqs(), environment.queue_url), telemetry)

    def handle(self, event: dict[str, Any], context: LambdaContext) -> PartialItemFailureResponse:
        """Work a batch off, and then look at what it says of each channel."""
        self._tallies = {}
        processor = BatchProcessor(event_type=EventType.SQS, raise_on_entire_batch_failure=False)
        response = process_partial_response(
            event=event, record_handler=self._work, processor=processor, context=context
        )
        self._look_at_tallies()
        self._telemetry.flush()
        return response

    def _look_at_tallies(self) -> None:
        try:
            self._brake.note(self._tallies)
        except Exception as error:  # noqa: BLE001 - what was taken in stays taken in
            self._telemetry.brake_failed(error)

    def _work(self, record: SQSRecord) -> None:
        receives = int(record.attributes.approximate_receive_count)
        try:
            event = read_receipt(record.body, queued_at=_queued_at(record))
            reception = self._receiver.receive(event)
        except PoisonError as error:
            self._telemetry.poison(record.message_id, error)
            self._visibility.set(record.receipt_handle, AT_ONCE)
            raise
        except Exception as error:
            self._telemetry.failed(record.message_id, error)
            self._visibility.set(record.receipt_handle, self._backoff.pause_s(receives))
            raise
        if reception.done:
            self._telemetry.took(event, reception)
            self._count(event, reception)
        else:
            self._not_yet(record, event, reception, receives)

    def _count(self, event: ReceiptEvent, reception: Reception) -> None:
        tally = OF_STATE.get(event.state)
        if tally is not None and reception.note is Note.TAKEN and event.delivery_id is not None:
            channel = event.delivery_id.channel
            self._tallies[channel] = self._tallies.get(channel, Tally()) + tally

    def _not_yet(self, record: SQSRecord, event: ReceiptEvent, reception: Reception, receives: int) -> NoReturn:
        wait = self._backoff.pause_s(receives) if reception.visible_in_s is None else reception.visible_in_s
        # What is given up comes back at once, as often as it takes SQS to move it to the dead-letter queue.
        parked = wait == AT_ONCE or self._backoff.is_last(receives)
        self._telemetry.waits(event, reception, visible_in_s=AT_ONCE if parked else wait, parked=parked)
        self._visibility.set(record.receipt_handle, AT_ONCE if parked else wait)
        raise NotDoneError(reception.note)


def _queued_at(record: SQSRecord) -> datetime:
    return datetime.fromtimestamp(int(record.attributes.sent_timestamp) / 1000, UTC)
