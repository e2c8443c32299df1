"""Contestants in turn, round after round, so that what the machine does meanwhile meets all of them alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter

from bench import cast
from bench.contest import Measured, endpoint, run_apart


def rounds(module: str, contestants: Mapping[str, int], *, times: int, shards: int = 4) -> dict[str, list[Measured]]:
    """Measure each contestant so many times, with the size of work that it is given."""
    measured = []
    for _ in range(times):
        for contestant, size in contestants.items():
            with endpoint(customers=size, shards=shards, due_at=cast.moment()) as url:
                measured.append(run_apart(module, contestant, url=url, size=size))
    return by_contestant(measured)


def by_contestant(measured: Iterable[Measured]) -> dict[str, list[Measured]]:
    """Group what was measured by who did it."""
    name = attrgetter("contestant")
    return {contestant: list(each) for contestant, each in groupby(sorted(measured, key=name), key=name)}


def cpu_ms(measured: Sequence[Measured]) -> list[float]:
    """Milliseconds of the client's CPU for one delivery, round by round."""
    return [one.cpu_ms_each for one in measured]


def ratios(over: Sequence[Measured], under: Sequence[Measured]) -> list[float]:
    """How much more CPU one took than the other, in the same round."""
    return [one.cpu_ms_each / other.cpu_ms_each for one, other in zip(over, under, strict=True)]
