"""Alarms of a template, evaluated as CloudWatch documents it, on datapoints that a test records.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarm-evaluation.html and alarms-and-missing-data.html
there: a period's samples make one datapoint; an alarm looks at the last `EvaluationPeriods` of them, and fires if
`DatapointsToAlarm` breach. Where some are missing it looks a little further back for real ones, and only if there are
too few of those does the alarm's own rule for missing data fill in.
"""

from __future__ import annotations

import ast
import json
import operator
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, Final

LOOKS_FURTHER_BACK: Final = 2  # periods; AWS documents an evaluation range of five for an alarm on three of them

Dimensions = frozenset[tuple[str, str]]
Values = Mapping[str, float | None]


class State(StrEnum):
    OK = "OK"
    ALARM = "ALARM"


@dataclass(frozen=True, order=True)
class Series:
    """What CloudWatch keeps apart: a metric is another one as soon as a dimension differs."""

    namespace: str
    name: str
    dimensions: Dimensions

    @classmethod
    def of(cls, namespace: str, name: str, dimensions: Mapping[str, Any]) -> Series:
        return cls(namespace, name, frozenset((key, as_text(value)) for key, value in dimensions.items()))


def as_text(value: Any) -> str:
    """A dimension's value; one that CloudFormation fills in, such as {"Ref": ...}, by how it is written."""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


# --- datapoints -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sample:
    series: Series
    at: datetime
    value: float
    unit: str | None = None


def read_emf(printed: str) -> list[Sample]:
    """Samples in what a function printed: CloudWatch Logs reads the embedded metric format, and takes no other line."""
    return [
        sample
        for line in printed.splitlines()
        if line.startswith("{")
        for entry in [json.loads(line)]
        if "_aws" in entry
        for sample in _samples(entry)
    ]


def _samples(entry: Mapping[str, Any]) -> Iterable[Sample]:
    at = datetime.fromtimestamp(entry["_aws"]["Timestamp"] / 1000, UTC)
    for directive in entry["_aws"]["CloudWatchMetrics"]:
        for dimension_set in directive["Dimensions"]:
            dimensions = {name: entry[name] for name in dimension_set}
            for metric in directive["Metrics"]:
                series = Series.of(directive["Namespace"], metric["Name"], dimensions)
                values = entry[metric["Name"]]
                for value in values if isinstance(values, list) else [values]:
                    yield Sample(series, at, value, metric["Unit"])


class Recorded:
    """All samples, by series and minute: CloudWatch keeps standard metrics no finer."""

    def __init__(self) -> None:
        self._minutes: dict[Series, dict[datetime, list[float]]] = defaultdict(lambda: defaultdict(list))

    def take(self, samples: Iterable[Sample]) -> None:
        for sample in samples:
            self._minutes[sample.series][sample.at.replace(second=0, microsecond=0)].append(sample.value)

    def datapoint(self, series: Series, statistic: str, start: datetime, period: timedelta) -> float | None:
        minutes = self._minutes.get(series, {})
        values = [
            value
            for minute in range(int(period.total_seconds()) // 60)
            for value in minutes.get(start + timedelta(minutes=minute), ())
        ]
        return _STATISTICS[statistic](values) if values else None


_STATISTICS: Final[Mapping[str, Callable[[Sequence[float]], float]]] = {
    "Sum": sum,
    "Maximum": max,
    "Minimum": min,
    "Average": lambda values: sum(values) / len(values),
    "SampleCount": len,
}


# --- alarms on metrics ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stat:
    """A metric's datapoint in a period."""

    series: Series
    statistic: str


@dataclass(frozen=True)
class Alarm:
    """A metric alarm as its template has it. `terms` are its metrics and expressions by id, the watched one first."""

    logical_id: str
    properties: Mapping[str, Any]
    terms: Mapping[str, Stat | str]
    period: timedelta

    @classmethod
    def of(cls, logical_id: str, properties: Mapping[str, Any]) -> Alarm:
        if "Metrics" not in properties:
            period = timedelta(seconds=properties["Period"])
            return cls(logical_id, properties, {"watched": _stat(properties, properties["Statistic"])}, period)
        watched_first = sorted(properties["Metrics"], key=lambda one: not one.get("ReturnData", True))
        periods = {one["MetricStat"]["Period"] for one in watched_first if "MetricStat" in one}
        assert len(periods) == 1, f"{logical_id} reckons with periods of different lengths"
        assert sum(one.get("ReturnData", True) for one in watched_first) == 1
        terms = {
            one["Id"]: one["Expression"]
            if "Expression" in one
            else _stat(one["MetricStat"]["Metric"], one["MetricStat"]["Stat"])
            for one in watched_first
        }
        return cls(logical_id, properties, terms, timedelta(seconds=periods.pop()))

    @property
    def series(self) -> set[Series]:
        return {term.series for term in self.terms.values() if isinstance(term, Stat)}

    @property
    def reach(self) -> timedelta:
        """How far back from now a datapoint may still count."""
        periods: int = self.properties["EvaluationPeriods"]
        return (periods + LOOKS_FURTHER_BACK) * self.period

    def state(self, recorded: Recorded, now: datetime) -> State:
        periods: int = self.properties["EvaluationPeriods"]
        epoch = datetime.fromtimestamp(0, UTC)
        last = epoch + (now - epoch) // self.period * self.period
        found = [
            self._datapoint(recorded, last - ago * self.period) for ago in range(1, periods + LOOKS_FURTHER_BACK + 1)
        ]
        # The newest real ones, as many as are asked for; what is missing counts only where there are not enough.
        real = [value for value in found if value is not None][:periods]
        breaching = sum(self._breaches(value) for value in real)
        if self.properties["TreatMissingData"] == "breaching":
            breaching += periods - len(real)
        else:
            assert self.properties["TreatMissingData"] == "notBreaching", self.logical_id
        enough = self.properties.get("DatapointsToAlarm", periods)
        return State.ALARM if breaching >= enough else State.OK

    def _datapoint(self, recorded: Recorded, start: datetime) -> float | None:
        watched = next(iter(self.terms))
        return self._value(watched, recorded, start)

    def _value(self, term_id: str, recorded: Recorded, start: datetime) -> float | None:
        term = self.terms[term_id]
        if isinstance(term, Stat):
            return recorded.datapoint(term.series, term.statistic, start, self.period)
        return reckon(term, lambda name: self._value(name, recorded, start))

    def _breaches(self, value: float) -> bool:
        return _COMPARISONS[self.properties["ComparisonOperator"]](value, self.properties["Threshold"])


def _stat(metric: Mapping[str, Any], statistic: str) -> Stat:
    dimensions = {one["Name"]: one["Value"] for one in metric.get("Dimensions", ())}
    return Stat(Series.of(metric["Namespace"], metric["MetricName"], dimensions), statistic)


_COMPARISONS: Final[Mapping[str, Callable[[float, float], bool]]] = {
    "GreaterThanOrEqualToThreshold": operator.ge,
    "GreaterThanThreshold": operator.gt,
    "LessThanThreshold": operator.lt,
    "LessThanOrEqualToThreshold": operator.le,
}


# --- metric math ------------------------------------------------------------------------------------------------------

_OPERATIONS: Final[Mapping[type, Callable[[float, float], float]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.GtE: operator.ge,
}


def reckon(expression: str, value_of: Callable[[str], float | None]) -> float | None:
    """One period's value of a metric math expression; None where a metric that it needs has none.

    What the stacks use of https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html: sums,
    shares, comparisons, FILL and IF. Missing values count as 0 in sums; what is divided by 0 is dropped.
    """
    # IF is no name in Python.
    return _reckon(ast.parse(re.sub(r"\bIF\(", "IF_(", expression), mode="eval").body, value_of)


def _reckon(node: ast.expr, value_of: Callable[[str], float | None]) -> float | None:
    match node:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.Name(id=name):
            return value_of(name)
        case ast.Call(func=ast.Name(id="FILL"), args=[metric, otherwise]):
            value = _reckon(metric, value_of)
            return _reckon(otherwise, value_of) if value is None else value
        case ast.Call(func=ast.Name(id="IF_"), args=[condition, then, otherwise]):
            held = _reckon(condition, value_of)
            return None if held is None else _reckon(then if held else otherwise, value_of)
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            part, whole = _reckon(left, value_of), _reckon(right, value_of)
            return None if part is None or not whole else part / whole
        case ast.BinOp(left=left, op=op, right=right) | ast.Compare(left=left, ops=[op], comparators=[right]):
            first, second = _reckon(left, value_of), _reckon(right, value_of)
            return None if first is second is None else _OPERATIONS[type(op)](first or 0, second or 0)
        case _:
            raise NotImplementedError(ast.dump(node))


# --- composite alarms -------------------------------------------------------------------------------------------------

_ALARM: Final = r'ALARM\("([A-Za-z0-9]+)"\)'


def alarms_of_rule(rule: Any) -> list[str]:
    """Logical ids of the alarms any of which a composite alarm's rule asks for. It reads no other kind of rule."""
    written = "".join(one if isinstance(one, str) else one["Fn::GetAtt"][0] for one in rule["Fn::Join"][1])
    inner = written.removeprefix("(").removesuffix(")") if written.startswith("(") else written
    parts = [re.fullmatch(_ALARM, part) for part in inner.split(" OR ")]
    assert all(parts), written
    return [part[1] for part in parts if part is not None]


def paging_state(rule: Any, states: Mapping[str, State]) -> State:
    """State of a composite alarm, from those of the alarms that it names."""
    return State.ALARM if any(states[each] is State.ALARM for each in alarms_of_rule(rule)) else State.OK
