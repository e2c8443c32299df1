"""Metrics come out of the very lines that Powertools writes into a function's log."""

from __future__ import annotations

import json

import pytest
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

from ops.local.embedded_metrics import Datum, read


def logged(capsys: pytest.CaptureFixture[str]) -> str:
    metrics = EphemeralMetrics(namespace="DigestDelivery", service="digest-delivery")
    metrics.add_dimension("channel", "email")
    metrics.add_metric("Attempts", MetricUnit.Count, 1)
    metrics.add_metric("Attempts", MetricUnit.Count, 1)
    metrics.add_metric("DueToAccepted", MetricUnit.Seconds, 2.5)
    metrics.add_metadata("run", "w49")
    metrics.flush_metrics()
    return capsys.readouterr().out


def test_every_value_of_a_line_is_read_with_its_name_unit_time_and_dimensions(
    capsys: pytest.CaptureFixture[str],
) -> None:
    line = logged(capsys)
    at = json.loads(line)["_aws"]["Timestamp"] / 1000
    where = {"service": "digest-delivery", "channel": "email"}

    assert read(line) == [
        Datum("DigestDelivery", "Attempts", where, "Count", at, [1.0, 1.0]),
        Datum("DigestDelivery", "DueToAccepted", where, "Seconds", at, [2.5]),
    ]


def test_each_set_of_dimensions_is_a_metric_of_its_own() -> None:
    directive = {"Namespace": "N", "Dimensions": [["a"], ["a", "b"]], "Metrics": [{"Name": "m"}]}
    line = json.dumps({"_aws": {"Timestamp": 1000, "CloudWatchMetrics": [directive]}, "a": "x", "b": "y", "m": 3})

    assert [datum.dimensions for datum in read(line)] == [{"a": "x"}, {"a": "x", "b": "y"}]


@pytest.mark.parametrize(
    "line",
    [
        "START RequestId: 1",
        '{"level": "INFO", "message": "planner.finished"}',
        '{"_aws": ',
        '{"_aws": null}',
        '{"_aws": {"Timestamp": 1, "CloudWatchMetrics": [{"Namespace": "N", "Dimensions": [["no"]], "Metrics": []}]}}',
        '"_aws"',
    ],
)
def test_a_line_that_holds_no_metric_stays_a_line(line: str) -> None:
    assert read(line) == []
