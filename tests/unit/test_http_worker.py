"""A channel's HTTP worker on tables in memory: who comes in, what a job comes to, and what the queue is told."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from http import HTTPStatus
from typing import Any

import pytest
import time_machine
from hypothesis import example, given
from hypothesis import strategies as st

from functions.adapters.secrets import SecretError
from functions.adapters.telemetry import logger
from functions.core.consumption import Disposition, Note
from functions.core.delivery import OPEN, Delivery, SkipReason, Status
from functions.core.identity import Channel
from functions.core.message import DeliveryMessage
from functions.core.outcome import Dedupe, Guarantee, Outcome, OutcomeClass
from functions.core.traffic import HALTED_PAUSE
from functions.worker.answers import AGAIN_AFTER_FAULT_S, answer_to
from functions.worker.authentication import ByIam, BySignature
from functions.worker.worker import LARGEST_BODY, Worker
from ops.in_memory.worker import BACKOFF_S, InMemoryWorker, Invocation, signed_request
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.examples import (
    CUSTOMER,
    EMAIL_ADDRESS,
    EXPIRES_AFTER,
    a_delivery,
    a_profile,
    a_rejected_delivery,
    an_activity,
    an_exhausted_delivery,
)
from tests.fakes.providers import FakeProvider
from tests.fakes.queues import Killed

NO_KEYS = Guarantee(Dedupe.NONE)
KEYS_FOR_A_DAY = Guarantee(Dedupe.WINDOW, window=timedelta(days=1))
QUEUED = a_delivery(status=Status.QUEUED)
JOB = DeliveryMessage.of(QUEUED).model_dump(mode="json")
MINUTE = timedelta(minutes=1)


def json_texts() -> st.SearchStrategy[bytes]:
    """Objects with some of a job's fields, and anything in them."""
    values = st.none() | st.booleans() | st.integers() | st.text(max_size=20) | st.just(1) | st.just("email")
    return st.dictionaries(st.sampled_from([*JOB, "more"]), values).map(lambda held: json.dumps(held).encode())


@dataclass
class Told:
    """A response, read."""

    response: dict[str, Any]
    status: int = field(init=False)
    body: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        self.status = self.response["statusCode"]
        self.body = json.loads(self.response["body"])

    @property
    def retry_after_s(self) -> int | None:
        header = self.response["headers"].get("retry-after")
        return None if header is None else int(header)

    def is_(self, status: int, result: str, reason: str) -> bool:
        return (self.status, self.body["result"], self.body["reason"]) == (status, result, reason)


class Scene:
    """A worker, a clock that a test moves, and one customer who wants the digest of a week that has something in it."""

    def __init__(self, traveller: time_machine.Traveller, guarantee: Guarantee = NO_KEYS) -> None:
        self._traveller = traveller
        self.now = SUNDAY_EVENING
        self.provider = FakeProvider(guarantee=guarantee)
        self.office = InMemoryWorker(provider=self.provider)
        self.office.customers.add(a_profile(), an_activity())
        self.office.ledger.put(QUEUED)

    def push(self, job: Any = JOB) -> Told:
        return Told(self.office.push(job))

    def ask(self, request: dict[str, Any]) -> Told:
        return Told(self.office.handler(request, Invocation()))

    def wait(self, delta: timedelta) -> None:
        self.now += delta
        self._traveller.move_to(self.now, tick=False)

    @property
    def row(self) -> Delivery:
        (row,) = self.office.ledger.rows.values()
        return row


MakeScene = Callable[..., Scene]


@pytest.fixture
def make_scene() -> Iterator[MakeScene]:
    with time_machine.travel(SUNDAY_EVENING, tick=False) as traveller:
        yield lambda guarantee=NO_KEYS: Scene(traveller, guarantee)


@pytest.fixture
def scene(make_scene: MakeScene) -> Scene:
    return make_scene()


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    lines = io.StringIO()
    before = logger.registered_handler.setStream(lines)  # type: ignore[attr-defined]
    yield lines
    logger.registered_handler.setStream(before)  # type: ignore[attr-defined]


# --- a job's end ---


def test_a_job_is_claimed_sent_and_settled_in_its_request(scene: Scene) -> None:
    told = scene.push()
    assert told.response["headers"] == {"content-type": "application/json", "cache-control": "no-store"}
    assert told.body == {"result": "complete", "reason": "accepted", "delivery_id": str(QUEUED.delivery_id)}
    assert told.status == 200
    assert (scene.row.status, scene.row.attempt) == (Status.ACCEPTED, 1)
    assert scene.provider.accepted == [str(QUEUED.delivery_id)]


def test_a_job_that_is_pushed_again_is_complete_already_and_is_not_sent_again(scene: Scene) -> None:
    scene.push()
    told = scene.push()
    assert told.is_(200, "already_complete", "accepted")
    assert len(scene.provider.accepted) == 1


@pytest.mark.parametrize(
    "row",
    [
        a_delivery(status=Status.SKIPPED, attention_at=None),
        a_delivery(status=Status.EXPIRED, attention_at=None),
        a_delivery(status=Status.UNCERTAIN, attempt=1),
        a_rejected_delivery(),
    ],
    ids=lambda row: row.status,
)
def test_whatever_its_end_was_a_job_that_has_one_is_complete(scene: Scene, row: Delivery) -> None:
    scene.office.ledger.put(row)
    assert scene.push().is_(200, "already_complete", row.status)
    assert scene.provider.calls == []


def test_a_job_for_a_delivery_that_was_erased_is_complete(scene: Scene) -> None:
    scene.office.ledger.rows.clear()
    told = scene.push()
    assert told.is_(200, "complete", "no_row")
    assert "delivery_id" not in told.body


def test_a_customer_who_opted_out_gets_nothing_and_the_job_is_complete(scene: Scene) -> None:
    scene.office.customers.add(a_profile(consent={}))
    assert scene.push().is_(200, "complete", SkipReason.OPTED_OUT)
    assert scene.provider.calls == []


# --- what the queue is told, and what the row says ---


@pytest.mark.parametrize("guarantee", [NO_KEYS, KEYS_FOR_A_DAY], ids=lambda one: one.dedupe)
@pytest.mark.parametrize("outcome", OutcomeClass)
def test_the_status_says_of_every_answer_of_a_provider_what_its_row_says(
    make_scene: MakeScene, outcome: OutcomeClass, guarantee: Guarantee
) -> None:
    scene = make_scene(guarantee)
    scene.provider.will(Outcome(outcome, "Code", "reference"))
    told = scene.push()
    if scene.row.status not in OPEN:
        assert told.status == 200
        assert told.retry_after_s is None
        return
    assert scene.row.status is Status.RETRYABLE
    assert scene.row.next_attempt_at is not None
    assert told.status in {429, 503}
    assert timedelta(seconds=told.retry_after_s or 0) == scene.row.next_attempt_at - scene.now


STATUS = {
    OutcomeClass.ACCEPTED: (200, "complete"),
    OutcomeClass.REJECTED: (200, "complete"),
    OutcomeClass.MISMATCH: (200, "complete"),
    OutcomeClass.THROTTLED: (429, "not_yet"),
    OutcomeClass.DEFERRED: (429, "not_yet"),
    OutcomeClass.QUOTA: (429, "not_yet"),
    OutcomeClass.UNAVAILABLE: (503, "try_again"),
    OutcomeClass.UNKNOWN: (503, "try_again"),
    OutcomeClass.RUNNING: (503, "try_again"),
    OutcomeClass.AUTH: (503, "try_again"),
}


@pytest.mark.parametrize("outcome", OutcomeClass)
def test_each_class_of_answers_has_its_status(make_scene: MakeScene, outcome: OutcomeClass) -> None:
    scene = make_scene(KEYS_FOR_A_DAY)
    scene.provider.will(Outcome(outcome, "Code", "reference"))
    told = scene.push()
    assert (told.status, told.body["result"]) == STATUS[outcome]
    assert told.body["reason"] == ("uncertain" if outcome is OutcomeClass.MISMATCH else outcome)


def test_an_answer_that_nobody_got_is_not_asked_for_again(scene: Scene) -> None:
    scene.provider.will(Outcome(OutcomeClass.UNKNOWN, "ReadTimeoutError"))
    assert scene.push().is_(200, "complete", "uncertain")
    assert scene.row.status is Status.UNCERTAIN


IN_A_WHILE = SUNDAY_EVENING + timedelta(seconds=90)
WAITING = Disposition(Note.FAILED, visible_in_s=30, delivery=QUEUED, outcome=Outcome(OutcomeClass.UNAVAILABLE, "Busy"))
DISPOSITIONS: dict[Note, tuple[Disposition, int, str, int | None]] = {
    Note.SETTLED: (
        Disposition(Note.SETTLED, delivery=QUEUED, outcome=Outcome(OutcomeClass.ACCEPTED, "ok")),
        *(200, "accepted", None),
    ),
    Note.SKIPPED: (Disposition(Note.SKIPPED, delivery=QUEUED, skip_reason=SkipReason.EMPTY), 200, "empty", None),
    Note.EXPIRED: (Disposition(Note.EXPIRED, delivery=QUEUED), 200, "expired", None),
    Note.DUPLICATE: (Disposition(Note.DUPLICATE, delivery=QUEUED), 200, "duplicate_suppressed", None),
    Note.NO_ROW: (Disposition(Note.NO_ROW), 200, "no_row", None),
    Note.ABANDONED: (Disposition(Note.ABANDONED, visible_in_s=1, delivery=QUEUED), 503, "lease_ran_out", 1),
    Note.IN_FLIGHT: (Disposition(Note.IN_FLIGHT, visible_in_s=26, delivery=QUEUED), 409, "in_flight", 26),
    Note.FAILED: (WAITING, 503, "unavailable", 30),
    Note.EARLY: (Disposition(Note.EARLY, delivery=QUEUED, again_at=IN_A_WHILE), 429, "early", 90),
    Note.GATE_SHUT: (Disposition(Note.GATE_SHUT, delivery=QUEUED, again_at=IN_A_WHILE), 429, "gate_shut", 90),
    Note.PACED: (Disposition(Note.PACED, delivery=QUEUED, again_at=IN_A_WHILE), 429, "paced", 90),
    Note.QUIET: (Disposition(Note.QUIET, delivery=QUEUED, again_at=IN_A_WHILE), 429, "quiet_hours", 90),
    Note.RESTING: (Disposition(Note.RESTING, delivery=QUEUED, again_at=IN_A_WHILE), 429, "endpoint_resting", 90),
    Note.IN_DOUBT: (Disposition(Note.IN_DOUBT, delivery=QUEUED), 200, "uncertain", None),
}


@pytest.mark.parametrize("note", Note)
def test_everything_that_can_happen_to_a_message_has_its_status(note: Note) -> None:
    disposition, *expected = DISPOSITIONS[note]
    answer = answer_to(disposition, now=SUNDAY_EVENING)
    assert [answer.status, answer.reason, answer.again_after_s] == expected


def test_a_moment_early_is_not_a_fault_and_a_time_that_has_just_come_is_a_second_away() -> None:
    early = Disposition(Note.EARLY, visible_in_s=3, delivery=QUEUED, again_at=SUNDAY_EVENING + timedelta(seconds=3))
    assert answer_to(early, now=SUNDAY_EVENING).status is HTTPStatus.TOO_MANY_REQUESTS
    assert answer_to(replace(early, visible_in_s=None), now=SUNDAY_EVENING + MINUTE).again_after_s == 1


def test_a_halted_channel_is_asked_about_again_every_minute_and_sends_nothing(scene: Scene) -> None:
    scene.office.traffic.halt(Channel.EMAIL, at=scene.now, cause="AccessDenied")
    told = scene.push()
    assert told.is_(429, "not_yet", "gate_shut")
    assert told.retry_after_s == HALTED_PAUSE.total_seconds()
    assert (scene.row.attempt, scene.provider.calls) == (0, [])


def test_a_queue_that_comes_back_when_it_was_told_to_finds_the_job_due(scene: Scene) -> None:
    scene.provider.will(Outcome(OutcomeClass.THROTTLED, "Slow", retry_at=scene.now + 7 * MINUTE))
    told = scene.push()
    assert (told.status, told.retry_after_s) == (429, 7 * 60)
    scene.wait(6 * MINUTE)
    assert scene.push().is_(429, "not_yet", "early")
    scene.wait(MINUTE)
    assert scene.push().is_(200, "complete", "accepted")


# --- two at once, and death ---


def test_the_same_job_twice_at_once_is_sent_by_one_of_them(scene: Scene) -> None:
    others: list[Told] = []

    def pushed_again_meanwhile() -> None:
        others.append(scene.push())

    scene.provider.while_sending = pushed_again_meanwhile
    assert scene.push().is_(200, "complete", "accepted")
    (other,) = others
    assert other.is_(409, "in_progress", "in_flight")
    assert 29 <= (other.retry_after_s or 0) <= 32
    assert len(scene.provider.accepted) == 1


def killed_after_the_provider_accepted(scene: Scene) -> None:
    scene.provider.accept_unheard(Killed())
    with pytest.raises(Killed):
        scene.push()
    assert scene.push().status == 409
    scene.wait(MINUTE)


def test_killed_after_the_provider_accepted_is_not_sent_blindly(scene: Scene) -> None:
    killed_after_the_provider_accepted(scene)
    assert scene.push().is_(200, "complete", "uncertain")
    assert scene.push().is_(200, "already_complete", "uncertain")
    assert len(scene.provider.calls) == 1


def test_killed_after_a_provider_that_knows_our_key_accepted_ends_as_one_email(make_scene: MakeScene) -> None:
    scene = make_scene(KEYS_FOR_A_DAY)
    killed_after_the_provider_accepted(scene)
    assert scene.push().is_(503, "try_again", "lease_ran_out")
    scene.wait(timedelta(seconds=1))
    assert scene.push().is_(200, "complete", "accepted")
    assert len(scene.provider.accepted) == 1


# --- how often ---


def test_no_number_of_failures_is_the_last_one_and_its_expiry_is_the_end(make_scene: MakeScene) -> None:
    scene = make_scene(KEYS_FOR_A_DAY)
    pauses = []
    while scene.now < SUNDAY_EVENING + EXPIRES_AFTER:
        scene.provider.will(Outcome(OutcomeClass.UNAVAILABLE, "ServiceUnavailable"))
        told = scene.push()
        assert told.is_(503, "try_again", "unavailable")
        pauses.append(told.retry_after_s or 0)
        scene.wait(timedelta(seconds=pauses[-1]))
    assert all(0 < pause <= BACKOFF_S[min(number, 4)] for number, pause in enumerate(pauses))
    assert len(pauses) > 2 * len(BACKOFF_S)
    assert scene.push().is_(200, "complete", "expired")


def test_a_dead_letter_that_is_pushed_again_is_an_operators_redrive(scene: Scene) -> None:
    scene.office.ledger.put(an_exhausted_delivery())
    assert scene.push().is_(200, "complete", "accepted")


# --- who comes in ---


def unsigned(body: str, method: str = "POST") -> dict[str, Any]:
    return {**signed_request(body, "whsec_" + "bm9ib2R5" * 4, method=method), "headers": {}}


FORGERIES: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "no signature": lambda request: {**request, "headers": {}},
    "another body": lambda request: {**request, "body": request["body"] + " "},
    "another id": lambda request: {**request, "headers": request["headers"] | {"webhook-id": "msg_another"}},
    "another time": lambda request: {
        **request,
        "headers": request["headers"] | {"webhook-timestamp": str(int(SUNDAY_EVENING.timestamp()) + 1)},
    },
    "another secret": lambda request: signed_request(request["body"], "whsec_" + "bm9ib2R5" * 4),
    "no base64": lambda request: {**request, "body": "%%%", "isBase64Encoded": True},
}


@pytest.mark.parametrize("forged", FORGERIES)
def test_what_is_not_signed_just_so_stays_outside(scene: Scene, forged: str) -> None:
    request = FORGERIES[forged](signed_request(json.dumps(JOB), scene.office.secret))
    assert scene.ask(request).is_(401, "refused", "signature")
    assert scene.row == QUEUED


@pytest.mark.parametrize("minutes", [-6, 6])
def test_a_signature_of_another_time_stays_outside(scene: Scene, minutes: int) -> None:
    request = signed_request(json.dumps(JOB), scene.office.secret)
    scene.wait(minutes * MINUTE)
    assert scene.ask(request).status == 401


@pytest.mark.parametrize(
    "request_",
    [unsigned("", "GET"), unsigned("x" * (LARGEST_BODY + 1)), unsigned("not json"), unsigned(json.dumps({"a": 1}))],
    ids=["another method", "too large", "no JSON", "no job"],
)
def test_nothing_else_of_a_request_is_judged_before_its_signature(scene: Scene, request_: dict[str, Any]) -> None:
    assert scene.ask(request_).is_(401, "refused", "signature")


def test_while_a_secret_is_rotated_both_hold(scene: Scene) -> None:
    old, new = scene.office.secret, InMemoryWorker().secret
    scene.office.secret = f"{old} {new}"
    assert scene.ask(signed_request(json.dumps(JOB), old)).status == 200
    assert scene.ask(signed_request(json.dumps(JOB), new)).status == 200
    scene.office.secret = new
    assert scene.ask(signed_request(json.dumps(JOB), old)).status == 401


@pytest.mark.parametrize("unusable", ["", "short", "whsec_c2hvcnQ="])
def test_a_secret_that_is_none_is_our_fault_and_the_job_comes_back(
    scene: Scene, log: io.StringIO, unusable: str
) -> None:
    request = signed_request(json.dumps(JOB), scene.office.secret)
    scene.office.secret = unusable
    told = scene.ask(request)
    assert told.is_(503, "try_again", "no_secret")
    assert told.retry_after_s == AGAIN_AFTER_FAULT_S
    assert '"message":"job.no_secret"' in log.getvalue()


def test_a_fault_before_the_job_is_read_tells_where_and_not_what_and_the_job_comes_back(
    scene: Scene, log: io.StringIO
) -> None:
    told = scene.ask({**signed_request(json.dumps(JOB), scene.office.secret), "headers": ["canary"]})
    assert told.is_(503, "try_again", "error")
    assert '"message":"job.failed"' in log.getvalue()
    assert "canary" not in log.getvalue()


def test_a_secret_that_cannot_be_read_is_told_by_its_code(log: io.StringIO) -> None:
    def secrets() -> str:
        raise SecretError("AccessDeniedException", passing=False)

    refusal = BySignature(secrets).refusal(unsigned("{}"))
    assert refusal is not None
    assert refusal.status is HTTPStatus.SERVICE_UNAVAILABLE
    assert "AccessDeniedException" in log.getvalue()


BY_IAM = {"iam": {"accountId": "123456789012", "callerId": "AROAEXAMPLE:pusher", "userArn": "arn:aws:sts::-"}}


@pytest.mark.parametrize("authorizer", [None, {}, {"iam": None}, {"iam": {"callerId": ""}}, {"jwt": {"claims": {}}}])
def test_a_request_that_iam_was_not_asked_about_stays_outside(scene: Scene, authorizer: Any) -> None:
    worker = Worker(scene.office._worker.work, ByIam())
    request = signed_request(json.dumps(JOB), scene.office.secret)
    assert Told(worker.answer(request, Invocation())).is_(403, "refused", "iam")
    request["requestContext"]["authorizer"] = authorizer
    assert Told(worker.answer(request, Invocation())).is_(403, "refused", "iam")
    assert scene.row == QUEUED


def test_a_request_that_iam_let_in_needs_no_signature(scene: Scene) -> None:
    worker = Worker(scene.office._worker.work, ByIam())
    request = unsigned(json.dumps(JOB))
    request["requestContext"]["authorizer"] = BY_IAM
    assert Told(worker.answer(request, Invocation())).is_(200, "complete", "accepted")


# --- what is read ---


def test_a_body_that_lambda_handed_over_as_base64_is_what_was_signed(scene: Scene) -> None:
    request = signed_request(json.dumps(JOB), scene.office.secret)
    encoded = base64.b64encode(request["body"].encode()).decode()
    assert scene.ask({**request, "body": encoded, "isBase64Encoded": True}).status == 200


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE"])
def test_only_post_pushes_a_job(scene: Scene, method: str) -> None:
    told = scene.ask(signed_request(json.dumps(JOB), scene.office.secret, method=method))
    assert told.is_(405, "invalid", "method: must be POST")
    assert told.response["headers"]["allow"] == "POST"
    assert scene.row == QUEUED


def test_a_body_that_no_job_is_as_long_as_is_not_read(scene: Scene) -> None:
    body = json.dumps(JOB).ljust(LARGEST_BODY)
    assert scene.ask(signed_request(body, scene.office.secret)).status == 200
    told = scene.ask(signed_request(body + " ", scene.office.secret))
    assert told.is_(413, "invalid", "body: must be at most 4096 bytes")


@pytest.mark.parametrize(
    ("job", "reason"),
    [
        ([EMAIL_ADDRESS], "not a delivery message of version 1: body"),
        (JOB | {"schema_version": 2}, "not a delivery message of version 1: schema_version"),
        (JOB | {EMAIL_ADDRESS: 1}, "not a delivery message of version 1: an unknown field"),
        ({**JOB, "template_id": ""}, "not a delivery message of version 1: template_id"),
        (JOB | {"channel": "sms"}, "channel: only email is taken here"),
        (
            JOB | {"delivery_id": f"digest:{EMAIL_ADDRESS}:2026-11-16:email"},
            "delivery_id: looks like an email address; use an opaque id such as c-10428",
        ),
    ],
    ids=["no object", "another version", "an unknown field", "an empty one", "another channel", "an address"],
)
def test_an_invalid_job_is_refused_with_the_name_of_the_field_and_without_its_value(
    scene: Scene, log: io.StringIO, job: Any, reason: str
) -> None:
    told = scene.push(job)
    assert told.is_(400, "invalid", reason)
    assert told.retry_after_s is None
    assert EMAIL_ADDRESS not in log.getvalue() + told.response["body"]


OFFICE = InMemoryWorker()
LET_IN = Worker(OFFICE._worker.work, ByIam())


@example(b"[" * LARGEST_BODY)
@example(b'{"schema_version": 1, "delivery_id": "\xff"}')
@given(st.binary(max_size=200) | json_texts())
def test_whatever_a_body_holds_it_is_answered_with_the_name_of_a_field(body: bytes) -> None:
    request = {
        "requestContext": {"http": {"method": "POST"}, "authorizer": BY_IAM},
        "body": base64.b64encode(body).decode(),
        "isBase64Encoded": True,
    }
    told = Told(LET_IN.answer(request, Invocation()))
    assert told.status == 400
    assert told.body["reason"].startswith(("not a delivery message of version 1: ", "delivery_id: ", "channel: "))


# --- faults of our own ---


def broken(_: Any) -> Any:
    msg = f"cannot read what {EMAIL_ADDRESS} gets"
    raise RuntimeError(msg)


def test_a_fault_of_our_own_is_told_to_the_log_and_not_to_the_caller(
    scene: Scene, log: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scene.office.ledger, "read", broken)
    told = scene.push()
    assert told.body == {"result": "try_again", "reason": "error"}
    assert (told.status, told.retry_after_s) == (503, AGAIN_AFTER_FAULT_S)
    assert '"message":"message.failed"' in log.getvalue()
    assert EMAIL_ADDRESS not in log.getvalue()
    monkeypatch.undo()
    assert scene.push().status == 200


def test_an_invocation_without_the_time_to_send_claims_nothing(scene: Scene) -> None:
    late = Invocation()
    scene.wait(timedelta(seconds=25))
    request = signed_request(json.dumps(JOB), scene.office.secret)
    assert Told(scene.office.handler(request, late)).is_(503, "try_again", "out_of_time")
    assert scene.row == QUEUED


def test_nothing_of_a_person_is_told_by_a_job_and_an_attempt_is_one_line(
    scene: Scene, log: io.StringIO, capsys: pytest.CaptureFixture[str]
) -> None:
    told = scene.push()
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    assert [line["message"] for line in lines] == ["delivery.attempted"]
    everything = log.getvalue() + capsys.readouterr().out + told.response["body"]
    assert [canary for canary in (EMAIL_ADDRESS, "canary", scene.office.secret) if canary in everything.lower()] == []
    assert CUSTOMER in everything
