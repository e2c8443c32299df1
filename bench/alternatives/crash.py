"""A worker is killed in the middle of a send, another takes over: what becomes of the delivery?"""

from __future__ import annotations

import json
import subprocess
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bench.alternatives.contestants import LEASE_S, Contestant, Stand
from bench.alternatives.job import Task, how_many, sends
from bench.alternatives.race import ContestantError, plan, step, workers

OPEN: Final = frozenset({"planned", "queued", "sending", "retryable"})
# Whatever is to come back has come back when nothing has moved for two leases.
QUIET_S: Final = 2 * LEASE_S + 2
_LOOK_S: Final = 1.0
_DIES_WITHIN_S: Final = 60.0


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
    sent, moved_at = how_many(task), time.monotonic()
    while True:
        time.sleep(_LOOK_S)
        if (now_sent := how_many(task)) > sent:
            sent, moved_at = now_sent, time.monotonic()
        if stand.reconcile is not None:
            step(stand.reconcile, stand, task)
        states: dict[str, int] = json.loads(step(stand.states or [], stand, task).splitlines()[-1])
        if not OPEN & states.keys() or time.monotonic() - moved_at > QUIET_S:
            return states
