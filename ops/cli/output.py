"""How things are written for people, and for machines."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any, Final
from urllib.parse import urlsplit

import phonenumbers
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from functions.core.calendar import WEEK
from functions.core.identity import Channel
from functions.core.instants import to_text

FAILED: Final = 1
_PIPED_WIDTH: Final = 10_000  # columns: wider than any table
_SHOWN_DIGITS: Final = 4


def out() -> Console:
    """Where answers go. Made anew each time, so that it is always the present standard output."""
    console = Console(highlight=False)
    # A terminal wraps; whatever reads a pipe wants whole lines, with ids that it can look for.
    return console if console.is_terminal else Console(highlight=False, width=_PIPED_WIDTH)


def complain(text: str) -> int:
    """Write an error; return the exit status that goes with it."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(Text(f"digest: {text}"))
    return FAILED


def note(text: str) -> None:
    """Write a remark beside the answer, which stays alone on standard output."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(Text(text))


def say(text: str = "") -> None:
    """Write a line of text as it is: nothing in it is markup."""
    console = out()
    console.print(Text(text), soft_wrap=not console.is_terminal)


def print_json(answer: Mapping[str, Any]) -> None:
    """Write a machine's answer."""
    sys.stdout.write(json.dumps(answer, indent=2) + "\n")


def table(*columns: str, numbers: Sequence[str] = ()) -> Table:
    """An empty table; the columns named in `numbers` are aligned right."""
    empty = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for column in columns:
        number = column in numbers
        # On a narrow terminal the headings of numbers are wrapped between their words; numbers stay whole.
        whole = number and " " not in column
        empty.add_column(column, justify="right" if number else "left", overflow="fold", no_wrap=whole)
    return empty


# --- times ------------------------------------------------------------------------------------------------------------


def moment(instant: datetime | None) -> str | None:
    """An instant for machines; None where there is none."""
    return None if instant is None else to_text(instant)


def week(period: str) -> str:
    """`2026-11-16 to 2026-11-22`."""
    monday = date.fromisoformat(period)
    return f"{monday} to {monday + WEEK - timedelta(days=1)}"


# --- addresses --------------------------------------------------------------------------------------------------------


def masked(channel: Channel, address: str) -> str:
    """`a***@example.com`, `+1******0123`, `https://hooks.example.com/***`: enough to recognise, not to write to."""
    if channel is Channel.SMS:
        return _masked_number(address)
    if channel is Channel.WEBHOOK:
        return f"https://{urlsplit(address).netloc.rpartition('@')[2]}/***"  # paths hold tokens
    name, _, domain = address.rpartition("@")
    return f"{name[:1]}***@{domain}"


def _masked_number(number: str) -> str:
    try:
        country = str(phonenumbers.parse(number, None).country_code)
    except phonenumbers.NumberParseException:
        return "+***"
    hidden = len(number) - len(f"+{country}") - _SHOWN_DIGITS
    return f"+{country}{'*' * hidden}{number[-_SHOWN_DIGITS:]}" if hidden > 0 else f"+{country}***"
