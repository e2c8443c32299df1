"""The page about metrics knows every one that there is, and no other."""

from __future__ import annotations

import re
from pathlib import Path

from functions import names

PAGE = Path(__file__).parents[2] / "docs/metrics.md"


def test_every_metric_is_explained_in_a_table_and_none_that_is_not_there() -> None:
    rows = [line.split("|")[1] for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    explained = [metric for row in rows for metric in re.findall(r"`([A-Za-z]+)`", row)]
    assert sorted(explained) == sorted(value for name, value in vars(names).items() if name.startswith("METRIC_"))
