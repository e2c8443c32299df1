"""When a metric is a person's business."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from aws_cdk import aws_cloudwatch as cloudwatch

# What missing data means is decided for each: a queue that idles sends none and is well; a planner that sends none has
# not run.
QUIET_IS_WELL = cloudwatch.TreatMissingData.NOT_BREACHING
QUIET_IS_AN_ALARM = cloudwatch.TreatMissingData.BREACHING

AT_LEAST = cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD
LESS_THAN = cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD

Measure: TypeAlias = "cloudwatch.Metric | cloudwatch.MathExpression"


@dataclass(frozen=True)
class Guard:
    """A metric, and when it is a person's business."""

    alarm_id: str
    what: str
    description: str
    runbook: str  # page in docs/runbooks: what to look at, what to do, what not to do
    metric: Measure
    threshold: float = 1
    periods: int = 1
    missing: cloudwatch.TreatMissingData = QUIET_IS_WELL
    comparison: cloudwatch.ComparisonOperator = AT_LEAST
