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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from tests.proof.carrier import Kind
from tests.proof.cases import Case, Verdict, uncut
from tests.proof.exploration import Explored, explored
from tests.proof.outside import Side
from tests.proof.stories import STORIES


@dataclass(frozen=True, slots=True)
class Wish:
    """Which cuts to make: all, those of one process, a share."""

    process: str | None = None
    share: float = 1.0
    seed: int = 417

    def __call__(self, case: Case) -> bool:
        drawn = self.share >= 1 or random.Random(f"{self.seed} {case}").random() < self.share  # noqa: S311
        return drawn and self.process in {None, case.process}


def explore(cases: Sequence[Case], wish: Wish, *, workers: int) -> Iterator[Explored]:
    """Explore stories on so many processes, in whatever order they end."""
    # Fresh interpreters: what this one has imported or patched must not leak into a run.
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        yield from pool.imap_unordered(Exploring(wish), cases)


@dataclass(frozen=True, slots=True)
class Exploring:
    """`explored` with a wish, in a shape that can be sent to another process."""

    wish: Wish

    def __call__(self, case: Case) -> Explored:
        return explored(case, self.wish)


@dataclass(slots=True)
class Tally:
    """What is printed at the end of one kind of provider."""

    runs: int = 0
    failed: int = 0
    slowest: timedelta = timedelta()
    needless_doubt: int = 0

    def count(self, verdict: Verdict) -> None:
        self.runs += 1
        self.failed += bool(verdict.violations)
        self.slowest = max(self.slowest, verdict.took)
        self.needless_doubt += verdict.needless_doubt


@dataclass(slots=True)
class Matrix:
    """What has been found so far."""

    tallies: Mapping[Kind, Tally] = field(default_factory=lambda: {kind: Tally() for kind in Kind})
    sides: Counter[Side] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)
    stories: int = 0
    states: int = 0

    def add(self, found: Explored) -> None:
        self.stories += 1
        self.states += found.states
        self.calls.update(call.process for call in found.base.calls)
        for verdict in (found.base, *found.cuts):
            self.tallies[verdict.case.kind].count(verdict)
            self.sides.update(cut.side for cut in verdict.case.cuts)

    def report(self) -> Iterator[str]:
        yield f"{self.stories} stories x kinds, {self.calls.total()} calls: {_listed(self.calls)}"
        yield f"cut: {_listed(self.sides)}"
        yield f"{'provider':24}{'runs':>8}{'violations':>12}{'in doubt, never sent':>22}{'longest to rest':>18}"
        for kind, tally in self.tallies.items():
            yield f"{kind:24}{tally.runs:8}{tally.failed:12}{tally.needless_doubt:22}{tally.slowest!s:>18}"
        runs = sum(tally.runs for tally in self.tallies.values())
        yield f"{self.sides.total()} cuts, {runs} runs, {self.states} states, {self.failed} with violations"

    @property
    def failed(self) -> int:
        return sum(tally.failed for tally in self.tallies.values())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the matrix, or a part of it; 1 if any run violates an invariant."""
    wanted = _parser().parse_args(arguments)
    began = time.monotonic()
    stories = [story for story in STORIES.values() if wanted.story in {None, story.name}]
    cases = uncut(stories, [Kind(wanted.kind)] if wanted.kind else Kind)
    matrix = Matrix()
    for found in explore(cases, Wish(wanted.process, wanted.share, wanted.seed), workers=wanted.workers):
        matrix.add(found)
        _say(f"{matrix.stories} of {len(cases)}, {time.monotonic() - began:.0f} s: {found}")
        for verdict in (found.base, *found.cuts):
            for one in verdict.violations:
                _say(f"VIOLATION {verdict.case}\n    {one}")
    for line in matrix.report():
        _say(line)
    return int(bool(matrix.failed))


def _listed(counts: Counter[str] | Counter[Side]) -> str:
    return ", ".join(f"{number} {name}" for name, number in counts.most_common())


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
