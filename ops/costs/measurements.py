"""What the functions ask AWS for: counted by `make measure`, kept in measured.json, and never typed by hand."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from functions.core.identity import Channel

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FILE: Final = Path(__file__).with_name("measured.json")
_DIGITS: Final = 3


@dataclass(frozen=True, slots=True)
class Use:
    """Requests, DynamoDB's units, invocations and bytes of log, of one thing or of many."""

    table_requests: float = 0
    read_units: float = 0
    write_units: float = 0
    queue_requests: float = 0
    invocations: float = 0
    log_bytes: float = 0

    def __add__(self, other: Use) -> Use:
        """Both together."""
        return Use(*(mine + its for mine, its in zip(self._values(), other._values(), strict=True)))

    def __mul__(self, times: float) -> Use:
        """So many times as much."""
        return Use(*(value * times for value in self._values()))

    def __sub__(self, other: Use) -> Use:
        """What is left without the other."""
        return self + other * -1

    def _values(self) -> tuple[float, ...]:
        return tuple(getattr(self, one.name) for one in fields(self))


@dataclass(frozen=True, slots=True)
class Measurements:
    """One run's counts."""

    measured_on: date
    customers: int  # that the run planned and sent to, on each channel
    activities: int  # that each of them had in the week
    shards: int  # that an idle wake-up looks through
    a_customer: Use  # planned, whatever the number of channels: the schedule is read and moved on
    a_planned_delivery: Use
    a_sent_delivery: Mapping[Channel, Use]
    a_receipt: Use
    an_idle_planner: Use
    an_idle_reconciler: Use
    a_row_bytes: int  # a delivery that has ended, its index entries among it

    @classmethod
    def load(cls, file: Path = FILE) -> Self:
        """Read them."""
        held = json.loads(file.read_text(encoding="utf-8"))
        uses = {name: Use(**held[name]) for name in _USES}
        sent = {Channel(channel): Use(**use) for channel, use in held["a_sent_delivery"].items()}
        measured_on = date.fromisoformat(held["measured_on"])
        return cls(**held | uses | {"a_sent_delivery": sent, "measured_on": measured_on})

    def write(self, file: Path = FILE) -> None:
        """Keep them."""
        file.write_text(json.dumps(self.as_json(), indent=2) + "\n", encoding="utf-8")

    def as_json(self) -> dict[str, Any]:
        """As the file has them."""
        held = asdict(self) | {"measured_on": self.measured_on.isoformat()}
        uses = {name: _rounded(held[name]) for name in _USES}
        sent = {str(channel): _rounded(use) for channel, use in held["a_sent_delivery"].items()}
        return held | uses | {"a_sent_delivery": sent}

    def of_a_customer(self, channels: Iterable[Channel]) -> Use:
        """One customer's digest on these channels, planned and sent."""
        use = self.a_customer
        for channel in channels:
            use += self.a_planned_delivery + self.a_sent_delivery[channel]
        return use


_USES: Final = ("a_customer", "a_planned_delivery", "a_receipt", "an_idle_planner", "an_idle_reconciler")


def _rounded(use: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, _DIGITS) for name, value in use.items()}
