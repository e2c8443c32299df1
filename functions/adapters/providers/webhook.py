"""Webhooks to the customers' own endpoints, signed as Standard Webhooks has it.

https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md

An endpoint is somebody else's server, named by somebody else. It is called at an address that has been judged, never
redirected; its answer is a status and two headers; and it has so many seconds, however slowly it talks.
"""

from __future__ import annotations

import logging
import re
import ssl
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import urllib3
from standardwebhooks.webhooks import EmptyWebhookSecretError, Webhook
from urllib3.exceptions import ConnectTimeoutError, HTTPError, SSLError

from functions.adapters.deadline import Deadline, DeadlinedConnection
from functions.adapters.dns import NotResolvedError, resolve
from functions.core.envelope import WebhookEnvelope
from functions.core.outcome import Outcome, OutcomeClass
from functions.core.provider_codes import WEBHOOK, webhook_meaning
from functions.core.retry_after import retry_at
from functions.core.webhook_address import AddressRefusedError, WebhookAddress, is_public, read_address
from functions.core.webhook_endpoint import GONE, GUARANTEE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from functions.adapters.dns import Resolve
    from functions.core.delivery import Delivery
    from functions.core.envelope import Envelope
    from functions.core.outcome import Guarantee
    from functions.core.ports import Clock

CONNECT_TIMEOUT_S: Final = 3.0
ANSWER_LIMIT: Final = 16 * 1024  # bytes of an answer's body that are read, and dropped
USER_AGENT: Final = "digest-delivery/1 (+standard-webhooks)"
_HTTP_GONE: Final = 410
# What an id looks like. Anything else in an answer's header may be words, or our own address sent back.
_REFERENCE: Final = re.compile(r"[A-Za-z0-9_-]{8,64}")
_REFERENCE_HEADER: Final = "X-Request-Id"

# urllib3 quotes what it asks for and what it is answered: an endpoint's path is a secret of its owner.
for _name in ("urllib3.connection", "urllib3.connectionpool"):
    logging.getLogger(_name).setLevel(logging.CRITICAL)


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    headers: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class WebhookProvider:
    """`Provider` that calls the endpoint of the delivery's customer: one connection and one request a send.

    `timeout_s`: for everything from the name's resolution to the answer. `may_call` judges an IP address. `ca_file`
    None: certificates are checked against the machine's authorities.
    """

    clock: Clock
    timeout_s: float
    resolve: Resolve = resolve
    may_call: Callable[[str], bool] = is_public
    ca_file: str | None = None
    name: str = "webhook"

    @property
    def guarantee(self) -> Guarantee:
        """Receivers know a `webhook-id` again, for as long as our documentation asks of them."""
        return GUARANTEE

    def send(self, delivery: Delivery, envelope: Envelope) -> Outcome:
        """Sign and send under the delivery's id: every attempt of a delivery carries the same one."""
        if not isinstance(envelope, WebhookEnvelope):
            return _failed("not_a_webhook")
        secrets = envelope.endpoint.signing(self.clock())
        if not secrets:
            return _failed("no_secret")
        body = envelope.body.encode()
        try:
            headers = signed_headers(str(delivery.delivery_id), body, secrets, at=self.clock())
        except (ValueError, EmptyWebhookSecretError):
            return _failed("no_secret")
        return self._call(envelope.to, body, headers)

    def _call(self, url: str, body: bytes, headers: Mapping[str, str]) -> Outcome:
        with Deadline(self.timeout_s) as deadline:
            try:
                address = read_address(url)
                answer = self._post(address, self._judged(address, deadline), body, headers, deadline)
            except (AddressRefusedError, _BlockedError):
                return _failed("address_refused")
            except NotResolvedError:
                return _failed("not_resolved")
            except (HTTPError, OSError) as error:
                return _failed("timed_out" if deadline.passed else _reason(error))
        return self._read(answer, url)

    def _judged(self, address: WebhookAddress, deadline: Deadline) -> str:
        """Return an IP address to call. One that may not be called condemns the name, whatever else it leads to."""
        addresses = self.resolve(address.host, min(CONNECT_TIMEOUT_S, deadline.left_s))
        if not all(self.may_call(one) for one in addresses):
            raise _BlockedError
        return addresses[0]

    def _post(
        self, address: WebhookAddress, ip: str, body: bytes, headers: Mapping[str, str], deadline: Deadline
    ) -> _Answer:
        """Send one request to the address that was judged, as to the host that was meant."""
        pool = urllib3.HTTPSConnectionPool(
            ip,
            address.port,
            timeout=urllib3.Timeout(connect=min(CONNECT_TIMEOUT_S, deadline.left_s), total=deadline.left_s),
            retries=False,
            # The certificate has to be the name's: SNI and OpenSSL's own check of it.
            server_hostname=address.host,
            ca_certs=self.ca_file,
        )
        pool.ConnectionCls = partial(DeadlinedConnection, deadline=deadline)  # type: ignore[assignment]
        with (
            pool,
            pool.urlopen(
                "POST",
                address.target,
                body=body,
                headers={**headers, "Host": address.authority},
                redirect=False,
                retries=False,
                assert_same_host=False,
                preload_content=False,
                decode_content=False,
            ) as response,
        ):
            answer = _Answer(response.status, response.headers)
            _drop(response)
        return answer

    def _read(self, answer: _Answer, url: str) -> Outcome:
        wait = retry_at(answer.headers.get("Retry-After"), now=self.clock())
        meaning = webhook_meaning(answer.status, asked_to_wait=wait is not None)
        if meaning is OutcomeClass.ACCEPTED:
            return Outcome(meaning, "ok", _reference(answer, url))
        return Outcome(meaning, code_of(answer.status), retry_at=wait)


class _BlockedError(Exception):
    """A name leads to an address that nothing may be sent to."""


def signed_headers(delivery_id: str, body: bytes, secrets: tuple[str, ...], *, at: datetime) -> dict[str, str]:
    """Return the headers of a request with that body, signed with each secret. ValueError for what is no secret."""
    text = body.decode()
    signatures = [Webhook(secret).sign(delivery_id, at, text) for secret in secrets]
    return {
        "webhook-id": delivery_id,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": " ".join(signatures),
        "Content-Type": "application/json",
        "User-Agent": USER_AGENT,
    }


def code_of(status: int) -> str:
    """Return the code of an answer that was no acceptance: `gone`, `redirect_refused`, `http_503`."""
    if status == _HTTP_GONE:
        return GONE
    return "redirect_refused" if 300 <= status < 400 else f"http_{status}"  # noqa: PLR2004 - HTTP's redirections


def _failed(code: str) -> Outcome:
    return Outcome(WEBHOOK[code], code)


def _reason(error: HTTPError | OSError) -> str:
    if isinstance(error, ConnectTimeoutError):  # a refused connection is a kind of it
        return "not_connected"
    if isinstance(error, SSLError):
        refused = any(isinstance(cause, ssl.SSLCertVerificationError) for cause in error.args)
        return "certificate_refused" if refused else "cut_off"
    return "timed_out" if isinstance(error, urllib3.exceptions.TimeoutError) else "cut_off"


def _drop(response: Any) -> None:  # noqa: ANN401 - urllib3 types it as a base class without read
    """Read the beginning of an answer's body, so that its sender may finish a short one; keep nothing."""
    try:
        response.read(ANSWER_LIMIT)
    except (HTTPError, OSError):
        return  # the status has been said


def _reference(answer: _Answer, url: str) -> str | None:
    reference = answer.headers.get(_REFERENCE_HEADER, "")
    return reference if _REFERENCE.fullmatch(reference) and reference not in url else None
