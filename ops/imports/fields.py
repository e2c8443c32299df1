"""What a field of a line must be: one reader each, and in words what would be right.

No message repeats what stood in the field: a shifted column puts addresses anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, time
from typing import TYPE_CHECKING, Any, Final, TypeVar

import phonenumbers
from email_validator import EmailNotValidError, validate_email
from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError
from pydantic_core import PydanticCustomError

from functions.core.calendar import zone
from functions.core.identity import Channel, InvalidIdError, opaque_id
from functions.core.instants import from_text
from functions.core.webhook_address import AddressRefusedError, read_address
from functions.names import SMOKE_PREFIX
from ops.imports.report import BadLine

if TYPE_CHECKING:
    from ops.imports.lines import Line

WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
LONGEST_TITLE: Final = 200  # characters of a title or subject
_NAME_LIKE: Final = re.compile(r"[A-Za-z][A-Za-z_ -]{0,30}")
_TRUTHS: Final = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


class Fields(BaseModel):
    """Base of the lines: strict about names, and silent about values in its errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


FieldsT = TypeVar("FieldsT", bound=Fields)


def checked(model: type[FieldsT], line: Line) -> FieldsT | BadLine:
    """A line's fields as a model, or everything that is wrong with it."""
    try:
        return model.model_validate(line.fields)
    except ValidationError as error:
        return BadLine(line.number, "; ".join(dict.fromkeys(_fault(detail) for detail in error.errors())))


def _fault(detail: Any) -> str:  # noqa: ANN401 - pydantic's account of one error
    name = ".".join(str(part) for part in detail["loc"])
    if detail["type"] == "missing":
        return f"{name}: is missing"
    if detail["type"] == "extra_forbidden":
        return f"{name}: is unknown; take it out" if _NAME_LIKE.fullmatch(name) else "one key is unknown; take it out"
    return f"{name}: {detail['msg']}" if name else str(detail["msg"])


def reads(read: Callable[[str], object], expected: str) -> BeforeValidator:
    """A field that `read` turns into a value; a ValueError or KeyError of `read` is reported as `expected`."""

    def validate(value: object) -> object:
        if not isinstance(value, str):
            return value  # a default, or a value that came from Python
        try:
            return read(value.strip())
        except (InvalidIdError, AddressRefusedError) as error:
            raise PydanticCustomError("does_not_fit", str(error).partition(": ")[2]) from None
        except (ValueError, KeyError):
            raise PydanticCustomError("does_not_fit", expected) from None

    return BeforeValidator(validate)


def or_empty(read: Callable[[str], object], empty: object = None) -> Callable[[str], object]:
    """The reader of a field that may be empty."""

    def read_or_empty(text: str) -> object:
        return read(text) if text else empty

    return read_or_empty


# --- readers ----------------------------------------------------------------------------------------------------------


def an_id(field: str) -> BeforeValidator:
    """An id that says nothing about the person."""
    return reads(lambda text: opaque_id(text, field=field), "must be an opaque id such as c-10428")


def _customer_id(text: str) -> str:
    if text.startswith(SMOKE_PREFIX):
        raise InvalidIdError(f"customer_id: ids that begin with {SMOKE_PREFIX} belong to `digest smoke`; use another")
    return opaque_id(text, field="customer_id")


def one_of(choices: dict[str, object], *, empty: object = None, required: bool = False) -> BeforeValidator:
    """One of some words, in any case."""

    def read(text: str) -> object:
        return choices[text.lower()]

    return reads(read if required else or_empty(read, empty), f"must be one of {', '.join(choices)}")


def zone_name(text: str) -> str:
    """An IANA zone's name. Raises UnknownTimeZoneError."""
    return zone(text).key


def email_address(text: str) -> str:
    """An address as it is stored. Raises ValueError; whether its domain takes mail is not asked of the network."""
    try:
        return validate_email(text, check_deliverability=False).normalized
    except EmailNotValidError:
        raise ValueError from None


def phone_number(text: str) -> str:
    """A number in E.164 form. Raises ValueError.

    A possible number is enough: the ranges kept for fiction, which every test and demonstration uses, are not valid.
    """
    try:
        number = phonenumbers.parse(text, None)
    except phonenumbers.NumberParseException:
        raise ValueError from None
    if number.extension or not phonenumbers.is_possible_number(number):
        raise ValueError
    return phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)


def webhook_url(text: str) -> str:
    """An address that webhooks may go to, in its one spelling. Raises AddressRefusedError, which says what is wrong."""
    return read_address(text).url


def truth(text: str) -> bool:
    """`true` or `false`, `yes` or `no`, `1` or `0`. Raises KeyError."""
    return _TRUTHS[text.lower()]


def weekday(text: str) -> int:
    """Monday is 0; the first three letters are enough. Raises ValueError."""
    wanted = text.lower()
    for number, name in enumerate(WEEKDAYS):
        if wanted in {name, name[:3]}:
            return number
    raise ValueError


def clock(text: str) -> time:
    """`HH:MM`. Raises ValueError."""
    if not re.fullmatch(r"[0-9]{1,2}:[0-9]{2}", text):
        raise ValueError
    hours, minutes = text.split(":")
    return time(int(hours), int(minutes))


def channels(text: str) -> tuple[Channel, ...]:
    """Channels, parted by commas, spaces or bars; each once, in a fixed order. Raises ValueError."""
    named = {Channel(part.lower()) for part in re.split(r"[,;|\s]+", text) if part}
    return tuple(channel for channel in Channel if channel in named)


def some_channels(text: str) -> tuple[Channel, ...]:
    """As `channels`, and at least one. Raises ValueError."""
    if not (named := channels(text)):
        raise ValueError
    return named


def day(text: str) -> date:
    """An ISO date. Raises ValueError."""
    return date.fromisoformat(text)


def instant(text: str) -> datetime:
    """An ISO 8601 time with its offset, in UTC. Raises ValueError."""
    try:
        return from_text(text)
    except OverflowError:  # year 1 or 9999, shifted beyond what there is
        raise ValueError from None


def wall_time(text: str) -> datetime:
    """`YYYY-MM-DDTHH:MM` of this century, as clocks show it, without a zone. Raises ValueError."""
    if not re.fullmatch(r"20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}", text):
        raise ValueError
    return datetime.fromisoformat(text)


def one_line(text: str) -> str:
    """Text without line breaks and control characters, not longer than LONGEST_TITLE. Raises ValueError."""
    if not text or len(text) > LONGEST_TITLE or not text.isprintable():
        raise ValueError
    return text


CUSTOMER_ID: Final = reads(_customer_id, "must be an opaque id such as c-10428")
DATA_REGION: Final = reads(str.lower, "must name a data region")
INSTANT_EXPECTED: Final = "must be an ISO 8601 time with its offset, such as 2026-11-29T20:05:00Z"
WALL_TIME_EXPECTED: Final = "must be a local time such as 2026-12-01T09:00; a time with its offset goes into due_at"
CHANNELS_EXPECTED: Final = f"must list channels out of {', '.join(Channel)}, such as email,sms"
ONE_LINE_EXPECTED: Final = f"must be one line of 1 to {LONGEST_TITLE} characters"
