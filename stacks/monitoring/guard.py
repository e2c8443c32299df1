"""When a metric is a person's business, and how urgently."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeAlias

from aws_cdk import aws_cloudwatch as cloudwatch

# What missing data means is decided for each: a queue that idles sends none and is well; a planner that sends none has
# not run.
QUIET_IS_WELL = cloudwatch.TreatMissingData.NOT_BREACHING
QUIET_IS_AN_ALARM = cloudwatch.TreatMissingData.BREACHING

AT_LEAST = cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD
LESS_THAN = cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD

Measure: TypeAlias = "cloudwatch.Metric | cloudwatch.MathExpression"


class Urgency(Enum):
    """Every alarm is mailed. Whether it also calls a person is asked of each: what is lost until the morning?"""

    NOW = auto()  # deliveries, or people's trust, for every hour in which nobody acts
    MORNING = auto()  # nothing, or nothing that an hour more or less would change


@dataclass(frozen=True)
class Guard:
    """A metric, and when it is a person's business.

    It fires when `datapoints` of the last `periods` are wrong; all of them, where only `periods` is given.
    """

    alarm_id: str
    what: str
    description: str
    runbook: str  # page in docs/runbooks: what to look at, what to do, what not to do
    urgency: Urgency
    metric: Measure
    threshold: float = 1
    periods: int = 1
    datapoints: int | None = None
    missing: cloudwatch.TreatMissingData = QUIET_IS_WELL
    comparison: cloudwatch.ComparisonOperator = AT_LEAST

    @property
    def reckons(self) -> bool:
        """Whether it stands on several metrics, of which one is made."""
        return isinstance(self.metric, cloudwatch.MathExpression)
