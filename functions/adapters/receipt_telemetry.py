"""What the receipts function tells: one line for each event, and counts. Nothing of the person is in any of it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from aws_lambda_powertools.metrics import MetricUnit

from functions import names
from functions.adapters.counts import Counts, where_raised, write_metric
from functions.adapters.telemetry import logger
from functions.core.receipts import Note

if TYPE_CHECKING:
    from functions.core.bounce_brake import BrakeCause, Tally
    from functions.core.identity import Channel
    from functions.core.message import PoisonError
    from functions.core.receipts import ReceiptEvent, Reception

NO_CHANNEL = "unknown"  # an event that does not say which delivery it is about


class ReceiptTelemetry:
    """Counts over one batch. An event that is repeated counts once, by the marks that its row keeps."""

    def __init__(self) -> None:
        self._counts = Counts()

    def took(self, event: ReceiptEvent, reception: Reception) -> None:
        """Tell of an event that is done with."""
        if reception.note is Note.TAKEN:
            self._count(names.METRIC_RECEIPTS, event, str(event.state))
        else:
            self._count(names.METRIC_RECEIPT_EVENTS, event, reception.note)
        if reception.confirmed:
            self._count(names.METRIC_CONFIRMED, event, str(event.state))
        if reception.suppressed is not None:
            self._count(names.METRIC_SUPPRESSIONS, event, reception.suppressed)
        logger.info(f"receipt.{reception.note}", extra=_about(event, reception))
        if reception.second_send:
            self._count(names.METRIC_SECOND_SENDS, event, str(event.state))
            logger.error("receipt.second_send", extra=_about(event, reception))

    def waits(self, event: ReceiptEvent, reception: Reception, *, visible_in_s: int, parked: bool) -> None:
        """Tell of an event that is kept for later, or that is given up."""
        if parked:
            self._count(names.METRIC_RECEIPTS_PARKED, event, reception.note)
        else:
            self._count(names.METRIC_RECEIPT_EVENTS, event, reception.note)
        about = {**_about(event, reception), "visible_in_s": visible_in_s, "parked": parked}
        logger.info(f"receipt.{reception.note}", extra=about)

    def poison(self, message_id: str, error: PoisonError) -> None:
        """Tell of a message that is no event; the reason names fields only."""
        self._counts.add(names.METRIC_RECEIPTS_PARKED, channel=NO_CHANNEL, outcome="poison")
        logger.warning("receipt.poison", extra={"message_id": message_id, "reason": str(error)})

    def failed(self, message_id: str, error: Exception) -> None:
        """Tell of a fault of our own."""
        self._counts.add(names.METRIC_RECEIPT_EVENTS, channel=NO_CHANNEL, outcome="error")
        about = {"message_id": message_id, "error": type(error).__name__, "at": where_raised(error)}
        logger.error("receipt.failed", extra=about)

    def rated(self, channel: Channel, tally: Tally) -> None:
        """Tell how much of what a channel has sent today came back, and how much was complained about."""
        write_metric(names.METRIC_BOUNCE_RATE, tally.bounces_percent, MetricUnit.Percent, channel=str(channel))
        write_metric(names.METRIC_COMPLAINT_RATE, tally.complaints_percent, MetricUnit.Percent, channel=str(channel))

    def braked(self, channel: Channel, cause: BrakeCause, tally: Tally) -> None:
        """Tell of a channel that was halted for what its receipts say."""
        self._counts.add(names.METRIC_BRAKED, channel=channel, outcome=cause)
        logger.error("channel.braked", extra={"channel": channel, "cause": cause, **asdict(tally)})

    def brake_failed(self, error: Exception) -> None:
        """Tell of receipts that the brake did not count; they are taken in all the same."""
        logger.error("brake.failed", extra={"error": type(error).__name__, "at": where_raised(error)})

    def flush(self) -> None:
        """Write the batch's counts."""
        self._counts.flush()

    def _count(self, name: str, event: ReceiptEvent, outcome: str) -> None:
        channel = NO_CHANNEL if event.delivery_id is None else str(event.delivery_id.channel)
        self._counts.add(name, channel=channel, outcome=outcome)


def _about(event: ReceiptEvent, reception: Reception) -> dict[str, Any]:
    row = reception.delivery
    about = {
        "delivery_id": None if event.delivery_id is None else str(event.delivery_id),
        "provider": event.provider,
        "event_id": event.event_id,
        "reference": event.reference,
        "kind": event.kind,
        "state": event.state,
        "code": event.code,
        "row_reference": row.provider_reference if row is not None and reception.second_send else None,
        "suppressed": reception.suppressed,
        "lifted": reception.lifted,
        "confirmed": reception.confirmed or None,
    }
    return {name: str(value) for name, value in about.items() if value is not None}
