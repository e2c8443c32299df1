"""What the AWS providers have in common: one HTTP attempt a send, and every failure read as an outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    CredentialRetrievalError,
    EndpointConnectionError,
    NoCredentialsError,
    ParamValidationError,
    PartialCredentialsError,
    ProxyConnectionError,
)

from functions.adapters.user_agent import USER_AGENT
from functions.core.outcome import Outcome, OutcomeClass
from functions.core.provider_codes import meaning

if TYPE_CHECKING:
    from collections.abc import Mapping

CONNECT_TIMEOUT_S: Final = 1.0  # it is in our own region
UNREADABLE: Final = "UnreadableAnswer"
NEVER_LEFT: Final = (EndpointConnectionError, ConnectTimeoutError, ProxyConnectionError, CredentialRetrievalError)


def one_attempt(timeout_s: float) -> Config:
    """Return a client configuration that never sends twice: nobody would see or count a retry inside the SDK.

    Connecting and waiting for the answer take `timeout_s` together.
    """
    connect_s = min(CONNECT_TIMEOUT_S, timeout_s / 4)
    return Config(
        connect_timeout=connect_s,
        read_timeout=timeout_s - connect_s,
        retries={"mode": "standard", "total_max_attempts": 1},
        tcp_keepalive=True,
        user_agent=USER_AGENT,
    )


def acceptance(answer: Mapping[str, Any]) -> Outcome:
    """Read a successful answer; one that names no message came from somebody else, who may have passed ours on."""
    reference = answer.get("MessageId")
    if not reference:
        return Outcome(OutcomeClass.UNKNOWN, UNREADABLE)
    return Outcome(OutcomeClass.ACCEPTED, "ok", str(reference))


def failure(error: ClientError | BotoCoreError, codes: Mapping[str, OutcomeClass]) -> Outcome:
    """Read an error as an outcome: the provider answered, the request never left, or nobody knows."""
    if isinstance(error, ClientError):
        answer: Any = error.response
        code = str(answer["Error"].get("Code", "Unknown"))
        status = int(answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
        return Outcome(meaning(codes, code, status), code)
    code = type(error).__name__
    if isinstance(error, NEVER_LEFT):
        return Outcome(OutcomeClass.UNAVAILABLE, code)
    if isinstance(error, ParamValidationError):
        return Outcome(OutcomeClass.REJECTED, code)
    if isinstance(error, NoCredentialsError | PartialCredentialsError):
        return Outcome(OutcomeClass.AUTH, code)
    return Outcome(OutcomeClass.UNKNOWN, code)
