"""Whatever call a process dies or fails at, nobody is left out and nobody gets it twice.

Every cut of the planner and of the email consumer, and a share of all others; `make crash-matrix` makes all of them.
"""

from __future__ import annotations

import random
from typing import Final

import pytest

from tests.proof.carrier import Kind
from tests.proof.matrix import Case, cuts_of, judge, uncut
from tests.proof.outside import Meanwhile
from tests.proof.stories import EVERY_KIND, STORIES

SEED: Final = 417
PARTS: Final = 8
RUNS_IN_A_PART: Final = 25
AT_ONCE: Final = frozenset({Meanwhile.NOBODY, Meanwhile.TWIN})


def found_in(cases: list[Case]) -> list[str]:
    return [f"{verdict.case}: {one}" for verdict in map(judge, cases) for one in verdict.violations]


def cuts(story: str, kind: Kind, process: str) -> list[Case]:
    base = judge(Case(story, kind))
    assert not base.violations
    wanted = [case for case in cuts_of(base) if case.process == process and case.cuts[0].meanwhile in AT_ONCE]
    assert wanted, f"{process} makes no call"
    return wanted


def test_wherever_a_planner_dies_everybody_who_was_due_gets_their_week() -> None:
    assert not found_in(cuts("with a reminder", Kind.NONE, "planner"))


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_wherever_an_email_consumer_dies_its_email_is_sent_once_or_known_to_be_in_doubt(kind: Kind) -> None:
    assert not found_in(cuts("alone", kind, "email consumer"))


@pytest.mark.parametrize("part", range(PARTS))
def test_whatever_else_goes_wrong_in_a_week(part: int) -> None:
    chance = random.Random(SEED + part)  # noqa: S311
    cases: list[Case] = []
    weeks = uncut(STORIES.values(), Kind)[part::PARTS]
    for base in map(judge, weeks):
        assert not base.violations
        cases += chance.sample(list(cuts_of(base)), RUNS_IN_A_PART // len(weeks) + 1)
    assert not found_in(cases)


def test_a_provider_that_forgets_its_keys_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The proof of the proof: a promise that is not kept shows as a second send."""
    monkeypatch.setattr("tests.proof.carrier.Carrier._remembered", lambda *_: None)
    assert any("sent 2 times" in one for one in found_in([Case("answer lost", Kind.KEY)]))
