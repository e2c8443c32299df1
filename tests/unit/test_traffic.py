"""A batch's way onto its channel: the gate read once, the slots reserved once."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.core.identity import Channel
from functions.core.traffic import GatePosition, Lane, interval_of
from tests.fakes.clock import FakeClock
from tests.fakes.traffic import InMemoryTraffic

EMAIL = Channel.EMAIL
A_MINUTE = timedelta(minutes=1)


@dataclass
class Scene:
    rate: float = 10
    clock: FakeClock = field(default_factory=FakeClock)
    traffic: InMemoryTraffic = field(default_factory=InMemoryTraffic)
    sends: list[datetime] = field(default_factory=list)

    def lane(self) -> Lane:
        return Lane(self.traffic, EMAIL, interval=interval_of(self.rate), clock=self.clock, sleep=self.sleep)

    def sleep(self, seconds: float) -> None:
        self.clock.advance(timedelta(seconds=seconds))

    def send(self, lane: Lane, *, within: timedelta = A_MINUTE) -> datetime | None:
        put_off_until = lane.take_slot(wait_until=self.clock() + within)
        if put_off_until is None:
            self.sends.append(self.clock())
        return put_off_until


def test_a_batch_sends_at_the_rate_and_never_faster() -> None:
    scene = Scene(rate=10)
    lane = scene.lane()
    lane.begin(5)
    for _ in range(5):
        assert scene.send(lane) is None
    gaps = [later - earlier for earlier, later in zip(scene.sends, scene.sends[1:], strict=False)]
    assert gaps == [timedelta(milliseconds=100)] * 4


def test_two_consumers_together_keep_to_the_rate() -> None:
    scene = Scene(rate=10)
    first, second = scene.lane(), scene.lane()
    first.begin(5)
    second.begin(5)
    for _ in range(5):
        scene.send(first)
    for _ in range(5):
        scene.send(second)
    assert scene.sends[-1] - scene.sends[0] >= timedelta(milliseconds=900)


@given(st.lists(st.tuples(st.integers(1, 10), st.integers(0, 10), st.integers(0, 3000)), max_size=15))
def test_whatever_batches_do_no_second_holds_more_than_the_rate(batches: list[tuple[int, int, int]]) -> None:
    scene = Scene(rate=7)
    for records, sent, pause_ms in batches:
        lane = scene.lane()
        lane.begin(records)
        for _ in range(min(records, sent)):
            scene.send(lane)
        lane.end()
        scene.clock.advance(timedelta(milliseconds=pause_ms))
    for begin in scene.sends:
        in_a_second = [one for one in scene.sends if begin <= one < begin + timedelta(seconds=1) - interval_of(7)]
        assert len(in_a_second) <= 7


def test_slots_of_messages_that_were_not_sent_are_free_for_others() -> None:
    scene = Scene(rate=1)
    lane = scene.lane()
    lane.begin(10)
    scene.send(lane)
    lane.end()
    other = scene.lane()
    other.begin(1)
    assert scene.send(other) is None
    assert scene.sends[1] - scene.sends[0] == timedelta(seconds=1)


def test_a_slot_that_comes_too_late_is_named_and_not_used() -> None:
    scene = Scene(rate=0.1)
    lane = scene.lane()
    lane.begin(3)
    assert scene.send(lane, within=timedelta(seconds=5)) is None
    begin = scene.clock()
    assert scene.send(lane, within=timedelta(seconds=5)) == begin + timedelta(seconds=10)
    assert len(scene.sends) == 1


def test_a_batch_that_closes_the_gate_sees_it_closed() -> None:
    scene = Scene()
    lane = scene.lane()
    lane.begin(2)
    assert lane.gate().position(scene.clock()) is GatePosition.OPEN
    lane.close(until=scene.clock() + A_MINUTE, cause="429")
    assert lane.gate().position(scene.clock()) is GatePosition.CLOSED
    assert scene.traffic.gate(EMAIL).closed_until == scene.clock() + A_MINUTE


def test_a_batch_that_halts_the_channel_is_told_whether_it_was_the_first() -> None:
    scene = Scene()
    first, second = scene.lane(), scene.lane()
    first.begin(1)
    second.begin(1)
    assert first.halt(cause="AccessDenied")
    assert not second.halt(cause="AccessDenied")
    assert second.gate().position(scene.clock()) is GatePosition.HALTED


def test_what_somebody_else_did_to_the_gate_is_seen_by_the_next_batch() -> None:
    scene = Scene()
    lane = scene.lane()
    lane.begin(1)
    lane.gate()
    scene.traffic.halt(EMAIL, at=scene.clock(), cause="paused by an operator")
    assert lane.gate().position(scene.clock()) is GatePosition.OPEN
    lane.begin(1)
    assert lane.gate().position(scene.clock()) is GatePosition.HALTED


@pytest.mark.parametrize(("rate", "interval"), [(1, 1.0), (14, 1 / 14), (0.5, 2.0), (1000, 0.001)])
def test_a_rate_is_an_interval(rate: float, interval: float) -> None:
    assert interval_of(rate) == timedelta(seconds=interval)
