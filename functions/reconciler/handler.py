"""Lambda entry point of the reconciler, woken every minute by EventBridge Scheduler."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Final

from aws_lambda_powertools.metrics import MetricUnit

from functions import names
from functions.adapters.awaited_receipts import DynamoAwaitedReceipts
from functions.adapters.clock import utc_now
from functions.adapters.counts import Counts
from functions.adapters.environment import ReconcilerEnvironment
from functions.adapters.periods import DynamoPeriods
from functions.adapters.providers import guarantee_and_witness
from functions.adapters.sqs import SqsDeliveryQueues
from functions.adapters.telemetry import logger, metrics
from functions.adapters.traffic import DynamoTraffic
from functions.adapters.wiring import dynamodb, ledger, sqs
from functions.core.calendar import all_expired_at
from functions.core.consumption import Note
from functions.core.delivery import FailureClass, Status
from functions.core.instants import from_text, to_text
from functions.core.receipt_watch import ReceiptWatch
from functions.reconciler.reconciler import ChannelRules, Finding, Reconciler, Sweep

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from aws_lambda_powertools.utilities.typing import LambdaContext

SPARE_S: Final = 5
BETWEEN_WATCHES_S: Final = 6 * 3600  # counting reads whole weeks of an index
AS_COUNTED: Final[Mapping[Status, tuple[str, str]]] = {
    Status.EXPIRED: (names.METRIC_NOT_SENT, Note.EXPIRED),
    Status.DEAD_LETTER: (names.METRIC_DEAD_LETTERS, FailureClass.EXHAUSTED),
    Status.UNCERTAIN: (names.METRIC_UNCERTAIN, Note.ABANDONED),
}
NOTHING_TO_MEND: Final = frozenset({Finding.FINISHED, Finding.EXPECTED, Finding.ALL_RIGHT})

environment = ReconcilerEnvironment.load()
reconciler = Reconciler(
    ledger=ledger(environment),
    queues=SqsDeliveryQueues(sqs(), environment.queue_urls),
    traffic=DynamoTraffic(dynamodb(), environment.control_table),
    periods=DynamoPeriods(dynamodb(), environment.control_table),
    clock=utc_now,
    shards=environment.shards,
    silence_after=timedelta(seconds=environment.silence_after_s),
    horizon=timedelta(seconds=environment.interval_s),
    channels={
        channel: ChannelRules(*guarantee_and_witness(choice), rate_per_second=environment.rates[channel])
        for channel, choice in environment.providers.items()
    },
)
receipt_watch = ReceiptWatch(
    DynamoAwaitedReceipts(dynamodb(), table=environment.deliveries_table, shards=environment.shards),
    channels=environment.receipt_channels,
    silence=timedelta(seconds=environment.receipt_silence_s),
    clock=utc_now,
)
counts = Counts()


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Sweep once; return how many rows were found in which state. Every six hours, count the missing receipts."""
    left_s = context.get_remaining_time_in_millis() / 1000
    sweep = reconciler.sweep(stop_at=utc_now() + timedelta(seconds=max(left_s - SPARE_S, left_s / 2)))
    mended = sum(count for finding, count in sweep.found.items() if finding not in NOTHING_TO_MEND)
    overdue = [period for period in sweep.open_periods if _is_overdue(period)]
    metrics.add_metric(names.METRIC_RECOVERED, MetricUnit.Count, mended)
    metrics.add_metric(names.METRIC_ENQUEUED, MetricUnit.Count, sweep.enqueued)
    metrics.add_metric(names.METRIC_NOT_ENQUEUED, MetricUnit.Count, sweep.not_enqueued)
    metrics.add_metric(names.METRIC_ENQUEUE_GAP, MetricUnit.Seconds, _age_s(sweep.planned_since))
    metrics.add_metric(names.METRIC_LEASES_RAN_OUT, MetricUnit.Count, sweep.found[Finding.LEASE_RAN_OUT])
    metrics.add_metric(names.METRIC_CHANNELS_HALTED, MetricUnit.Count, len(sweep.halted))
    metrics.add_metric(names.METRIC_UNCERTAIN_ROWS, MetricUnit.Count, sweep.uncertain)
    metrics.add_metric(names.METRIC_OLDEST_DUE_AGE, MetricUnit.Seconds, _age_s(sweep.oldest_due_at))
    metrics.add_metric(names.METRIC_PERIODS_OVERDUE, MetricUnit.Count, len(overdue))
    _count_ended(sweep)
    counts.flush()
    told = {
        "found": {str(finding): count for finding, count in sorted(sweep.found.items())},
        "not_enqueued": sweep.not_enqueued,
        "halted": sweep.halted,
        "uncertain": sweep.uncertain,
        "closed_periods": sweep.closed_periods,
        "overdue_periods": sorted(overdue),
        "oldest_due_at": None if sweep.oldest_due_at is None else to_text(sweep.oldest_due_at),
        "unfinished": sweep.unfinished,
    }
    logger.info("reconciler.finished", extra=told)
    if _opens_a_watch(event):
        _count_missing_receipts()
    return told


def _age_s(since: datetime | None) -> float:
    return 0 if since is None else max((utc_now() - since).total_seconds(), 0)


def _is_overdue(period: str) -> bool:
    expires_after = timedelta(seconds=environment.expires_after_s)
    return utc_now() >= all_expired_at(date.fromisoformat(period), expires_after)


def _count_ended(sweep: Sweep) -> None:
    """Count what the sweep ended as the consumers count what they end."""
    for (channel, status), count in sweep.ended.items():
        if status in AS_COUNTED:
            name, outcome = AS_COUNTED[status]
            counts.add(name, channel=channel, outcome=outcome, count=count)


def _opens_a_watch(event: Mapping[str, Any]) -> bool:
    """Whether this is the first wake-up of six hours."""
    at = from_text(event["scheduled_time"]) if "scheduled_time" in event else utc_now()
    return at.timestamp() % BETWEEN_WATCHES_S < environment.interval_s


def _count_missing_receipts() -> None:
    for channel, missing in receipt_watch.count().items():
        counts.add(names.METRIC_NO_RECEIPT, channel=channel, outcome="awaited", count=missing)
        logger.info("receipts.missing", extra={"channel": str(channel), "missing": missing})
    counts.flush()
