"""What state an alarm is in, from the values of its metric: the part of CloudWatch's rules that our alarms need.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarm-evaluation.html and alarms-and-missing-data.html

Left out is that CloudWatch looks a few periods further back where values are late: here none is.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

OK: Final = "OK"
ALARM: Final = "ALARM"
INSUFFICIENT_DATA: Final = "INSUFFICIENT_DATA"

_COMPARISONS: Final[dict[str, Callable[[float, float], bool]]] = {
    "GreaterThanOrEqualToThreshold": operator.ge,
    "GreaterThanThreshold": operator.gt,
    "LessThanOrEqualToThreshold": operator.le,
    "LessThanThreshold": operator.lt,
}


@dataclass(frozen=True, slots=True)
class Rule:
    """When an alarm is to be heard."""

    comparison: str  # as CloudWatch spells it: `GreaterThanOrEqualToThreshold`
    threshold: float
    datapoints_to_alarm: int
    missing: str = "missing"  # or `breaching`, `notBreaching`, `ignore`


def state_of(rule: Rule, values: Sequence[float | None], before: str) -> str:
    """The state after the last evaluation periods.

    Args:
        rule: the alarm's.
        values: the metric's statistic in each of the periods, None where there was no data.
        before: the state until now.
    """
    found = [value for value in values if value is not None]
    if not found and rule.missing == "missing":
        return INSUFFICIENT_DATA
    if len(found) < rule.datapoints_to_alarm and rule.missing == "ignore":
        return before
    breaches = _COMPARISONS[rule.comparison]
    breaching = sum(breaches(value, rule.threshold) for value in found)
    if rule.missing == "breaching":
        breaching += len(values) - len(found)
    elif rule.missing == "missing" and len(found) < rule.datapoints_to_alarm:
        return ALARM if breaching == len(found) else OK
    return ALARM if breaching >= rule.datapoints_to_alarm else OK
