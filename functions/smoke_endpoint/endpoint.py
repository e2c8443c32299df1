"""Answers a webhook as our documentation asks a customer to: verified over its bytes, known again by its id."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from functions.adapters.counts import where_raised
from functions.adapters.function_url import method_of, raw_body
from functions.adapters.telemetry import logger
from functions.adapters.webhook_signatures import SignedRequests, UnusableSecretError, message_id
from functions.names import SMOKE_WEBHOOK_CUSTOMER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from functions.adapters.smoke_arrivals import SmokeArrivals
    from functions.core.ports import Clock, Endpoints

LARGEST_BODY: Final = 64 * 1024  # bytes; ours have two thousand


@dataclass(frozen=True, slots=True)
class SmokeEndpoint:
    """The address is open to everybody, and of use only while a check's customer has a secret on record."""

    endpoints: Endpoints
    arrivals: SmokeArrivals
    clock: Clock

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Answer one request, as Lambda hands it over. Nothing of it is logged."""
        try:
            status = self._judge(request)
        except Exception as error:  # noqa: BLE001 - left to Lambda, its text would be logged, and might quote the body
            logger.error("smoke.failed", extra={"error": type(error).__name__, "at": where_raised(error)})
            status = HTTPStatus.SERVICE_UNAVAILABLE
        logger.info("smoke.called", extra={"status": int(status)})
        return {"statusCode": int(status), "headers": {"cache-control": "no-store"}}

    def _judge(self, request: Mapping[str, Any]) -> HTTPStatus:
        if method_of(request) != "POST":
            return HTTPStatus.METHOD_NOT_ALLOWED
        if len(request.get("body") or "") > LARGEST_BODY * 4 // 3:
            return HTTPStatus.REQUEST_ENTITY_TOO_LARGE
        headers, body = request.get("headers", {}), raw_body(request)
        if body is None or not self._is_genuine(body, headers):
            return HTTPStatus.UNAUTHORIZED
        # Signed by us, so its id is a delivery's.
        self.arrivals.note(message_id(headers), at=self.clock())
        return HTTPStatus.NO_CONTENT

    def _is_genuine(self, body: bytes, headers: Mapping[str, str]) -> bool:
        held = self.endpoints.read(SMOKE_WEBHOOK_CUSTOMER)
        secrets = () if held is None else held.secrets
        try:
            return SignedRequests(" ".join(one.text for one in secrets)).is_genuine(body, headers)
        except UnusableSecretError:
            return False
