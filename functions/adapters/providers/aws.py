"""What the AWS providers have in common: one HTTP attempt a send, and every failure read as an outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    ParamValidationError,
    ProxyConnectionError,
)

from functions.core.outcome import Outcome, OutcomeClass
from functions.core.provider_codes import meaning

if TYPE_CHECKING:
    from collections.abc import Mapping

CONNECT_TIMEOUT_S: Final = 2.0


def one_attempt(timeout_s: float) -> Config:
    """Return a client configuration that never sends twice: nobody would see or count a retry inside the SDK."""
    return Config(
        connect_timeout=min(CONNECT_TIMEOUT_S, timeout_s),
        read_timeout=timeout_s,
        retries={"mode": "standard", "total_max_attempts": 1},
        tcp_keepalive=True,
    )


def failure(error: ClientError | BotoCoreError, codes: Mapping[str, OutcomeClass]) -> Outcome:
    """Read an error as an outcome: the provider answered, the request never left, or nobody knows."""
    if isinstance(error, ClientError):
        answer: Any = error.response
        code = str(answer["Error"].get("Code", "Unknown"))
        status = int(answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
        return Outcome(meaning(codes, code, status), code)
    code = type(error).__name__
    if isinstance(error, EndpointConnectionError | ConnectTimeoutError | ProxyConnectionError):
        return Outcome(OutcomeClass.UNAVAILABLE, code)
    if isinstance(error, ParamValidationError):
        return Outcome(OutcomeClass.REJECTED, code)
    if isinstance(error, NoCredentialsError):
        return Outcome(OutcomeClass.AUTH, code)
    return Outcome(OutcomeClass.UNKNOWN, code)
