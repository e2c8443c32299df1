"""What a model is told of a week, and what of its answer is fit to stand in an email.

Titles are other people's words, so the answer may be theirs too: it is taken for text that anybody might have written.
It is printed only if it is one short paragraph that leads nowhere and states no number that the facts do not hold.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from functions.core.content.safety import one_line
from functions.core.summary import Prompt

if TYPE_CHECKING:
    from functions.core.content.digest import DigestContext

SUMMARY_CHARACTERS: Final = 500  # asked for; an answer of half as much again is still printed
_LONGEST: Final = SUMMARY_CHARACTERS * 3 // 2
_FEWEST_WORDS: Final = 4
# A reader's mail program makes links of addresses that stand in plain text; markup would be shown as it is.
_LEADS_AWAY: Final = re.compile(r"://|@|\bwww\.|\w\.[^\W\d_]{2,}", re.IGNORECASE)
_MARKUP: Final = re.compile(r"[<>{}\[\]\\|*_#`~^]")
# Somebody to call: so many digits stand in no amount that a customer of a marketplace sees in a week.
_PHONE_NUMBER: Final = re.compile(r"(?:\d[\s().,/-]*){8,}")
_NUMBER: Final = re.compile(r"\d+(?:[.,]\d+)*")
_GAP_IN_NUMBER: Final = re.compile(r"(?<=\d)\s(?=\d{3})")  # `1 204`, with whichever of the spaces
_SPACE: Final = re.compile(r"\s")


def summary_prompt(version: str, digest: DigestContext, *, max_bytes: int) -> Prompt | None:
    """Return what to ask, with as many entries as fit into so many bytes of UTF-8; None if not even one does.

    Nothing in it says who the customer is. Raises FileNotFoundError for a version that this release does not have.
    """
    instructions = _instructions(version).format(language=digest.language.english_name, characters=SUMMARY_CHARACTERS)
    entries = list(_entries(digest))
    for listed in range(len(entries), 0, -1):
        prompt = Prompt(instructions, _facts(digest, entries[:listed]))
        if prompt.size <= max_bytes:
            return prompt
    return None


def printable(text: str, prompt: Prompt) -> str | None:
    """Return an answer as one line that may stand in the email to whose prompt it was given; None if it may not."""
    line = one_line(text)
    if len(line) > _LONGEST or len(line.split()) < _FEWEST_WORDS:
        return None
    if _LEADS_AWAY.search(line) or _MARKUP.search(line) or _PHONE_NUMBER.search(line):
        return None
    if not _SPACE.sub(" ", line).isprintable():  # characters that nobody sees hide what the rules above look for
        return None
    return line if _numbers(line) <= _numbers(prompt.facts) else None


def _numbers(text: str) -> set[str]:
    return set(_NUMBER.findall(_GAP_IN_NUMBER.sub("", text)))


def _facts(digest: DigestContext, entries: list[dict[str, Any]]) -> str:
    facts = {
        "period": digest.period,
        "counts": {str(kind): digest.language.number(count) for kind, count in digest.counts},
        "spent": digest.spent,
        "entries": entries,
    }
    return json.dumps(facts, ensure_ascii=False)


def _entries(digest: DigestContext) -> list[dict[str, Any]]:
    return [
        {"day": one.day.isoformat(), "kind": str(entry.kind), "title": entry.title}
        | ({} if entry.amount is None else {"amount": entry.amount})
        | ({} if entry.quantity is None else {"quantity": entry.quantity})
        for one in digest.days
        for entry in one.entries
    ]


@lru_cache(maxsize=4)
def _instructions(version: str) -> str:
    return files("functions.core").joinpath("prompts", f"{version}.txt").read_text(encoding="utf-8")
