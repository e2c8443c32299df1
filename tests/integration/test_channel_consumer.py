"""A consumer on its queue and its tables, with a provider that does as it is told."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from functions.core.composition import Composer
from functions.core.delivery import Delivery, FailureClass, Status
from functions.core.identity import Channel
from functions.core.message import DeliveryMessage
from functions.core.outcome import Dedupe, Guarantee, Outcome, OutcomeClass
from tests.fakes.environment import BACKOFF_S, VISIBILITY_S, channel_environment, dead_letter_url, queue_url
from tests.fakes.examples import CUSTOMER, EXPIRES_AFTER, a_delivery, a_profile, an_activity
from tests.fakes.lambda_context import FakeLambdaContext
from tests.fakes.providers import FakeProvider
from tests.fakes.queues import Killed
from tests.integration.faults import failing, refused
from tests.integration.lambda_poller import LambdaPoller
from tests.integration.region import Clock, Functions, Region, log_lines

EMAIL = Channel.EMAIL
BUSY = Outcome(OutcomeClass.UNAVAILABLE, "ServiceUnavailable")
THROTTLED = Outcome(OutcomeClass.THROTTLED, "TooManyRequestsException")
LOST = Outcome(OutcomeClass.UNKNOWN, "ReadTimeoutError")
REFUSED = Outcome(OutcomeClass.AUTH, "AccessDeniedException")
KEYS_FOR_A_DAY = Guarantee(Dedupe.WINDOW, window=timedelta(days=1))
SECOND = timedelta(seconds=1)
Reconcile = Callable[[], dict[str, Any]]


@dataclass(frozen=True)
class Scene:
    region: Region
    clock: Clock
    provider: FakeProvider
    poller: LambdaPoller
    another_poller: LambdaPoller  # another execution environment of the same function
    reconcile: Reconcile

    def send(self, *customers: str) -> None:
        for customer in customers or (CUSTOMER,):
            self.region.add(a_profile(customer), an_activity())
            self.region.put_deliveries(queued(customer))
            self.put_message(customer)

    def put_message(self, customer: str = CUSTOMER) -> None:
        body = DeliveryMessage.of(queued(customer)).to_body()
        self.region.sqs.send_message(QueueUrl=queue_url(EMAIL), MessageBody=body)

    def row(self, customer: str = CUSTOMER) -> Delivery:
        return self.region.delivery(queued(customer).delivery_id)

    def dead_letters(self) -> int:
        return self.region.count(dead_letter_url(EMAIL))

    def wait_and_poll(self, delta: timedelta) -> dict[str, Any] | None:
        self.clock.advance(delta)
        return self.poller.poll()


def queued(customer: str = CUSTOMER) -> Delivery:
    return a_delivery(customer, status=Status.QUEUED)


MakeScene = Callable[..., Scene]


@pytest.fixture
def make_scene(functions: Functions, region: Region, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> MakeScene:
    for name, value in channel_environment(EMAIL).items():
        monkeypatch.setenv(name, value)

    def make(guarantee: Guarantee = Guarantee(Dedupe.NONE)) -> Scene:  # noqa: B008 - frozen
        provider = FakeProvider(guarantee=guarantee)

        def poller() -> LambdaPoller:
            consumer = functions.email.ChannelConsumer.from_environment(provider)
            return LambdaPoller(region.sqs, queue_url(EMAIL), consumer.handle, clock)

        def reconcile() -> dict[str, Any]:
            told: dict[str, Any] = functions.reconciler.handler(
                {}, FakeLambdaContext(clock, timeout=timedelta(seconds=50))
            )
            return told

        return Scene(region, clock, provider, poller(), poller(), reconcile)

    return make


@pytest.fixture
def scene(make_scene: MakeScene) -> Scene:
    return make_scene()


def failures(answer: dict[str, Any] | None) -> int:
    assert answer is not None
    return len(answer["batchItemFailures"])


# --- the answer to Lambda ---


def test_a_batch_in_which_everything_went_well_answers_with_an_empty_list(scene: Scene) -> None:
    scene.send("c-1", "c-2")
    assert json.dumps(scene.poller.poll()) == '{"batchItemFailures": []}'


@pytest.mark.parametrize("records", [1, 10])
def test_a_batch_in_which_everything_failed_is_answered_and_does_not_raise(scene: Scene, records: int) -> None:
    scene.send(*(f"c-{number}" for number in range(records)))
    scene.provider.will(*[BUSY] * records)
    event = scene.poller.receive()
    assert event is not None
    answer = scene.poller.invoke(event)
    assert answer == {"batchItemFailures": [{"itemIdentifier": one["messageId"]} for one in event["Records"]]}
    assert scene.region.count(queue_url(EMAIL)) == records


def test_the_answer_names_just_those_that_are_not_done_in_the_words_that_lambda_reads(scene: Scene) -> None:
    scene.send("c-1", "c-2", "c-3")
    scene.provider.will(Outcome(OutcomeClass.ACCEPTED, "ok"), BUSY, Outcome(OutcomeClass.ACCEPTED, "ok"))
    event = scene.poller.receive()
    assert event is not None
    failed = event["Records"][1]["messageId"]
    assert json.dumps(scene.poller.invoke(event)) == json.dumps({"batchItemFailures": [{"itemIdentifier": failed}]})
    assert scene.region.count(queue_url(EMAIL)) == 1


# --- one send, whatever is delivered twice ---


def test_the_same_id_at_two_lambdas_at_once_is_sent_by_one_of_them(scene: Scene) -> None:
    scene.send()
    scene.put_message()
    (first, second) = (scene.poller.receive() or {})["Records"]
    answers: list[dict[str, Any]] = []

    def the_other_lambda() -> None:
        scene.provider.while_sending = lambda: None
        answers.append(scene.another_poller.invoke({"Records": [second]}))

    scene.provider.while_sending = the_other_lambda
    answers.append(scene.poller.invoke({"Records": [first]}))
    assert [failures(answer) for answer in answers] == [1, 0]
    assert scene.provider.accepted == [str(queued().delivery_id)]
    assert (scene.row().status, scene.row().attempt) == (Status.ACCEPTED, 1)


def test_the_loser_comes_back_when_the_winner_is_done_and_finds_that_out(scene: Scene) -> None:
    test_the_same_id_at_two_lambdas_at_once_is_sent_by_one_of_them(scene)
    assert scene.poller.poll() is None
    assert scene.wait_and_poll(timedelta(seconds=32)) == {"batchItemFailures": []}
    assert len(scene.provider.accepted) == 1
    assert scene.region.count(queue_url(EMAIL)) == 0


def test_two_lambdas_that_read_the_row_before_either_claims_it_send_once(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.send()
    scene.put_message()
    (first, second) = (scene.poller.receive() or {})["Records"]
    compose = Composer.compose

    def the_other_lambda_is_quicker(self: Any, *asked: Any) -> Any:
        monkeypatch.setattr(Composer, "compose", compose)
        scene.another_poller.invoke({"Records": [second]})
        return compose(self, *asked)

    monkeypatch.setattr(Composer, "compose", the_other_lambda_is_quicker)
    assert scene.poller.invoke({"Records": [first]}) == {"batchItemFailures": []}
    assert len(scene.provider.accepted) == 1
    assert scene.row().attempt == 1


def test_a_row_that_failed_and_was_left_waiting_between_look_and_claim_is_no_fault(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, log: io.StringIO
) -> None:
    scene.send()
    scene.put_message()
    (first, second) = (scene.poller.receive() or {})["Records"]
    compose = Composer.compose
    scene.provider.will(BUSY)

    def the_other_lambda_is_quicker(self: Any, *asked: Any) -> Any:
        monkeypatch.setattr(Composer, "compose", compose)
        scene.another_poller.invoke({"Records": [second]})
        return compose(self, *asked)

    monkeypatch.setattr(Composer, "compose", the_other_lambda_is_quicker)
    assert failures(scene.poller.invoke({"Records": [first]})) == 1
    assert (scene.row().status, scene.row().attempt) == (Status.RETRYABLE, 1)
    assert [line["message"] for line in log_lines(log)] == ["delivery.attempted", "message.in_flight"]


def test_a_slow_provider_and_a_message_that_is_visible_again_is_one_email(scene: Scene) -> None:
    scene.send()

    def visible_again() -> None:
        scene.provider.while_sending = lambda: None
        scene.clock.advance(timedelta(seconds=VISIBILITY_S + 1))

    scene.provider.while_sending = visible_again
    scene.poller.poll()
    assert scene.wait_and_poll(timedelta(seconds=1)) in (None, {"batchItemFailures": []})
    assert len(scene.provider.accepted) == 1


# --- time ---


def test_a_consumer_short_of_time_reports_the_rest_and_sends_none_of_it_twice(scene: Scene) -> None:
    scene.send(*(f"c-{number}" for number in range(10)))

    def takes_four_seconds() -> None:
        scene.clock.advance(timedelta(seconds=4))

    scene.provider.while_sending = takes_four_seconds
    answer = scene.poller.poll()
    assert failures(answer) == 4  # each takes 4 of 30 seconds, and needs 7 to be begun
    assert len(scene.provider.accepted) == 6
    for _ in range(3):
        scene.wait_and_poll(SECOND)
    assert sorted(scene.provider.accepted) == sorted(set(scene.provider.accepted))
    assert len(scene.provider.accepted) == 10


def test_without_any_time_left_nothing_is_claimed(scene: Scene) -> None:
    scene.send()
    event = scene.poller.receive()
    assert event is not None
    context = FakeLambdaContext(scene.clock, timeout=timedelta(0))
    assert failures(scene.poller.handler(event, context)) == 1
    assert scene.row() == queued()
    assert scene.provider.calls == []


def test_a_claims_lease_ends_with_the_invocation(scene: Scene) -> None:
    scene.send()
    leases: list[Any] = []
    scene.provider.while_sending = lambda: leases.append(scene.row().lease_until)
    scene.poller.poll()
    assert leases == [scene.clock() + timedelta(seconds=30)]


def test_each_invocation_has_its_own_lease_in_a_warm_environment(scene: Scene) -> None:
    scene.send("c-1")
    scene.poller.poll()
    scene.clock.advance(timedelta(minutes=10))
    scene.send("c-2")
    leases: list[Any] = []
    scene.provider.while_sending = lambda: leases.append(scene.row("c-2").lease_until)
    scene.poller.poll()
    assert leases == [scene.clock() + timedelta(seconds=30)]


# --- an invocation that dies ---


def test_killed_after_the_provider_accepted_is_not_sent_blindly(scene: Scene) -> None:
    scene.send()
    scene.provider.accept_unheard(Killed())
    with pytest.raises(Killed):
        scene.poller.poll()
    assert scene.row().status is Status.SENDING
    assert scene.wait_and_poll(timedelta(seconds=VISIBILITY_S + 1)) == {"batchItemFailures": []}
    assert scene.row().status is Status.UNCERTAIN
    scene.reconcile()
    assert scene.provider.calls == [str(queued().delivery_id)]
    assert scene.region.count(queue_url(EMAIL)) == 0


def test_killed_after_a_provider_that_knows_our_key_accepted_ends_as_one_email(make_scene: MakeScene) -> None:
    scene = make_scene(KEYS_FOR_A_DAY)
    scene.send()
    scene.provider.accept_unheard(Killed())
    with pytest.raises(Killed):
        scene.poller.poll()
    scene.wait_and_poll(timedelta(seconds=VISIBILITY_S + 1))
    assert scene.wait_and_poll(2 * SECOND) == {"batchItemFailures": []}
    row = scene.row()
    assert (row.status, row.provider_reference, row.attempt) == (Status.ACCEPTED, "reference-1", 2)
    assert len(scene.provider.calls) == 2
    assert scene.provider.accepted == [str(queued().delivery_id)]
    assert scene.provider.envelopes[0] == scene.provider.envelopes[1]


def test_the_reconciler_finds_a_delivery_whose_invocation_and_message_are_both_gone(scene: Scene) -> None:
    scene.send()
    scene.provider.accept_unheard(Killed())
    with pytest.raises(Killed):
        scene.poller.poll()
    scene.region.sqs.purge_queue(QueueUrl=queue_url(EMAIL))
    scene.clock.advance(timedelta(minutes=6))
    assert scene.reconcile()["found"] == {"lease_ran_out": 1}
    assert scene.row().status is Status.UNCERTAIN


def test_a_settlement_that_could_not_be_written_is_not_a_licence_to_send_again(scene: Scene, log: io.StringIO) -> None:
    scene.send()
    error = refused("UpdateItem", "InternalServerError", 500)
    with failing(scene.region.dynamodb, "UpdateItem", error, when=lambda call: call == 3):  # slot, claim, settle
        assert failures(scene.poller.poll()) == 1
    assert scene.row().status is Status.SENDING
    scene.wait_and_poll(timedelta(seconds=VISIBILITY_S + 1))
    assert scene.row().status is Status.UNCERTAIN
    assert len(scene.provider.calls) == 1
    assert "the service's own words" not in log.getvalue()


def test_a_send_that_raises_counts_as_one_that_may_have_gone_out(scene: Scene) -> None:
    scene.send()
    scene.provider.will(RuntimeError("a provider never raises"))
    assert failures(scene.poller.poll()) == 1
    assert scene.row().status is Status.UNCERTAIN
    assert scene.wait_and_poll(timedelta(seconds=BACKOFF_S[0])) == {"batchItemFailures": []}
    assert len(scene.provider.calls) == 1


def test_an_answer_that_nobody_got_leaves_the_row_uncertain_and_the_message_done(scene: Scene) -> None:
    scene.send()
    scene.provider.will(LOST)
    assert scene.poller.poll() == {"batchItemFailures": []}
    assert scene.row().status is Status.UNCERTAIN
    scene.put_message()
    assert scene.poller.poll() == {"batchItemFailures": []}
    assert len(scene.provider.calls) == 1


# --- trying again ---


def test_passing_failures_end_in_the_dead_letter_queue_after_as_many_receives_as_are_allowed(scene: Scene) -> None:
    scene.send()
    scene.provider.will(*[BUSY] * 20)
    for number in range(len(BACKOFF_S) + 1):
        assert failures(scene.poller.poll()) == 1
        assert len(scene.provider.calls) == number + 1
        scene.reconcile()
        scene.clock.advance(timedelta(seconds=(*BACKOFF_S, 1)[number]))
    assert scene.poller.poll() is None
    row = scene.row()
    assert row.exhausted()
    assert row.failure is not None
    assert (row.failure.failure_class, row.failure.code) == (FailureClass.EXHAUSTED, "ServiceUnavailable")
    assert [attempt.attempt for attempt in row.history] == [1, 2, 3, 4, 5, 6]
    assert scene.dead_letters() == 1
    assert scene.region.count(queue_url(EMAIL)) == 0


def test_an_operators_redrive_sends_under_the_same_id_and_keeps_the_history(scene: Scene) -> None:
    test_passing_failures_end_in_the_dead_letter_queue_after_as_many_receives_as_are_allowed(scene)
    scene.provider.answers.clear()
    (body,) = scene.region.bodies(dead_letter_url(EMAIL))
    for _ in range(2):  # redriven twice
        scene.region.sqs.send_message(QueueUrl=queue_url(EMAIL), MessageBody=body)
        assert scene.wait_and_poll(SECOND) == {"batchItemFailures": []}
    row = scene.row()
    assert (row.status, row.attempt, len(row.history)) == (Status.ACCEPTED, 7, 7)
    assert len(scene.provider.accepted) == 1


def test_a_redrive_after_its_time_is_not_sent(scene: Scene) -> None:
    test_passing_failures_end_in_the_dead_letter_queue_after_as_many_receives_as_are_allowed(scene)
    scene.provider.answers.clear()
    (body,) = scene.region.bodies(dead_letter_url(EMAIL))
    scene.clock.advance(EXPIRES_AFTER)
    scene.region.sqs.send_message(QueueUrl=queue_url(EMAIL), MessageBody=body)
    assert scene.poller.poll() == {"batchItemFailures": []}
    assert scene.row().status is Status.EXPIRED
    assert scene.provider.accepted == []


@pytest.mark.parametrize("status", [Status.ACCEPTED, Status.SKIPPED, Status.EXPIRED, Status.UNCERTAIN])
def test_redriving_what_has_ended_does_nothing(scene: Scene, status: Status) -> None:
    scene.send()
    ended = a_delivery(status=status, attempt=1, attention_at=None if status is not Status.UNCERTAIN else scene.clock())
    scene.region.put_deliveries(ended)
    assert scene.poller.poll() == {"batchItemFailures": []}
    assert scene.row() == ended
    assert scene.provider.calls == []


def test_thirty_rate_limits_use_up_no_receive_and_end_in_a_send(scene: Scene) -> None:
    scene.send()
    scene.provider.will(*[THROTTLED] * 30)
    for _ in range(200):
        scene.poller.poll()
        scene.reconcile()
        scene.clock.advance(timedelta(seconds=6))
        if scene.row().status is Status.ACCEPTED:
            break
    row = scene.row()
    assert (row.status, row.attempt) == (Status.ACCEPTED, 31)
    assert scene.dead_letters() == 0


def test_a_rate_limit_stops_the_rest_of_the_batch_and_everybody_elses(scene: Scene) -> None:
    scene.send("c-1", "c-2", "c-3")
    scene.provider.will(THROTTLED)
    assert scene.poller.poll() == {"batchItemFailures": []}
    scene.send("c-4")
    assert scene.another_poller.poll() == {"batchItemFailures": []}
    assert len(scene.provider.calls) == 1
    assert {row.status for row in scene.region.deliveries().values()} == {Status.RETRYABLE}
    assert sorted(row.attempt for row in scene.region.deliveries().values()) == [0, 0, 0, 1]


def test_refused_credentials_halt_the_channel_and_lose_nothing(scene: Scene) -> None:
    scene.send("c-1", "c-2")
    scene.provider.will(REFUSED)
    assert scene.poller.poll() == {"batchItemFailures": []}
    scene.clock.advance(timedelta(hours=1))
    assert scene.reconcile()["halted"] == ["email"]
    assert scene.poller.poll() is None
    assert {row.status for row in scene.region.deliveries().values()} == {Status.RETRYABLE}
    traffic = scene.poller.handler.__self__._work._lane._traffic  # type: ignore[attr-defined]
    traffic.resume(EMAIL)
    scene.reconcile()
    assert scene.wait_and_poll(SECOND) == {"batchItemFailures": []}
    assert len(scene.provider.accepted) == 2
    assert scene.dead_letters() == 0


def test_a_bad_address_is_dead_at_once_and_is_not_tried_again(scene: Scene) -> None:
    scene.send()
    scene.provider.will(Outcome(OutcomeClass.REJECTED, "BadRequestException"))
    assert scene.poller.poll() == {"batchItemFailures": []}
    assert scene.row().status is Status.DEAD_LETTER
    scene.put_message()
    assert scene.wait_and_poll(SECOND) == {"batchItemFailures": []}
    assert len(scene.provider.calls) == 1
    assert scene.dead_letters() == 0


def test_nothing_is_sent_after_its_time(scene: Scene) -> None:
    scene.send()
    scene.clock.advance(EXPIRES_AFTER)
    assert scene.poller.poll() == {"batchItemFailures": []}
    assert (scene.row().status, scene.provider.calls) == (Status.EXPIRED, [])


# --- faults of our own ---


def test_a_row_that_we_cannot_work_on_ends_as_exhausted_with_the_kind_of_fault(scene: Scene, log: io.StringIO) -> None:
    scene.send()
    scene.region.add(a_profile(time_zone="Mars/Phobos"))
    for pause in (*BACKOFF_S, 1):
        assert failures(scene.poller.poll()) == 1
        scene.clock.advance(timedelta(seconds=pause + 1))  # the jitter may have chosen the whole pause
    assert scene.poller.poll() is None
    row = scene.row()
    assert row.exhausted()
    assert row.failure is not None
    assert row.failure.code == "UnknownTimeZoneError"
    assert scene.dead_letters() == 1
    assert {line["message"] for line in log_lines(log)} == {"message.failed"}


def test_a_table_that_cannot_be_read_sends_nothing_and_keeps_the_message(scene: Scene) -> None:
    scene.send()
    with failing(scene.region.dynamodb, "BatchGetItem", refused("BatchGetItem", "InternalServerError", 500)):
        assert failures(scene.poller.poll()) == 1
    assert scene.provider.calls == []
    assert scene.wait_and_poll(timedelta(seconds=BACKOFF_S[0])) == {"batchItemFailures": []}
    assert scene.row().status is Status.ACCEPTED


def test_a_queue_that_refuses_a_new_visibility_falls_back_to_its_own(scene: Scene) -> None:
    scene.send()
    scene.provider.will(BUSY)
    error = refused("ChangeMessageVisibility", "InvalidParameterValue")
    with failing(scene.region.sqs, "ChangeMessageVisibility", error):
        assert failures(scene.poller.poll()) == 1
    assert scene.wait_and_poll(timedelta(seconds=VISIBILITY_S - 1)) is None
    assert scene.wait_and_poll(2 * SECOND) == {"batchItemFailures": []}
    assert scene.row().status is Status.ACCEPTED


def test_what_a_batch_of_ten_costs_in_requests(scene: Scene) -> None:
    scene.send(*(f"c-{number}" for number in range(10)))
    requests: list[str] = []

    def count(model: Any, **_: Any) -> None:
        requests.append(model.name)

    scene.region.dynamodb.meta.events.register("before-call.dynamodb", count)
    scene.poller.poll()
    scene.region.dynamodb.meta.events.unregister("before-call.dynamodb", count)
    # for each: read the person, claim, settle; for the batch: the rows, the gate, the slots
    assert len(requests) <= 3 * 10 + 3
