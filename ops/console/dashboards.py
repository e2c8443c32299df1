"""A deployed dashboard, read from its body: the forms of widgets that the CDK writes.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/CloudWatch-Dashboard-Body-Structure.html
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final, TypeAlias

DEFAULT_PERIOD_S: Final = 300
DEFAULT_STATISTIC: Final = "Average"
COLUMNS: Final = 24
PIXELS_A_COLUMN: Final = 60  # about what CloudWatch gives a column, and a unit of height
PIXELS_A_ROW: Final = 50
_SPAN: Final = re.compile(r"^-P(?:(?P<days>\d+)D)?(?:T(?P<hours>\d+)H)?$")


@dataclass(frozen=True, slots=True)
class Metric:
    """What CloudWatch keeps values of."""

    namespace: str
    name: str
    dimensions: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Query:
    """One line of a graph: a metric, or an expression over others."""

    metric: Metric | None
    expression: str | None
    label: str
    statistic: str
    period_s: int
    query_id: str | None = None
    visible: bool = True
    on_the_right: bool = False  # drawn against the right axis


@dataclass(frozen=True, slots=True)
class Threshold:
    """A line across a graph: at a value, or where an alarm has its own."""

    label: str
    value: float | None = None
    alarm_arn: str | None = None
    on_the_right: bool = False


@dataclass(frozen=True, slots=True)
class Graph:
    """A `metric` widget with lines over time."""

    title: str
    queries: Sequence[Query]
    thresholds: Sequence[Threshold] = ()
    unit: str = ""  # label of the left axis


@dataclass(frozen=True, slots=True)
class Numbers:
    """A `metric` widget with one number for each metric, over a stretch of time that ends now."""

    title: str
    queries: Sequence[Query]
    since: timedelta | None = None  # as long as the page's when left out


@dataclass(frozen=True, slots=True)
class Text:
    """A `text` widget."""

    markdown: str


@dataclass(frozen=True, slots=True)
class Custom:
    """A `custom` widget: what a function returns for its parameters."""

    widget_id: str
    title: str
    endpoint: str
    params: Mapping[str, Any] = field(default_factory=dict)
    width: int = COLUMNS * PIXELS_A_COLUMN
    height: int = 6 * PIXELS_A_ROW

    @property
    def is_wide(self) -> bool:
        """Whether it has a row of the dashboard to itself."""
        return self.width > COLUMNS * PIXELS_A_COLUMN // 2


Widget: TypeAlias = Graph | Numbers | Text | Custom


@dataclass(frozen=True, slots=True)
class Dashboard:
    """A dashboard by its name in CloudWatch."""

    name: str
    widgets: Sequence[Widget]

    @property
    def customs(self) -> list[Custom]:
        return [one for one in self.widgets if isinstance(one, Custom)]

    @property
    def sections(self) -> list[Graph | Numbers | Text]:
        """Graphs, and the headings between them."""
        return [one for one in self.widgets if isinstance(one, Graph | Numbers | Text)]

    def custom(self, widget_id: str) -> Custom | None:
        """A custom widget by its id; None where there is none of that id."""
        return next((one for one in self.customs if one.widget_id == widget_id), None)


def read_dashboard(name: str, body: str) -> Dashboard:
    """A dashboard from its body, without its lists of alarms: a page shows all of the region's."""
    found = (_widget(number, one) for number, one in enumerate(json.loads(body).get("widgets", [])))
    return Dashboard(name, [one for one in found if one is not None])


def _widget(number: int, widget: Mapping[str, Any]) -> Widget | None:
    about = widget.get("properties", {})
    title = about.get("title", "")
    match widget.get("type"):
        case "metric":
            return _numbers(title, about) if about.get("view") == "singleValue" else _graph(title, about)
        case "text":
            return Text(about.get("markdown", ""))
        case "custom":
            size = widget.get("width", COLUMNS) * PIXELS_A_COLUMN, widget.get("height", 6) * PIXELS_A_ROW
            return Custom(f"widget-{number}", title, about["endpoint"], about.get("params") or {}, *size)
    return None


def _graph(title: str, about: Mapping[str, Any]) -> Graph:
    annotations = about.get("annotations", {})
    thresholds = [
        Threshold(one.get("label", ""), float(one["value"]), on_the_right=one.get("yAxis") == "right")
        for one in annotations.get("horizontal", [])
    ]
    thresholds += [Threshold("", alarm_arn=arn) for arn in annotations.get("alarms", [])]
    return Graph(
        title,
        [_query(line, about) for line in about.get("metrics", [])],
        thresholds,
        about.get("yAxis", {}).get("left", {}).get("label", ""),
    )


def _numbers(title: str, about: Mapping[str, Any]) -> Numbers:
    span = _SPAN.match(about.get("start", ""))
    since = None if span is None else timedelta(days=int(span["days"] or 0), hours=int(span["hours"] or 0))
    return Numbers(title, [_query(line, about) for line in about.get("metrics", [])], since)


def _query(line: Sequence[Any], about: Mapping[str, Any]) -> Query:
    *parts, last = line
    options = last if isinstance(last, dict) else {}
    if not isinstance(last, dict):
        parts = list(line)
    metric = None
    if parts:
        namespace, name, *pairs = parts
        metric = Metric(namespace, name, dict(zip(pairs[::2], pairs[1::2], strict=True)))
    return Query(
        metric,
        options.get("expression"),
        options.get("label") or (metric.name if metric else options.get("id", "")),
        options.get("stat") or about.get("stat") or DEFAULT_STATISTIC,
        int(options.get("period") or about.get("period") or DEFAULT_PERIOD_S),
        options.get("id"),
        options.get("visible", True),
        options.get("yAxis") == "right",
    )
