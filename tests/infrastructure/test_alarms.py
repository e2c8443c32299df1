"""Each alarm is driven into ALARM and back, and none rings on an idle weekend."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from functions import names
from tests.fakes.clock import SUNDAY_EVENING
from tests.infrastructure.alarm_causes import DOCUMENTED, ON_AWS, OWN, Stage
from tests.infrastructure.alarm_course import Course, alarms_of, comes_and_goes
from tests.infrastructure.alarm_evaluation import (
    Alarm,
    Recorded,
    Sample,
    Series,
    State,
    alarms_of_rule,
    paging_state,
    reckon,
)
from tests.infrastructure.templates import Template
from tests.integration.region import Clock, Functions, Region

UNITS = {
    names.METRIC_OLDEST_DUE_AGE: "Seconds",
    names.METRIC_ENQUEUE_GAP: "Seconds",
    names.METRIC_OLDEST_SCHEDULE_AGE: "Seconds",
    names.METRIC_BOUNCE_RATE: "Percent",
    names.METRIC_COMPLAINT_RATE: "Percent",
}
MINUTE = timedelta(minutes=1)


@pytest.fixture
def stage(
    functions: Functions,
    region: Region,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Stage:
    return Stage(functions, region, clock, monkeypatch, capsys)


@pytest.fixture(scope="module")
def alarms(on_aws: Mapping[str, Template]) -> Mapping[str, Alarm]:
    """The alarms of region us, by the name that people know them by."""
    return alarms_of(on_aws["us"])


def test_every_alarm_has_a_cause_that_drives_it(alarms: Mapping[str, Alarm]) -> None:
    assert set(alarms) == set(OWN) | set(ON_AWS)


@pytest.mark.parametrize("name", OWN)
def test_what_the_functions_say_drives_the_alarm_up_and_down_again(
    name: str, alarms: Mapping[str, Alarm], stage: Stage
) -> None:
    cause, alarm = OWN[name], alarms[name]
    mended = cause.mended(stage)
    wrong = cause.wrong(stage)
    assert {sample.unit for sample in wrong if sample.series in alarm.series} <= {UNITS.get(watched(alarm), "Count")}
    comes_and_goes(alarm, wrong, mended, times=cause.times)


@pytest.mark.parametrize("name", ON_AWS)
def test_what_aws_sends_drives_the_alarm_up_and_down_again(name: str, on_aws: Mapping[str, Template]) -> None:
    sent = ON_AWS[name]
    for template in on_aws.values():
        comes_and_goes(alarms_of(template)[name], sent.while_wrong(template), sent.once_mended(template))


def watched(alarm: Alarm) -> str:
    """Name of the metric that an alarm is on; of one that reckons, any."""
    return min(series.name for series in alarm.series)


def test_a_passing_trouble_is_no_trend(alarms: Mapping[str, Alarm], stage: Stage) -> None:
    cause = OWN["EmailRetryRate"]
    course = Course(alarms["EmailRetryRate"], Recorded())
    wrong = cause.wrong(stage)
    assert course.goes_on(wrong, periods=2, times=cause.times) is State.OK  # half an hour
    assert course.goes_on(cause.mended(stage), periods=2, times=cause.times) is State.OK
    assert course.goes_on(wrong, periods=8, times=20) is State.OK  # every second one for hours, but of forty only


def test_one_dead_letter_among_few_calls_nobody(alarms: Mapping[str, Alarm], stage: Stage) -> None:
    course = Course(alarms["EmailRejectedRate"], Recorded())
    assert course.goes_on(OWN["EmailRejectedRate"].wrong(stage), periods=4, times=16) is State.OK


def test_a_delivery_that_is_seen_once_an_hour_keeps_the_alarm_up(alarms: Mapping[str, Alarm], stage: Stage) -> None:
    course = Course(alarms["OldestDue"], Recorded())
    quiet = OWN["OldestDue"].mended(stage)
    seen = OWN["OldestDue"].wrong(stage)
    for _ in range(3):
        assert course.goes_on(seen, periods=1) is State.ALARM
        assert course.goes_on(quiet, periods=58) is State.ALARM
    assert course.goes_on(quiet, periods=5) is State.OK


def test_an_alarm_on_a_metric_of_aws_s_names_one_that_is_documented(on_aws: Mapping[str, Template]) -> None:
    for template in on_aws.values():
        for alarm in alarms_of(template).values():
            for series in alarm.series:
                if series.namespace != names.METRICS_NAMESPACE:
                    assert {name for name, _ in series.dimensions} in DOCUMENTED[series.namespace, series.name]


def test_an_idle_weekend_rings_nothing(
    on_aws: Mapping[str, Template], alarms: Mapping[str, Alarm], stage: Stage
) -> None:
    """Nothing is due from Friday on. The wake-ups go on, and say so; queues fall silent after six hours."""
    settings = on_aws["us"].settings.regions["us"]
    run, sweep = OWN["PlannerSilent"].mended(stage), OWN["ReconcilerSilent"].mended(stage)
    empty = [
        sample for sent in ON_AWS.values() if sent.namespace == "AWS/SQS" for sample in sent.once_mended(on_aws["us"])
    ]
    recorded = Recorded()
    for minute in range(60 * 60):
        now = SUNDAY_EVENING + minute * MINUTE
        said = [
            *(run if minute % settings.planner.interval_minutes == 0 else []),
            *(sweep if minute % settings.reconciler.interval_minutes == 0 else []),
            *(empty if minute < 6 * 60 else []),
        ]
        recorded.take(replace(sample, at=now) for sample in said)
    for hour in range(4, 60, 4):
        ringing = [
            name
            for name, alarm in alarms.items()
            if alarm.state(recorded, SUNDAY_EVENING + timedelta(hours=hour, seconds=7)) is not State.OK
        ]
        assert not ringing


def test_any_alarm_that_cannot_wait_calls_a_person_and_no_other_does(template: Template) -> None:
    (paging,) = template.properties("AWS::CloudWatch::CompositeAlarm").values()
    rule = paging["AlarmRule"]
    quiet = dict.fromkeys(template.of_type("AWS::CloudWatch::Alarm"), State.OK)
    assert paging_state(rule, quiet) is State.OK
    urgent = alarms_of_rule(rule)
    for logical_id in quiet:
        calls = paging_state(rule, {**quiet, logical_id: State.ALARM}) is State.ALARM
        assert calls == (logical_id in urgent)


# --- the evaluation itself, held against AWS's own examples ---

AS_WRITTEN = {"x": 10.0, "0": 0.0, "-": None}  # breaching, not breaching, missing


@pytest.mark.parametrize(
    ("datapoints", "breaching", "not_breaching"),
    [
        ("0 - x - x", State.OK, State.OK),
        ("0 - - - -", State.OK, State.OK),
        ("- - - - -", State.ALARM, State.OK),
        ("0 x x - x", State.ALARM, State.ALARM),
        ("- - x - -", State.ALARM, State.OK),
    ],
)
def test_three_of_three(datapoints: str, breaching: State, not_breaching: State) -> None:
    assert state_on(datapoints, enough=3, missing="breaching") is breaching
    assert state_on(datapoints, enough=3, missing="notBreaching") is not_breaching


@pytest.mark.parametrize(
    ("datapoints", "breaching", "not_breaching"),
    [
        ("0 - x - x", State.ALARM, State.ALARM),
        ("0 0 x 0 x", State.ALARM, State.ALARM),
        ("0 - x - -", State.ALARM, State.OK),
        ("- - - - 0", State.ALARM, State.OK),
        ("- - - x -", State.ALARM, State.OK),
    ],
)
def test_two_of_three(datapoints: str, breaching: State, not_breaching: State) -> None:
    assert state_on(datapoints, enough=2, missing="breaching") is breaching
    assert state_on(datapoints, enough=2, missing="notBreaching") is not_breaching


def state_on(datapoints: str, *, enough: int, missing: str) -> State:
    properties: dict[str, Any] = {
        "Namespace": "Example",
        "MetricName": "Example",
        "Statistic": "Maximum",
        "Period": 60,
        "EvaluationPeriods": 3,
        "DatapointsToAlarm": enough,
        "Threshold": 5,
        "ComparisonOperator": "GreaterThanOrEqualToThreshold",
        "TreatMissingData": missing,
    }
    recorded = Recorded()
    series = Series.of("Example", "Example", {})
    recorded.take(
        Sample(series, SUNDAY_EVENING + minute * MINUTE, value)
        for minute, written in enumerate(datapoints.split())
        if (value := AS_WRITTEN[written]) is not None
    )
    return Alarm.of("Example", properties).state(recorded, SUNDAY_EVENING + 5 * MINUTE)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("FILL(a, 0) + FILL(none, 0)", 4.0),
        ("a + none", 4.0),
        ("none + none", None),
        ("IF(a + b >= 7, 100 * a / (a + b), 0)", 400 / 7),
        ("IF(a + b >= 8, 100 * a / (a + b), 0)", 0),
        ("a / (b - 3)", None),
        ("IF(none, a, b)", None),
    ],
)
def test_metric_math(expression: str, value: float | None) -> None:
    values: Mapping[str, float | None] = {"a": 4.0, "b": 3.0, "none": None}
    assert reckon(expression, values.__getitem__) == value
