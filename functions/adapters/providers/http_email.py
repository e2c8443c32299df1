"""Email over HTTPS with an idempotency key, in the manner of today's mail APIs (Resend's is the pattern).

`POST /emails` with `Idempotency-Key`, errors as `{"name": ..., "statusCode": ...}`, `409` in both meanings, and
`GET /emails?idempotency_key=...` to ask what became of a key. https://resend.com/docs/api-reference/errors
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode, urlsplit

import urllib3
from botocore.exceptions import BotoCoreError, ClientError
from pydantic import BaseModel, ConfigDict, Field, field_validator
from urllib3.exceptions import (
    ConnectTimeoutError,
    HTTPError,
    NewConnectionError,
    ProxyError,
    SSLError,
)

from functions.core.envelope import EmailEnvelope
from functions.core.outcome import Dedupe, Guarantee, Outcome, OutcomeClass, Sight, Sighting
from functions.core.provider_codes import HTTP_EMAIL, meaning
from functions.core.retry_after import retry_at

if TYPE_CHECKING:
    from collections.abc import Callable

    from functions.core.delivery import Delivery
    from functions.core.envelope import Envelope
    from functions.core.ports import Clock

CONNECT_TIMEOUT_S: Final = 2.0
ANSWER_LIMIT: Final = 64 * 1024  # bytes of an answer that are read; a real one has a few hundred
NO_KEY_NAME: Final = "unnamed"
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_OK: Final = 200
_MULTIPLE: Final = 300
_UNREADABLE: Final = "unreadable_answer"
# Raised before the request has left: nothing can have happened at the other end.
_NEVER_LEFT: Final = (NewConnectionError, ConnectTimeoutError, ProxyError, SSLError)


class HttpEmailOptions(BaseModel):
    """How a region's HTTP email provider is reached, and for how long it remembers a key (seconds)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str
    api_key_secret: str = Field(min_length=1)  # name or ARN in Secrets Manager
    key_window_s: int = Field(default=24 * 3600, ge=60)
    lookup_window_s: int = Field(default=0, ge=0)  # 0: the provider cannot be asked about a key

    @field_validator("url")
    @classmethod
    def _encrypted(cls, url: str) -> str:
        parts = urlsplit(url)
        if parts.scheme != "https" and parts.hostname not in _LOOPBACK:
            msg = "must begin with https://"
            raise ValueError(msg)
        return url.rstrip("/")

    @property
    def guarantee(self) -> Guarantee:
        """What such a provider promises."""
        dedupe = Dedupe.LOOKUP if self.lookup_window_s else Dedupe.WINDOW
        return Guarantee(
            dedupe,
            window=timedelta(seconds=self.key_window_s),
            lookup_window=timedelta(seconds=self.lookup_window_s),
        )


@dataclass(frozen=True, slots=True)
class HttpEmailProvider:
    """`Provider` and `Witness` over HTTPS. One connection pool, no redirects, one HTTP attempt a send."""

    options: HttpEmailOptions
    api_key: Callable[[], str]
    clock: Clock
    timeout_s: float
    pool: urllib3.PoolManager
    name: str = "http"

    @classmethod
    def connect(
        cls, options: HttpEmailOptions, *, api_key: Callable[[], str], clock: Clock, timeout_s: float
    ) -> HttpEmailProvider:
        """Return a provider that gives up after that many seconds without an answer."""
        timeout = urllib3.Timeout(connect=min(CONNECT_TIMEOUT_S, timeout_s), read=timeout_s)
        pool = urllib3.PoolManager(timeout=timeout, retries=False, maxsize=4)
        return cls(options, api_key, clock, timeout_s, pool)

    @property
    def guarantee(self) -> Guarantee:
        """What this provider promises about duplicates."""
        return self.options.guarantee

    def send(self, delivery: Delivery, envelope: Envelope) -> Outcome:
        """Send one email under the delivery's id as key: every attempt of a delivery carries the same one."""
        if not isinstance(envelope, EmailEnvelope):
            return Outcome(OutcomeClass.REJECTED, "not_an_email")
        body = {
            "from": envelope.sender,
            "to": [envelope.to],
            "subject": envelope.subject,
            "html": envelope.html,
            "text": envelope.text,
            "tags": [{"name": "delivery_id", "value": str(delivery.delivery_id).replace(":", ".")}],
        }
        try:
            api_key = self.api_key()
        except (ClientError, BotoCoreError) as error:
            return Outcome(OutcomeClass.UNAVAILABLE, f"api_key_{type(error).__name__}")
        try:
            response = self._request("POST", "/emails", api_key, body=body, key=str(delivery.delivery_id))
        except _NEVER_LEFT as error:
            return Outcome(OutcomeClass.UNAVAILABLE, type(error).__name__)
        except HTTPError as error:
            return Outcome(OutcomeClass.UNKNOWN, type(error).__name__)
        return self._read(response)

    def look_up(self, delivery: Delivery) -> Sighting:
        """Ask what became of the delivery's key."""
        query = urlencode({"idempotency_key": str(delivery.delivery_id)})
        try:
            response = self._request("GET", f"/emails?{query}", self.api_key())
        except (HTTPError, ClientError, BotoCoreError):
            return Sighting(Sight.NO_ANSWER)
        found = _json(response)
        if response.status != _OK or not isinstance(found, dict) or not isinstance(found.get("data"), list):
            return Sighting(Sight.NO_ANSWER)
        if not found["data"]:
            return Sighting(Sight.ABSENT)
        first = found["data"][0]
        if first.get("status") == "processing":
            return Sighting(Sight.RUNNING)
        return Sighting(Sight.ACCEPTED, first.get("id"))

    def _request(
        self, method: str, path: str, api_key: str, *, body: dict[str, Any] | None = None, key: str | None = None
    ) -> urllib3.BaseHTTPResponse:
        headers = {"Authorization": f"Bearer {api_key}", "Accept": "application/json"}
        if key is not None:
            headers["Idempotency-Key"] = key
        if body is not None:
            headers["Content-Type"] = "application/json"
        return self.pool.request(
            method,
            self.options.url + path,
            body=None if body is None else json.dumps(body).encode(),
            headers=headers,
            redirect=False,
            retries=False,
        )

    def _read(self, response: urllib3.BaseHTTPResponse) -> Outcome:
        answer = _json(response)
        named: dict[str, Any] = answer if isinstance(answer, dict) else {}
        if _OK <= response.status < _MULTIPLE:
            if not isinstance(named.get("id"), str):
                # Somebody answered, but not the provider that we know: it may have passed the request on.
                return Outcome(OutcomeClass.UNKNOWN, _UNREADABLE)
            replayed = response.headers.get("Idempotent-Replayed", "").lower() == "true"
            return Outcome(OutcomeClass.ACCEPTED, "ok", named["id"], provider_duplicate=replayed)
        code = str(named.get("name", NO_KEY_NAME))[:64]
        wait = retry_at(response.headers.get("Retry-After"), now=self.clock())
        return Outcome(meaning(HTTP_EMAIL, code, response.status), code, retry_at=wait)


def _json(response: urllib3.BaseHTTPResponse) -> object:
    if len(response.data) > ANSWER_LIMIT:
        return None
    try:
        return json.loads(response.data)
    except ValueError:
        return None
