"""Reminders that fall due once, from lines of text.

A reminder that still waits is moved or cancelled by importing it again. One that has been planned, or was cancelled,
stays so: another reminder needs another `event_id`, which is what keeps it from being sent twice.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import Field

from functions import names
from functions.adapters.clock import utc_now
from functions.adapters.schedule_rows import schedule_to_row
from functions.core.customer import REMINDER_SCHEDULE, ReminderSchedule
from functions.core.identity import Channel
from functions.core.instants import to_text
from ops.imports import fields
from ops.imports.fields import CUSTOMER_ID, DATA_REGION, Fields, an_id, checked, or_empty, reads
from ops.imports.lines import Columns, Form, read_lines
from ops.imports.report import BadLine, ImportReport, LineRefusedError
from ops.imports.rows import Key, RowChange
from ops.imports.writing import write_entries

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from functions.core.ports import Clock
    from ops.imports.rows import Row
    from ops.imports.writing import Destinations, Progress

COLUMNS: Final = Columns(
    required=("customer_id", "data_region", "event_id", "due_at", "channels", "subject"),
    optional=("expires_at", "cancelled"),
)
EXPIRES_AFTER: Final = timedelta(hours=24)  # where the line does not say
KEPT_FOR: Final = timedelta(days=60)  # after it expired


class ReminderLine(Fields):
    """One line of a reminders file."""

    customer_id: Annotated[str, CUSTOMER_ID]
    data_region: Annotated[str, DATA_REGION]
    event_id: Annotated[str, an_id("event_id")]
    due_at: Annotated[datetime, reads(fields.instant, fields.INSTANT_EXPECTED)]
    expires_at: Annotated[datetime | None, reads(or_empty(fields.instant), fields.INSTANT_EXPECTED)] = None
    channels: Annotated[tuple[Channel, ...], reads(fields.some_channels, fields.CHANNELS_EXPECTED)]
    subject: Annotated[str, reads(fields.one_line, fields.ONE_LINE_EXPECTED)] = Field(repr=False)
    cancelled: Annotated[bool, reads(or_empty(fields.truth, empty=False), "must be true or false")] = False


@dataclass(frozen=True, slots=True)
class ReminderEntry:
    """A reminder's line, and the change that it asks for."""

    number: int
    data_region: str
    reminder: ReminderSchedule = field(repr=False)
    home: Key | None = None
    reads: bool = True

    @property
    def keys(self) -> Sequence[Key]:
        return ((self.reminder.customer_id, REMINDER_SCHEDULE + self.reminder.event_id),)

    def changes(self, held: Mapping[Key, Row], *, shards: int) -> Sequence[RowChange]:
        """The change to the reminder's row. Raises LineRefusedError for one that cannot be changed any more."""
        (key,) = self.keys
        before = held.get(key)
        put = self._row(shards)
        if before is None:
            return [RowChange(key, put=put, new=True)]
        if self.reminder.cancelled:
            return [RowChange(key, put={"cancelled": True, names.NEXT_RUN_AT: None, names.DUE_SHARD: None})]
        if before.get("cancelled", False):
            raise LineRefusedError("event_id: this reminder was cancelled; give the new one an event_id of its own")
        if names.NEXT_RUN_AT in before:
            return [RowChange(key, put=put, expected={names.NEXT_RUN_AT: before[names.NEXT_RUN_AT]})]
        if before["due_at"] != to_text(self.reminder.next_run_at):
            raise LineRefusedError(
                "due_at: this reminder has been planned already; give another one an event_id of its own"
            )
        return []

    def _row(self, shards: int) -> Row:
        row = schedule_to_row(self.reminder, shards=shards)
        row[names.TTL] = int((self.reminder.expires_at + KEPT_FOR).timestamp())
        if self.reminder.cancelled:
            row[names.NEXT_RUN_AT] = row[names.DUE_SHARD] = None
        return {name: value for name, value in row.items() if name not in {names.CUSTOMER_ID, names.RECORD}}


def import_reminders(
    lines: Iterable[str],
    deployment: Destinations,
    *,
    form: Form | None = None,
    progress: Progress | None = None,
    clock: Clock = utc_now,
) -> ImportReport:
    """Import lines of CSV with a header row, or of JSON. Raises FileFaultError when nothing of them can be read."""
    return write_entries(_entries(lines, form, clock()), deployment, progress=progress)


def _entries(lines: Iterable[str], form: Form | None, now: datetime) -> Iterator[ReminderEntry | BadLine]:
    for line in read_lines(lines, COLUMNS, form=form):
        read = line if isinstance(line, BadLine) else checked(ReminderLine, line)
        yield read if isinstance(read, BadLine) else _entry(line.number, read, now)


def _entry(number: int, line: ReminderLine, now: datetime) -> ReminderEntry | BadLine:
    expires_at = line.expires_at or line.due_at + EXPIRES_AFTER
    if expires_at <= line.due_at:
        return BadLine(number, "expires_at: must be after due_at; leave it empty for a day later")
    if expires_at <= now and not line.cancelled:
        return BadLine(number, "expires_at: is past, so the reminder would never be sent; leave the line out")
    return ReminderEntry(
        number,
        line.data_region,
        ReminderSchedule(
            customer_id=line.customer_id,
            event_id=line.event_id,
            channels=line.channels,
            next_run_at=line.due_at,
            expires_at=expires_at,
            subject=line.subject,
            cancelled=line.cancelled,
        ),
    )
