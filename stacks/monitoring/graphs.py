"""How it is drawn: sections of graphs, each alarm on the one graph that it guards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from stacks.monitoring.guard import Guard, Measure

WIDE, HALF, THIRD = 24, 12, 8  # of the dashboard's 24 columns
_HEADING, _STATUS = 1, 5  # rows

# Which guards have an alarm in this deployment, by alarm id.
Alarms: TypeAlias = "dict[str, cloudwatch.Alarm]"


@dataclass(frozen=True)
class Graph:
    """Metrics over time. What is watched is drawn with the line that it must not cross.

    `right` has an axis of its own, for what is measured in another unit.
    """

    title: str
    left: Sequence[Guard | Measure]
    right: Sequence[Guard | Measure] = ()
    width: int = THIRD

    @property
    def guards(self) -> list[Guard]:
        return [one for one in (*self.left, *self.right) if isinstance(one, Guard)]


@dataclass(frozen=True)
class Numbers:
    """Totals over a stretch of time that ends now, such as a week."""

    title: str
    metrics: Sequence[Measure]
    since: str  # as CloudWatch writes it: `-P7D`


@dataclass(frozen=True)
class Section:
    """Graphs that answer one question, under a heading of their own."""

    heading: str
    parts: Sequence[Graph | Numbers]

    @property
    def guards(self) -> list[Guard]:
        return [guard for part in self.parts if isinstance(part, Graph) for guard in part.guards]


def draw(
    scope: Construct,
    construct_id: str,
    *,
    name: str,
    title: str,
    sections: Sequence[Section],
    alarms: Alarms,
    custom: Sequence[cloudwatch.IWidget],
) -> cloudwatch.Dashboard:
    """First whether anything is wrong, then what numbers cannot show, then the graphs."""
    dashboard = cloudwatch.Dashboard(
        scope,
        construct_id,
        dashboard_name=name,
        default_interval=Duration.hours(12),
        period_override=cloudwatch.PeriodOverride.INHERIT,
    )
    drawn = [alarms[guard.alarm_id] for section in sections for guard in section.guards if guard.alarm_id in alarms]
    dashboard.add_widgets(cloudwatch.AlarmStatusWidget(title=title, width=WIDE, height=_STATUS, alarms=drawn))
    if custom:
        dashboard.add_widgets(*custom)
    for section in sections:
        heading = cloudwatch.TextWidget(
            markdown=f"## {section.heading}",
            width=WIDE,
            height=_HEADING,
            background=cloudwatch.TextWidgetBackground.TRANSPARENT,
        )
        dashboard.add_widgets(heading)
        dashboard.add_widgets(*(_widget(part, alarms) for part in section.parts))
    return dashboard


def _widget(part: Graph | Numbers, alarms: Alarms) -> cloudwatch.IWidget:
    if isinstance(part, Numbers):
        return cloudwatch.SingleValueWidget(
            title=part.title,
            metrics=part.metrics,
            start=part.since,
            set_period_to_time_range=True,
            width=WIDE,
            height=3,
        )
    zero = cloudwatch.YAxisProps(min=0)
    return cloudwatch.GraphWidget(
        title=part.title,
        width=part.width,
        left=[_line(one) for one in part.left],
        right=[_line(one) for one in part.right],
        left_annotations=list(_lines_not_to_cross(part.left, alarms)),
        right_annotations=list(_lines_not_to_cross(part.right, alarms)),
        left_y_axis=zero,
        right_y_axis=zero,
    )


def _line(one: Guard | Measure) -> Measure:
    return one.metric.with_(label=one.what) if isinstance(one, Guard) else one


def _lines_not_to_cross(drawn: Iterable[Guard | Measure], alarms: Alarms) -> Iterator[cloudwatch.HorizontalAnnotation]:
    """One line for each threshold: those of several alarms would lie on each other, and their names with them."""
    by_threshold: dict[float, list[str]] = {}
    for one in drawn:
        if isinstance(one, Guard) and one.alarm_id in alarms:
            by_threshold.setdefault(one.threshold, []).append(one.alarm_id)
    for threshold, alarm_ids in by_threshold.items():
        yield cloudwatch.HorizontalAnnotation(value=threshold, label=", ".join(alarm_ids))
