"""What an operator is told of a summary."""

from __future__ import annotations

import pytest

from functions.core.summarising import Plain
from functions.core.summary import SummaryNote
from ops.cli.summaries import PLAIN_BECAUSE, summary_in_words
from tests.fakes.summaries import RECIPE


def test_a_written_one_says_by_whom_from_what_and_what_it_took() -> None:
    assert summary_in_words(SummaryNote(RECIPE, "written", 1700, 40)) == (
        "written by us.example.model-v1:0 from weekly-summary-v1, 1,740 tokens"
    )


@pytest.mark.parametrize(
    ("note", "told"),
    [
        (
            SummaryNote(RECIPE, "over_budget"),
            "none (over_budget): the week's tokens are used up (summary.tokens_per_period)",
        ),
        (SummaryNote(RECIPE, "unfit", 700, 40), "none (unfit): the answer was not fit to be printed, 740 tokens"),
        (SummaryNote(RECIPE, "max_tokens", 700, 200), "none (max_tokens), 900 tokens"),
        (SummaryNote(RECIPE, "AccessDeniedException"), "none (AccessDeniedException)"),
    ],
)
def test_a_plain_digest_says_why_it_is_one(note: SummaryNote, told: str) -> None:
    assert summary_in_words(note) == told


@pytest.mark.parametrize("why", Plain)
def test_every_reason_of_ours_is_explained(why: Plain) -> None:
    assert PLAIN_BECAUSE[why]
