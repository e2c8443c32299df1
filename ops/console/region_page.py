"""What a page about one region shows, read in one go: its alarms, widgets, and graphs."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from botocore.exceptions import BotoCoreError, ClientError

from functions import names
from ops.console.alarms import Alarm, named, read_alarms
from ops.console.custom_widgets import Call, Returned, invoke
from ops.console.dashboards import Custom, Dashboard, Graph, Numbers, Text, read_dashboard
from ops.console.graph import Drawing, Limit, draw
from ops.console.metric_data import Answer, Series, Window, read_graphs
from ops.deployment import DeploymentError, RegionDeployment, in_words

BOARDS: Final = {
    names.SERVICE_DASHBOARD: names.OUTPUT_SERVICE_DASHBOARD,
    names.MACHINERY_DASHBOARD: names.OUTPUT_MACHINERY_DASHBOARD,
}
_HOUR_S: Final = 3600
_AT_ONCE: Final = 8
_NO_DASHBOARD: Final = frozenset({"ResourceNotFound", "DashboardNotFoundError"})


@dataclass(frozen=True, slots=True)
class Shown:
    """A custom widget with what its function returned, or why it returned nothing."""

    widget: Custom
    returned: Returned | None
    trouble: str | None


@dataclass(frozen=True, slots=True)
class Picture:
    """A graph with its values."""

    title: str
    unit: str
    drawing: Drawing
    trouble: str | None


@dataclass(frozen=True, slots=True)
class Figures:
    """Numbers over a stretch of time."""

    title: str
    since: timedelta
    totals: Sequence[Series]
    trouble: str | None


Part: TypeAlias = Text | Picture | Figures


@dataclass(frozen=True, slots=True)
class RegionPage:
    """Everything on one page."""

    region: RegionDeployment
    board: str
    now: datetime
    window: Window
    alarms: Sequence[Alarm]
    widgets: Sequence[Shown]
    parts: Sequence[Part]

    @property
    def firing(self) -> list[Alarm]:
        return [alarm for alarm in self.alarms if alarm.fires]


def read_board(region: RegionDeployment, board: str) -> Dashboard:
    """A dashboard as it is deployed. Raises DeploymentError where somebody has deleted it."""
    name = region.output(BOARDS[board])
    try:
        body = region.cloudwatch.get_dashboard(DashboardName=name)["DashboardBody"]
    except ClientError as error:
        if error.response["Error"]["Code"] in _NO_DASHBOARD:
            raise DeploymentError(f"there is no dashboard {name} any more: deploy {region.stack_name} again") from None
        raise
    return read_dashboard(name, body)


def read_page(region: RegionDeployment, board: str, window: Window) -> RegionPage:
    """Read everything that a page shows. What one widget lacks is said in its place."""
    dashboard = read_board(region, board)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        shown = [
            pool.submit(show, region, Call(dashboard.name, widget, widget.endpoint, widget.params), window)
            for widget in dashboard.customs
        ]
        alarms = read_alarms(region.cloudwatch, region.stack_name)
        parts = _parts(region, dashboard, window, alarms)
        return RegionPage(region, board, window.end, window, alarms, [one.result() for one in shown], parts)


def show(region: RegionDeployment, call: Call, window: Window) -> Shown:
    """Call a widget's function, and keep what went wrong."""
    try:
        return Shown(call.widget, invoke(region.functions, call, window), None)
    except DeploymentError as error:
        return Shown(call.widget, None, str(error))
    except (BotoCoreError, ClientError) as error:
        return Shown(call.widget, None, in_words(error))


def _parts(region: RegionDeployment, dashboard: Dashboard, window: Window, alarms: Sequence[Alarm]) -> list[Part]:
    parts: list[Part] = []
    graphs = [one for one in dashboard.sections if isinstance(one, Graph)]
    answers = iter(read_graphs(region.cloudwatch, graphs, window))
    for one in dashboard.sections:
        if isinstance(one, Text):
            parts.append(one)
        elif isinstance(one, Graph):
            parts.append(_picture(one, next(answers), window, alarms))
        else:
            parts.append(_figures(region, one, window))
    return parts


def _picture(graph: Graph, answer: Answer, window: Window, alarms: Sequence[Alarm]) -> Picture:
    # A sum over longer periods than the alarm's is no number to hold against its threshold.
    comparable = all(one.period_s == one.wanted_period_s for one in answer.series)
    limits = []
    for threshold in graph.thresholds if comparable else ():
        alarm = named(alarms, threshold.alarm_arn or "")
        value = threshold.value if alarm is None else alarm.threshold
        if value is not None:
            limits.append(Limit(threshold.label or (alarm.name if alarm else ""), value, threshold.on_the_right))
    return Picture(graph.title, graph.unit, draw(answer.series, window, limits), answer.trouble)


def _figures(region: RegionDeployment, numbers: Numbers, window: Window) -> Figures:
    since = numbers.since or window.length
    queries = [replace(query, period_s=max(_HOUR_S, query.period_s)) for query in numbers.queries]
    asked = replace(numbers, queries=queries)
    (answer,) = read_graphs(region.cloudwatch, [asked], Window(window.end - since, window.end))
    return Figures(numbers.title, since, answer.series, answer.trouble)
