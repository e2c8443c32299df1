"""What docs/delivery-semantics.md draws is what the code does."""

from __future__ import annotations

import re
from collections.abc import Mapping

from functions.core import provider_codes
from functions.core.delivery import TRANSITIONS, Status
from functions.core.outcome import OutcomeClass
from ops.docs.semantics import CLASSES, DOCUMENT, MOVES, TABLES, WAITING, drawn, states

ARROW = re.compile(r"^ *(\w+) --> (\w+)(?:: .*)?$", re.MULTILINE)


def arrows() -> set[tuple[str, str]]:
    return set(ARROW.findall(states()))


def test_the_document_says_what_the_code_does() -> None:
    written = DOCUMENT.read_text(encoding="utf-8")
    assert drawn(written) == written, "run python -m ops.docs.semantics"


def test_the_diagram_has_every_transition_and_no_other() -> None:
    told = {(source, target) for one, target in arrows() for source in (WAITING if one == "waiting" else (one,))}
    standing_still = {(one, one) for one in WAITING}
    assert told | standing_still == {(s, t) for s, following in TRANSITIONS.items() for t in following} | standing_still


def test_every_word_in_the_diagram_belongs_to_an_arrow() -> None:
    assert set(MOVES) <= arrows()
    assert {word for move in MOVES for word in move} <= {*Status, "waiting"}


def test_every_class_and_every_documented_code_is_told_of() -> None:
    assert set(CLASSES) == set(OutcomeClass)
    told = {code for table in TABLES.values() for code in table}
    for name, table in vars(provider_codes).items():
        if name.isupper() and not name.startswith("_") and isinstance(table, Mapping):
            assert set(table) <= told, f"{name} is not in the document"
