"""The figures of all runs as rows that a report can draw."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from bench.alternatives.crash import OPEN, Aftermath
from bench.alternatives.job import Death
from bench.alternatives.race import Planned, Worked

MS: Final = "ms of CPU a delivery"
RATE: Final = "deliveries a second"


@dataclass(frozen=True)
class Row:
    """One figure of one contestant over all rounds."""

    name: str
    figure: str
    unit: str
    median: float
    min: float
    max: float
    rounds: int
    note: str = ""

    @classmethod
    def of(cls, name: str, figure: str, unit: str, found: Sequence[float], note: str = "") -> Row:
        """Return the row of what was found in each round. Raises ValueError if that is nothing."""
        if not found:
            raise ValueError(f"{name}, {figure}: no round was measured")
        return cls(name, figure, unit, statistics.median(found), min(found), max(found), len(found), note)


@dataclass(frozen=True)
class Run:
    """One run of one contestant."""

    processes: int
    planned: Planned
    worked: Worked


def rows_of(name: str, runs: Iterable[Run], *, note: str, server: str | None) -> Iterator[Row]:
    """Yield a contestant's figures; `server` says what its server's CPU is worth, None where it does no work."""
    by_processes: dict[int, list[Run]] = {}
    for run in runs:
        by_processes.setdefault(run.processes, []).append(run)
    alone = by_processes[1]
    planner = [_ms(one.planned.planner_cpu_s, one.planned.deliveries) for one in alone]
    yield Row.of(name, "planner", MS, planner, note)
    yield Row.of(name, "worker", MS, [_ms(one.worked.worker_cpu_s, one.worked.deliveries) for one in alone], note)
    if server is not None:
        planning = [_ms(one.planned.server_cpu_s, one.planned.deliveries) for one in alone]
        yield Row.of(name, "server, planning", MS, planning, server)
        carrying = [_ms(one.worked.server_cpu_s, one.worked.deliveries) for one in alone]
        yield Row.of(name, "server, carrying", MS, carrying, server)
    for processes, several in sorted(by_processes.items()):
        rates = [one.worked.deliveries / one.worked.wall_s for one in several]
        yield Row.of(name, f"throughput, {processes} at work", RATE, rates, "with its servers on the same cores")


@dataclass(frozen=True)
class Crash:
    """What became of the deliveries of a worker that was killed: a number for each trial, no two of which are alike."""

    name: str
    killed: Death
    deliveries: int
    given_twice: list[int]  # to the provider: one that honours keys answers as it did the first time
    never_given: list[int]
    left_open: list[int]  # the row says that it is to be sent, and nothing is going to send it
    in_doubt: list[int]  # the row says that nobody knows

    @classmethod
    def of(cls, name: str, killed: Death, trials: Sequence[Aftermath]) -> Crash:
        """Return what was found in each trial. Raises ValueError if there was none."""
        if not trials:
            raise ValueError(f"{name}, killed {killed}: there was no trial")
        return cls(
            name,
            killed,
            trials[0].deliveries,
            given_twice=[sum(1 for times in one.sent.values() if times > 1) for one in trials],
            never_given=[one.deliveries - len(one.sent) for one in trials],
            left_open=[sum(number for state, number in one.states.items() if state in OPEN) for one in trials],
            in_doubt=[one.states.get("uncertain", 0) for one in trials],
        )


def _ms(seconds: float, deliveries: int) -> float:
    return 1000 * seconds / deliveries
