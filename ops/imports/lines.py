"""A file's lines as fields of text, from CSV with a header row or from JSON lines.

One physical line is one record, in CSV too: a quote that is never closed spoils its own line and no other.
"""

from __future__ import annotations

import csv
import difflib
import json
import re
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ops.imports.report import BadLine, FileFaultError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_SUFFIXES: Final = {".csv": "csv", ".tsv": "csv", ".jsonl": "json_lines", ".ndjson": "json_lines"}
_DELIMITERS: Final = (",", ";", "\t")
# A name that may be repeated in an error. Without a header row the first line is somebody's data.
_NAME_LIKE: Final = re.compile(r"[A-Za-z][A-Za-z_ -]{0,30}")


class Form(StrEnum):
    """How lines are written."""

    CSV = "csv"
    JSON_LINES = "json_lines"


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns that a file must have, and those that it may have."""

    required: tuple[str, ...]
    optional: tuple[str, ...] = ()

    @property
    def known(self) -> tuple[str, ...]:
        return self.required + self.optional


@dataclass(frozen=True, slots=True)
class Line:
    """One line's fields as text; a column that the file does not have is not in it."""

    number: int
    fields: dict[str, str] = field(repr=False)


def form_of(path: Path) -> Form | None:
    """The form that a file's suffix promises; None where the first line has to tell."""
    named = _SUFFIXES.get(path.suffix.lower())
    return None if named is None else Form(named)


def read_lines(lines: Iterable[str], columns: Columns, *, form: Form | None = None) -> Iterator[Line | BadLine]:
    """Fields of each line that is not blank, in order. Raises FileFaultError when the header row does not fit."""
    numbered = ((number, line) for number, line in enumerate(lines, start=1) if line.strip("\ufeff \t\r\n"))
    first = next(numbered, None)
    if first is None:
        raise FileFaultError(f"the file has no lines; it needs the columns {', '.join(columns.required)}")
    opening = first[1].lstrip("\ufeff")
    if (form or _sniffed(opening)) is Form.JSON_LINES:
        return (_from_json(number, line.lstrip("\ufeff")) for number, line in chain([first], numbered))
    delimiter = max(_DELIMITERS, key=opening.count)
    header = _header(opening, delimiter, columns)
    return (_from_csv(number, line, header, delimiter) for number, line in numbered)


def _sniffed(opening: str) -> Form:
    return Form.JSON_LINES if opening.lstrip().startswith("{") else Form.CSV


# --- CSV --------------------------------------------------------------------------------------------------------------


def _header(opening: str, delimiter: str, columns: Columns) -> list[str]:
    try:
        header = [name.strip().lower() for name in _split(opening, delimiter)]
    except csv.Error:
        raise FileFaultError("line 1: is not a CSV header row") from None
    missing = [name for name in columns.required if name not in header]
    if missing:
        raise FileFaultError(
            f"line 1: the header row lacks {', '.join(missing)}; it must name {', '.join(columns.required)} "
            f"and may name {', '.join(columns.optional) or 'no others'}"
        )
    unknown = [(position, name) for position, name in enumerate(header, start=1) if name not in columns.known]
    if unknown:
        raise FileFaultError("line 1: " + "; ".join(_unknown(*one, columns.known) for one in unknown))
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise FileFaultError(f"line 1: the header row names {', '.join(twice)} more than once")
    return header


def _unknown(position: int, name: str, known: Sequence[str]) -> str:
    meant = difflib.get_close_matches(name, known, n=1)
    way_out = f"did you mean {meant[0]}?" if meant else f"take it out; known are {', '.join(known)}"
    return f"column {position}{f' ({name})' if _NAME_LIKE.fullmatch(name) else ''} is unknown; {way_out}"


def _from_csv(number: int, line: str, header: Sequence[str], delimiter: str) -> Line | BadLine:
    if not _is_utf8(line):
        return BadLine(number, "is not UTF-8; save the file as UTF-8")
    try:
        values = _split(line, delimiter)
    except csv.Error:
        return BadLine(number, "has a quotation mark that is not closed, or text after a closed one; double it inside")
    if len(values) != len(header):
        return BadLine(
            number,
            f"has {len(values)} fields where the header row has {len(header)}; "
            "put quotation marks around a field that holds the separator",
        )
    return Line(number, dict(zip(header, values, strict=True)))


def _split(line: str, delimiter: str) -> list[str]:
    return next(csv.reader([line.rstrip("\r\n")], delimiter=delimiter, strict=True))


def _is_utf8(line: str) -> bool:
    # Bytes that were no UTF-8 arrive as lone surrogates.
    return line.isascii() or not any("\ud800" <= character <= "\udfff" for character in line)


# --- JSON lines -------------------------------------------------------------------------------------------------------


def _from_json(number: int, line: str) -> Line | BadLine:
    if not _is_utf8(line):
        return BadLine(number, "is not UTF-8; save the file as UTF-8")
    try:
        held = json.loads(line, parse_int=str, parse_float=str, parse_constant=str)
    except (ValueError, RecursionError):
        return BadLine(number, "is not JSON; each line must be one JSON object")
    if not isinstance(held, dict):
        return BadLine(number, "is not a JSON object; write it like {...} with the field names as keys")
    fields = {name: _as_text(value) for name, value in held.items()}
    for name, value in fields.items():
        if value is None:
            shown = name if _NAME_LIKE.fullmatch(name) else "one key"
            return BadLine(number, f"{shown}: must be text, a number, true, false, null or a list of texts")
    return Line(number, {name: value for name, value in fields.items() if value is not None})


def _as_text(value: object) -> str | None:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return ",".join(value)
    return None
