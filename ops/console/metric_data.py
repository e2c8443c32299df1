"""The values behind a dashboard's graphs, as CloudWatch has them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from ops.console.dashboards import Graph, Metric, Numbers, Query

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient
    from mypy_boto3_cloudwatch.type_defs import (
        MetricDataQueryTypeDef,
        MetricOutputTypeDef,
        MetricStatTypeDef,
        MetricTypeDef,
    )

QUERIES_A_CALL: Final = 500  # GetMetricData takes no more
MOST_POINTS: Final = 750  # of one line: more cannot be told apart in a graph
# The one form of search that our dashboards hold: {namespace,dimensions} key="value" ..., statistic, period.
_SEARCH: Final = re.compile(
    r"""^SEARCH\(\s*'\{(?P<schema>[^}]+)\}(?P<terms>[^']*)',\s*'(?P<statistic>[^']+)',\s*(?P<period>\d+)\)$"""
)
_TERM: Final = re.compile(r'"?(?P<key>[\w.]+)"?="(?P<value>[^"]*)"')
_PROPERTY: Final = re.compile(r"\$\{PROP\('(?P<name>[^']+)'\)\}")


@dataclass(frozen=True, slots=True)
class Window:
    """The time that is shown."""

    start: datetime
    end: datetime

    @property
    def length(self) -> timedelta:
        return self.end - self.start

    def period_s(self, wanted_s: int) -> int:
        """The wanted period, or the shortest multiple of it with which a line has no more than MOST_POINTS."""
        points = self.length.total_seconds() / wanted_s
        return wanted_s * max(1, -int(-points // MOST_POINTS))


@dataclass(frozen=True, slots=True)
class Series:
    """One line: a value for each period that has one, by the period's beginning."""

    label: str
    statistic: str
    period_s: int
    wanted_period_s: int
    points: Sequence[tuple[datetime, float]]
    on_the_right: bool = False

    @property
    def total(self) -> float | None:
        """One number for all of it: what a sum adds up to, the highest, the lowest, else the latest."""
        values = [value for _, value in self.points]
        if not values:
            return None
        if self.statistic in {"Sum", "SampleCount"}:
            return sum(values)
        return {"Maximum": max, "Minimum": min}.get(self.statistic, lambda all_of_them: all_of_them[-1])(values)


@dataclass(frozen=True, slots=True)
class Answer:
    """What CloudWatch said for one graph. `trouble` is what it could not do, in its own word for it."""

    series: Sequence[Series]
    trouble: str | None = None


def read_graphs(client: CloudWatchClient, graphs: Sequence[Graph | Numbers], window: Window) -> list[Answer]:
    """Read what belongs into each of the graphs, in as few calls as it takes."""
    found = Searches(client)
    asked = [[one for query in graph.queries for one in found.resolved(query)] for graph in graphs]
    plain = [(number, query) for number, queries in enumerate(asked) if not _has_math(queries) for query in queries]
    answers: dict[int, list[Series]] = defaultdict(list)
    for begin in range(0, len(plain), QUERIES_A_CALL):
        for number, series in _read_plain(client, plain[begin : begin + QUERIES_A_CALL], window):
            answers[number].append(series)
    return [
        _read_math(client, queries, window) if _has_math(queries) else Answer(answers[number])
        for number, queries in enumerate(asked)
    ]


def _has_math(queries: Sequence[Query]) -> bool:
    return any(query.expression for query in queries)


# --- searches ---------------------------------------------------------------------------------------------------------


class Searches:
    """SEARCH resolved to the metrics that it finds: the emulator lists metrics, and knows no expressions."""

    def __init__(self, client: CloudWatchClient) -> None:
        self._client = client
        self._listed: dict[tuple[str, str], Sequence[MetricOutputTypeDef]] = {}

    def resolved(self, query: Query) -> Iterator[Query]:
        """The query itself, or one for each metric that its search finds."""
        search = _SEARCH.match(query.expression or "")
        if search is None:
            yield query
            return
        namespace, *dimensions = (part.strip().strip('"') for part in search["schema"].split(","))
        wanted = {term["key"]: term["value"] for term in _TERM.finditer(search["terms"])}
        name = wanted.pop("MetricName", "")
        for metric in self._metrics(namespace, name):
            held = {one["Name"]: one["Value"] for one in metric.get("Dimensions", [])}
            if held.keys() == set(dimensions) and wanted.items() <= held.items():
                yield replace(
                    query,
                    metric=Metric(namespace, metric["MetricName"], held),
                    expression=None,
                    label=_labelled(query.label, metric["MetricName"], held),
                    statistic=search["statistic"],
                    period_s=int(search["period"]),
                )

    def _metrics(self, namespace: str, name: str) -> Sequence[MetricOutputTypeDef]:
        if (namespace, name) not in self._listed:
            only = {"MetricName": name} if name else {}
            pages = self._client.get_paginator("list_metrics").paginate(Namespace=namespace, **only)  # type: ignore[arg-type]
            self._listed[namespace, name] = sorted(
                (metric for page in pages for metric in page["Metrics"]),
                key=lambda metric: str(metric.get("Dimensions")),
            )
        return self._listed[namespace, name]


def _labelled(label: str, name: str, dimensions: Mapping[str, str]) -> str:
    values = {f"Dim.{dimension}": value for dimension, value in dimensions.items()} | {"MetricName": name}
    given = _PROPERTY.sub(lambda found: values.get(found["name"], ""), label).strip()
    return given or " ".join(dimensions.values()) or name


# --- what is asked of GetMetricData -----------------------------------------------------------------------------------


def _read_plain(
    client: CloudWatchClient, plain: Sequence[tuple[int, Query]], window: Window
) -> Iterator[tuple[int, Series]]:
    asked = [_as_query(query, f"q{place}", window) for place, (_, query) in enumerate(plain)]
    values, _ = _values(client, asked, window)
    for place, (number, query) in enumerate(plain):
        for series in _lines(query, values[f"q{place}"], window):
            yield number, series


def _read_math(client: CloudWatchClient, queries: Sequence[Query], window: Window) -> Answer:
    by_id = {query.query_id or f"q{place}": query for place, query in enumerate(queries)}
    values, trouble = _values(client, [_as_query(query, name, window) for name, query in by_id.items()], window)
    return Answer([one for name, query in by_id.items() for one in _lines(query, values[name], window)], trouble)


def _lines(query: Query, answered: Mapping[str, Sequence[tuple[datetime, float]]], window: Window) -> Iterator[Series]:
    """What a query stands for in its graph: one line, or several where an expression comes to several."""
    if not query.visible:
        return
    drawn_s = window.period_s(query.period_s)
    for label, points in (answered or {query.label: []}).items():
        yield Series(label or query.label, query.statistic, drawn_s, query.period_s, sorted(points), query.on_the_right)


def _as_query(query: Query, query_id: str, window: Window) -> MetricDataQueryTypeDef:
    period = window.period_s(query.period_s)
    asked: MetricDataQueryTypeDef = {"Id": query_id, "Label": query.label, "ReturnData": query.visible}
    if query.metric is None:
        return {**asked, "Expression": query.expression or ""}
    metric: MetricTypeDef = {
        "Namespace": query.metric.namespace,
        "MetricName": query.metric.name,
        "Dimensions": [{"Name": name, "Value": value} for name, value in query.metric.dimensions.items()],
    }
    measured: MetricStatTypeDef = {"Metric": metric, "Period": period, "Stat": query.statistic}
    return {**asked, "MetricStat": measured}


_Values = Mapping[str, Mapping[str, list[tuple[datetime, float]]]]


def _values(
    client: CloudWatchClient, asked: Sequence[MetricDataQueryTypeDef], window: Window
) -> tuple[_Values, str | None]:
    """Points by a query's id and by label: an expression may stand for several lines. And what was not done."""
    found: dict[str, dict[str, list[tuple[datetime, float]]]] = defaultdict(lambda: defaultdict(list))
    trouble = None
    pages = client.get_paginator("get_metric_data").paginate(
        MetricDataQueries=asked, StartTime=window.start, EndTime=window.end, ScanBy="TimestampAscending"
    )
    for page in pages:
        for result in page["MetricDataResults"]:
            found[result["Id"]][result.get("Label", "")].extend(
                zip(result["Timestamps"], result["Values"], strict=True)
            )
            for message in result.get("Messages", []):
                trouble = message.get("Value")
    return found, trouble
