"""Answers one request: GET and HEAD show, POST opts out, and nobody has to say who they are.

Programs that check mail for harm follow every link in it, so following one must change nothing (RFC 8058, section 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from functions import names
from functions.adapters.counts import Counts, where_raised
from functions.adapters.telemetry import logger
from functions.core.opting_out import Way
from functions.core.unsubscribe_token import InvalidTokenError, Subscription, read_token
from functions.unsubscribe.page import Kind, language_wanted, render, security_headers
from functions.unsubscribe.request import Request

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from functions.core.keyring import KeyRing
    from functions.core.opt_out_memory import LateOptOuts
    from functions.core.opting_out import OptOuts
    from functions.core.ports import Clock

_SHOWN: Final = ("GET", "HEAD")
_ALLOWED: Final = (*_SHOWN, "POST")
_AGAIN_AFTER_S: Final = "60"


@dataclass(frozen=True, slots=True)
class Answer:
    """Status, and what the page says."""

    status: HTTPStatus
    kind: Kind
    subscription: Subscription | None = None
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class UnsubscribeDesk:
    """Reads tokens, withdraws consent, writes pages. Never logs a path, a body or a header: they hold tokens."""

    opt_outs: OptOuts
    keys: Callable[[], KeyRing]
    late: LateOptOuts
    clock: Clock
    site_url: str
    counts: Counts

    def answer(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """Answer the event of a function URL (payload format 2.0)."""
        request = Request.of(event)
        try:
            answer = self._answer(request)
        except Exception as error:  # noqa: BLE001 - a person gets a page, whatever broke; 503 raises the alarm
            logger.error("unsubscribe.failed", extra={"error": type(error).__name__, "at": where_raised(error)})
            answer = Answer(HTTPStatus.SERVICE_UNAVAILABLE, Kind.NOT_NOW, headers=(("retry-after", _AGAIN_AFTER_S),))
        self.counts.flush()
        return self._response(request, answer)

    def _answer(self, request: Request) -> Answer:
        if request.method not in _ALLOWED:
            allow = (("allow", ", ".join(_ALLOWED)),)
            return Answer(HTTPStatus.METHOD_NOT_ALLOWED, Kind.NOT_UNDERSTOOD, headers=allow)
        try:
            subscription = read_token(request.token, self.keys())
        except InvalidTokenError:
            return Answer(HTTPStatus.NOT_FOUND, Kind.UNKNOWN_LINK)
        if request.method in _SHOWN:
            return Answer(HTTPStatus.OK, Kind.ASK, subscription)
        if request.too_long:
            return Answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, Kind.NOT_UNDERSTOOD, subscription)
        if not request.asks_to_leave:
            return Answer(HTTPStatus.BAD_REQUEST, Kind.NOT_UNDERSTOOD, subscription)
        self._opt_out(subscription)
        # The same for somebody who has left before, or was erased: neither gets anything any more.
        return Answer(HTTPStatus.OK, Kind.DONE, subscription)

    def _opt_out(self, subscription: Subscription) -> None:
        now = self.clock()
        changed = self.opt_outs.opt_out(subscription, at=now)
        if not changed:
            self.late.leave(subscription, at=now)  # withdrawn before, or erased: whoever comes back must find it
        about = {
            "customer_id": subscription.customer_id,
            "topic": str(subscription.topic),
            "channel": str(subscription.channel),
            "changed": changed,
        }
        logger.info("consent.opted_out", extra=about)
        if changed:
            self.counts.add(names.METRIC_OPT_OUTS, channel=subscription.channel, outcome=Way.LINK)

    def _response(self, request: Request, answer: Answer) -> dict[str, Any]:
        language = language_wanted(request.headers.get("accept-language", ""))
        page = render(answer.kind, language=language, subscription=answer.subscription, site_url=self.site_url)
        return {
            "statusCode": answer.status.value,
            "headers": {
                "content-type": "text/html; charset=utf-8",
                "content-language": language,
                "vary": "accept-language",
                **security_headers(),
                **dict(answer.headers),
            },
            "body": "" if request.method == "HEAD" else page,
        }
