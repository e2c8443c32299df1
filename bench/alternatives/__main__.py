"""Our handlers beside what people would use instead: same machine, same run, same job.

    make bench-setup
    python -m bench.alternatives --out out/bench/alternatives.json

Needs PostgreSQL and Redis on the machine; it starts its own, on free ports, and ends them. Say what is compared, and
what is not, with every figure: DynamoDB's and SQS's own work is done elsewhere, PostgreSQL's and Redis's is done here.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import typer

from bench import cast
from bench.alternatives import contestants
from bench.alternatives.contestants import Contestant
from bench.alternatives.crash import Aftermath, die_in_the_middle
from bench.alternatives.figures import MS, Crash, Row, Run, rows_of
from bench.alternatives.job import Death, Task, composing
from bench.alternatives.race import run
from bench.alternatives.servers import postgres_programs, redis_program

FAILS_EVERY: Final = 20
EMULATED: Final = 4  # times fewer deliveries: the emulator is slow, and not what is measured
DOOMED: Final = 40
AT_ONCE: Final = 8  # crashes are waited for, not measured

Found = TypeVar("Found")

LOOPBACK, EMULATOR = "ours, services that answer at once", "ours, on the emulator"
PGQUEUER, CLAIMING = "pgqueuer on PostgreSQL", "pgqueuer, the row claimed first"
CELERY = "Celery on Redis"
FLUSHED = "PostgreSQL as delivered: flushed to disk at every commit"


@dataclass(frozen=True)
class Entry:
    """A contestant of the race, and what has to be said of its figures; `server` None: its servers do no work."""

    contestant: Contestant
    note: str
    server: str | None


RACE: Final[Mapping[str, Entry]] = {
    PGQUEUER: Entry(contestants.pgqueuer, "as many sends at once as there are jobs", FLUSHED),
    CLAIMING: Entry(partial(contestants.pgqueuer, claims=True), "as many sends at once as there are jobs", FLUSHED),
    CELERY: Entry(contestants.celery, "the parent and its children", "Redis with its log flushed every second"),
    LOOPBACK: Entry(contestants.on_loopback, "planned with an email and a text for each customer", None),
    EMULATOR: Entry(
        contestants.on_emulator,
        "with the polling that Lambda does elsewhere",
        "not comparable: an emulator in Python, in DynamoDB's and SQS's place",
    ),
}
CRASHES: Final[Mapping[str, Contestant]] = {
    PGQUEUER: contestants.pgqueuer,
    CLAIMING: partial(contestants.pgqueuer, claims=True),
    f"{CELERY}, late acknowledgement": contestants.celery,
    f"{CELERY}, as it comes": partial(contestants.celery, acks_late=False),
    "ours, a provider without keys": contestants.on_emulator,
    "ours, a provider that honours keys": partial(contestants.on_emulator, knows_keys=True),
}


def main(
    *,
    deliveries: Annotated[int, typer.Option(min=200, help="In each run.")] = 1000,
    rounds: Annotated[int, typer.Option(min=1, help="Of every contestant, in turn.")] = 3,
    trials: Annotated[int, typer.Option(min=1, help="Of each way in which a worker dies.")] = 3,
    out: Annotated[Path | None, typer.Option(help="File for the figures; standard output if left out.")] = None,
) -> None:
    """Measure, and write the figures as JSON."""
    if missing := contestants.missing():
        _say("\n".join(missing))
        raise typer.Exit(2)
    told = {
        "about": _about(deliveries),
        "rows": [asdict(row) for row in _race(deliveries, rounds)],
        "crashes": [asdict(crash) for crash in _crashes(trials)],
    }
    text = json.dumps(told, indent=1) + "\n"
    if out is None:
        print(text)  # noqa: T201
    else:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text, encoding="utf-8")


def _race(deliveries: int, rounds: int) -> list[Row]:
    runs: dict[str, list[Run]] = {name: [] for name in RACE}
    composed: list[float] = []
    for number in range(1, rounds + 1):
        composed.append(_in_scratch(deliveries, _composing_ms))
        for name, entry in RACE.items():
            for processes in (1, 2):
                _say(f"round {number} of {rounds}: {name}, {processes} at work")
                size = deliveries // EMULATED if name == EMULATOR else deliveries
                planned, worked = _in_scratch(size, partial(run, entry.contestant, processes=processes))
                runs[name].append(Run(processes, planned, worked))
    rows = [Row.of("everybody", "of it, composing the email", MS, composed, "in the worker's figure of each")]
    for name, entry in RACE.items():
        rows.extend(rows_of(name, runs[name], note=entry.note, server=entry.server))
    return rows


def _composing_ms(task: Task) -> float:
    compose, ids = composing(task), list(task.delivery_ids)
    compose(ids[0])
    cpu = time.process_time()
    for delivery_id in ids:
        compose(delivery_id)
    return 1000 * (time.process_time() - cpu) / len(ids)


def _crashes(trials: int) -> list[Crash]:
    cases = [(name, killed) for name in CRASHES for killed in Death]
    _say(f"{trials} times {len(cases)} workers die")
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = list(pool.map(_crash, cases * trials))
    return [Crash.of(*case, found[number :: len(cases)]) for number, case in enumerate(cases)]


def _crash(case: tuple[str, Death]) -> Aftermath:
    name, killed = case
    return _in_scratch(DOOMED, partial(die_in_the_middle, CRASHES[name]), fails_every=0, dies=killed)


def _in_scratch(
    size: int, do: Callable[[Task], Found], *, fails_every: int = FAILS_EVERY, dies: Death | None = None
) -> Found:
    with tempfile.TemporaryDirectory(prefix="digest-bench-") as folder:
        return do(Task(Path(folder), size, cast.moment(), fails_every, dies))


def _about(deliveries: int) -> dict[str, Any]:
    """Return what the figures were measured with."""
    programs = [str(postgres_programs() / "postgres"), redis_program()]
    packages = {"celery", "pgqueuer", "redis", "asyncpg"}
    locked = (Path(__file__).parents[2] / "requirements" / "bench.txt").read_text(encoding="utf-8").split()
    return {
        "at": cast.moment().isoformat(),
        "deliveries": deliveries,
        "fails_first_time": f"1 of {FAILS_EVERY}",
        "cpus": os.cpu_count(),
        "load_at_start": os.getloadavg()[0],
        "python": platform.python_version(),
        "servers": [subprocess.check_output([one, "--version"], text=True).strip() for one in programs],
        "packages": [one for one in locked if one.partition("==")[0] in packages],
    }


def _say(text: str) -> None:
    print(text, file=sys.stderr)  # noqa: T201 - standard output is for the figures


if __name__ == "__main__":
    typer.run(main)
