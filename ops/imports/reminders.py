"""Reminders that fall due once, from lines of text: at an instant, or at a local time in the customer's own zone.

A reminder that still waits is moved by importing it again, and follows its customer into another zone. It may be made
obsolete at any time. One that has been planned, or is obsolete, stays so: another reminder needs another `event_id`,
which is what keeps it from being sent twice.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Final, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from functions import names
from functions.adapters.clock import utc_now
from functions.adapters.schedule_rows import schedule_to_row, wall_time_from_row
from functions.core.calendar import UnknownTimeZoneError
from functions.core.customer import PROFILE, REMINDER_SCHEDULE, Obsolete, ReminderSchedule, WallTime
from functions.core.identity import Channel
from functions.core.instants import from_text, to_text
from ops.imports import fields
from ops.imports.fields import CUSTOMER_ID, DATA_REGION, Fields, an_id, checked, one_of, or_empty, reads
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
    required=("customer_id", "data_region", "event_id", "channels", "subject"),
    optional=("due_at", "due_local", "expires_at", "expires_after_hours", "obsolete"),
)
EXPIRES_AFTER_HOURS: Final = 24  # where the line does not say
LONGEST_EXPIRY: Final = 720  # hours
KEPT_FOR: Final = timedelta(days=60)  # after it expired
_NOT_DUE: Final[Row] = {names.NEXT_RUN_AT: None, names.DUE_SHARD: None}


def _hours(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,3}", text) or not 1 <= int(text) <= LONGEST_EXPIRY:
        raise ValueError
    return int(text)


class ReminderLine(Fields):
    """One line of a reminders file."""

    customer_id: Annotated[str, CUSTOMER_ID]
    data_region: Annotated[str, DATA_REGION]
    event_id: Annotated[str, an_id("event_id")]
    due_at: Annotated[datetime | None, reads(or_empty(fields.instant), fields.INSTANT_EXPECTED)] = None
    due_local: Annotated[datetime | None, reads(or_empty(fields.wall_time), fields.WALL_TIME_EXPECTED)] = None
    expires_at: Annotated[datetime | None, reads(or_empty(fields.instant), fields.INSTANT_EXPECTED)] = None
    expires_after_hours: Annotated[
        int | None, reads(or_empty(_hours), f"must be a whole number from 1 to {LONGEST_EXPIRY}")
    ] = None
    channels: Annotated[tuple[Channel, ...], reads(fields.some_channels, fields.CHANNELS_EXPECTED)]
    subject: Annotated[str, reads(fields.one_line, fields.ONE_LINE_EXPECTED)] = Field(repr=False)
    obsolete: Annotated[Obsolete | None, one_of({str(why): why for why in Obsolete})] = None

    @model_validator(mode="after")
    def _due_once(self) -> Self:
        if (self.due_at is None) == (self.due_local is None):
            raise PydanticCustomError("does_not_fit", "due_at and due_local: give one of them")
        return self

    @model_validator(mode="after")
    def _expires_once(self) -> Self:
        if self.expires_at is not None and self.expires_after_hours is not None:
            raise PydanticCustomError(
                "does_not_fit",
                f"expires_at and expires_after_hours: give one, or neither for {EXPIRES_AFTER_HOURS} hours",
            )
        return self

    @property
    def lasts(self) -> int:
        """Hours from when it is due to when it is no longer worth sending, unless `expires_at` says that."""
        return self.expires_after_hours or EXPIRES_AFTER_HOURS


@dataclass(frozen=True, slots=True)
class ReminderEntry:
    """A reminder's line, and the change that it asks for."""

    number: int
    line: ReminderLine = field(repr=False)
    now: datetime
    home: Key | None = None
    reads: bool = True

    @property
    def data_region(self) -> str:
        return self.line.data_region

    @property
    def keys(self) -> Sequence[Key]:
        reminder = (self.line.customer_id, REMINDER_SCHEDULE + self.line.event_id)
        return (reminder, self._profile_key) if self.line.due_local is not None else (reminder,)

    @property
    def _profile_key(self) -> Key:
        return self.line.customer_id, PROFILE

    def consulted(self, held: Mapping[Key, Row]) -> Sequence[Key]:  # noqa: ARG002 - one of several kinds
        return ()

    def changes(self, held: Mapping[Key, Row], *, shards: int) -> Sequence[RowChange]:
        """The change to the reminder's row. Raises LineRefusedError for one that cannot be changed any more."""
        key = self.keys[0]
        before = held.get(key)
        if before is None:
            return [RowChange(key, put=self._row(held, shards), new=True)]
        if self.line.obsolete is not None:
            return [RowChange(key, put=_NOT_DUE, if_absent={"obsolete": str(self.line.obsolete)})]
        if "obsolete" in before:
            raise LineRefusedError(
                f"event_id: this reminder is obsolete ({before['obsolete']}); give the new one an event_id of its own"
            )
        if names.NEXT_RUN_AT in before:
            expected = {names.NEXT_RUN_AT: before[names.NEXT_RUN_AT]}
            return [RowChange(key, put=self._row(held, shards), expected=expected)]
        if not self._is_due_as(before):
            due = "due_at" if self.line.due_local is None else "due_local"
            raise LineRefusedError(
                f"{due}: this reminder has been planned already; give another one an event_id of its own"
            )
        return []

    def _is_due_as(self, before: Row) -> bool:
        if self.line.due_at is not None:
            return bool(before["due_at"] == to_text(self.line.due_at))
        local = wall_time_from_row(before)
        return local is not None and local.shown == self.line.due_local

    def _row(self, held: Mapping[Key, Row], shards: int) -> Row:
        reminder = self._reminder(held)
        row = schedule_to_row(reminder, shards=shards) | {
            "expires_after_hours": self.line.lasts if self.line.expires_at is None else None,
            names.TTL: _purge_at(reminder.expires_at),
        }
        if reminder.obsolete is not None:
            row |= _NOT_DUE
        return {name: value for name, value in row.items() if name not in {names.CUSTOMER_ID, names.RECORD}}

    def _reminder(self, held: Mapping[Key, Row]) -> ReminderSchedule:
        line = self.line
        local, due_at = self._due(held)
        expires_at = line.expires_at or due_at + timedelta(hours=line.lasts)
        if expires_at <= due_at:
            raise LineRefusedError("expires_at: must be after the reminder is due; leave it empty for a day later")
        if expires_at <= self.now and line.obsolete is None:
            raise LineRefusedError("expires_at: is past, so the reminder would never be sent; leave the line out")
        return ReminderSchedule(
            customer_id=line.customer_id,
            event_id=line.event_id,
            channels=line.channels,
            next_run_at=due_at,
            expires_at=expires_at,
            subject=line.subject,
            due_local=local,
            obsolete=line.obsolete,
        )

    def _due(self, held: Mapping[Key, Row]) -> tuple[WallTime | None, datetime]:
        if self.line.due_at is not None:
            return None, self.line.due_at
        profile = held.get(self._profile_key)
        if profile is None or self.line.due_local is None:
            raise LineRefusedError(
                "due_local: the zone of a customer who is not on record here is not known; import the customer first, "
                "or give due_at"
            )
        local = WallTime(self.line.due_local, profile["time_zone"])
        try:
            return local, local.instant()
        except UnknownTimeZoneError:
            raise LineRefusedError(
                "due_local: the customer's zone on record does not exist any more; import the customer with another one"
            ) from None


def moved_reminder(key: Key, row: Row, time_zone: str) -> RowChange:
    """Return the change to a reminder that waits for its local time, when its customer lives in another zone.

    Its expiry goes along if it was given in hours, and stays where it was given as an instant.
    """
    due_at = WallTime(datetime.fromisoformat(row["due_local"]), time_zone).instant()
    hours = row.get("expires_after_hours")
    expires_at = from_text(row["expires_at"]) if hours is None else due_at + timedelta(hours=hours)
    return RowChange(
        key,
        put={
            "time_zone": time_zone,
            "due_at": to_text(due_at),
            names.NEXT_RUN_AT: to_text(due_at),
            "expires_at": to_text(expires_at),
            names.TTL: _purge_at(expires_at),
        },
        # The planner removes this attribute: what it was quicker to plan stays as it is.
        expected={names.NEXT_RUN_AT: row[names.NEXT_RUN_AT]},
        # The profile's old zone is what the next import would know a reminder by that was left behind.
        first=True,
    )


def _purge_at(expires_at: datetime) -> int:
    return int((expires_at + KEPT_FOR).timestamp())


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
        yield read if isinstance(read, BadLine) else ReminderEntry(line.number, read, now)
