"""What happened to customers in the marketplace, from lines of text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Final, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from functions import names
from functions.adapters.clock import utc_now
from functions.adapters.schedule_rows import activity_record, activity_to_row
from functions.core.customer import Activity, ActivityKind
from functions.core.money import CURRENCIES, minor_digits
from ops.imports import fields
from ops.imports.fields import CUSTOMER_ID, DATA_REGION, Fields, an_id, checked, one_of, or_empty, reads
from ops.imports.lines import Columns, Form, read_lines
from ops.imports.report import BadLine, ImportReport
from ops.imports.rows import Key, RowChange
from ops.imports.writing import write_entries

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from functions.core.ports import Clock
    from ops.imports.rows import Row
    from ops.imports.writing import Destinations, Progress

COLUMNS: Final = Columns(
    required=("customer_id", "data_region", "activity_id", "occurred_at", "kind", "title"),
    optional=("amount", "currency", "quantity"),
)
# A digest looks one week back, and may be late; then what people did is nobody's business any more.
KEPT_FOR: Final = timedelta(days=60)
_AMOUNT: Final = re.compile(r"(-?)([0-9]{1,12})(?:\.([0-9]{1,3}))?")
_DECIMALS: Final = {0: "has no decimals", 2: "has two decimals at most", 3: "has three decimals at most"}
_LARGEST_QUANTITY: Final = 1_000_000


def _amount(text: str) -> Decimal:
    if not _AMOUNT.fullmatch(text):
        raise ValueError
    return Decimal(text)


def _currency(text: str) -> str:
    if text not in CURRENCIES:
        raise ValueError
    return text


def _quantity(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,7}", text) or not 1 <= int(text) <= _LARGEST_QUANTITY:
        raise ValueError
    return int(text)


class ActivityLine(Fields):
    """One line of an activity file."""

    customer_id: Annotated[str, CUSTOMER_ID]
    data_region: Annotated[str, DATA_REGION]
    activity_id: Annotated[str, an_id("activity_id")]
    occurred_at: Annotated[datetime, reads(fields.instant, fields.INSTANT_EXPECTED)]
    kind: Annotated[ActivityKind, one_of({str(kind): kind for kind in ActivityKind}, required=True)]
    title: Annotated[str, reads(fields.one_line, fields.ONE_LINE_EXPECTED)] = Field(repr=False)
    amount: Annotated[Decimal | None, reads(or_empty(_amount), "must be an amount such as 11.77")] = None
    currency: Annotated[
        str | None, reads(or_empty(_currency), "must be the ISO 4217 code of a currency in use, such as USD")
    ] = None
    quantity: Annotated[
        int | None, reads(or_empty(_quantity), f"must be a whole number from 1 to {_LARGEST_QUANTITY}")
    ] = None

    @model_validator(mode="after")
    def _both_or_neither(self) -> Self:
        if (self.amount is None) != (self.currency is None):
            raise PydanticCustomError("does_not_fit", "amount and currency: give both, or neither")
        return self

    @model_validator(mode="after")
    def _no_less_than_a_minor_unit(self) -> Self:
        if self.amount_minor is not None and self.amount_minor % 1:
            digits = minor_digits(str(self.currency))
            raise PydanticCustomError("does_not_fit", f"amount: {_DECIMALS[digits]} in this currency")
        return self

    @property
    def amount_minor(self) -> Decimal | None:
        """The amount in minor units of its currency."""
        if self.amount is None or self.currency is None:
            return None
        return self.amount.scaleb(minor_digits(self.currency))


@dataclass(frozen=True, slots=True)
class ActivityEntry:
    """An activity's line, and its row."""

    number: int
    data_region: str
    customer_id: str
    activity: Activity = field(repr=False)
    home: Key | None = None
    reads: bool = False  # the row is written whole, so what is there does not matter

    @property
    def keys(self) -> Sequence[Key]:
        return ((self.customer_id, activity_record(self.activity)),)

    def consulted(self, held: Mapping[Key, Row]) -> Sequence[Key]:  # noqa: ARG002 - one of several kinds
        return ()

    def changes(self, held: Mapping[Key, Row], *, shards: int) -> Sequence[RowChange]:  # noqa: ARG002 - one of several kinds
        """The row as a whole."""
        purge_at = int((self.activity.occurred_at + KEPT_FOR).timestamp())
        row = activity_to_row(self.customer_id, self.activity, purge_at=purge_at)
        key_attributes = {names.CUSTOMER_ID, names.RECORD}
        (key,) = self.keys
        return [
            RowChange(
                key, put={name: value for name, value in row.items() if name not in key_attributes}, replaces=True
            )
        ]


def import_activity(
    lines: Iterable[str],
    deployment: Destinations,
    *,
    form: Form | None = None,
    progress: Progress | None = None,
    clock: Clock = utc_now,
) -> ImportReport:
    """Import lines of CSV with a header row, or of JSON. Raises FileFaultError when nothing of them can be read."""
    return write_entries(_entries(lines, form, clock()), deployment, progress=progress)


def _entries(lines: Iterable[str], form: Form | None, now: datetime) -> Iterator[ActivityEntry | BadLine]:
    for line in read_lines(lines, COLUMNS, form=form):
        read = line if isinstance(line, BadLine) else checked(ActivityLine, line)
        if isinstance(read, BadLine):
            yield read
        elif read.occurred_at + KEPT_FOR <= now:
            yield BadLine(
                line.number, f"occurred_at: more than {KEPT_FOR.days} days ago, too old to be kept; leave it out"
            )
        else:
            yield ActivityEntry(line.number, read.data_region, read.customer_id, _activity(read))


def _activity(line: ActivityLine) -> Activity:
    return Activity(
        activity_id=line.activity_id,
        occurred_at=line.occurred_at,
        kind=line.kind,
        title=line.title,
        amount_minor=None if line.amount_minor is None else int(line.amount_minor),
        currency=line.currency,
        quantity=line.quantity,
    )
