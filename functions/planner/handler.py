"""Lambda entry point of the planner, woken by EventBridge Scheduler."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from aws_lambda_powertools.metrics import MetricUnit
from pydantic import BaseModel, ConfigDict, Field, field_validator

from functions import names
from functions.adapters.clock import utc_now
from functions.adapters.environment import PlannerEnvironment
from functions.adapters.periods import DynamoPeriods
from functions.adapters.plan_book import DynamoPlanBook
from functions.adapters.planned_days import DynamoPlannedDays
from functions.adapters.shard_leases import DynamoShardLeases
from functions.adapters.sqs import SqsDeliveryQueues
from functions.adapters.telemetry import logger, metrics
from functions.adapters.wiring import dynamodb, ledger, sqs
from functions.core.instants import from_text, to_text
from functions.core.planning import PlanningRules
from functions.core.surge import SurgeGuard, SurgeRule
from functions.planner.planner import Planner, PlannerReport

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

SPARE_S: Final = 10  # left at the end for the page in hand, the log and the metrics


class WakeUp(BaseModel):
    """The schedule's input. `on_purpose` lets a person plan a time that is long past."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    scheduled_time: datetime
    shards: tuple[int, ...] = Field(min_length=1)
    on_purpose: bool = False

    @field_validator("scheduled_time", mode="before")
    @classmethod
    def _utc(cls, value: object) -> datetime:
        return from_text(str(value))


environment = PlannerEnvironment.load()
planner = Planner(
    book=DynamoPlanBook(
        dynamodb(),
        customers_table=environment.customers_table,
        deliveries_table=environment.deliveries_table,
        shards=environment.shards,
        keep_for=timedelta(days=environment.keep_deliveries_days),
    ),
    ledger=ledger(environment),
    queues=SqsDeliveryQueues(sqs(), environment.queue_urls),
    leases=DynamoShardLeases(dynamodb(), environment.control_table),
    periods=DynamoPeriods(dynamodb(), environment.control_table),
    clock=utc_now,
    rules=PlanningRules(
        expires_after=timedelta(seconds=environment.expires_after_s),
        attention_after=timedelta(seconds=environment.attention_after_s),
    ),
    max_lateness=timedelta(seconds=environment.max_lateness_s),
    surge_guard=SurgeGuard(
        DynamoPlannedDays(dynamodb(), environment.control_table),
        SurgeRule(environment.surge_factor, environment.surge_floor),
        utc_now,
    ),
)


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Plan what is due up to the scheduled time; return what was done."""
    wake_up = WakeUp.model_validate(event)
    left_s = context.get_remaining_time_in_millis() / 1000
    report = planner.run(
        scheduled_time=wake_up.scheduled_time,
        shards=wake_up.shards,
        owner=context.aws_request_id,
        stop_at=utc_now() + timedelta(seconds=max(left_s - SPARE_S, left_s / 2)),
        on_purpose=wake_up.on_purpose,
    )
    return _tell(report, wake_up)


def _tell(report: PlannerReport, wake_up: WakeUp) -> dict[str, Any]:
    lag_s = (utc_now() - wake_up.scheduled_time).total_seconds()
    behind_s = 0.0 if report.due_since is None else max((utc_now() - report.due_since).total_seconds(), 0)
    metrics.add_metric(names.METRIC_PLANNER_RUNS, MetricUnit.Count, 1)
    metrics.add_metric(names.METRIC_PLANNED, MetricUnit.Count, report.planned)
    metrics.add_metric(names.METRIC_ALREADY_PLANNED, MetricUnit.Count, report.existing)
    metrics.add_metric(names.METRIC_ENQUEUED, MetricUnit.Count, report.enqueued)
    metrics.add_metric(names.METRIC_SCHEDULES_FAILED, MetricUnit.Count, len(report.failed))
    metrics.add_metric(names.METRIC_OLDEST_SCHEDULE_AGE, MetricUnit.Seconds, behind_s)
    metrics.add_metric(names.METRIC_SHARDS_HELD, MetricUnit.Count, len(report.held))
    metrics.add_metric(names.METRIC_PLANNER_LAG, MetricUnit.Seconds, max(lag_s, 0))
    metrics.flush_metrics()
    told = {
        "scheduled_time": to_text(wake_up.scheduled_time),
        "planned": report.planned,
        "existing": report.existing,
        "moved": report.moved,
        "enqueued": report.enqueued,
        "not_enqueued": report.not_enqueued,
        "failed": report.failed[:50],
        "failed_count": len(report.failed),
        "busy": report.busy,
        "unfinished": report.unfinished,
        "held": report.held,
        "due_since": None if report.due_since is None else to_text(report.due_since),
        "complete": report.complete,
    }
    log = logger.info if report.complete else logger.warning
    log("planner.finished", extra=told)
    return told
