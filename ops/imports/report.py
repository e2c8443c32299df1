"""What an import did with each line."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple


class FileFaultError(ValueError):
    """Nothing of the file can be read; the text says what would be right."""


class LineRefusedError(ValueError):
    """A line is in order by itself, and contradicts what is on record; the text names the field and the way out."""


class BadLine(NamedTuple):
    """A line that was not kept. The reason names the field and the way out, and repeats nothing of the line."""

    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class ImportReport:
    """Lines kept, lines of those that changed nothing, and bad lines in their order."""

    kept: int
    unchanged: int
    bad: tuple[BadLine, ...]
    kept_by_region: Counter[str] = field(default_factory=Counter)
    remembered: int = 0  # lines kept whose customer had left before being erased, and stays so
