"""Who may push jobs: whoever signs them, or whoever AWS IAM lets in. Asked before anything else of a request counts."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Protocol

from functions.adapters.function_url import raw_body
from functions.adapters.secrets import SecretError
from functions.adapters.telemetry import logger
from functions.adapters.webhook_signatures import SignedRequests, UnusableSecretError
from functions.worker.answers import AGAIN_AFTER_FAULT_S, Answer, Result

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Authentication(Protocol):
    """Tells those who may push jobs from others."""

    def refusal(self, request: Mapping[str, Any]) -> Answer | None:
        """Return the answer to a request that may not come in; None for one that may."""
        ...


@dataclass(frozen=True, slots=True)
class BySignature:
    """Standard Webhooks: id, timestamp and the bytes of the body, signed with a secret that both sides know.

    `secrets` gives one secret, or several with spaces between them while it is being rotated.
    """

    secrets: Callable[[], str]

    def refusal(self, request: Mapping[str, Any]) -> Answer | None:
        """Refuse what none of the secrets signed within five minutes of now."""
        body = raw_body(request)
        try:
            genuine = body is not None and SignedRequests(self.secrets()).is_genuine(body, request.get("headers", {}))
        except (SecretError, UnusableSecretError) as error:
            logger.error("job.no_secret", extra={"error": type(error).__name__, "code": str(error)})
            return Answer(
                HTTPStatus.SERVICE_UNAVAILABLE, Result.TRY_AGAIN, "no_secret", again_after_s=AGAIN_AFTER_FAULT_S
            )
        return None if genuine else Answer(HTTPStatus.UNAUTHORIZED, Result.REFUSED, "signature")


@dataclass(frozen=True, slots=True)
class ByIam:
    """AWS IAM, which Lambda asks before it invokes the function: only then does the request say who calls."""

    def refusal(self, request: Mapping[str, Any]) -> Answer | None:
        """Refuse what Lambda let in without asking, as when somebody has opened the URL to everybody."""
        authorizer = request["requestContext"].get("authorizer") or {}
        known = (authorizer.get("iam") or {}).get("callerId")
        return None if known else Answer(HTTPStatus.FORBIDDEN, Result.REFUSED, "iam")
