"""What was measured, as the report shows it and `bench.json` keeps it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Final

LARGE: Final = 1000  # from here on, nobody reads past the whole number


def shown(value: float) -> str:
    """`0.212`, `1,226`."""
    return f"{value:.3g}" if value < LARGE else f"{value:,.0f}"


@dataclass(frozen=True)
class Aim:
    """What a figure is to be: at most, or at least, so much."""

    at_most: float | None = None
    at_least: float | None = None

    def met_by(self, value: float) -> bool:
        """Whether a value is what it is to be."""
        return (self.at_most is None or value <= self.at_most) and (self.at_least is None or value >= self.at_least)

    def in_words(self) -> str:
        """`at most 1.5`."""
        return f"at most {self.at_most:g}" if self.at_most is not None else f"at least {self.at_least:g}"


@dataclass(frozen=True)
class Figure:
    """One figure, with every round's value."""

    name: str
    unit: str
    values: Sequence[float]
    aim: Aim | None = None
    note: str = ""

    @property
    def middle(self) -> float:
        """The median."""
        return median(self.values)

    @property
    def spread(self) -> str:
        """From the least to the most, empty where there is but one value."""
        return f"{shown(min(self.values))} to {shown(max(self.values))}" if len(self.values) > 1 else ""

    @property
    def verdict(self) -> str:
        """Whether its aim is met, empty where it has none."""
        if self.aim is None:
            return ""
        return "met" if self.aim.met_by(self.middle) else "not met"


@dataclass(frozen=True)
class Bars:
    """Figures side by side: each label's median, from its least to its most."""

    title: str
    unit: str
    figures: Sequence[Figure]


@dataclass(frozen=True)
class Curve:
    """Something over something, both on scales that multiply; a line for each label."""

    title: str
    across: str
    up: str
    lines: dict[str, Sequence[tuple[float, float]]]


@dataclass(frozen=True)
class Section:
    """What was asked, how, and what came out."""

    title: str
    command: str
    text: str
    figures: Sequence[Figure]
    plots: Sequence[Bars | Curve] = field(default=())
