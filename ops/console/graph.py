"""Lines over time, as they are drawn: geometry only, in the units of a small picture; the template makes it SVG."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Self

from ops.console.metric_data import Series, Window

WIDTH, HEIGHT = 420, 180
LEFT, TOP, BOTTOM = 44, 10, 152  # of the area within the axes
RIGHT, RIGHT_OF_TWO = 412, 376  # where there are ticks on the right, they need room
STYLES: Final = 6  # that a stylesheet tells apart, by colour and by dashes
_Y_TICKS: Final = 4
_NICE: Final = (1, 2, 2.5, 5, 10)
_TIME_STEPS: Final = (
    *(timedelta(minutes=minutes) for minutes in (10, 15, 30)),
    *(timedelta(hours=hours) for hours in (1, 2, 3, 6, 12)),
    *(timedelta(days=days) for days in (1, 2, 7)),
)
_MOST_TIMES: Final = 7
_LATEST: Final = 20  # rows of the table beside a graph


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on an axis."""

    at: float
    label: str


@dataclass(frozen=True, slots=True)
class Line:
    """A series as it is drawn, and the numbers that say it in words."""

    label: str
    style: int
    path: str  # of an SVG; empty where there are only lone points
    dots: Sequence[tuple[float, float]]  # points with a gap on both sides
    latest: str
    lowest: str
    highest: str


@dataclass(frozen=True, slots=True)
class Rule:
    """An alarm's threshold across the graph."""

    y: float
    label: str


@dataclass(frozen=True, slots=True)
class Drawing:
    """A graph."""

    lines: Sequence[Line]
    rules: Sequence[Rule]
    y_ticks: Sequence[Tick]
    right_ticks: Sequence[Tick]  # none where everything is drawn against the left axis
    x_ticks: Sequence[Tick]
    right: float  # end of the area within the axes
    basis: str  # what a point is: `Sum, each 5 min`
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[str]]]  # time and values of the latest periods

    @property
    def has_data(self) -> bool:
        return any(line.path or line.dots for line in self.lines)

    @property
    def in_words(self) -> str:
        """What a reader who does not see it should know."""
        if not self.has_data:
            return "no data"
        told = [
            f"{line.label}: latest {line.latest}, lowest {line.lowest}, highest {line.highest}"
            for line in self.lines
            if line.path or line.dots
        ]
        return "; ".join(told)


@dataclass(frozen=True, slots=True)
class Limit:
    """A value that is not to be crossed."""

    label: str
    value: float
    on_the_right: bool = False


@dataclass(frozen=True, slots=True)
class Scale:
    """Round numbers up an axis, and where a value stands beside them."""

    ticks: Sequence[float]

    @classmethod
    def of(cls, series: Sequence[Series], limits: Sequence[Limit]) -> Self:
        """The scale that takes in all of them, and zero."""
        values = [value for one in series for _, value in one.points] + [limit.value for limit in limits]
        counts = all(value == round(value) for value in values)
        return cls(_nice_ticks(min([0.0, *values]), max([0.0, *values]), whole=counts))

    def y(self, value: float) -> float:
        low, high = self.ticks[0], self.ticks[-1]
        return round(BOTTOM - (value - low) / (high - low) * (BOTTOM - TOP), 1)

    def marks(self) -> list[Tick]:
        return [Tick(self.y(value), number_in_words(value)) for value in self.ticks]


@dataclass(frozen=True, slots=True)
class _Times:
    """Where times stand along the lower axis."""

    window: Window
    right: float

    def x(self, at: datetime) -> float:
        return round(LEFT + (at - self.window.start) / self.window.length * (self.right - LEFT), 1)

    def marks(self) -> list[Tick]:
        return [Tick(self.x(at), label) for at, label in _times(self.window)]


def draw(series: Sequence[Series], window: Window, limits: Sequence[Limit] = ()) -> Drawing:
    """Draw series, and limits across them, into the window."""
    right = RIGHT_OF_TWO if any(one.on_the_right for one in series) else RIGHT
    scales = {
        side: Scale.of(
            [one for one in series if one.on_the_right is side],
            [limit for limit in limits if limit.on_the_right is side],
        )
        for side in (False, True)
    }
    times = _Times(window, right)
    return Drawing(
        lines=[_line(number, one, times, scales[one.on_the_right]) for number, one in enumerate(series)],
        rules=[Rule(scales[limit.on_the_right].y(limit.value), _limit_in_words(limit)) for limit in limits],
        y_ticks=scales[False].marks(),
        right_ticks=scales[True].marks() if right == RIGHT_OF_TWO else [],
        x_ticks=times.marks(),
        right=right,
        basis=_basis(series),
        columns=[one.label for one in series],
        rows=_rows(series),
    )


def _line(number: int, series: Series, times: _Times, scale: Scale) -> Line:
    runs = [[(times.x(at), scale.y(value)) for at, value in run] for run in _runs(series)]
    values = [value for _, value in series.points]
    latest, lowest, highest = (
        (number_in_words(value) for value in (values[-1], min(values), max(values))) if values else ("no data",) * 3
    )
    return Line(
        f"{series.label} (right axis)" if series.on_the_right else series.label,
        number % STYLES,
        " ".join(_path(run) for run in runs if len(run) > 1),
        [run[0] for run in runs if len(run) == 1],
        latest,
        lowest,
        highest,
    )


def _limit_in_words(limit: Limit) -> str:
    where = " on the right axis" if limit.on_the_right else ""
    return f"{limit.label or 'alarm'} at {number_in_words(limit.value)}{where}"


def _runs(series: Series) -> Iterator[list[tuple[datetime, float]]]:
    """Points without a gap between them: a period without data is not bridged."""
    run: list[tuple[datetime, float]] = []
    for point in series.points:
        if run and (point[0] - run[-1][0]).total_seconds() > 1.5 * series.period_s:
            yield run
            run = []
        run.append(point)
    if run:
        yield run


def _path(run: Sequence[tuple[float, float]]) -> str:
    """A path through the points; those in the middle of a level stretch are left out."""
    kept = [
        point
        for number, point in enumerate(run)
        if number in {0, len(run) - 1} or not run[number - 1][1] == point[1] == run[number + 1][1]
    ]
    return "M" + "L".join(f"{x:g} {y:g}" for x, y in kept)


def _nice_ticks(low: float, high: float, *, whole: bool) -> list[float]:
    """Round numbers that take in both; the highest is never the lowest."""
    span = high - low or 1.0
    magnitude = 10 ** math.floor(math.log10(span / _Y_TICKS))
    steps = (nice * magnitude for nice in _NICE)
    step = next(step for step in steps if step * _Y_TICKS >= span and (not whole or step == round(step)))
    first, last = math.floor(low / step), math.ceil((low + span) / step)
    return [number * step for number in range(first, last + 1)]


def _times(window: Window) -> Iterator[tuple[datetime, str]]:
    step = next((step for step in _TIME_STEPS if window.length / step <= _MOST_TIMES), _TIME_STEPS[-1])
    epoch = datetime(1970, 1, 5, tzinfo=UTC)  # a Monday
    at = epoch + math.ceil((window.start - epoch) / step) * step
    while at <= window.end:
        yield at, f"{at:%a %d}" if step >= timedelta(days=1) else f"{at:%H:%M}"
        at += step


def _basis(series: Sequence[Series]) -> str:
    said = dict.fromkeys(f"{one.statistic}, each {span_in_words(one.period_s)}" for one in series)
    return "; ".join(said)


def _rows(series: Sequence[Series]) -> list[tuple[str, list[str]]]:
    by_time = [dict(one.points) for one in series]
    times = sorted({at for one in by_time for at in one})[-_LATEST:]
    return [
        (f"{at:%a %H:%M}", [number_in_words(one[at]) if at in one else "none" for one in by_time])
        for at in reversed(times)
    ]


def number_in_words(value: float) -> str:
    """`0.25`, `1,204`, `12.3k`, `4.5M`."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            return f"{value / (1e3 if unit == 'k' else size):.4g}{unit}"
    return f"{value:,.0f}" if value == round(value) else f"{value:.3g}"


def span_in_words(seconds: int) -> str:
    """`30 s`, `5 min`, `2 h`."""
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds >= length and seconds % length == 0:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"
