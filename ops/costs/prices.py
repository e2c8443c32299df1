"""List prices by AWS region, each with the page that has it and the day on which it said so."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

FILE: Final = Path(__file__).with_name("prices.toml")


@dataclass(frozen=True, slots=True)
class Price:
    """So many dollars for so many of something."""

    dollars: float
    per: int
    of: str
    page: str
    read_on: str  # a day, or the year where nothing more is known
    via: str = ""  # who quoted the page, where it was not read itself

    @property
    def each(self) -> float:
        """Dollars for one."""
        return self.dollars / self.per

    def __str__(self) -> str:
        """`$0.625 for 1,000,000 write units`, `$0.50 a GB taken in`."""
        dollars = f"{self.dollars:.10f}".rstrip("0")
        dollars += "0" * (2 - len(dollars.partition(".")[2]))
        return f"${dollars} a {self.of}" if self.per == 1 else f"${dollars} for {self.per:,} {self.of}"


@dataclass(frozen=True, slots=True)
class PriceTable:
    """What is known of one AWS region."""

    aws_region: str
    prices: Mapping[str, Price]

    @classmethod
    def of(cls, aws_region: str, file: Path = FILE) -> PriceTable:
        """The table of a region; empty for one that no price is known of."""
        held = tomllib.loads(file.read_text(encoding="utf-8")).get(aws_region, {})
        return cls(aws_region, {name: Price(**entry) for name, entry in held.items()})

    def get(self, name: str) -> Price | None:
        """A price, or None where it is not known."""
        return self.prices.get(name)
