"""Whatever call a process dies or fails at, nobody is left out and nobody gets it twice.

Every cut of the planner and of the email consumer, and a share of all others; `make crash-matrix` makes all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pytest

from tests.proof.carrier import Kind
from tests.proof.cases import Case, Verdict, judge, uncut
from tests.proof.exploration import explored
from tests.proof.matrix import Wish
from tests.proof.outside import Meanwhile
from tests.proof.stories import EVERY_KIND, STORIES

SHARE: Final = 0.006
AT_ONCE: Final = frozenset({Meanwhile.NOBODY, Meanwhile.TWIN})
WEEKS: Final = uncut(STORIES.values(), Kind)


def found_in(verdicts: Iterable[Verdict]) -> list[str]:
    return [f"{verdict.case}: {one}" for verdict in verdicts for one in verdict.violations]


def every_cut(story: str, kind: Kind, process: str) -> list[str]:
    found = explored(Case(story, kind), lambda case: case.process == process and case.cuts[0].meanwhile in AT_ONCE)
    assert found.cuts, f"{process} makes no call"
    return found_in((found.base, *found.cuts))


def test_wherever_a_planner_dies_everybody_who_was_due_gets_their_week() -> None:
    assert not every_cut("with a reminder", Kind.NONE, "planner")


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_wherever_an_email_consumer_dies_its_email_is_sent_once_or_known_to_be_in_doubt(kind: Kind) -> None:
    assert not every_cut("alone", kind, "email consumer")


def test_wherever_the_receipts_function_dies_what_was_in_doubt_is_settled() -> None:
    assert not every_cut("answer lost", Kind.EVENTS, "receipts")


@pytest.mark.parametrize("week", WEEKS, ids=str)
def test_whatever_else_goes_wrong_in_a_week(week: Case) -> None:
    found = explored(week, Wish(share=SHARE))
    assert not found_in((found.base, *found.cuts))


def test_a_run_that_is_recognised_ends_as_it_would_have_ended() -> None:
    """The proof of the shortcut: told to their ends, cuts come to what was known of the state they led to."""
    found = explored(Case("answer lost", Kind.EVENTS), Wish(share=0.05, seed=1))
    assert len(found.cuts) > 20
    for verdict in found.cuts:
        alone = judge(verdict.case)
        assert (alone.ends, alone.took, alone.violations) == (verdict.ends, verdict.took, verdict.violations)


def test_a_provider_that_forgets_its_keys_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The proof of the proof: a promise that is not kept shows as a second send."""
    monkeypatch.setattr("tests.proof.carrier.Carrier._remembered", lambda *_: None)
    assert any("sent 2 times" in one for one in found_in([judge(Case("answer lost", Kind.KEY))]))
