"""What the report says of a figure."""

from __future__ import annotations

import pytest

from bench.figures import Aim, Figure, shown


@pytest.mark.parametrize(("value", "text"), [(0.2123, "0.212"), (12.0, "12"), (999.4, "999"), (1226.4, "1,226")])
def test_a_value_is_as_long_as_it_means_something(value: float, text: str) -> None:
    assert shown(value) == text


def test_the_middle_of_the_rounds_counts_and_their_spread_is_shown() -> None:
    figure = Figure("planner", "ms", [3.0, 1.0, 2.0])
    assert (figure.middle, figure.spread) == (2.0, "1 to 3")


def test_one_value_has_no_spread() -> None:
    assert Figure("requests", "each", [12]).spread == ""


@pytest.mark.parametrize(
    ("aim", "value", "verdict"),
    [
        (Aim(at_most=1.5), 1.5, "met"),
        (Aim(at_most=1.5), 1.51, "not met"),
        (Aim(at_least=10), 9.9, "not met"),
        (Aim(at_least=10), 10, "met"),
        (None, 1, ""),
    ],
)
def test_an_aim_is_met_or_not(aim: Aim | None, value: float, verdict: str) -> None:
    assert Figure("anything", "times", [value], aim).verdict == verdict
