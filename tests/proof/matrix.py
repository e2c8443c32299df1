"""The crash matrix: every story, told again once for each call that it makes and each thing that can go wrong there.

python -m tests.proof.matrix [--share 0.1 --seed 7] [--story NAME] [--kind KIND] [--process NAME]
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import chain
from typing import Final

from functions.core.delivery import Status
from tests.fakes.clock import SUNDAY_EVENING
from tests.proof.carrier import Kind
from tests.proof.invariants import violations
from tests.proof.outside import LEAVES_AN_EFFECT, Call, Cut, Meanwhile, Side
from tests.proof.stories import STORIES, Story
from tests.proof.world import RestlessError, a_world

PROGRESS_EVERY: Final = 1000


@dataclass(frozen=True, slots=True)
class Case:
    """One run: a story, a kind of provider, and where it is cut (nowhere: the run that finds the calls)."""

    story: str
    kind: Kind
    cuts: tuple[Cut, ...] = ()
    call: str = ""
    process: str = ""

    def __str__(self) -> str:
        where = "".join(f" | {cut.number} {cut.side} {cut.meanwhile}" for cut in self.cuts) or " | uncut"
        return f"{self.story} | {self.kind} | {self.process}: {self.call}{where}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a run came to."""

    case: Case
    calls: tuple[Call, ...]
    violations: tuple[str, ...]
    ends: tuple[Status, ...]
    took: timedelta  # from the planner's wake-up until everything was quiet
    needless_doubt: int  # uncertain rows that were never sent


def judge(case: Case) -> Verdict:
    """Run a case to its end and look at what is left."""
    story = STORIES[case.story]
    with a_world(case.kind, story.channel, *case.cuts) as world:
        story.tell(world)
        found: list[str] = []
        try:
            world.play()
        except RestlessError as error:
            found.append(str(error))
        if case.cuts and not world.outside.was_cut:
            found.append("the cut was never reached: the run is not the same twice")
        found.extend(violations(world, story))
        rows = world.rows()
        return Verdict(
            case,
            tuple(world.outside.calls),
            tuple(found),
            tuple(row.status for row in rows),
            world.clock() - SUNDAY_EVENING,
            sum(row.status is Status.UNCERTAIN and not world.carrier.operations[str(row.delivery_id)] for row in rows),
        )


def cuts_of(base: Verdict) -> Iterator[Case]:
    """Every case that follows from an uncut run."""
    for call in base.calls:
        for meanwhile, sides in _what_may_happen(base.case.kind, call):
            for side in sides:
                cut = Cut(call.number, side, meanwhile)
                yield Case(base.case.story, base.case.kind, (cut,), call.name, call.process)


def _what_may_happen(kind: Kind, call: Call) -> Iterator[tuple[Meanwhile, Sequence[Side]]]:
    yield Meanwhile.NOBODY, call.sides
    yield Meanwhile.TWIN, (Side.NONE, *call.sides)
    if call.process != "reconciler":
        yield Meanwhile.SWEEP, (Side.NONE, *(side for side in call.sides if side in LEAVES_AN_EFFECT))
    if kind is Kind.EVENTS and call.process.endswith("consumer"):
        yield Meanwhile.EVENT, (Side.NONE, *(side for side in call.sides if side in LEAVES_AN_EFFECT))


def uncut(stories: Iterable[Story], kinds: Iterable[Kind]) -> list[Case]:
    wanted = set(kinds)
    return [Case(story.name, kind) for story in stories for kind in story.kinds if kind in wanted]


def tell(cases: Sequence[Case], *, workers: int) -> Iterator[Verdict]:
    """Run cases on so many processes, in whatever order they end."""
    if workers == 1:
        yield from map(judge, cases)
        return
    # Fresh interpreters: what this one has imported or patched must not leak into a run.
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        yield from pool.imap_unordered(judge, cases, chunksize=8)


@dataclass(slots=True)
class Tally:
    """What is printed at the end."""

    runs: int = 0
    failed: int = 0
    slowest: timedelta = timedelta()
    needless_doubt: int = 0

    def count(self, verdict: Verdict) -> None:
        self.runs += 1
        self.failed += bool(verdict.violations)
        self.slowest = max(self.slowest, verdict.took)
        self.needless_doubt += verdict.needless_doubt


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the matrix, or a part of it; 1 if any run violates an invariant."""
    wanted = _parser().parse_args(arguments)
    began = time.monotonic()
    stories = [story for story in STORIES.values() if wanted.story in {None, story.name}]
    bases = list(tell(uncut(stories, [Kind(wanted.kind)] if wanted.kind else Kind), workers=wanted.workers))
    cases = [case for base in bases for case in cuts_of(base) if wanted.process in {None, case.process}]
    if wanted.share < 1:
        cases = random.Random(wanted.seed).sample(cases, round(len(cases) * wanted.share))  # noqa: S311
    tallies = {kind: Tally() for kind in Kind}
    sides: Counter[Side] = Counter(cut.side for case in cases for cut in case.cuts)
    for number, verdict in enumerate(chain(bases, tell(cases, workers=wanted.workers)), start=1):
        tallies[verdict.case.kind].count(verdict)
        if number % PROGRESS_EVERY == 0:
            _say(f"{number} of {len(bases) + len(cases)} runs, {time.monotonic() - began:.0f} s")
        for one in verdict.violations:
            _say(f"VIOLATION {verdict.case}\n    {one}")
    _report(tallies, sides, bases, time.monotonic() - began)
    return int(any(tally.failed for tally in tallies.values()))


def _report(tallies: Mapping[Kind, Tally], sides: Counter[Side], bases: Sequence[Verdict], took_s: float) -> None:
    calls = Counter(call.process for base in bases for call in base.calls)
    _say(f"{len(bases)} stories x kinds, {calls.total()} calls: " + ", ".join(f"{n} {p}" for p, n in calls.items()))
    _say("cut: " + ", ".join(f"{number} {side}" for side, number in sides.items()))
    _say(f"{'provider':24}{'runs':>8}{'violations':>12}{'in doubt, never sent':>22}{'longest to rest':>18}")
    for kind, tally in tallies.items():
        _say(f"{kind:24}{tally.runs:8}{tally.failed:12}{tally.needless_doubt:22}{tally.slowest!s:>18}")
    total, failed = sum(t.runs for t in tallies.values()), sum(t.failed for t in tallies.values())
    _say(f"{sides.total()} cuts, {total} runs, {failed} with violations, {took_s:.0f} s")


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--story", choices=STORIES)
    parser.add_argument("--kind", choices=[str(kind) for kind in Kind])
    parser.add_argument("--process", help="only cuts of this process: planner, 'email consumer', reconciler")
    parser.add_argument("--share", type=float, default=1.0, help="run this share of the cuts, drawn with --seed")
    parser.add_argument("--seed", type=int, default=417)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    return parser


if __name__ == "__main__":
    sys.exit(main())
