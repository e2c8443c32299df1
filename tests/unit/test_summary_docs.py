"""What docs/summary.md tells those who switch summaries on."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from functions.core.content.summary import _FEWEST_WORDS, _LONGEST
from functions.core.summarising import FINISHED, Plain
from functions.core.summary import WRITTEN
from stacks.settings import load_settings

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "summary.md").read_text(encoding="utf-8")


def test_the_settings_that_are_shown_fit_as_they_stand() -> None:
    (shown,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    context = json.loads((ROOT / "cdk.json").read_text(encoding="utf-8"))["context"]
    context["regions"]["eu"] |= json.loads(f"{{{shown}}}")
    summary = load_settings(context).regions["eu"].summary
    assert summary is not None
    assert summary.geography == "eu"


@pytest.mark.parametrize("outcome", [WRITTEN, *Plain])
def test_every_outcome_of_ours_is_explained(outcome: str) -> None:
    assert f"| `{outcome}` |" in PAGE


def test_the_rules_for_answers_are_told_with_their_numbers() -> None:
    assert f"at least {['no', 'one', 'two', 'three', 'four'][_FEWEST_WORDS]} words and at most {_LONGEST} " in PAGE
    assert f"(`{FINISHED}`" in PAGE
