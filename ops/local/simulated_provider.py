"""An email provider that honours idempotency keys, as a state machine: keys, accepted operations, faults on demand."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from functions.adapters.clock import utc_now
from ops.local.loopback_server import Ending, Reply, Request
from ops.local.provider_faults import FaultKind, FaultScript, ProviderFault, answer, error

KEY_WINDOW: Final = timedelta(hours=24)
LOOKUP_WINDOW: Final = timedelta(days=7)
LONGEST_KEY: Final = 256
EMAILS: Final = "/emails"
_MAILBOX: Final = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_TAG: Final = re.compile(r"[A-Za-z0-9_-]{1,256}")


class Email(BaseModel):
    """An email as it is asked to be sent. Nothing of it is in its `repr`."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    sender: str = Field(alias="from", repr=False)
    to: tuple[str, ...] = Field(min_length=1, max_length=1, repr=False)
    subject: str = Field(min_length=1, repr=False)
    html: str = Field(min_length=1, repr=False)
    text: str = Field(min_length=1, repr=False)
    headers: Mapping[str, str] = Field(default_factory=dict, repr=False)
    tags: tuple[Mapping[str, str], ...] = Field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Operation:
    """An email that was accepted, which costs money and reaches a person."""

    operation_id: str
    key: str | None
    to: str = field(repr=False)
    body_sha256: str
    at: datetime  # UTC, by the provider's clock
    email: Email = field(repr=False)


@dataclass(frozen=True, slots=True)
class Call:
    """A request to send, and how it ended: a status, an error's name, or an ending such as `reset`."""

    at: datetime  # UTC, by the provider's clock, when it arrived
    key: str | None
    to: str | None = field(repr=False)
    ended: str


@dataclass(frozen=True, slots=True)
class _Attempt:
    key: str | None
    body_sha256: str


@dataclass(slots=True)
class _Held:
    """What is remembered of a key; no operation as long as its first request is being worked on."""

    body_sha256: str
    since: datetime
    operation: Operation | None = None


class SimulatedProvider:
    """Answers what `functions/adapters/providers/http_email.py` asks. Safe to be used by several threads.

    Args:
        api_key: what the bearer must show.
        seed: decides which requests a fault with a `share` strikes.
        key_window: for how long a key is remembered.
        lookup_window: for how long an accepted email is found by its key.
        clock: the time in UTC; `advance` moves the provider's own ahead of it.
        wait: how a delay passes.
    """

    def __init__(
        self,
        *,
        api_key: str,
        wait: Callable[[float], None],
        seed: int = 0,
        key_window: timedelta = KEY_WINDOW,
        lookup_window: timedelta = LOOKUP_WINDOW,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self._api_key = api_key
        self._wait = wait
        self._key_window = key_window
        self._lookup_window = lookup_window
        self._clock = clock
        self._ahead = timedelta()
        self._lock = threading.RLock()
        self._script = FaultScript(seed)
        self._keys: dict[str, _Held] = {}
        self._asked: Counter[tuple[str, str | None]] = Counter()
        self._operations: list[Operation] = []
        self._calls: list[Call] = []

    # --- for whoever watches --------------------------------------------------------------------------------------

    @property
    def operations(self) -> Sequence[Operation]:
        """Every accepted operation, in order."""
        with self._lock:
            return tuple(self._operations)

    @property
    def calls(self) -> Sequence[Call]:
        """Every request to send, in the order in which they ended."""
        with self._lock:
            return tuple(self._calls)

    def performed_more_than_once(self) -> Mapping[str, int]:
        """Keys that more than one operation was performed for, with their number: nobody's, if all is well."""
        counts = Counter(operation.key for operation in self.operations)
        return {key: count for key, count in counts.items() if key is not None and count > 1}

    # --- for whoever scripts --------------------------------------------------------------------------------------

    def will(self, *faults: ProviderFault) -> None:
        """Go wrong in these ways, from now on."""
        with self._lock:
            self._script.add(*faults)

    def behave(self) -> None:
        """Forget every fault still to come."""
        with self._lock:
            self._script.clear()

    @property
    def faults_left(self) -> Sequence[ProviderFault]:
        """The faults still to come."""
        with self._lock:
            return self._script.left

    def advance(self, time: timedelta) -> datetime:
        """Move the provider's own clock ahead, so that keys age; returns its time."""
        with self._lock:
            self._ahead += time
            return self._now()

    # --- the API --------------------------------------------------------------------------------------------------

    def answer(self, request: Request) -> Reply:
        """Answer one request of the API."""
        refusal = self._refusal(request)
        if refusal is not None:
            return refusal
        return self._send(request) if request.method == "POST" else self._look_up(request)

    def _refusal(self, request: Request) -> Reply | None:
        bearer = request.headers.get("authorization", "")
        if not bearer:
            return error(HTTPStatus.UNAUTHORIZED, "missing_api_key", "Missing API key.")
        if bearer != f"Bearer {self._api_key}":
            return error(HTTPStatus.FORBIDDEN, "invalid_api_key", "The API key is not valid.")
        if request.path != EMAILS:
            return error(HTTPStatus.NOT_FOUND, "not_found", "There is no such endpoint.")
        if request.method not in {"GET", "POST"}:
            return error(HTTPStatus.METHOD_NOT_ALLOWED, "method_not_allowed", "Use GET or POST.")
        return None

    def _send(self, request: Request) -> Reply:
        arrived_at, key = self._now(), request.headers.get("idempotency-key")
        email = _read(request.body)
        if isinstance(email, Reply):
            reply = email
        elif key is not None and not 1 <= len(key) <= LONGEST_KEY:
            reply = error(HTTPStatus.BAD_REQUEST, "invalid_idempotency_key", "Use 1 to 256 characters.")
        else:
            reply = self._carry_out(email, _Attempt(key, hashlib.sha256(request.body).hexdigest()))
        to = None if isinstance(email, Reply) else email.to[0]
        with self._lock:
            self._calls.append(Call(arrived_at, key, to, _ended(reply)))
        return reply

    def _carry_out(self, email: Email, attempt: _Attempt) -> Reply:
        fault = self._fault("send", email.to[0], attempt.key)
        if fault is None:
            return self._accept(email, attempt)
        if fault.kind is FaultKind.SLOW:
            return self._accept(email, attempt, after_s=fault.delay_s)
        self._wait(fault.delay_s)
        if fault.accepting:
            self._accept(email, attempt)
        return fault.reply(to=email.to[0], now=self._clock())

    def _accept(self, email: Email, attempt: _Attempt, *, after_s: float = 0.0) -> Reply:
        with self._lock:
            known = self._known(attempt)
            if known is not None:
                return known
            if attempt.key is not None:
                self._keys[attempt.key] = _Held(attempt.body_sha256, self._now())
        self._wait(after_s)
        return answer({"id": self._perform(email, attempt).operation_id})

    def _known(self, attempt: _Attempt) -> Reply | None:
        """The answer to a key that has been seen before, as long as it is remembered."""
        held = None if attempt.key is None else self._keys.get(attempt.key)
        if held is None or self._now() >= held.since + self._key_window:
            return None
        if held.body_sha256 != attempt.body_sha256:
            return error(HTTPStatus.CONFLICT, "invalid_idempotent_request", "The key came with another body before.")
        if held.operation is None:
            return error(HTTPStatus.CONFLICT, "concurrent_idempotent_requests", "The key's first request is running.")
        return answer({"id": held.operation.operation_id}, headers={"Idempotent-Replayed": "true"})

    def _perform(self, email: Email, attempt: _Attempt) -> Operation:
        with self._lock:
            name = f"email-{len(self._operations) + 1:06d}"
            operation = Operation(name, attempt.key, email.to[0], attempt.body_sha256, self._now(), email)
            self._operations.append(operation)
            if attempt.key is not None:
                self._keys[attempt.key].operation = operation
            return operation

    def _look_up(self, request: Request) -> Reply:
        key = request.query.get("idempotency_key")
        if not key:
            return error(HTTPStatus.BAD_REQUEST, "missing_required_field", "Name an idempotency_key.")
        with self._lock:
            found = self._found(key)
            fault = self._fault("look_up", next((one.to for one in self._operations if one.key == key), None), key)
        if fault is None:
            return answer({"data": found})
        self._wait(fault.delay_s)
        return answer({"data": found}) if fault.kind is FaultKind.SLOW else fault.reply(to="", now=self._clock())

    def _found(self, key: str) -> list[Mapping[str, str]]:
        held = self._keys.get(key)
        if held is not None and held.operation is None:
            return [{"status": "processing"}]
        oldest = self._now() - self._lookup_window
        return [
            {"id": one.operation_id, "status": "sent"}
            for one in self._operations
            if one.key == key and one.at >= oldest
        ]

    def _fault(self, on: str, to: str | None, key: str | None) -> ProviderFault | None:
        with self._lock:
            self._asked[on, key] += 1
            return self._script.take(on=on, to=to, key=key, nth=self._asked[on, key])

    def _now(self) -> datetime:
        return self._clock() + self._ahead


def _read(body: bytes) -> Email | Reply:
    """The email in a request, or what the provider has to say about it."""
    try:
        email = Email.model_validate_json(body)
    except ValidationError as refused:
        fields = ", ".join(sorted({str(detail["loc"][0]) if detail["loc"] else "body" for detail in refused.errors()}))
        return error(HTTPStatus.UNPROCESSABLE_ENTITY, "missing_required_field", f"Missing or wrong: {fields}.")
    if not all(_TAG.fullmatch(each) for tag in email.tags for each in tag.values()):
        return error(HTTPStatus.UNPROCESSABLE_ENTITY, "validation_error", "Tags hold letters, digits, _ and - only.")
    if not _MAILBOX.fullmatch(email.to[0]):
        return error(HTTPStatus.UNPROCESSABLE_ENTITY, "validation_error", f"Not an address: {email.to[0]}.")
    return email


def _ended(reply: Reply) -> str:
    """How a request to send ended, in a word or two."""
    if reply.ending is not Ending.ANSWER:
        return str(reply.ending)
    if "Idempotent-Replayed" in reply.headers:
        return f"{reply.status} replayed"
    is_json = reply.headers.get("Content-Type") == "application/json"
    name = json.loads(reply.body).get("name", "") if is_json else ""
    return f"{reply.status} {name}".rstrip()
