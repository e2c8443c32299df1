"""Email over HTTPS with an idempotency key, in the manner of today's mail APIs (Resend's is the pattern).

`POST /emails` with `Idempotency-Key`, errors as `{"name": ..., "statusCode": ...}`, `409` in both meanings, and
`GET /emails?idempotency_key=...` to ask what became of a key. https://resend.com/docs/api-reference/errors
"""

from __future__ import annotations

import json
import re
import ssl
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode, urlsplit

import urllib3
from pydantic import BaseModel, ConfigDict, Field, field_validator
from urllib3.exceptions import ConnectTimeoutError, HTTPError, SSLError

from functions.adapters.secrets import SecretError
from functions.core.envelope import EmailEnvelope
from functions.core.outcome import Dedupe, Guarantee, Outcome, OutcomeClass, Sight, Sighting
from functions.core.provider_codes import HTTP_EMAIL, meaning
from functions.core.retry_after import retry_at

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from functions.core.delivery import Delivery
    from functions.core.envelope import Envelope
    from functions.core.ports import Clock

CONNECT_TIMEOUT_S: Final = 2.0
ANSWER_LIMIT: Final = 64 * 1024  # bytes of an answer that are read; a real one has a few hundred
UNNAMED: Final = "unnamed"
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_OK: Final = 200
_MULTIPLE: Final = 300
_UNREADABLE: Final = "unreadable_answer"
# What an error's name looks like. Anything else may be words, and words may quote an address.
_CODE: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")


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
        if parts.scheme != "https" and (parts.scheme != "http" or parts.hostname not in _LOOPBACK):
            msg = "must begin with https://"
            raise ValueError(msg)
        if not parts.hostname or parts.query or parts.fragment:
            msg = "must name a host, and may have a path, but nothing after it"
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
class _Answer:
    status: int
    headers: Mapping[str, str] = field(repr=False)
    content: Any = field(repr=False)  # what the JSON says; None where it is none, or too long

    @property
    def named(self) -> Mapping[str, Any]:
        """The answer's fields; none where it is not an object."""
        return self.content if isinstance(self.content, dict) else {}


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
        timeout = urllib3.Timeout(connect=min(CONNECT_TIMEOUT_S, timeout_s), total=timeout_s)
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
            "headers": dict(envelope.headers),
            "tags": [{"name": part, "value": text} for part, text in delivery.delivery_id.as_tags().items()],
        }
        try:
            answer = self._request("POST", "/emails", body=body, key=str(delivery.delivery_id))
        except SecretError as error:
            # Without a key there is nothing to be tried for any delivery, until somebody mends it.
            outcome = OutcomeClass.UNAVAILABLE if error.passing else OutcomeClass.AUTH
            return Outcome(outcome, f"api_key_{error.code}")
        except HTTPError as error:
            outcome = OutcomeClass.UNAVAILABLE if _never_left(error) else OutcomeClass.UNKNOWN
            return Outcome(outcome, type(error).__name__)
        return self._read(answer)

    def look_up(self, delivery: Delivery) -> Sighting:
        """Ask what became of the delivery's key."""
        query = urlencode({"idempotency_key": str(delivery.delivery_id)})
        try:
            answer = self._request("GET", f"/emails?{query}")
        except (HTTPError, SecretError):
            return Sighting(Sight.NO_ANSWER)
        return _sighting(answer.named.get("data")) if answer.status == _OK else Sighting(Sight.NO_ANSWER)

    def _request(
        self, method: str, path: str, *, body: Mapping[str, Any] | None = None, key: str | None = None
    ) -> _Answer:
        headers = {"Authorization": f"Bearer {self.api_key()}", "Accept": "application/json"}
        if key is not None:
            headers["Idempotency-Key"] = key
        if body is not None:
            headers["Content-Type"] = "application/json"
        with self.pool.request(
            method,
            self.options.url + path,
            body=None if body is None else json.dumps(body).encode(),
            headers=headers,
            redirect=False,
            retries=False,
            preload_content=False,
        ) as response:
            return _Answer(response.status, response.headers, _json(response.read(ANSWER_LIMIT + 1)))

    def _read(self, answer: _Answer) -> Outcome:
        if _OK <= answer.status < _MULTIPLE:
            reference = answer.named.get("id")
            if not isinstance(reference, str):
                # Somebody answered, but not the provider that we know: it may have passed the request on.
                return Outcome(OutcomeClass.UNKNOWN, _UNREADABLE)
            replayed = answer.headers.get("Idempotent-Replayed", "").lower() == "true"
            return Outcome(OutcomeClass.ACCEPTED, "ok", reference, provider_duplicate=replayed)
        name = answer.named.get("name")
        code = name if isinstance(name, str) and _CODE.fullmatch(name) else UNNAMED
        wait = retry_at(answer.headers.get("Retry-After"), now=self.clock())
        return Outcome(meaning(HTTP_EMAIL, code, answer.status), code, retry_at=wait)


def _sighting(found: object) -> Sighting:
    """What a list of the emails sent with one key says of it."""
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        return Sighting(Sight.NO_ANSWER)
    if not found:
        return Sighting(Sight.ABSENT)
    if found[0].get("status") == "processing":
        return Sighting(Sight.RUNNING)
    reference = found[0].get("id")
    return Sighting(Sight.ACCEPTED, reference) if isinstance(reference, str) else Sighting(Sight.NO_ANSWER)


def _never_left(error: HTTPError) -> bool:
    """Whether nothing can have happened at the other end, because no request has been sent to it."""
    if isinstance(error, ConnectTimeoutError):  # a refused connection and an unknown host are kinds of it
        return True
    # TLS may break in the middle of an answer as well; a certificate is refused before anything is sent.
    return isinstance(error, SSLError) and any(isinstance(cause, ssl.SSLCertVerificationError) for cause in error.args)


def _json(text: bytes) -> Any:  # noqa: ANN401 - whatever the JSON says
    if len(text) > ANSWER_LIMIT:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
