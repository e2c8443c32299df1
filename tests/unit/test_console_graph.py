"""Lines over time: where they stand, where they break, and what is said of them in words."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from ops.console.graph import BOTTOM, LEFT, RIGHT, TOP, Limit, draw, number_in_words, span_in_words
from ops.console.metric_data import MOST_POINTS, Series, Window

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
AN_HOUR = Window(NOON - timedelta(hours=1), NOON)


def series(*points: tuple[int, float], label: str = "attempts", on_the_right: bool = False) -> Series:
    """Points as (minute of the hour, value)."""
    return Series(
        label,
        "Sum",
        60,
        60,
        [(AN_HOUR.start + timedelta(minutes=minute), value) for minute, value in points],
        on_the_right,
    )


def whole_hour(values: Sequence[float]) -> Series:
    return series(*enumerate(values))


def test_a_line_runs_from_left_to_right_and_from_zero_to_its_highest() -> None:
    (line,) = draw([series((0, 0), *((minute, minute) for minute in range(1, 60)), (60, 60))], AN_HOUR).lines
    assert line.path.startswith(f"M{LEFT:g} {BOTTOM:g}L")
    x, y = line.path.rpartition("L")[2].split()
    assert (float(x), float(y) >= TOP) == (RIGHT, True)
    assert (line.latest, line.lowest, line.highest) == ("60", "0", "60")


def test_a_period_without_data_is_not_bridged_and_a_lone_point_is_a_dot() -> None:
    (line,) = draw([series((0, 1), (1, 1), (30, 2), (50, 1), (51, 2))], AN_HOUR).lines
    assert line.path.count("M") == 2
    assert len(line.dots) == 1


def test_a_level_stretch_takes_two_points() -> None:
    (line,) = draw([whole_hour([0.0] * 61)], AN_HOUR).lines
    assert line.path == f"M{LEFT:g} {BOTTOM:g}L{RIGHT:g} {BOTTOM:g}"


def test_no_data_is_said_and_nothing_is_drawn() -> None:
    drawing = draw([series()], AN_HOUR)
    assert (drawing.has_data, drawing.in_words) == (False, "no data")
    assert drawing.lines[0].latest == "no data"


def test_the_scale_takes_in_the_line_that_is_not_to_be_crossed() -> None:
    drawing = draw([series((0, 1), (1, 1))], AN_HOUR, [Limit("OldestDue", 21_600)])
    (rule,) = drawing.rules
    assert TOP <= rule.y < BOTTOM
    assert rule.label == "OldestDue at 21.6k"
    assert drawing.y_ticks[-1].label == "30k"


def test_what_is_drawn_on_the_right_has_its_own_scale() -> None:
    held = series((0, 4), (1, 4), label="held", on_the_right=True)
    drawing = draw([series((0, 0), (1, 4000)), held], AN_HOUR, [Limit("PlanningHeld", 1, on_the_right=True)])
    assert [tick.label for tick in drawing.right_ticks][-1] == "4"
    assert drawing.lines[1].label == "held (right axis)"
    assert drawing.lines[1].path.split()[1].startswith(f"{TOP:g}")


def test_negative_values_stand_below_zero() -> None:
    drawing = draw([series((0, -5), (1, 5))], AN_HOUR)
    assert [tick.label for tick in drawing.y_ticks] == ["-5", "0", "5"]


def test_numbers_beside_a_graph_are_the_latest_first() -> None:
    drawing = draw([series((0, 1), (1, 2)), series((1, 3), label="other")], AN_HOUR)
    assert drawing.rows == [("Mon 11:01", ["2", "3"]), ("Mon 11:00", ["1", "none"])]
    assert drawing.basis == "Sum, each 1 min"
    assert drawing.in_words.startswith("attempts: latest 2, lowest 1, highest 2; other")


@pytest.mark.parametrize(
    ("length", "labels"),
    [
        (timedelta(hours=1), ["11:00", "11:10", "11:20", "11:30", "11:40", "11:50", "12:00"]),
        (timedelta(hours=12), ["00:00", "02:00", "04:00", "06:00", "08:00", "10:00", "12:00"]),
        (timedelta(weeks=1), ["Tue 24", "Wed 25", "Thu 26", "Fri 27", "Sat 28", "Sun 29", "Mon 30"]),
    ],
)
def test_times_are_round(length: timedelta, labels: list[str]) -> None:
    assert [tick.label for tick in draw([], Window(NOON - length, NOON)).x_ticks] == labels


def test_a_week_of_minutes_is_asked_for_in_longer_periods() -> None:
    week = Window(NOON - timedelta(weeks=1), NOON)
    assert AN_HOUR.period_s(60) == 60
    assert week.period_s(60) == 840
    assert week.length.total_seconds() / week.period_s(300) <= MOST_POINTS


def test_numbers_and_spans_are_short() -> None:
    told = [number_in_words(value) for value in (0, 0.25, 0.12345, 1204, 12_300, 4_500_000, 2e9, -3)]
    assert told == ["0", "0.25", "0.123", "1,204", "12.3k", "4.5M", "2G", "-3"]
    assert [span_in_words(seconds) for seconds in (30, 60, 90, 300, 7200)] == ["30 s", "1 min", "90 s", "5 min", "2 h"]
