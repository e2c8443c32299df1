"""One job in a request: authenticated, read, and worked off as the channel's SQS consumer would."""

from __future__ import annotations

from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, Self

from functions import names
from functions.adapters.channel_work import ChannelWork
from functions.adapters.clock import utc_now
from functions.adapters.counts import Counts, where_raised
from functions.adapters.function_url import method_of, raw_body
from functions.adapters.secrets import Secret
from functions.adapters.telemetry import logger
from functions.adapters.wiring import secrets_manager
from functions.core.message import PoisonError
from functions.worker.answers import AGAIN_AFTER_FAULT_S, Answer, Result, answer_to
from functions.worker.authentication import Authentication, ByIam, BySignature

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aws_lambda_powertools.utilities.typing import LambdaContext

    from functions.adapters.environment import WorkerEnvironment
    from functions.core.ports import Provider

LARGEST_BODY: Final = 4096  # bytes; a job has less than a thousand


@dataclass(frozen=True, slots=True)
class Worker:
    """Answers requests to a channel's function URL, each with one job. No part of a request is ever logged."""

    work: ChannelWork
    authentication: Authentication
    counts: Counts = field(default_factory=Counts)

    @classmethod
    def of(cls, environment: WorkerEnvironment, provider: Provider | None = None) -> Self:
        """Put a worker together from its function's environment, which also names its provider if none is given."""
        authentication: Authentication = ByIam()
        if environment.signing_secret is not None:
            authentication = BySignature(Secret(secrets_manager(), environment.signing_secret, clock=utc_now))
        return cls(ChannelWork.of(environment, provider), authentication)

    def answer(self, request: Mapping[str, Any], context: LambdaContext) -> dict[str, Any]:
        """Answer one request, as Lambda hands it over."""
        refusal = self._refusal(request)
        answer = refusal or self._work_off(request, context)
        if refusal is not None:
            self.counts.add(names.METRIC_MESSAGES, channel=self.work.consumer.channel, outcome=refusal.result)
            self.counts.flush()
            logger.warning("job.refused", extra={"status": int(refusal.status), "reason": refusal.reason})
        return answer.to_response()

    def _refusal(self, request: Mapping[str, Any]) -> Answer | None:
        try:
            return self.authentication.refusal(request) or _unreadable(request)
        except Exception as error:  # noqa: BLE001 - left to Lambda, its text would be logged, and might quote the request
            logger.error("job.failed", extra={"error": type(error).__name__, "at": where_raised(error)})
            return _try_again("error")

    def _work_off(self, request: Mapping[str, Any], context: LambdaContext) -> Answer:
        body = (raw_body(request) or b"").decode(errors="replace")
        self.work.begin(context, [body])
        try:
            # No queue of ours counts how often a job was pushed: the row's own attempts and its expiry have to do.
            received = self.work.receive(body, None, context)
            if received is None:
                return _try_again("out_of_time")
            disposition = self.work.consume(received, message_id=context.aws_request_id)
        except PoisonError as error:
            return Answer(HTTPStatus.BAD_REQUEST, Result.INVALID, str(error))
        except Exception:  # noqa: BLE001 - it has been told of, and the queue is to push the job again
            return _try_again("error")
        finally:
            self.work.end()
        return answer_to(disposition, now=self.work.consumer.clock())


def _unreadable(request: Mapping[str, Any]) -> Answer | None:
    if method_of(request) != "POST":
        return Answer(HTTPStatus.METHOD_NOT_ALLOWED, Result.INVALID, "method: must be POST")
    if len(raw_body(request) or b"") > LARGEST_BODY:
        reason = f"body: must be at most {LARGEST_BODY} bytes"
        return Answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, Result.INVALID, reason)
    return None


def _try_again(reason: str) -> Answer:
    return Answer(HTTPStatus.SERVICE_UNAVAILABLE, Result.TRY_AGAIN, reason, again_after_s=AGAIN_AFTER_FAULT_S)
