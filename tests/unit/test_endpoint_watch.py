"""What is remembered of an endpoint after a send, and what never comes of remembering it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from functions.core.delivery import Delivery
from functions.core.endpoint_watch import EndpointWatch
from functions.core.envelope import TextEnvelope, WebhookEnvelope
from functions.core.identity import Channel
from functions.core.outcome import Outcome, OutcomeClass
from functions.core.webhook_endpoint import DISABLE_AFTER, DisabledBecause, Health, WebhookEndpoint, address_mark
from tests.conformance.endpoints import EndpointsConformance
from tests.fakes.clock import FakeClock
from tests.fakes.endpoints import InMemoryEndpoints
from tests.fakes.examples import AN_ENDPOINT, CUSTOMER, PHONE_NUMBER, WEBHOOK_URL, a_delivery
from tests.fakes.senders import ScriptedSender

TIMED_OUT = Outcome(OutcomeClass.UNKNOWN, "timed_out")
GONE = Outcome(OutcomeClass.REJECTED, "gone")
TAKEN = Outcome(OutcomeClass.ACCEPTED, "ok")
DELIVERY: Delivery = a_delivery(channel=Channel.WEBHOOK)


class TestInMemoryEndpoints(EndpointsConformance):
    @pytest.fixture
    def endpoints(self) -> InMemoryEndpoints:
        return InMemoryEndpoints(c_417=AN_ENDPOINT)


@dataclass
class Scene:
    clock: FakeClock = field(default_factory=FakeClock)
    endpoints: InMemoryEndpoints = field(default_factory=lambda: InMemoryEndpoints(c_417=AN_ENDPOINT))
    sender: ScriptedSender = field(default_factory=ScriptedSender)
    disabled: list[tuple[str, Health]] = field(default_factory=list)
    unnoted: list[str] = field(default_factory=list)

    def send(self, outcome: Outcome, *, endpoint: WebhookEndpoint | None = None) -> Outcome:
        self.sender.answer = outcome
        watch = EndpointWatch(
            self.sender,
            self.endpoints,
            DISABLE_AFTER,
            self.clock,
            disabled=lambda customer_id, health: self.disabled.append((customer_id, health)),
            unnoted=lambda customer_id, error: self.unnoted.append(f"{customer_id} {type(error).__name__}"),
        )
        held = endpoint or self.endpoints.held.get(CUSTOMER, AN_ENDPOINT)
        return watch.send(DELIVERY, WebhookEnvelope(WEBHOOK_URL, "{}", held), pause_s=30)

    @property
    def health(self) -> Health:
        return self.endpoints.held[CUSTOMER].health


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_the_straight_way_writes_nothing(scene: Scene) -> None:
    assert scene.send(TAKEN) == TAKEN
    assert scene.endpoints.writes == 0
    assert scene.sender.pauses == [30]


def test_a_failure_is_noted_and_a_success_clears_it(scene: Scene) -> None:
    scene.send(TIMED_OUT)
    assert (scene.health.failures, scene.health.last_code) == (1, "timed_out")
    scene.send(TAKEN)
    assert scene.health == Health(address_mark(WEBHOOK_URL))


def test_an_endpoint_that_is_gone_is_told_of_once(scene: Scene) -> None:
    scene.send(GONE)
    scene.send(GONE)
    ((customer_id, health),) = scene.disabled
    assert (customer_id, health.disabled_because) == (CUSTOMER, DisabledBecause.GONE)


def test_an_endpoint_that_fails_for_days_is_disabled_and_told_of(scene: Scene) -> None:
    scene.send(TIMED_OUT)
    scene.clock.advance(DISABLE_AFTER + timedelta(hours=1))
    scene.send(TIMED_OUT)
    assert [health.disabled_because for _, health in scene.disabled] == [DisabledBecause.FAILING]


def test_an_answer_that_was_another_attempts_is_not_counted_again(scene: Scene) -> None:
    scene.send(replace(TIMED_OUT, replayed=True))
    assert scene.endpoints.writes == 0


def test_an_endpoint_that_is_gone_is_disabled_even_when_somebody_notes_something_else_meanwhile(scene: Scene) -> None:
    def somebody() -> None:
        scene.endpoints.before_write = lambda: None
        scene.endpoints.note(CUSTOMER, Health(address_mark(WEBHOOK_URL)), version=0)

    scene.endpoints.before_write = somebody
    scene.send(GONE)
    assert scene.health.disabled_because is DisabledBecause.GONE


def test_a_customer_who_is_erased_meanwhile_leaves_nothing_behind(scene: Scene) -> None:
    scene.endpoints.held.clear()
    assert scene.send(GONE, endpoint=AN_ENDPOINT) == GONE
    assert scene.endpoints.held == {}
    assert (scene.disabled, scene.unnoted) == ([], [])


def test_a_note_that_cannot_be_written_does_not_undo_the_delivery(scene: Scene) -> None:
    def trouble() -> None:
        raise RuntimeError(WEBHOOK_URL)

    scene.endpoints.before_write = trouble
    assert scene.send(TIMED_OUT) == TIMED_OUT
    assert scene.unnoted == [f"{CUSTOMER} RuntimeError"]


def test_a_send_that_raises_is_not_swallowed(scene: Scene) -> None:
    scene.sender.answer = RuntimeError()
    watch = EndpointWatch(
        scene.sender,
        scene.endpoints,
        DISABLE_AFTER,
        scene.clock,
        disabled=lambda *_: None,
        unnoted=lambda *_: None,
    )
    with pytest.raises(RuntimeError):
        watch.send(DELIVERY, WebhookEnvelope(WEBHOOK_URL, "{}"), pause_s=None)


def test_other_channels_have_no_endpoint(scene: Scene) -> None:
    watch = EndpointWatch(
        scene.sender,
        scene.endpoints,
        DISABLE_AFTER,
        scene.clock,
        disabled=lambda *_: None,
        unnoted=lambda *_: None,
    )
    watch.send(a_delivery(channel=Channel.SMS), TextEnvelope(PHONE_NUMBER, "DIGEST", "text"), pause_s=None)
    assert scene.endpoints.writes == 0
