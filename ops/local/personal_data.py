"""Looks for customers' addresses, phone numbers and messages where none may be: in logs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, Self

from functions.core.identity import Channel
from ops.local.marketplace import Marketplace

# So much of a subject or a text message is the same for many, and is found in no log by chance.
OPENING: Final = 10
ADDRESS_LIKE: Final = re.compile(r"[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+")
NUMBER_LIKE: Final = re.compile(r"\+?\d{10,15}")


class PersonalData:
    """What is known of a marketplace's customers and must not be found."""

    def __init__(self, addresses: Iterable[str], numbers: Iterable[str], contents: Iterable[str]) -> None:
        self._addresses = frozenset(address.lower() for address in addresses)
        self._numbers = frozenset(number.lstrip("+") for number in numbers)
        # A pattern without alternatives would be found everywhere.
        self._contents = re.compile("|".join(re.escape(text) for text in sorted(set(contents))) or r"(?!)")

    @classmethod
    def of(cls, marketplace: Marketplace, sent: Iterable[str] = ()) -> Self:
        """Everything personal that the marketplace holds, and how the subjects and texts that were sent begin."""
        held = [(channel, address) for person in marketplace.people for channel, address in person.addresses.items()]
        return cls(
            (address for channel, address in held if channel is Channel.EMAIL),
            (address for channel, address in held if channel is Channel.SMS),
            marketplace.titles() | {text[:OPENING] for text in sent},
        )

    def is_in(self, text: str) -> bool:
        """Whether a line holds any of it."""
        return (
            ("@" in text and any(found.lower() in self._addresses for found in ADDRESS_LIKE.findall(text)))
            or any(found.lstrip("+") in self._numbers for found in NUMBER_LIKE.findall(text))
            or self._contents.search(text) is not None
        )

    def count_in(self, lines: Iterable[str]) -> int:
        """How many lines hold any of it."""
        return sum(self.is_in(line) for line in lines)
