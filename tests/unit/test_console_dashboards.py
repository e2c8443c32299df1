"""A dashboard's body, in the forms that the CDK writes."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from ops.console.dashboards import Custom, Graph, Metric, Numbers, Query, Text, Threshold, read_dashboard

PLANNED = ["DigestDelivery", "DeliveriesPlanned", "region", "us", "service", "digest-delivery"]


def only(widget: dict[str, Any]) -> Any:
    (found,) = read_dashboard("DigestDelivery-us-service", json.dumps({"widgets": [widget]})).widgets
    return found


def test_a_graph_has_its_metrics_with_what_stands_for_the_whole_graph_or_for_one() -> None:
    about = {
        "title": "Planned; shards held",
        "metrics": [
            [*PLANNED, {"label": "planned", "stat": "Sum"}],
            ["DigestDelivery", "ShardsHeld", {"stat": "Maximum", "period": 60, "yAxis": "right"}],
            [{"expression": "m1 / m2", "label": "ratio", "id": "e1"}],
            ["DigestDelivery", "Attempts", {"id": "m1", "visible": False}],
            ["AWS/SQS", "Plain"],
        ],
        "annotations": {"horizontal": [{"value": 1, "label": "PlanningHeld", "yAxis": "right"}]},
        "yAxis": {"left": {"min": 0, "label": "deliveries"}},
    }
    dimensions = {"region": "us", "service": "digest-delivery"}
    assert only({"type": "metric", "properties": about}) == Graph(
        "Planned; shards held",
        [
            Query(Metric("DigestDelivery", "DeliveriesPlanned", dimensions), None, "planned", "Sum", 300),
            Query(Metric("DigestDelivery", "ShardsHeld", {}), None, "ShardsHeld", "Maximum", 60, on_the_right=True),
            Query(None, "m1 / m2", "ratio", "Average", 300, "e1"),
            Query(Metric("DigestDelivery", "Attempts", {}), None, "Attempts", "Average", 300, "m1", visible=False),
            Query(Metric("AWS/SQS", "Plain", {}), None, "Plain", "Average", 300),
        ],
        [Threshold("PlanningHeld", 1.0, on_the_right=True)],
        "deliveries",
    )


def test_numbers_know_how_far_back_they_count() -> None:
    about = {"title": "This week", "view": "singleValue", "start": "-P7D", "metrics": [[*PLANNED, {"stat": "Sum"}]]}
    found = only({"type": "metric", "properties": about})
    assert isinstance(found, Numbers)
    assert found.since == timedelta(days=7)
    assert only({"type": "metric", "properties": {**about, "start": "-PT3H"}}).since == timedelta(hours=3)
    assert only({"type": "metric", "properties": {**about, "start": "last monday"}}).since is None


def test_a_custom_widget_has_its_function_its_parameters_and_its_size() -> None:
    about = {"title": "Due next", "endpoint": "arn:aws:lambda:x", "params": {"widget": "due"}, "updateOn": {}}
    found = only({"type": "custom", "width": 12, "height": 4, "properties": about})
    assert found == Custom("widget-0", "Due next", "arn:aws:lambda:x", {"widget": "due"}, 720, 200)


def test_texts_are_read_and_lists_of_alarms_left_out() -> None:
    widgets = [
        {"type": "alarm", "properties": {"title": "Alarms", "alarms": ["arn:1"]}},
        {"type": "text", "properties": {"markdown": "## What is due"}},
        {"type": "log", "properties": {"query": "SOURCE x"}},
    ]
    dashboard = read_dashboard("d", json.dumps({"widgets": widgets}))
    assert dashboard.widgets == [Text("## What is due")]
    assert dashboard.custom("widget-9") is None
