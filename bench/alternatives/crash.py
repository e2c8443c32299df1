"""A worker is killed in the middle of a send, another takes over: what becomes of the delivery?"""

from __future__ import annotations

import json
import subprocess
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bench.alternatives.contestants import Contestant, Stand
from bench.alternatives.job import Task, how_many, sends
from bench.alternatives.race import ContestantError, plan, step, workers

OPEN: Final = frozenset({"planned", "queued", "sending", "retryable"})
_LOOK_S: Final = 3.0  # a look starts processes
_DIES_WITHIN_S: Final = 60.0
_RESTS_WITHIN_S: Final = 180.0


@dataclass(frozen=True)
class Aftermath:
    """What was found when everything had come to rest."""

    deliveries: int
    sent: Counter[str]  # how often each was accepted
    states: Mapping[str, int]  # what the rows say


def die_in_the_middle(contestant: Contestant, task: Task) -> Aftermath:
    """Plan, let the only worker die where the task says, start another, and wait until nothing moves any more."""
    with contestant(task) as stand:
        plan(stand, task)
        with workers(stand, task, 1) as (doomed,):
            _await_death(doomed)
        with workers(stand, task, 1):
            states = _at_rest(stand, task)
    return Aftermath(task.deliveries, sends(task.folder), states)


def _await_death(doomed: subprocess.Popen[bytes]) -> None:
    try:
        doomed.wait(_DIES_WITHIN_S)
    except subprocess.TimeoutExpired:
        raise ContestantError("the worker that was to die is still alive") from None


def _at_rest(stand: Stand, task: Task) -> Mapping[str, int]:
    """Wait until every row is at its end; or nothing is sent any more, and nothing is left that could be."""
    if stand.states is None:
        raise ContestantError("nobody can say what became of the rows")
    began, sent_before = time.monotonic(), -1
    while time.monotonic() - began < _RESTS_WITHIN_S:
        time.sleep(_LOOK_S)
        if stand.reconcile is not None:
            step(stand.reconcile, stand, task)
        told = json.loads(step(stand.states, stand, task).splitlines()[-1])
        rows: dict[str, int] = told["rows"]
        sent = how_many(task)
        if not OPEN & rows.keys() or (told["waiting"] == 0 and sent == sent_before):
            return rows
        sent_before = sent
    raise ContestantError(f"after {_RESTS_WITHIN_S:.0f} s something is still waiting for a worker")
