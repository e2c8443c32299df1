"""When a channel is halted for what comes back."""

from __future__ import annotations

import pytest

from functions.core.bounce_brake import BounceBrake, BrakeCause, BrakeRule, Tally
from functions.core.identity import Channel
from functions.core.ports import ReceiptTallies
from ops.in_memory.traffic import InMemoryTraffic
from tests.conformance.receipt_tallies import ReceiptTalliesConformance
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.receipt_tallies import InMemoryReceiptTallies

RULE = BrakeRule(after=100, bounces_percent=8, complaints_percent=0.4)
Told = list[tuple[Channel, BrakeCause, Tally]]


class TestInMemoryReceiptTallies(ReceiptTalliesConformance):
    @pytest.fixture
    def tallies(self) -> ReceiptTallies:
        return InMemoryReceiptTallies()


@pytest.mark.parametrize(
    ("tally", "cause"),
    [
        (Tally(92, 8, 0), None),
        (Tally(91, 9, 0), BrakeCause.BOUNCES),
        (Tally(1000, 0, 4), None),
        (Tally(1000, 0, 5), BrakeCause.COMPLAINTS),
        (Tally(0, 99, 99), None),  # too few to say anything
        (Tally(0, 100, 0), BrakeCause.BOUNCES),
        (Tally(0, 0, 50), None),  # complaints about what was delivered on other days
    ],
)
def test_what_is_too_much(tally: Tally, cause: BrakeCause | None) -> None:
    assert RULE.broken_by(tally) is cause


@pytest.fixture
def traffic() -> InMemoryTraffic:
    return InMemoryTraffic()


@pytest.fixture
def told() -> Told:
    return []


@pytest.fixture
def brake(traffic: InMemoryTraffic, told: Told) -> BounceBrake:
    def braked(channel: Channel, cause: BrakeCause, tally: Tally) -> None:
        told.append((channel, cause, tally))

    return BounceBrake(InMemoryReceiptTallies(), traffic, RULE, lambda: SUNDAY_EVENING, braked, lambda *_: None)


def test_bounces_of_several_batches_halt_their_channel_and_no_other(
    brake: BounceBrake, traffic: InMemoryTraffic, told: Told
) -> None:
    brake.note({Channel.EMAIL: Tally(90, 8, 0), Channel.SMS: Tally(delivered=3)})
    assert not told
    brake.note({Channel.EMAIL: Tally(bounced=2)})
    assert told == [(Channel.EMAIL, BrakeCause.BOUNCES, Tally(90, 10, 0))]
    assert traffic.gate(Channel.EMAIL).cause == "bounce_rate"
    assert traffic.gate(Channel.SMS).halted_at is None


def test_a_rate_is_told_as_soon_as_it_says_anything_and_before_the_brake_acts(traffic: InMemoryTraffic) -> None:
    rates: list[tuple[Channel, float, float]] = []

    def rated(channel: Channel, tally: Tally) -> None:
        rates.append((channel, tally.bounces_percent, tally.complaints_percent))

    brake = BounceBrake(InMemoryReceiptTallies(), traffic, RULE, lambda: SUNDAY_EVENING, lambda *_: None, rated)
    brake.note({Channel.EMAIL: Tally(97, 2, 0)})
    assert not rates
    brake.note({Channel.EMAIL: Tally(0, 1, 0)})
    assert rates == [(Channel.EMAIL, 3.0, 0.0)]
    brake.note({Channel.EMAIL: Tally(0, 12, 1)})
    assert traffic.gate(Channel.EMAIL).halted_at is not None
    assert rates[1:] == [(Channel.EMAIL, 100 * 15 / 112, 100 / 112)]  # what made the brake act is told, too


def test_a_channel_that_was_resumed_is_not_halted_for_the_same_bounces_again(
    brake: BounceBrake, traffic: InMemoryTraffic, told: Told
) -> None:
    brake.note({Channel.EMAIL: Tally(0, 100, 0)})
    traffic.resume(Channel.EMAIL)
    brake.note({Channel.EMAIL: Tally(delivered=1)})
    assert traffic.gate(Channel.EMAIL).halted_at is None
    assert len(told) == 1


def test_a_channel_that_an_operator_has_halted_keeps_the_cause_and_is_told_of(
    brake: BounceBrake, traffic: InMemoryTraffic, told: Told
) -> None:
    traffic.halt(Channel.EMAIL, at=SUNDAY_EVENING, cause="operator")
    brake.note({Channel.EMAIL: Tally(0, 100, 0)})
    assert traffic.gate(Channel.EMAIL).cause == "operator"
    assert told
