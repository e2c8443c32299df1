"""One run of one contestant: seed, plan with nobody at work, then let so many processes work, and read the clocks.

CPU and time are read twice, when a tenth of all deliveries is sent and when nineteen of twenty are: what starts up, and
the last retries that are waited for, are outside.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final

import psutil

from bench.alternatives.contestants import ROOT, Command, Contestant, Stand, environment_of
from bench.alternatives.job import Task, how_many
from bench.alternatives.servers import cpu_s

FIRST, LAST = 0.10, 0.95
STALLED_S: Final = 60.0
_LOOK_S: Final = 0.01


class ContestantError(RuntimeError):
    """A contestant's process failed or stopped getting on; the text ends with its last words."""


@dataclass(frozen=True)
class Planned:
    """What planning took: seconds of CPU of the process that plans, and of the servers."""

    deliveries: int
    planner_cpu_s: float
    server_cpu_s: float


@dataclass(frozen=True)
class Worked:
    """What carrying took between two readings."""

    deliveries: int
    wall_s: float
    worker_cpu_s: float
    server_cpu_s: float


@dataclass(frozen=True)
class Reading:
    """How far all are at a moment."""

    at: float
    sent: int
    worker_cpu_s: float
    server_cpu_s: float


def run(contestant: Contestant, task: Task, *, processes: int) -> tuple[Planned, Worked]:
    """Let a contestant do the task once."""
    with contestant(task) as stand:
        planned = plan(stand, task)
        with workers(stand, task, processes) as at_work:
            return planned, _watch(stand, task, at_work)


def plan(stand: Stand, task: Task) -> Planned:
    """Seed the servers, and plan."""
    if stand.seed is not None:
        step(stand.seed, stand, task)
    before = cpu_s(stand.servers)
    told = json.loads(step(stand.plan, stand, task).splitlines()[-1])
    return Planned(told["deliveries"], told["cpu_s"], cpu_s(stand.servers) - before)


def step(command: Command, stand: Stand, task: Task) -> str:
    """Run a step to its end; return what it said."""
    done = subprocess.run(
        command, cwd=ROOT, env=environment_of(stand, task), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise ContestantError(f"{' '.join(command[1:])} failed:\n{done.stderr[-4000:]}")
    return done.stdout


@contextmanager
def workers(stand: Stand, task: Task, processes: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Have so many processes at work, each with a log and a process group of its own; all end with the block."""
    started = []
    try:
        for number, command in enumerate(stand.work(processes)):
            with (task.folder / f"worker-{number}.log").open("ab") as log:
                started.append(
                    subprocess.Popen(
                        command,
                        cwd=ROOT,
                        env=environment_of(stand, task),
                        stdin=subprocess.DEVNULL,
                        stdout=log,
                        stderr=log,
                        start_new_session=True,
                    )
                )
        yield started
    finally:
        for process in started:
            # With all of its children, and at once: what it was to be measured for is done.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _watch(stand: Stand, task: Task, at_work: Sequence[subprocess.Popen[bytes]]) -> Worked:
    roots = [psutil.Process(process.pid) for process in at_work]
    first, last = (_read_at(share, stand, task, roots) for share in (FIRST, LAST))
    return between(first, last)


def _read_at(share: float, stand: Stand, task: Task, roots: Sequence[psutil.Process]) -> Reading:
    """Wait until such a share is sent, and read."""
    wanted, sent, moved_at = share * task.deliveries, 0, time.monotonic()
    while (now_sent := how_many(task)) < wanted:
        if now_sent > sent:
            sent, moved_at = now_sent, time.monotonic()
        # Whoever is done stays a zombie until the end, so that its times can still be read.
        gone = all(one.status() == psutil.STATUS_ZOMBIE for one in roots)
        if gone or time.monotonic() - moved_at > STALLED_S:
            raise ContestantError(f"{now_sent} of {task.deliveries} were sent, and no more:\n{_last_words(task)}")
        time.sleep(_LOOK_S)
    return Reading(time.monotonic(), how_many(task), cpu_s(roots), cpu_s(stand.servers))


def _last_words(task: Task) -> str:
    return "\n".join(log.read_text(errors="replace")[-2000:] for log in sorted(task.folder.glob("worker-*.log")))


def between(first: Reading, last: Reading) -> Worked:
    """Return what was done and taken between two readings. Raises ContestantError if that was nothing."""
    if last.sent == first.sent:
        raise ContestantError("all was sent before the clocks could be read twice: take more deliveries")
    return Worked(
        last.sent - first.sent,
        last.at - first.at,
        last.worker_cpu_s - first.worker_cpu_s,
        last.server_cpu_s - first.server_cpu_s,
    )
