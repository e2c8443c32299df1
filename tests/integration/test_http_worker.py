"""A channel's HTTP worker on its tables, beside the queue that the planner and the reconciler fill."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from importlib import import_module
from itertools import count
from typing import Any

import boto3
import pytest
from moto.ses.models import ses_backends

from functions import names
from functions.adapters.environment import WorkerEnvironment
from functions.adapters.ledger import DynamoLedger
from functions.adapters.wiring import secrets_manager
from functions.core.delivery import Delivery, Status
from functions.core.identity import Channel
from functions.core.message import DeliveryMessage
from functions.core.outcome import Dedupe, Guarantee, Outcome, OutcomeClass
from functions.worker.worker import Worker
from ops.in_memory.worker import signed_request
from tests.fakes.environment import ACCOUNT, REGION, channel_environment, queue_url
from tests.fakes.examples import EMAIL_ADDRESS, a_delivery, a_profile, an_activity
from tests.fakes.lambda_context import FakeLambdaContext
from tests.fakes.providers import FakeProvider
from tests.fakes.queues import Killed
from tests.integration.faults import failing, refused
from tests.integration.lambda_poller import LambdaPoller
from tests.integration.region import Clock, Functions, Region

EMAIL = Channel.EMAIL
SECRET_NAME = "email-jobs"
OLD, NEW = "whsec_" + "b2xkLWtl" * 4, "whsec_" + "bmV3LWtl" * 4
QUEUED = a_delivery(status=Status.QUEUED)
JOB = DeliveryMessage.of(QUEUED).to_body()
KEYS_FOR_A_DAY = Guarantee(Dedupe.WINDOW, window=timedelta(days=1))


@dataclass(frozen=True)
class Scene:
    """One row, a worker with a provider that does as it is told, and the consumer of the same channel's queue."""

    region: Region
    clock: Clock
    provider: FakeProvider
    answer: Callable[..., dict[str, Any]]
    poller: LambdaPoller
    reconcile: Callable[[], None]
    ids: count[int]

    def push(self, body: str = JOB, *, secret: str = OLD) -> tuple[int, str]:
        """Push a job; return the status and what became of it."""
        context = FakeLambdaContext(self.clock, request_id=f"pushed-{next(self.ids)}")
        response = self.answer(signed_request(body, secret), context)
        return response["statusCode"], json.loads(response["body"])["reason"]

    @property
    def row(self) -> Delivery:
        return self.region.delivery(QUEUED.delivery_id)


MakeScene = Callable[..., Scene]


@pytest.fixture
def worker_environment(functions: Functions, region: Region, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001 - set up
    for name, value in channel_environment(EMAIL).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv(names.ENV_SIGNING_SECRET, SECRET_NAME)
    secrets_manager().create_secret(Name=SECRET_NAME, SecretString=OLD)


@pytest.fixture
def make_scene(functions: Functions, region: Region, clock: Clock, worker_environment: None) -> MakeScene:  # noqa: ARG001 - set up
    def make(guarantee: Guarantee = Guarantee(Dedupe.NONE)) -> Scene:  # noqa: B008 - frozen
        provider = FakeProvider(guarantee=guarantee)
        region.add(a_profile(), an_activity())
        region.put_deliveries(QUEUED)

        def answer(request: dict[str, Any], context: Any) -> dict[str, Any]:
            # Each in an execution environment of its own, as requests that come at once have them.
            return Worker.of(WorkerEnvironment.load(), provider).answer(request, context)

        def reconcile() -> None:
            functions.reconciler.handler({}, FakeLambdaContext(clock, timeout=timedelta(seconds=50)))

        consumer = functions.email.ChannelConsumer.from_environment(provider)
        poller = LambdaPoller(region.sqs, queue_url(EMAIL), consumer.handle, clock)
        return Scene(region, clock, provider, answer, poller, reconcile, count(1))

    return make


@pytest.fixture
def scene(make_scene: MakeScene) -> Scene:
    return make_scene()


@pytest.mark.usefixtures("worker_environment")
def test_the_function_behind_the_url_sends_an_email_and_its_row_says_so(region: Region, clock: Clock) -> None:
    boto3.client("sesv2").create_email_identity(EmailIdentity="digest@example.com")
    region.add(a_profile(), an_activity())
    region.put_deliveries(QUEUED)
    handler = import_module("functions.worker.handler").handler
    response = handler(signed_request(JOB, OLD), FakeLambdaContext(clock))
    assert (response["statusCode"], json.loads(response["body"])["result"]) == (200, "complete")
    (email,) = ses_backends[ACCOUNT][REGION].sent_messages
    assert email.destinations["ToAddresses"] == [EMAIL_ADDRESS]
    row = region.delivery(QUEUED.delivery_id)
    assert (row.status, row.attempt, row.claimed_by) == (Status.ACCEPTED, 1, "request-1")


def test_the_same_job_twice_at_once_is_one_email(scene: Scene) -> None:
    others: list[tuple[int, str]] = []
    scene.provider.while_sending = lambda: others.append(scene.push())
    assert scene.push() == (200, "accepted")
    assert others == [(409, "in_flight")]
    assert scene.push() == (200, "accepted")
    assert len(scene.provider.accepted) == 1
    assert scene.row.attempt == 1


def test_two_jobs_that_read_the_row_before_either_claims_it_send_once(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    others: list[tuple[int, str]] = []
    claim = DynamoLedger.claim

    def the_other_is_quicker(self: Any, *asked: Any) -> Any:
        monkeypatch.setattr(DynamoLedger, "claim", claim)
        others.append(scene.push())
        return claim(self, *asked)

    monkeypatch.setattr(DynamoLedger, "claim", the_other_is_quicker)
    assert scene.push() == (200, "duplicate_suppressed")
    assert others == [(200, "accepted")]
    assert len(scene.provider.accepted) == 1


def test_killed_after_the_provider_accepted_and_pushed_again_is_one_email(make_scene: MakeScene) -> None:
    scene = make_scene(KEYS_FOR_A_DAY)
    scene.provider.accept_unheard(Killed())
    with pytest.raises(Killed):
        scene.push()
    assert scene.push() == (409, "in_flight")
    scene.clock.advance(timedelta(seconds=31))
    assert scene.push() == (503, "lease_ran_out")
    scene.clock.advance(timedelta(seconds=1))
    assert scene.push() == (200, "accepted")
    assert len(scene.provider.accepted) == 1


def test_a_queue_and_a_request_for_the_same_delivery_are_one_email(scene: Scene) -> None:
    scene.region.sqs.send_message(QueueUrl=queue_url(EMAIL), MessageBody=JOB)
    assert scene.push() == (200, "accepted")
    assert scene.poller.poll() == {"batchItemFailures": []}
    assert len(scene.provider.accepted) == 1
    assert scene.region.count(queue_url(EMAIL)) == 0


def test_a_job_that_was_put_off_and_never_pushed_again_comes_back_by_the_reconciler(scene: Scene) -> None:
    scene.provider.will(Outcome(OutcomeClass.THROTTLED, "Slow", retry_at=scene.clock() + timedelta(minutes=2)))
    assert scene.push() == (429, "throttled")
    scene.clock.advance(timedelta(minutes=3))
    scene.reconcile()
    assert scene.poller.poll() == {"batchItemFailures": []}
    assert scene.row.status is Status.ACCEPTED
    assert scene.push() == (200, "accepted")
    assert len(scene.provider.accepted) == 1


def test_a_job_that_failed_comes_back_by_its_queue_and_the_reconciler_waits_for_that(scene: Scene) -> None:
    scene.provider.will(Outcome(OutcomeClass.UNAVAILABLE, "ServiceUnavailable"))
    assert scene.push() == (503, "unavailable")
    again_at = scene.row.next_attempt_at
    assert again_at is not None
    scene.clock.move_to(again_at)
    scene.reconcile()
    assert scene.region.count(queue_url(EMAIL)) == 0
    assert scene.push() == (200, "accepted")


def test_a_new_secret_is_noticed_within_minutes_and_without_a_deployment(scene: Scene) -> None:
    warm = replace(scene, answer=Worker.of(WorkerEnvironment.load(), scene.provider).answer)
    assert warm.push(secret=NEW) == (401, "signature")
    secrets_manager().put_secret_value(SecretId=SECRET_NAME, SecretString=f"{OLD} {NEW}")
    scene.clock.advance(timedelta(minutes=5))
    assert warm.push(secret=NEW) == (200, "accepted")
    assert warm.push(secret=OLD) == (200, "accepted")


def test_a_table_that_cannot_be_read_sends_nothing_and_tells_nobody_why(scene: Scene, log: io.StringIO) -> None:
    quoting = f"<{EMAIL_ADDRESS}>"
    with failing(scene.region.dynamodb, "BatchGetItem", refused("BatchGetItem", quoting)):
        assert scene.push() == (503, "error")
    assert scene.provider.calls == []
    assert EMAIL_ADDRESS not in log.getvalue()
    assert scene.push() == (200, "accepted")


def test_without_a_secret_iam_is_who_lets_jobs_in(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(names.ENV_SIGNING_SECRET)
    assert scene.push() == (403, "iam")
    assert scene.row == QUEUED
