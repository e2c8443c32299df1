"""The customers tables of two data regions, in memory.

`Rows` is what an import writes through; its conditions hold here as they do in DynamoDB, and a test may let somebody
else write in between, or have DynamoDB refuse a customer.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from functions import names
from functions.adapters.conditional_write import CONDITION_FAILED
from functions.core.customer import REMINDER_SCHEDULE
from functions.core.keyring import KeyRing
from ops.imports.rows import Key, Refused, Row, RowChange

SHARDS = 2
OPT_OUT_KEYS = KeyRing.parse(json.dumps({"0": "k" * 40, "2026-11-01": "m" * 40}))


@dataclass
class FakeRows:
    """`Rows` in memory. `before_write` is called once, between the first read and the first write."""

    held: dict[Key, dict[str, Any]] = field(default_factory=dict)
    refusing: dict[str, str] = field(default_factory=dict)  # customer -> DynamoDB's code
    before_write: Callable[[], None] | None = None
    writes: list[RowChange] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def read(self, keys: Sequence[Key]) -> Mapping[Key, Row]:
        return {key: dict(self.held[key]) for key in keys if key in self.held}

    def reminders(self, customer_id: str) -> Mapping[Key, Row]:
        return {
            key: dict(row)
            for key, row in self.held.items()
            if key[0] == customer_id and key[1].startswith(REMINDER_SCHEDULE)
        }

    def write(self, changes: Sequence[RowChange]) -> Sequence[Refused]:
        if (interfere := self.before_write) is not None:
            self.before_write = None
            interfere()
        with self.lock:
            return [refused for change in changes if (refused := self._write(change)) is not None]

    def _write(self, change: RowChange) -> Refused | None:
        customer_id, record = change.key
        if customer_id in self.refusing:
            return Refused(change, self.refusing[customer_id])
        row = self.held.get(change.key)
        if change.new and row is not None:
            return Refused(change, CONDITION_FAILED)
        if not (change.new or change.replaces) and row is None:
            return Refused(change, CONDITION_FAILED)
        if not change.new and any((row or {}).get(name) != value for name, value in change.expected.items()):
            return Refused(change, CONDITION_FAILED)
        after = {} if row is None or change.replaces else dict(row)
        after.update({names.CUSTOMER_ID: customer_id, names.RECORD: record})
        after.update({name: value for name, value in change.if_absent.items() if name not in after})
        after.update(change.put)
        self.held[change.key] = {name: value for name, value in after.items() if value is not None}
        self.writes.append(change)
        return None


@dataclass
class FakeRegion:
    """A data region that is nothing but its customers table."""

    rows: FakeRows = field(default_factory=FakeRows)
    shards: int = SHARDS
    data_region: str = "us"

    @property
    def opt_out_keys(self) -> KeyRing:
        return OPT_OUT_KEYS

    def number_hash(self, number: str) -> str:
        return f"{self.data_region}:{hash(number)}"


@dataclass
class FakeRegions:
    """Two data regions, `us` and `eu`."""

    us: FakeRegion = field(default_factory=FakeRegion)
    eu: FakeRegion = field(default_factory=lambda: FakeRegion(data_region="eu"))

    @property
    def data_regions(self) -> Sequence[str]:
        return ("us", "eu")

    def region(self, data_region: str) -> FakeRegion:
        return {"us": self.us, "eu": self.eu}[data_region]

    def others(self, data_region: str) -> Sequence[FakeRegion]:
        return [self.region(other) for other in self.data_regions if other != data_region]
