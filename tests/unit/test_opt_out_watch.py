"""People who said STOP to the provider itself are left alone by every other provider, too."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from functions.core.envelope import TextEnvelope
from functions.core.identity import Channel
from functions.core.opt_out_watch import OptOutWatch
from functions.core.outcome import Outcome, OutcomeClass
from functions.core.provider_codes import EUM_REASONS, OPTED_OUT, SNS
from tests.fakes.clock import FakeClock
from tests.fakes.customers import InMemoryCustomers
from tests.fakes.examples import ACCEPTED, CUSTOMER, PHONE_NUMBER, a_delivery, a_profile
from tests.fakes.senders import ScriptedSender
from tests.fakes.suppressions import InMemorySuppressions

TEXT = TextEnvelope(to=PHONE_NUMBER, sender="SHOP", body="-")
LEFT = Outcome(OutcomeClass.REJECTED, "DESTINATION_PHONE_NUMBER_OPTED_OUT")


@dataclass
class World:
    """A watch on a sender that answers as it is told."""

    sender: ScriptedSender = field(default_factory=ScriptedSender)
    customers: InMemoryCustomers = field(default_factory=InMemoryCustomers)
    unnoted: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.customers.add(a_profile())

    def send(self, answer: Outcome | Exception, suppressions: InMemorySuppressions | None = None) -> Outcome:
        self.sender.answer = answer
        watch = OptOutWatch(
            self.sender,
            suppressions or InMemorySuppressions(self.customers),
            FakeClock(),
            lambda customer_id, _: self.unnoted.append(customer_id),
        )
        return watch.send(a_delivery(channel=Channel.SMS), TEXT, pause_s=5)

    @property
    def suppressed(self) -> dict[Channel, str]:
        return dict(self.customers.profiles[CUSTOMER].suppressed)


@pytest.fixture
def world() -> World:
    return World()


@pytest.mark.parametrize("code", sorted(OPTED_OUT))
def test_a_number_that_its_provider_refuses_after_a_stop_gets_no_texts_from_anybody(world: World, code: str) -> None:
    outcome = world.send(Outcome(OutcomeClass.REJECTED, code))
    assert outcome.code == code
    assert world.suppressed == {Channel.SMS: "stop"}


@pytest.mark.parametrize(
    "answer",
    [ACCEPTED, Outcome(OutcomeClass.REJECTED, "InvalidParameter"), Outcome(OutcomeClass.AUTH, "AccessDenied")],
    ids=["accepted", "a bad number", "our own fault"],
)
def test_no_other_answer_suppresses_anybody(world: World, answer: Outcome) -> None:
    assert world.send(answer) == answer
    assert world.suppressed == {}


def test_an_answer_that_was_given_to_an_earlier_attempt_is_not_noted_again(world: World) -> None:
    world.send(Outcome(LEFT.outcome, LEFT.code, replayed=True))
    assert world.suppressed == {}


def test_a_profile_that_cannot_be_written_does_not_bring_the_message_back(world: World) -> None:
    class BrokenSuppressions(InMemorySuppressions):
        def suppress(self, *_: object, **__: object) -> bool:
            raise RuntimeError(PHONE_NUMBER)

    assert world.send(LEFT, BrokenSuppressions(world.customers)) == LEFT
    assert world.unnoted == [CUSTOMER]


def test_a_send_that_fails_is_not_hidden(world: World) -> None:
    with pytest.raises(RuntimeError):
        world.send(RuntimeError())


def test_what_says_that_somebody_left_is_a_code_of_the_texts_providers_and_ends_the_delivery() -> None:
    meanings = {code: {**SNS, **EUM_REASONS}[code] for code in OPTED_OUT}
    assert set(meanings.values()) == {OutcomeClass.REJECTED}
