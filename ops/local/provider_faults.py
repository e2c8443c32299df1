"""What a simulated provider can be told to do wrong, to whom, how often, and what that looks like on the wire."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from email.utils import format_datetime
from enum import StrEnum
from typing import Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ops.local.loopback_server import RESET, SILENCE, Reply


class FaultKind(StrEnum):
    """What goes wrong."""

    SLOW = "slow"  # answers as ever, `delay_s` later
    RATE_LIMITED = "rate_limited"
    RECIPIENT_RATE_LIMITED = "recipient_rate_limited"
    DAILY_QUOTA = "daily_quota"
    MONTHLY_QUOTA = "monthly_quota"
    INTERNAL_ERROR = "internal_error"
    BAD_GATEWAY = "bad_gateway"
    UNAVAILABLE = "unavailable"
    GATEWAY_TIMEOUT = "gateway_timeout"
    HANG = "hang"
    RESET = "reset"
    UNAUTHORIZED = "unauthorized"
    FORBIDDEN = "forbidden"
    REJECTED = "rejected"
    UNREADABLE = "unreadable"  # 200, and nothing in it that says what became of the email


# Faults after which the email may have been accepted all the same.
UNCLEAR: Final = frozenset(
    {
        FaultKind.INTERNAL_ERROR,
        FaultKind.BAD_GATEWAY,
        FaultKind.GATEWAY_TIMEOUT,
        FaultKind.HANG,
        FaultKind.RESET,
        FaultKind.UNREADABLE,
    }
)
_PAGE: Final = {"Content-Type": "text/html"}
_JSON: Final = {"Content-Type": "application/json"}
_WHOLE_REPLIES: Final[Mapping[FaultKind, Reply]] = {
    FaultKind.HANG: SILENCE,
    FaultKind.RESET: RESET,
    # What stands between us and the provider answers with a page of its own.
    FaultKind.BAD_GATEWAY: Reply(502, b"<html><h1>502 Bad Gateway</h1></html>", _PAGE),
    FaultKind.GATEWAY_TIMEOUT: Reply(504, b"<html><h1>504 Gateway Time-out</h1></html>", _PAGE),
    FaultKind.UNREADABLE: Reply(200, b"<html><h1>Welcome to the hotel's network</h1></html>", _PAGE),
}
# Status, name and text of the errors that the provider itself answers with. Some texts quote the address, as real ones
# do: nothing of them may be seen on our side.
_ERRORS: Final[Mapping[FaultKind, tuple[int, str, str]]] = {
    FaultKind.RATE_LIMITED: (429, "rate_limit_exceeded", "Too many requests."),
    FaultKind.RECIPIENT_RATE_LIMITED: (429, "recipient_rate_limited", "Too many emails to {to}."),
    FaultKind.DAILY_QUOTA: (429, "daily_quota_exceeded", "The daily quota is used up."),
    FaultKind.MONTHLY_QUOTA: (429, "monthly_quota_exceeded", "The monthly quota is used up."),
    FaultKind.INTERNAL_ERROR: (500, "internal_server_error", "Something went wrong while sending to {to}."),
    FaultKind.UNAVAILABLE: (503, "service_unavailable", "Try again later."),
    FaultKind.UNAUTHORIZED: (401, "validation_error", "The API key is not valid."),
    FaultKind.FORBIDDEN: (403, "validation_error", "The sender's domain is not verified; {to} gets nothing."),
    FaultKind.REJECTED: (422, "validation_error", "The address {to} cannot exist."),
}


class ProviderFault(BaseModel):
    """One thing to go wrong. The first that fits a request is taken; those of one recipient and of everybody mix.

    `times` is how often it happens, or None for ever; with a `share` below 1 it happens to that share of the requests
    that it fits. `accepting`: the email is accepted, and then it goes wrong.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: FaultKind
    to: str | None = Field(default=None, repr=False)
    on: Literal["send", "look_up"] = "send"
    times: int | None = Field(default=1, ge=1)
    share: float = Field(default=1.0, gt=0, le=1)
    delay_s: float = Field(default=0.0, ge=0, le=600)
    accepting: bool = False
    retry_after: str | None = Field(default=None, max_length=200)  # as the header shall say it, sense or nonsense
    retry_after_date_s: int | None = None  # as a date so many seconds from then

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.accepting and self.kind not in UNCLEAR:
            msg = f"accepting: a provider that answers {self.kind} has not accepted; possible with {sorted(UNCLEAR)}"
            raise ValueError(msg)
        if self.retry_after is not None and self.retry_after_date_s is not None:
            msg = "retry_after, retry_after_date_s: the header has one value; give one of them"
            raise ValueError(msg)
        return self

    def reply(self, *, to: str, now: datetime) -> Reply:
        """What the sender gets to see of it; `now` is in UTC."""
        whole = _WHOLE_REPLIES.get(self.kind)
        if whole is not None:
            return Reply(whole.status, whole.body, {**whole.headers, **self._retry_after(now)}, whole.ending)
        status, name, text = _ERRORS[self.kind]
        return error(status, name, text.format(to=to), self._retry_after(now))

    def _retry_after(self, now: datetime) -> Mapping[str, str]:
        if self.retry_after_date_s is not None:
            when = now + timedelta(seconds=self.retry_after_date_s)
            return {"Retry-After": format_datetime(when.replace(microsecond=0), usegmt=True)}
        return {} if self.retry_after is None else {"Retry-After": self.retry_after}


def error(status: int, name: str, message: str, headers: Mapping[str, str] | None = None) -> Reply:
    """An error as the provider's API words it."""
    return answer({"statusCode": status, "name": name, "message": message}, status=status, headers=headers)


def answer(content: Mapping[str, Any], *, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    """An answer of the provider's API."""
    return Reply(status, json.dumps(content).encode(), {**_JSON, **(headers or {})})


class FaultScript:
    """The faults still to come. What is left to chance depends on the seed and on the request, not on its moment."""

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed
        self._faults: list[tuple[int, ProviderFault, int | None]] = []  # number, fault, times left
        self._added = 0

    def add(self, *faults: ProviderFault) -> None:
        for fault in faults:
            self._added += 1
            self._faults.append((self._added, fault, fault.times))

    def clear(self) -> None:
        self._faults.clear()

    @property
    def left(self) -> Sequence[ProviderFault]:
        return [fault.model_copy(update={"times": times}) for _, fault, times in self._faults]

    def take(self, *, on: str, to: str | None, key: str | None, nth: int) -> ProviderFault | None:
        """The fault that happens to a request, the `nth` with its key, and one time less is left of it."""
        for place, (number, fault, times) in enumerate(self._faults):
            if fault.on != on or fault.to not in {None, to} or not self._strikes(fault, number, f"{key}#{nth}"):
                continue
            if times == 1:
                del self._faults[place]
            elif times is not None:
                self._faults[place] = (number, fault, times - 1)
            return fault
        return None

    def _strikes(self, fault: ProviderFault, number: int, request: str) -> bool:
        return fault.share == 1 or random.Random(f"{self._seed}/{number}/{request}").random() < fault.share  # noqa: S311 - nothing secret
