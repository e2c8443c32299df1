"""Look for trouble for as long as told: new examples of the model, and two things going wrong in one run.

python -m tests.proof.soak --seconds 600
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.proof.carrier import Kind
from tests.proof.cases import Case, Verdict, cuts_of, judge, uncut
from tests.proof.machine import Deliveries
from tests.proof.outside import Cut, Meanwhile, Side
from tests.proof.stories import STORIES

EXAMPLES: Final = 50
RUNS: Final = 100
LATER: Final = 40  # how many calls after the first cut the second one may come


def worker(seed_of_this_one: int, until: float) -> tuple[int, int, list[str]]:
    """Alternate until the time is up, or until something is found; return examples, runs and what was found."""
    chance = random.Random(seed_of_this_one)  # noqa: S311
    examples = runs = 0
    bases: dict[tuple[str, Kind], Verdict] = {}
    while time.monotonic() < until:
        try:
            _examples(chance.getrandbits(64))
        except Exception:  # noqa: BLE001 - whatever it is, it is what we look for
            return examples, runs, [traceback.format_exc()]
        examples += EXAMPLES
        for _ in range(RUNS):
            verdict = judge(_two_cuts(chance, bases))
            runs += 1
            if verdict.violations:
                return examples, runs, [f"{verdict.case}: {one}" for one in verdict.violations]
            if time.monotonic() >= until:
                break
    return examples, runs, []


def _examples(number: int) -> None:
    again = settings(
        max_examples=EXAMPLES,
        stateful_step_count=60,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(seed(number)(Deliveries), settings=again)


def _two_cuts(chance: random.Random, bases: dict[tuple[str, Kind], Verdict]) -> Case:
    base_case = chance.choice(uncut(STORIES.values(), Kind))
    key = (base_case.story, base_case.kind)
    if key not in bases:
        bases[key] = judge(base_case)
    first = chance.choice(list(cuts_of(bases[key])))
    second = Cut(
        first.cuts[0].number + chance.randint(1, LATER), chance.choice(list(Side)), chance.choice(list(Meanwhile)[:3])
    )
    return replace(first, cuts=(*first.cuts, second))


def main(arguments: Sequence[str] | None = None) -> int:
    """Soak on all cores; 1 if anything was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=None, help="begin with this one, to see the same again")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    wanted = parser.parse_args(arguments)
    first_seed = random.SystemRandom().randrange(2**32) if wanted.seed is None else wanted.seed
    until = time.monotonic() + wanted.seconds
    with multiprocessing.get_context("spawn").Pool(wanted.workers) as pool:
        results = pool.starmap(worker, [(first_seed + number, until) for number in range(wanted.workers)])
    found = [one for _, _, trouble in results for one in trouble]
    examples, runs = sum(result[0] for result in results), sum(result[1] for result in results)
    lines = [*found, f"seed {first_seed}: {examples} examples, {runs} runs with two cuts, {len(found)} found"]
    sys.stdout.write("\n".join(lines) + "\n")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
