"""What every provider is held to, and stubs of the AWS endpoints that answer in the protocol's own form."""

from __future__ import annotations

import json
import logging
import socket
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from types import TracebackType
from typing import Final, Self

import pytest

from functions.core.delivery import Status
from functions.core.envelope import EmailEnvelope, TextEnvelope
from functions.core.outcome import Outcome, OutcomeClass
from functions.core.ports import Provider
from ops.local.loopback_server import HOST, LoopbackServer, Reply, Request
from tests.fakes.examples import EMAIL_ADDRESS, PHONE_NUMBER, a_delivery

DELIVERY: Final = a_delivery(status=Status.SENDING, attempt=1)
SENDER: Final = "canary.sender@example.com"
EMAIL: Final = EmailEnvelope(
    to=EMAIL_ADDRESS,
    sender=SENDER,
    subject="Canary subject",
    html="<p>Canary blue lamp</p>",
    text="Canary blue lamp",
)
TEXT: Final = TextEnvelope(to=PHONE_NUMBER, sender="CANARY", body="Canary blue lamp")
API_KEY: Final = "canary-key-1234"
# An error's text quotes all of it, as real ones do.
CHATTY: Final = f"{EMAIL_ADDRESS} {PHONE_NUMBER} Canary subject"
TIMEOUT_S: Final = 0.6
TESTING: Final = {
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_EC2_METADATA_DISABLED": "true",
}

# Status, code and class of the errors that any AWS service may answer with.
# https://docs.aws.amazon.com/ses/latest/APIReference-V2/CommonErrors.html
ANY_AWS_SERVICE: Final = [
    (403, "AccessDeniedException", OutcomeClass.AUTH),
    (403, "AccessDenied", OutcomeClass.AUTH),
    (403, "AuthorizationError", OutcomeClass.AUTH),
    (403, "ExpiredTokenException", OutcomeClass.AUTH),
    (400, "ExpiredToken", OutcomeClass.AUTH),
    (403, "IncompleteSignature", OutcomeClass.AUTH),
    (403, "InvalidClientTokenId", OutcomeClass.AUTH),
    (400, "InvalidSignatureException", OutcomeClass.AUTH),
    (401, "NotAuthorized", OutcomeClass.AUTH),
    (403, "OptInRequired", OutcomeClass.AUTH),
    (403, "SignatureDoesNotMatch", OutcomeClass.AUTH),
    (403, "UnrecognizedClientException", OutcomeClass.AUTH),
    (404, "UnknownOperationException", OutcomeClass.AUTH),
    (500, "InternalFailure", OutcomeClass.UNKNOWN),
    (500, "InternalError", OutcomeClass.UNKNOWN),
    (500, "InternalServiceError", OutcomeClass.UNKNOWN),
    (400, "RequestAbortedException", OutcomeClass.UNKNOWN),
    (400, "RequestTimeout", OutcomeClass.UNKNOWN),
    (408, "RequestTimeoutException", OutcomeClass.UNKNOWN),
    (400, "MalformedHttpRequestException", OutcomeClass.UNAVAILABLE),
    (400, "RequestExpired", OutcomeClass.UNAVAILABLE),
    (503, "ServiceUnavailable", OutcomeClass.UNAVAILABLE),
    (413, "RequestEntityTooLargeException", OutcomeClass.REJECTED),
    (400, "Throttling", OutcomeClass.THROTTLED),
    (400, "ThrottlingException", OutcomeClass.THROTTLED),
    (400, "RequestThrottled", OutcomeClass.THROTTLED),
    (429, "TooManyRequestsException", OutcomeClass.THROTTLED),
    (400, "ValidationError", OutcomeClass.REJECTED),
    (400, "ValidationException", OutcomeClass.REJECTED),
]
# A code that nobody has seen yet is read by its status.
UNSEEN: Final = [
    (400, OutcomeClass.UNAVAILABLE),
    (401, OutcomeClass.AUTH),
    (403, OutcomeClass.AUTH),
    (404, OutcomeClass.UNAVAILABLE),
    (408, OutcomeClass.UNKNOWN),
    (409, OutcomeClass.RUNNING),
    (429, OutcomeClass.THROTTLED),
    (500, OutcomeClass.UNKNOWN),
    (502, OutcomeClass.UNKNOWN),
    (503, OutcomeClass.UNAVAILABLE),
    (504, OutcomeClass.UNKNOWN),
]


@dataclass(frozen=True)
class Expected:
    """What an answer must be read as; `wait` is how long the provider wants to be left alone."""

    outcome: OutcomeClass
    code: str
    wait: timedelta | None = None


def assert_says_nothing_of_the_person(outcome: Outcome, log: pytest.LogCaptureFixture) -> None:
    """Neither the outcome, as it is stored or printed, nor any log line of any library quotes what was sent."""
    told = f"{outcome!r} {json.dumps(outcome.to_json())} {log.text}".lower()
    assert not [word for word in ("canary", "example.com", PHONE_NUMBER, API_KEY) if word.lower() in told]


@contextmanager
def everything_logged(log: pytest.LogCaptureFixture) -> Iterator[None]:
    """Collect what every logger says at the level that the functions log at."""
    with log.at_level(logging.INFO):
        yield


class StubbedEndpoint:
    """A server that gives the replies it is told to, in turn, and remembers the requests; a context manager."""

    def __init__(self) -> None:
        self.replies: deque[Reply] = deque()
        self.requests: list[Request] = []
        self._server = LoopbackServer(self._answer)

    def __enter__(self) -> Self:
        self._server.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.__exit__(kind, error, trace)

    @property
    def url(self) -> str:
        return self._server.url

    def will(self, *replies: Reply) -> None:
        self.replies.extend(replies)

    def _answer(self, request: Request) -> Reply:
        self.requests.append(request)
        return self.replies.popleft()


@contextmanager
def refusing_url() -> Iterator[str]:
    """A URL at which every connection is refused: the port is taken, and nobody listens."""
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        yield f"http://{HOST}:{taken.getsockname()[1]}"


# --- SES v2: JSON, with the error's code in a header -----------------------------------------------------------------


def ses_accepted(message_id: str = "ses-1") -> Reply:
    return Reply(200, json.dumps({"MessageId": message_id}).encode(), {"Content-Type": "application/json"})


def ses_error(code: str, status: int = 400, message: str = CHATTY) -> Reply:
    headers = {"Content-Type": "application/json", "x-amzn-ErrorType": code}
    return Reply(status, json.dumps({"message": message}).encode(), headers)


# --- SNS: XML --------------------------------------------------------------------------------------------------------

_XML: Final = {"Content-Type": "text/xml"}
_SNS: Final = "http://sns.amazonaws.com/doc/2010-03-31/"


def sns_accepted(message_id: str = "sns-1") -> Reply:
    result = f"<PublishResult><MessageId>{message_id}</MessageId></PublishResult>" if message_id else ""
    return Reply(200, f'<PublishResponse xmlns="{_SNS}">{result}</PublishResponse>'.encode(), _XML)


def sns_error(code: str, status: int = 400, message: str = CHATTY) -> Reply:
    said = f"<Error><Type>Sender</Type><Code>{code}</Code><Message>{message}</Message></Error>"
    return Reply(status, f'<ErrorResponse xmlns="{_SNS}">{said}<RequestId>1</RequestId></ErrorResponse>'.encode(), _XML)


def read_by(provider: Provider, envelope: EmailEnvelope | TextEnvelope, log: pytest.LogCaptureFixture) -> Outcome:
    """Send once, and hold the outcome to what must never be in one."""
    with everything_logged(log):
        outcome = provider.send(DELIVERY, envelope)
    assert_says_nothing_of_the_person(outcome, log)
    return outcome
