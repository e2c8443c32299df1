"""What a request is answered with: a status by which a queue knows whether to push the job again, and why, in words."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from math import ceil
from typing import TYPE_CHECKING, Any, Final

from functions.core.consumption import Disposition, Note
from functions.core.delivery import OPEN
from functions.core.outcome import OutcomeClass

if TYPE_CHECKING:
    from datetime import datetime

    from functions.core.delivery import Delivery

AGAIN_AFTER_FAULT_S: Final = 30


class Result(StrEnum):
    """What became of the request."""

    COMPLETE = "complete"
    ALREADY_COMPLETE = "already_complete"
    IN_PROGRESS = "in_progress"
    NOT_YET = "not_yet"  # nothing is wrong: it is not its time, or not its turn
    TRY_AGAIN = "try_again"  # something is wrong that may pass
    INVALID = "invalid"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer. `reason` is a word of ours or names a field: never a value, a provider's words or an error's text."""

    status: HTTPStatus
    result: Result
    reason: str
    delivery_id: str | None = None
    again_after_s: int | None = None

    def to_response(self) -> dict[str, Any]:
        """Return what Lambda turns into an HTTP response (payload format 2.0)."""
        told = {"result": str(self.result), "reason": self.reason, "delivery_id": self.delivery_id}
        headers = {"content-type": "application/json", "cache-control": "no-store"}
        if self.again_after_s is not None:
            headers["retry-after"] = str(self.again_after_s)
        if self.status is HTTPStatus.METHOD_NOT_ALLOWED:
            headers["allow"] = "POST"
        body = json.dumps({name: value for name, value in told.items() if value is not None})
        return {"statusCode": int(self.status), "headers": headers, "body": body}


def answer_to(disposition: Disposition, *, now: datetime) -> Answer:
    """Return the answer that a disposition asks for, `now` being when it is given.

    Whatever has come to its end is a 200, also where that end is a failure: pushing the job again would change nothing.
    """
    row, after_s = disposition.delivery, _again_after_s(disposition, now)
    if disposition.note is Note.IN_FLIGHT:
        return Answer(HTTPStatus.CONFLICT, Result.IN_PROGRESS, disposition.note, _id(row), after_s)
    if after_s is not None:
        # A queue that is told 503 may slow down for every job of the channel, and an alarm counts them.
        troubled = not disposition.done and disposition.note is not Note.EARLY
        if troubled or _is(disposition, OutcomeClass.AUTH):
            return Answer(HTTPStatus.SERVICE_UNAVAILABLE, Result.TRY_AGAIN, _reason(disposition), _id(row), after_s)
        return Answer(HTTPStatus.TOO_MANY_REQUESTS, Result.NOT_YET, _reason(disposition), _id(row), after_s)
    result = Result.ALREADY_COMPLETE if disposition.note is Note.DUPLICATE else Result.COMPLETE
    return Answer(HTTPStatus.OK, result, _reason(disposition), _id(row))


def _again_after_s(disposition: Disposition, now: datetime) -> int | None:
    if disposition.visible_in_s is not None:
        return disposition.visible_in_s
    return None if disposition.again_at is None else max(1, ceil((disposition.again_at - now).total_seconds()))


def _reason(disposition: Disposition) -> str:
    """The row's end, the kind of failure, or what is waited for."""
    if disposition.uncertain:
        return "uncertain"
    if disposition.skip_reason is not None:
        return disposition.skip_reason
    if disposition.outcome is not None:
        return disposition.outcome.outcome
    row = disposition.delivery
    if disposition.note is Note.DUPLICATE and row is not None and row.status not in OPEN:
        return row.status
    return disposition.note


def _is(disposition: Disposition, outcome: OutcomeClass) -> bool:
    return disposition.outcome is not None and disposition.outcome.outcome is outcome


def _id(row: Delivery | None) -> str | None:
    return None if row is None else str(row.delivery_id)
