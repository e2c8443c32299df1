"""When an alarm is heard, by CloudWatch's rules: thresholds, so many of so many periods, and missing data."""

from __future__ import annotations

import pytest

from ops.local.alarm_evaluation import ALARM, INSUFFICIENT_DATA, OK, Rule, state_of

AT_LEAST = "GreaterThanOrEqualToThreshold"


@pytest.mark.parametrize(
    ("comparison", "value", "state"),
    [
        (AT_LEAST, 1, ALARM),
        (AT_LEAST, 0.9, OK),
        ("GreaterThanThreshold", 1, OK),
        ("LessThanThreshold", 1, OK),
        ("LessThanThreshold", 0, ALARM),
        ("LessThanOrEqualToThreshold", 1, ALARM),
    ],
)
def test_a_value_is_compared_as_the_alarm_says(comparison: str, value: float, state: str) -> None:
    assert state_of(Rule(comparison, 1, 1), [value], OK) == state


def test_two_of_three_periods_are_enough_where_two_are_asked_for() -> None:
    assert state_of(Rule(AT_LEAST, 1, 2), [1, 0, 1], OK) == ALARM
    assert state_of(Rule(AT_LEAST, 1, 3), [1, 0, 1], OK) == OK


@pytest.mark.parametrize(
    ("missing", "before", "state"),
    [
        ("notBreaching", ALARM, OK),
        ("breaching", OK, ALARM),
        ("ignore", ALARM, ALARM),
        ("ignore", OK, OK),
        ("missing", OK, INSUFFICIENT_DATA),
    ],
)
def test_silence_means_what_the_alarm_says(missing: str, before: str, state: str) -> None:
    assert state_of(Rule(AT_LEAST, 1, 2, missing), [None, None], before) == state


@pytest.mark.parametrize(
    ("missing", "state"),
    [("notBreaching", OK), ("breaching", ALARM), ("ignore", OK), ("missing", ALARM)],
)
def test_one_breach_and_a_gap(missing: str, state: str) -> None:
    assert state_of(Rule(AT_LEAST, 1, 2, missing), [1, None], OK) == state
