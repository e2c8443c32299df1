"""Where an email provider's webhooks arrive: verified as they came, put on the queue, and only then answered."""

from __future__ import annotations

import json
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from functions import names
from functions.adapters.counts import Counts, where_raised
from functions.adapters.function_url import method_of, raw_body
from functions.adapters.secrets import SecretError
from functions.adapters.telemetry import logger
from functions.adapters.webhook_signatures import SignedRequests, UnusableSecretError, message_id
from functions.core.identity import Channel
from functions.core.instants import to_text
from functions.core.receipt_messages import webhook_message

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mypy_boto3_sqs import SQSClient

    from functions.core.ports import Clock

LARGEST_BODY: Final = 64 * 1024  # bytes; a real event has two thousand


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a request is answered, and why, for the log."""

    status: HTTPStatus
    why: str


class ReceiptIntake:
    """Answers requests to the function URL. `secrets` gives one signing secret, or several with spaces between them."""

    def __init__(self, secrets: Callable[[], str], sqs: SQSClient, queue_url: str, *, clock: Clock) -> None:
        self._secrets = secrets
        self._sqs = sqs
        self._queue_url = queue_url
        self._clock = clock
        self._counts = Counts()

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Answer one request, as Lambda hands it over; nothing of its body is told to anybody but the queue."""
        try:
            verdict = self._judge(request)
        except Exception as error:  # noqa: BLE001 - left to Lambda, its text would be logged, and might quote the body
            logger.error("webhook.failed", extra={"error": type(error).__name__, "at": where_raised(error)})
            verdict = Verdict(HTTPStatus.SERVICE_UNAVAILABLE, "error")
        self._counts.add(names.METRIC_RECEIPT_EVENTS, channel=Channel.EMAIL, outcome=f"webhook_{verdict.why}")
        self._counts.flush()
        logger.info(f"webhook.{verdict.why}", extra={"status": int(verdict.status)})
        return {"statusCode": int(verdict.status), "headers": {"cache-control": "no-store"}}

    def _judge(self, request: Mapping[str, Any]) -> Verdict:
        if method_of(request) != "POST":
            return Verdict(HTTPStatus.METHOD_NOT_ALLOWED, "not_a_post")
        if len(request.get("body") or "") > LARGEST_BODY * 4 // 3:
            return Verdict(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large")
        headers = request.get("headers", {})
        body = raw_body(request)
        try:
            genuine = body is not None and SignedRequests(self._secrets()).is_genuine(body, headers)
        except (SecretError, UnusableSecretError) as error:
            logger.error("webhook.no_secret", extra={"error": type(error).__name__, "code": str(error)})
            return Verdict(HTTPStatus.SERVICE_UNAVAILABLE, "no_secret")
        if body is None or not genuine:
            return Verdict(HTTPStatus.UNAUTHORIZED, "refused")
        return self._store(body, headers)

    def _store(self, body: bytes, headers: Mapping[str, str]) -> Verdict:
        message = webhook_message(_json(body), event_id=message_id(headers), arrived_at=to_text(self._clock()))
        if message is None:
            # Genuine, and nothing that we can use: sent again it would be the same.
            return Verdict(HTTPStatus.NO_CONTENT, "of_no_interest")
        try:
            self._sqs.send_message(QueueUrl=self._queue_url, MessageBody=message.to_body())
        except (ClientError, BotoCoreError) as error:
            logger.error("webhook.not_stored", extra={"error": type(error).__name__})
            return Verdict(HTTPStatus.SERVICE_UNAVAILABLE, "not_stored")
        return Verdict(HTTPStatus.NO_CONTENT, "stored")


def _json(body: bytes) -> Any:  # noqa: ANN401 - whatever the JSON says
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
