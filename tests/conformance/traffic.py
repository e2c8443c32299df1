"""What gates and clocks must do, whatever they stand on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import timedelta

import pytest

from functions.core.identity import Channel
from functions.core.traffic import Gate, GatePosition, Traffic
from tests.fakes.clock import SUNDAY_EVENING

NOW = SUNDAY_EVENING
SOON = NOW + timedelta(seconds=30)
LATER = NOW + timedelta(minutes=5)
SECOND = timedelta(seconds=1)
EMAIL, SMS = Channel.EMAIL, Channel.SMS


class TrafficConformance(ABC):
    @pytest.fixture
    @abstractmethod
    def traffic(self) -> Traffic: ...

    # --- gates ---

    def test_a_channel_that_nobody_has_touched_is_open(self, traffic: Traffic) -> None:
        assert traffic.gate(EMAIL) == Gate()
        assert traffic.gate(EMAIL).position(NOW) is GatePosition.OPEN

    def test_a_closed_gate_opens_by_itself_when_its_time_comes(self, traffic: Traffic) -> None:
        traffic.close(EMAIL, until=SOON, cause="TooManyRequestsException")
        gate = traffic.gate(EMAIL)
        assert gate.cause == "TooManyRequestsException"
        assert gate.position(SOON - SECOND) is GatePosition.CLOSED
        assert gate.opens_at(NOW) == SOON
        assert gate.position(SOON) is GatePosition.OPEN
        assert gate.opens_at(SOON) is None

    def test_a_gate_that_is_closed_for_longer_stays_so(self, traffic: Traffic) -> None:
        traffic.close(EMAIL, until=LATER, cause="quota")
        traffic.close(EMAIL, until=SOON, cause="throttled")
        assert (traffic.gate(EMAIL).closed_until, traffic.gate(EMAIL).cause) == (LATER, "quota")

    def test_the_other_channel_goes_on(self, traffic: Traffic) -> None:
        traffic.halt(EMAIL, at=NOW, cause="AccessDenied")
        traffic.close(SMS, until=NOW, cause="throttled")
        assert traffic.gate(EMAIL).position(NOW) is GatePosition.HALTED
        assert traffic.gate(SMS).position(NOW) is GatePosition.OPEN

    def test_a_halted_channel_waits_for_a_person_and_is_halted_once(self, traffic: Traffic) -> None:
        assert traffic.halt(EMAIL, at=NOW, cause="AccessDenied")
        assert not traffic.halt(EMAIL, at=SOON, cause="another")
        assert traffic.gate(EMAIL) == Gate(halted_at=NOW, cause="AccessDenied")
        assert traffic.gate(EMAIL).position(NOW + timedelta(days=9)) is GatePosition.HALTED

    def test_a_throttled_answer_does_not_open_a_halted_channel(self, traffic: Traffic) -> None:
        traffic.halt(EMAIL, at=NOW, cause="AccessDenied")
        traffic.close(EMAIL, until=SOON, cause="throttled")
        assert traffic.gate(EMAIL).position(LATER) is GatePosition.HALTED

    def test_halting_takes_the_place_of_closing(self, traffic: Traffic) -> None:
        traffic.close(EMAIL, until=SOON, cause="throttled")
        assert traffic.halt(EMAIL, at=NOW, cause="AccessDenied")
        assert traffic.gate(EMAIL) == Gate(halted_at=NOW, cause="AccessDenied")

    def test_a_resumed_channel_is_open_whatever_had_closed_it(self, traffic: Traffic) -> None:
        traffic.halt(EMAIL, at=NOW, cause="AccessDenied")
        traffic.resume(EMAIL)
        assert traffic.gate(EMAIL) == Gate()
        traffic.close(EMAIL, until=LATER, cause="throttled")
        traffic.resume(EMAIL)
        assert traffic.gate(EMAIL) == Gate()

    def test_a_gate_that_has_moved_since_it_was_seen_is_left_alone(self, traffic: Traffic) -> None:
        traffic.halt(EMAIL, at=NOW, cause="wrong prices")
        seen = traffic.gate(EMAIL)
        traffic.resume(EMAIL)
        traffic.halt(EMAIL, at=SOON, cause="AccessDenied")
        assert not traffic.resume(EMAIL, seen=seen)
        assert traffic.gate(EMAIL).cause == "AccessDenied"
        assert traffic.resume(EMAIL, seen=traffic.gate(EMAIL))
        traffic.close(EMAIL, until=SOON, cause="throttled")
        assert not traffic.resume(EMAIL, seen=Gate(halted_at=SOON, cause="AccessDenied"))
        assert traffic.resume(EMAIL, seen=traffic.gate(EMAIL))
        assert traffic.gate(EMAIL) == Gate()

    # --- the clock ---

    def test_the_first_slot_is_now_and_the_next_ones_follow_at_the_rate(self, traffic: Traffic) -> None:
        first = traffic.reserve(EMAIL, 3, interval=SECOND, now=NOW, not_after=LATER)
        second = traffic.reserve(EMAIL, 1, interval=SECOND, now=NOW, not_after=LATER)
        assert (first.reserved, first.first) == (True, NOW)
        assert (second.reserved, second.first) == (True, NOW + 3 * SECOND)

    def test_a_pause_is_not_saved_up_for_a_burst(self, traffic: Traffic) -> None:
        traffic.reserve(EMAIL, 1, interval=SECOND, now=NOW, not_after=LATER)
        late = traffic.reserve(EMAIL, 5, interval=SECOND, now=LATER, not_after=LATER)
        assert late.first == LATER

    def test_nothing_is_reserved_that_would_come_too_late(self, traffic: Traffic) -> None:
        traffic.reserve(EMAIL, 60, interval=SECOND, now=NOW, not_after=SOON)
        refused = traffic.reserve(EMAIL, 1, interval=SECOND, now=NOW, not_after=SOON)
        assert (refused.reserved, refused.first) == (False, NOW + 60 * SECOND)
        after = traffic.reserve(EMAIL, 1, interval=SECOND, now=NOW, not_after=LATER)
        assert after.first == NOW + 60 * SECOND

    def test_slots_that_were_not_used_are_given_back(self, traffic: Traffic) -> None:
        traffic.reserve(EMAIL, 10, interval=SECOND, now=NOW, not_after=LATER)
        traffic.give_back(EMAIL, 7, interval=SECOND, last=NOW + 10 * SECOND)
        assert traffic.reserve(EMAIL, 1, interval=SECOND, now=NOW, not_after=LATER).first == NOW + 3 * SECOND

    def test_slots_that_somebody_has_built_on_are_not_given_back(self, traffic: Traffic) -> None:
        traffic.reserve(EMAIL, 10, interval=SECOND, now=NOW, not_after=LATER)
        traffic.reserve(EMAIL, 1, interval=SECOND, now=NOW, not_after=LATER)
        traffic.give_back(EMAIL, 7, interval=SECOND, last=NOW + 10 * SECOND)
        assert traffic.reserve(EMAIL, 1, interval=SECOND, now=NOW, not_after=LATER).first == NOW + 11 * SECOND

    def test_each_channel_has_its_own_clock(self, traffic: Traffic) -> None:
        traffic.reserve(EMAIL, 10, interval=SECOND, now=NOW, not_after=LATER)
        assert traffic.reserve(SMS, 1, interval=SECOND, now=NOW, not_after=LATER).first == NOW

    def test_moving_a_gate_leaves_the_clock_alone(self, traffic: Traffic) -> None:
        traffic.reserve(EMAIL, 10, interval=SECOND, now=NOW, not_after=LATER)
        traffic.halt(EMAIL, at=NOW, cause="AccessDenied")
        traffic.resume(EMAIL)
        assert traffic.reserve(EMAIL, 1, interval=SECOND, now=NOW, not_after=LATER).first == NOW + 10 * SECOND
