"""Customers: profile and weekly schedule, from lines of text.

A repeated import brings contact data, zone and schedule up to date. Consent and suppression on record are the person's
own word and the channel's: an import never changes them. A column that the file lacks leaves what is on record.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from functions import names
from functions.adapters.clock import utc_now
from functions.adapters.opt_out_memory import LEFT, memory_from_row
from functions.adapters.schedule_rows import consent_attribute, due_shard, secrets_to_row
from functions.adapters.webhook_secrets import new_secret
from functions.core.calendar import (
    WEEK,
    UnknownTimeZoneError,
    at_local,
    next_weekly,
    period_bounds,
    period_reported,
    zone,
)
from functions.core.customer import DIGEST_SCHEDULE, PROFILE, WEBHOOK_ENDPOINT, Consent
from functions.core.identity import Channel, Topic
from functions.core.instants import from_text, to_text
from functions.core.opt_out_memory import address_mark, customer_mark
from functions.core.webhook_endpoint import SigningSecret
from ops.imports import fields
from ops.imports.fields import CUSTOMER_ID, DATA_REGION, Fields, checked, one_of, or_empty, reads
from ops.imports.lines import Columns, Form, read_lines
from ops.imports.reminders import moved_reminder
from ops.imports.report import BadLine, ImportReport
from ops.imports.returning import withheld
from ops.imports.rows import Key, RowChange
from ops.imports.writing import write_entries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from zoneinfo import ZoneInfo

    from functions.core.opt_out_memory import Memory
    from functions.core.ports import Clock
    from ops.imports.rows import Row
    from ops.imports.writing import Destination, Destinations, Progress

COLUMNS: Final = Columns(
    required=("customer_id", "data_region", "time_zone"),
    optional=(
        *("locale", "email", "phone", "webhook_url", "email_consent", "sms_consent", "webhook_consent", "active"),
        *("digest_weekday", "digest_time", "digest_channels", "first_run_on"),
    ),
)
ADDRESS_COLUMNS: Final = {Channel.EMAIL: "email", Channel.SMS: "phone", Channel.WEBHOOK: "webhook_url"}
LOCALES: Final = names.LANGUAGES
_MOMENT: Final = timedelta(milliseconds=1)  # what instants are stored to
_CONSENTS: Final[dict[str, object]] = {str(consent): consent for consent in Consent}


class CustomerLine(Fields):
    """One line of a customers file. A field that was not given is not in `model_fields_set`."""

    customer_id: Annotated[str, CUSTOMER_ID]
    data_region: Annotated[str, DATA_REGION]
    time_zone: Annotated[str, reads(fields.zone_name, "must be an IANA zone such as Europe/Berlin")]
    locale: Annotated[str, one_of({name: name for name in LOCALES}, empty="en")] = "en"
    email: Annotated[
        str | None,
        reads(or_empty(fields.email_address), "is no address that mail can go to; write it like name@example.com"),
    ] = Field(default=None, repr=False)
    phone: Annotated[
        str | None,
        reads(or_empty(fields.phone_number), "is no phone number; write it with + and country code, like +12025550123"),
    ] = Field(default=None, repr=False)
    webhook_url: Annotated[str | None, reads(or_empty(fields.webhook_url), "must be an https address")] = Field(
        default=None, repr=False
    )
    email_consent: Annotated[Consent | None, one_of(_CONSENTS)] = None
    sms_consent: Annotated[Consent | None, one_of(_CONSENTS)] = None
    webhook_consent: Annotated[Consent | None, one_of(_CONSENTS)] = None
    active: Annotated[bool, reads(or_empty(fields.truth, empty=True), "must be true or false")] = True
    digest_weekday: Annotated[
        int | None, reads(or_empty(fields.weekday), "must be a weekday, monday to sunday, or its first three letters")
    ] = None
    digest_time: Annotated[time | None, reads(or_empty(fields.clock), "must be a local time such as 09:30")] = None
    digest_channels: Annotated[
        tuple[Channel, ...] | None, reads(or_empty(fields.channels), fields.CHANNELS_EXPECTED)
    ] = None
    first_run_on: Annotated[date | None, reads(or_empty(fields.day), "must be an ISO date such as 2026-11-30")] = None

    @model_validator(mode="after")
    def _both_or_neither(self) -> Self:
        if (self.digest_weekday is None) != (self.digest_time is None):
            raise PydanticCustomError(
                "does_not_fit", "digest_weekday and digest_time: give both, or neither for a customer without a digest"
            )
        return self

    def gives(self, name: str) -> bool:
        """Whether the line has the field, empty or not."""
        return name in self.model_fields_set


@dataclass(frozen=True, slots=True)
class WeeklyPlan:
    """When a digest is wanted: Monday is 0, the time is local to the zone."""

    weekday: int
    local_time: time
    time_zone: str


@dataclass(frozen=True, slots=True)
class CustomerEntry:
    """A customer's line, and the changes that it asks for. `destination` is that of the line's data region."""

    number: int
    line: CustomerLine = field(repr=False)
    now: datetime
    destination: Callable[[], Destination]  # of a region that may not exist: asked for when the line is found good
    reads: bool = True

    @property
    def data_region(self) -> str:
        return self.line.data_region

    @property
    def home(self) -> Key:
        return self.line.customer_id, PROFILE

    @property
    def keys(self) -> Sequence[Key]:
        always = self.home, (self.line.customer_id, DIGEST_SCHEDULE)
        return (*always, (self.line.customer_id, WEBHOOK_ENDPOINT)) if self.line.webhook_url else always

    def consulted(self, held: Mapping[Key, Row]) -> Sequence[Key]:
        return [(mark, LEFT) for _, mark in self._marks(held.get(self.home))]

    def changes(self, held: Mapping[Key, Row], *, shards: int) -> Sequence[RowChange]:
        """Changes to profile and schedule, given both as they are."""
        profile, schedule, *endpoint = (held.get(key) for key in self.keys)
        addresses = self._addresses(profile)
        changed = [self._profile(addresses, profile, self._withheld(profile, held))]
        plan = self._plan(schedule)
        if plan is not None or schedule is not None:
            changed.append(self._schedule(plan, schedule, profile, tuple(addresses), shards))
        if endpoint == [None]:
            # Made once, with the first address, and kept whatever becomes of it: receivers know their secret by now.
            made = secrets_to_row([SigningSecret(new_secret())])
            changed.append(RowChange(self.keys[2], put={"secrets": made}, new=True))
        if profile is not None and profile["time_zone"] != self.line.time_zone:
            changed.extend(self._reminders())
        return changed

    def _reminders(self) -> Iterator[RowChange]:
        """Reminders at a local time that have not been planned, moved to the line's zone."""
        for key, reminder in self.destination().rows.reminders(self.line.customer_id).items():
            if "due_local" in reminder and names.NEXT_RUN_AT in reminder:
                yield moved_reminder(key, reminder, self.line.time_zone)

    def _addresses(self, profile: Row | None) -> dict[str, str]:
        known: Mapping[str, str] = (profile or {}).get("addresses", {})
        addresses = dict(known)
        for channel, name in ADDRESS_COLUMNS.items():
            if self.line.gives(name):
                addresses[str(channel)] = getattr(self.line, name)
        return {channel: address for channel, address in addresses.items() if address}

    def _marks(self, profile: Row | None) -> Iterator[tuple[Channel | None, str]]:
        """Where it may be remembered that somebody left: for an id that is new, and for addresses new to it."""
        known: Mapping[str, str] = (profile or {}).get("addresses", {})
        for key in self.destination().opt_out_keys:
            if profile is None:
                yield None, customer_mark(self.line.customer_id, key)
            for name, address in self._addresses(profile).items():
                if known.get(name) != address:
                    yield Channel(name), address_mark(Channel(name), address, key)

    def _withheld(self, profile: Row | None, held: Mapping[Key, Row]) -> Row:
        memories: dict[Channel | None, list[Memory]] = {}
        for channel, mark in self._marks(profile):
            if (mark, LEFT) in held:
                memories.setdefault(channel, []).append(memory_from_row(held[mark, LEFT]))
        return withheld(profile, memories, now=self.now)

    def _profile(self, addresses: dict[str, str], profile: Row | None, kept_out: Row) -> RowChange:
        said = {name: getattr(self.line, name) for name in ("locale", "active")}
        given = {name: value for name, value in said.items() if self.line.gives(name)}
        answers = {channel: getattr(self.line, f"{channel}_consent") for channel in Channel}
        if_absent = {
            **{name: value for name, value in said.items() if name not in given},
            # No answer is not stored: it counts as opted out, and leaves the question open for a later import.
            **{
                consent_attribute(topic, channel): str(answer)
                for channel, answer in answers.items()
                if answer is not None
                for topic in Topic
            },
        }
        return RowChange(
            key=self.home,
            new=profile is None,
            put={
                "time_zone": self.line.time_zone,
                "addresses": addresses,
                names.NUMBER_HASH: self._number_hash(addresses),
                **given,
                **kept_out,
            },
            if_absent={name: value for name, value in if_absent.items() if name not in kept_out},
            expected={"suppressed": (profile or {}).get("suppressed")} if "suppressed" in kept_out else {},
            remembered=bool(kept_out),
        )

    def _number_hash(self, addresses: Mapping[str, str]) -> str | None:
        number = addresses.get(str(Channel.SMS))
        return None if number is None else self.destination().number_hash(number)

    def _plan(self, schedule: Row | None) -> WeeklyPlan | None:
        """The plan that the line asks for; on record, with the line's zone, where it does not speak of one."""
        if self.line.digest_weekday is not None and self.line.digest_time is not None:
            return WeeklyPlan(self.line.digest_weekday, self.line.digest_time, self.line.time_zone)
        if self.line.gives("digest_weekday") or schedule is None:
            return None
        return WeeklyPlan(schedule["weekday"], time.fromisoformat(schedule["local_time"]), self.line.time_zone)

    def _schedule(
        self,
        plan: WeeklyPlan | None,
        schedule: Row | None,
        profile: Row | None,
        reachable: Sequence[str],
        shards: int,
    ) -> RowChange:
        key, new = self.keys[1], schedule is None
        if plan is None:
            return RowChange(key, put=_NOT_DUE)
        channels = self._channels(schedule, reachable)
        put = {
            "weekday": plan.weekday,
            "local_time": plan.local_time.isoformat("minutes"),
            "time_zone": plan.time_zone,
            "channels": channels,
        }
        if not (channels and self._active(profile)):
            return RowChange(key, put={**put, **_NOT_DUE}, new=new)
        read_at = (schedule or {}).get(names.NEXT_RUN_AT)
        return RowChange(
            key,
            put={
                **put,
                names.DUE_SHARD: due_shard(self.line.customer_id, shards),
                names.NEXT_RUN_AT: to_text(self._next_run(plan, schedule)),
            },
            # The planner moves this attribute on: whoever comes second looks again.
            expected={names.NEXT_RUN_AT: read_at},
            new=new,
        )

    def _channels(self, schedule: Row | None, reachable: Sequence[str]) -> list[str]:
        if self.line.digest_channels is not None:
            return [str(channel) for channel in self.line.digest_channels]
        if schedule is not None and not self.line.gives("digest_channels"):
            return list(schedule["channels"])
        return [str(channel) for channel in Channel if channel in reachable]

    def _active(self, profile: Row | None) -> bool:
        if self.line.gives("active") or profile is None:
            return self.line.active
        return bool(profile.get("active", True))

    def _next_run(self, plan: WeeklyPlan, schedule: Row | None) -> datetime:
        if schedule is None:
            return first_run(plan, first_run_on=self.line.first_run_on, now=self.now)
        if names.NEXT_RUN_AT not in schedule:
            return first_run(plan, first_run_on=None, now=self.now)
        known = WeeklyPlan(schedule["weekday"], time.fromisoformat(schedule["local_time"]), schedule["time_zone"])
        promised = from_text(schedule[names.NEXT_RUN_AT])
        if known == plan:
            return promised
        return moved_run(plan, promised=promised, promised_in=known.time_zone, now=self.now)


_NOT_DUE: Final[Mapping[str, None]] = {names.DUE_SHARD: None, names.NEXT_RUN_AT: None}


def first_run(plan: WeeklyPlan, *, first_run_on: date | None, now: datetime) -> datetime:
    """When a new schedule runs first: the next time after now, or from a local day on.

    A day in the past makes up for the last week at most: digests of the weeks before would come too late to be sent.
    """
    where = zone(plan.time_zone)
    if first_run_on is None:
        return next_weekly(plan.weekday, plan.local_time, where, after=now)
    opens = at_local(first_run_on, time(), where)
    return next_weekly(plan.weekday, plan.local_time, where, after=max(opens, now - WEEK) - _MOMENT)


def moved_run(plan: WeeklyPlan, *, promised: datetime, promised_in: str, now: datetime) -> datetime:
    """When a schedule runs next that was promised a run and is wanted at another time now.

    Each run reports the local week before its own. The promised run was to report the first week that has not been
    planned, so the new one has to fall into the week right after that; anywhere else a week would be skipped or
    reported twice:

    ```
    weeks     ... planned │ to be reported │ run must fall in here │ ...
                                             opens           closes
    ```
    The wanted time if it is still to come, else the time that had been promised, else at once.
    """
    where = zone(plan.time_zone)
    to_report = period_reported(promised, _zone_or(promised_in, where))
    opens, closes = period_bounds(to_report + WEEK, where)
    wanted = at_local(to_report + WEEK + timedelta(days=plan.weekday), plan.local_time, where)
    for candidate in (wanted, promised):
        if candidate > now and opens <= candidate < closes:
            return candidate
    return min(max(now, opens), closes - _MOMENT)


def _zone_or(name: str, otherwise: ZoneInfo) -> ZoneInfo:
    try:
        return zone(name)
    except UnknownTimeZoneError:  # this very import mends it
        return otherwise


def import_customers(
    lines: Iterable[str],
    deployment: Destinations,
    *,
    form: Form | None = None,
    progress: Progress | None = None,
    clock: Clock = utc_now,
) -> ImportReport:
    """Import lines of CSV with a header row, or of JSON. Raises FileFaultError when nothing of them can be read."""
    return write_entries(_entries(lines, form, clock(), deployment), deployment, progress=progress)


def _entries(
    lines: Iterable[str], form: Form | None, now: datetime, deployment: Destinations
) -> Iterator[CustomerEntry | BadLine]:
    for line in read_lines(lines, COLUMNS, form=form):
        read = line if isinstance(line, BadLine) else checked(CustomerLine, line)
        if isinstance(read, BadLine):
            yield read
        else:
            yield CustomerEntry(line.number, read, now, partial(deployment.region, read.data_region))
