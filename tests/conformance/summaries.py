"""What the record of summaries, and a week's tokens, must do, whatever they stand on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace

import pytest

from functions.core.identity import Channel
from functions.core.ports import Summaries, TokenBudget
from functions.core.summary import Summary, SummaryNote
from tests.fakes.examples import a_delivery
from tests.fakes.summaries import RECIPE

WRITTEN = Summary(SummaryNote(RECIPE, "written", 700, 40), "A quiet week with one lamp in it.")
UNFIT = Summary(SummaryNote(replace(RECIPE, temperature=0.2), "unfit", 700, 200))


class SummariesConformance(ABC):
    """`summaries` holds nothing; CUSTOMER is a customer, and c-404 is none."""

    @pytest.fixture
    @abstractmethod
    def summaries(self) -> Summaries: ...

    @pytest.mark.parametrize("summary", [WRITTEN, UNFIT])
    def test_what_was_kept_is_read_for_its_delivery_and_no_other(self, summaries: Summaries, summary: Summary) -> None:
        assert summaries.read(a_delivery().delivery_id) is None
        assert summaries.keep(a_delivery(), summary) == summary
        assert summaries.read(a_delivery().delivery_id) == summary
        other_week = replace(a_delivery().delivery_id, occasion="2026-11-23")
        assert summaries.read(other_week) is None
        assert summaries.read(a_delivery(channel=Channel.SMS).delivery_id) is None

    def test_the_first_that_is_kept_stays_and_whoever_comes_second_is_given_it(self, summaries: Summaries) -> None:
        summaries.keep(a_delivery(), WRITTEN)
        assert summaries.keep(a_delivery(), UNFIT) == WRITTEN
        assert summaries.read(a_delivery().delivery_id) == WRITTEN

    def test_nothing_is_kept_of_somebody_who_was_erased(self, summaries: Summaries) -> None:
        assert summaries.keep(a_delivery("c-404"), WRITTEN) is None
        assert summaries.read(a_delivery("c-404").delivery_id) is None


class TokenBudgetConformance(ABC):
    """`budget` has 1,000 tokens for each week."""

    @pytest.fixture
    @abstractmethod
    def budget(self) -> TokenBudget: ...

    def test_a_week_s_tokens_are_given_out_to_the_last_one_and_no_further(self, budget: TokenBudget) -> None:
        assert [budget.reserve("2026-11-16", 400) for _ in range(3)] == [True, True, False]
        assert budget.reserve("2026-11-16", 200)
        assert not budget.reserve("2026-11-16", 1)

    def test_what_was_not_used_is_there_for_others(self, budget: TokenBudget) -> None:
        assert budget.reserve("2026-11-16", 1000)
        budget.give_back("2026-11-16", 600)
        assert budget.reserve("2026-11-16", 600)
        assert not budget.reserve("2026-11-16", 1)

    def test_each_week_has_its_own(self, budget: TokenBudget) -> None:
        assert budget.reserve("2026-11-16", 1000)
        assert budget.reserve("2026-11-23", 1000)
