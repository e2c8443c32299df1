"""What a dashboard's graphs ask CloudWatch for, and what is made of its answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ops.console.dashboards import Graph, Metric, Query
from ops.console.metric_data import QUERIES_A_CALL, Series, Window, read_graphs

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
HOUR = Window(NOON - timedelta(hours=1), NOON)


@dataclass
class FakeCloudWatch:
    """Lists metrics, and answers each query with its own values, a page for each value; keeps what it was asked."""

    metrics: Sequence[Mapping[str, Any]] = ()
    values: Mapping[str, Sequence[float]] = field(default_factory=dict)  # by metric name or expression
    troubled: bool = False
    asked: list[list[Mapping[str, Any]]] = field(default_factory=list)

    def get_paginator(self, operation: str) -> FakePaginator:
        return FakePaginator(self, operation)


@dataclass
class FakePaginator:
    client: FakeCloudWatch
    operation: str

    def paginate(self, **request: Any) -> Iterable[Mapping[str, Any]]:
        if self.operation == "list_metrics":
            yield {"Metrics": [one for one in self.client.metrics if one["MetricName"] == request["MetricName"]]}
            return
        queries = request["MetricDataQueries"]
        self.client.asked.append(queries)
        for number in range(2):
            yield {"MetricDataResults": [self._result(query, number) for query in queries if query["ReturnData"]]}

    def _result(self, query: Mapping[str, Any], number: int) -> Mapping[str, Any]:
        name = query.get("Expression") or query["MetricStat"]["Metric"]["MetricName"]
        values = list(self.client.values.get(name, ()))[number : number + 1]
        times = [HOUR.start + timedelta(minutes=number)] * len(values)
        messages = [{"Code": "Unsupported", "Value": "not done"}] if self.client.troubled else []
        return {"Id": query["Id"], "Label": query["Label"], "Timestamps": times, "Values": values, "Messages": messages}


def read(client: FakeCloudWatch, *graphs: Graph) -> Any:
    return read_graphs(client, graphs, HOUR)  # type: ignore[arg-type]


def line(name: str, **more: Any) -> Query:
    return Query(Metric("DigestDelivery", name, {"region": "us"}), None, name, "Sum", 60, **more)


def test_graphs_without_arithmetic_are_read_in_one_call_and_pages_are_put_together() -> None:
    client = FakeCloudWatch(values={"Planned": [1, 2], "Halted": [3]})
    planned, halted = read(client, Graph("a", [line("Planned")]), Graph("b", [line("Halted"), line("Gone")]))
    assert len(client.asked) == 1
    assert [[value for _, value in one.points] for one in planned.series] == [[1, 2]]
    assert [(one.label, [value for _, value in one.points]) for one in halted.series] == [("Halted", [3]), ("Gone", [])]


def test_no_call_asks_for_more_than_cloudwatch_takes() -> None:
    client = FakeCloudWatch()
    read(client, Graph("a", [line("Planned")] * (QUERIES_A_CALL + 1)))
    assert [len(queries) for queries in client.asked] == [QUERIES_A_CALL, 1]


def test_arithmetic_is_cloudwatchs_and_goes_with_the_metrics_that_it_needs() -> None:
    share = Query(None, "100 * m1 / m2", "%", "Average", 60, "e1")
    hidden = [line("Retried", query_id="m1", visible=False), line("All", query_id="m2", visible=False)]
    client = FakeCloudWatch(values={"100 * m1 / m2": [5]}, troubled=True)
    (answer,) = read(client, Graph("a", [share, *hidden]))
    assert [(one.label, [value for _, value in one.points]) for one in answer.series] == [("%", [5])]
    assert answer.trouble == "not done"
    assert [query["Id"] for query in client.asked[0]] == ["e1", "m1", "m2"]
    assert "Period" not in client.asked[0][0]


def test_a_search_finds_the_metrics_with_just_its_dimensions() -> None:
    def metric(**dimensions: str) -> Mapping[str, Any]:
        return {
            "MetricName": "Attempts",
            "Dimensions": [{"Name": name, "Value": value} for name, value in dimensions.items()],
        }

    metrics = [
        metric(region="us", outcome="accepted"),
        metric(region="eu", outcome="accepted"),
        metric(region="us", outcome="refused", channel="sms"),
        metric(region="us"),
    ]
    expression = "SEARCH('{DigestDelivery,outcome,region} region=\"us\" MetricName=\"Attempts\"', 'Maximum', 300)"
    query = Query(None, expression, "${PROP('MetricName')}: ${PROP('Dim.outcome')}", "Average", 60)
    client = FakeCloudWatch(metrics, {"Attempts": [1]})
    (answer,) = read(client, Graph("a", [query]))
    assert [(one.label, one.statistic, one.period_s) for one in answer.series] == [
        ("Attempts: accepted", "Maximum", 300)
    ]


@pytest.mark.parametrize(
    ("statistic", "total"),
    [("Sum", 6), ("SampleCount", 6), ("Maximum", 3), ("Minimum", 1), ("p99", 2), ("Average", 2)],
)
def test_one_number_for_a_week_is_what_its_statistic_says(statistic: str, total: float) -> None:
    points = [(NOON, 1.0), (NOON, 3.0), (NOON, 2.0)]
    assert Series("a", statistic, 60, 60, points).total == total
    assert Series("a", statistic, 60, 60, []).total is None
