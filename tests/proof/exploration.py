"""Tell a story once and fork at each call: in each fork one thing goes wrong there, and it goes on to its own end.

What came before the call is shared by all of them, and a state is told to its end once: two runs that leave the same
rows, gates and messages at the same time go on alike, so the second is known from there.
"""

from __future__ import annotations

import gc
import os
import pickle
import random
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NoReturn

from tests.proof.cases import Case, Verdict, cuts_at, judge, told
from tests.proof.outside import Call, Cut
from tests.proof.stories import STORIES
from tests.proof.world import World, a_world


class KnownError(Exception):
    """This state has been told to its end before."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__()
        self.verdict = verdict


@dataclass(slots=True)
class Exploration:
    """The cuts of one story with one kind of provider, as many as are `wanted`."""

    base: Verdict
    wanted: Callable[[Case], bool]
    verdicts: list[Verdict] = field(default_factory=list)
    known: dict[bytes, Verdict] = field(default_factory=dict)
    _fork: _Fork | None = None

    def run(self) -> None:
        """Tell the story; comes back in the process that began it only."""
        with a_world(self.base.case.kind, STORIES[self.base.case.story].channel, self._choose) as world:
            try:
                verdict = told(self.base.case, world, lambda: self._look(world))
            except KnownError as known:
                verdict = known.verdict
            except BaseException:
                if self._fork is None:
                    raise
                verdict = replace(self.base, violations=(traceback.format_exc(),))
            if self._fork is not None:
                self._fork.end(verdict)

    def _choose(self, call: Call) -> Cut | None:
        """Fork once for everything that may go wrong at a call. A fork learns here what it is for."""
        if self._fork is not None:
            return None
        for case in cuts_at(self.base.case, call):
            if self.wanted(case) and self._is_fork(case):
                return case.cuts[0]
        return None

    def _is_fork(self, case: Case) -> bool:
        reading, writing = os.pipe()
        chance = random.getstate()
        child = os.fork()
        if child == 0:
            random.setstate(chance)  # Python seeds a fork anew, and it would not be the run that the case names
            gc.disable()  # a collection would copy every page that the fork shares
            os.close(reading)
            self._fork = _Fork(writing)
            return True
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            answer = pipe.read()
        os.waitpid(child, 0)
        self._learn(case, *pickle.loads(answer))  # noqa: S301 - written by our own fork
        return False

    def _learn(self, case: Case, verdict: Verdict, new: list[bytes]) -> None:
        self.verdicts.append(replace(verdict, case=case))
        self.known.update(dict.fromkeys(new, verdict))

    def _look(self, world: World) -> None:
        """Stop a fork where somebody has been before."""
        if self._fork is None:
            return
        state = world.state()
        if state in self.known:
            raise KnownError(self.known[state])
        self._fork.visited.append(state)


@dataclass(slots=True)
class _Fork:
    """A process that tells one cut to its end and hands over what it saw."""

    writing: int
    visited: list[bytes] = field(default_factory=list)

    def end(self, verdict: Verdict) -> NoReturn:
        with os.fdopen(self.writing, "wb") as pipe:
            pickle.dump((replace(verdict, calls=()), self.visited), pipe)
        os._exit(0)


@dataclass(frozen=True, slots=True)
class Explored:
    """A story with one kind of provider: its run without a cut, its cuts, and how many states they came through."""

    base: Verdict
    cuts: tuple[Verdict, ...] = ()
    states: int = 0

    def __str__(self) -> str:
        return f"{self.base.case.story}, {self.base.case.kind}: {len(self.cuts)} cuts, {self.states} states"


def explored(case: Case, wanted: Callable[[Case], bool] = lambda _: True) -> Explored:
    """Tell a story uncut, and if that ends as it must, once more with a fork for each wanted cut."""
    base = judge(case)
    if base.violations:
        return Explored(base)
    exploration = Exploration(base, wanted)
    exploration.run()
    return Explored(base, tuple(exploration.verdicts), len(exploration.known))
