"""What a consumer tells: one line for each message, exactly one `delivery.attempted` for each attempt, and counts.

Nothing of the person, of the message's content or of a provider's own words is in any of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aws_lambda_powertools.metrics import MetricUnit

from functions import names
from functions.adapters.clock import utc_now
from functions.adapters.counts import Counts, where_raised
from functions.adapters.telemetry import logger, metrics
from functions.core.consumption import Note
from functions.core.outcome import OutcomeClass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from functions.core.consumption import Disposition
    from functions.core.delivery import Delivery
    from functions.core.identity import Channel
    from functions.core.message import PoisonError
    from functions.core.outcome import Outcome


class ConsumerTelemetry:
    """Counts over one batch, written out once at its end: a line for each metric and outcome, not for each message."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._counts = Counts()

    def acted(self, disposition: Disposition, *, took_ms: int) -> None:
        """Tell what happened to a message."""
        row, outcome = disposition.delivery, disposition.outcome
        if row is None or outcome is None:
            self._count(names.METRIC_MESSAGES, disposition.skip_reason or disposition.note)
            logger.info(f"message.{disposition.note}", extra=_about(disposition))
            self._not_attempted(disposition)
        else:
            self._attempted(row, outcome, disposition, took_ms)
        if disposition.dead_letter is not None:
            self._count(names.METRIC_DEAD_LETTERS, disposition.dead_letter)
        if disposition.uncertain:
            self._count(names.METRIC_UNCERTAIN, disposition.note)

    def poison(self, message_id: str, error: PoisonError, *, last_receive: bool) -> None:
        """Tell of a message that cannot be worked on; the reason names fields only. It is a dead letter once."""
        self._count(names.METRIC_MESSAGES, "poison")
        if last_receive:
            self._count(names.METRIC_DEAD_LETTERS, "poison")
        logger.warning("message.poison", extra={"message_id": message_id, "reason": str(error)})

    def failed(self, message_id: str, error: Exception) -> None:
        """Tell of a fault of our own. The type and the place say what broke; the text might quote what was in hand."""
        self._count(names.METRIC_MESSAGES, "error")
        about = {"message_id": message_id, "error": type(error).__name__, "at": where_raised(error)}
        logger.error("message.failed", extra=about)

    def flush(self) -> None:
        """Write the batch's counts."""
        self._counts.flush()

    def _not_attempted(self, disposition: Disposition) -> None:
        if disposition.skip_reason is not None:
            self._count(names.METRIC_NOT_SENT, disposition.skip_reason)
        elif disposition.note is Note.EXPIRED:
            self._count(names.METRIC_NOT_SENT, disposition.note)
        elif disposition.note is Note.ABANDONED:
            self._count(names.METRIC_LEASES_RAN_OUT, disposition.note)

    def _attempted(self, row: Delivery, outcome: Outcome, disposition: Disposition, took_ms: int) -> None:
        self._count(names.METRIC_ATTEMPTS, outcome.outcome)
        if outcome.provider_duplicate:
            self._count(names.METRIC_PROVIDER_DUPLICATES, outcome.outcome)
        if disposition.summary is not None:
            self._count(names.METRIC_SUMMARIES, disposition.summary.outcome)
        logger.info(
            "delivery.attempted",
            extra={
                "delivery_id": str(row.delivery_id),
                "channel": str(self._channel),
                "attempt": row.attempt + 1,
                "outcome": str(outcome.outcome),
                "code": outcome.code,
                "provider_duplicate": outcome.provider_duplicate,
                "took_ms": took_ms,
                "visible_in_s": disposition.visible_in_s,
                **({} if disposition.summary is None else {"summary": disposition.summary.outcome}),
            },
        )
        if disposition.note is Note.SETTLED and outcome.outcome is OutcomeClass.ACCEPTED:
            metrics.add_metric(names.METRIC_LATENCY, MetricUnit.Seconds, (utc_now() - row.due_at).total_seconds())
        if disposition.segments:
            self._counts.add(
                names.METRIC_SEGMENTS, channel=self._channel, outcome=outcome.outcome, count=disposition.segments
            )

    def _count(self, name: str, outcome: str) -> None:
        self._counts.add(name, channel=self._channel, outcome=outcome)


def opt_out_unnoted(customer_id: str, error: Exception) -> None:
    """Tell of a customer who has left at the provider, and whose profile could not be written."""
    about = {"customer_id": customer_id, "error": type(error).__name__, "at": where_raised(error)}
    logger.error("customer.opt_out_unnoted", extra=about)


def _about(disposition: Disposition) -> Mapping[str, Any]:
    row = disposition.delivery
    about = {
        "delivery_id": None if row is None else str(row.delivery_id),
        "skip_reason": disposition.skip_reason,
        "visible_in_s": disposition.visible_in_s,
    }
    return {name: value for name, value in about.items() if value is not None}
