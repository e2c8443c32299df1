from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from ops.local.emulator_server import (
    EmulatorChangedError,
    fill_schedule_inputs,
    latest_occurrence,
    with_context_attributes,
)

TICK = datetime(2026, 11, 29, 20, 5, 3, 700_000, tzinfo=UTC)
SCHEDULE = "arn:aws:scheduler:us-east-1:000000000000:schedule/default/planner"


def every(minutes: int) -> Callable[[datetime], datetime | None]:
    def next_after(after: datetime) -> datetime:
        found = after.replace(second=0, microsecond=0) + timedelta(minutes=1)
        while found.minute % minutes:
            found += timedelta(minutes=1)
        return found

    return next_after


def test_a_schedule_hands_over_the_minute_it_was_meant_for_not_the_second_it_ran() -> None:
    assert latest_occurrence(TICK, every(1)) == datetime(2026, 11, 29, 20, 5, tzinfo=UTC)


def test_a_wake_up_that_comes_late_still_carries_its_own_minute() -> None:
    late = datetime(2026, 11, 29, 20, 7, 59, tzinfo=UTC)
    assert latest_occurrence(late, every(5)) == datetime(2026, 11, 29, 20, 5, tzinfo=UTC)


def test_a_schedule_without_minutes_of_its_own_hands_over_the_second_it_ran() -> None:
    assert latest_occurrence(TICK, lambda _after: None) == datetime(2026, 11, 29, 20, 5, 3, tzinfo=UTC)


def test_every_context_attribute_is_filled_in_and_the_rest_is_left_alone() -> None:
    text = (
        '{"at":"<aws.scheduler.scheduled-time>","by":"<aws.scheduler.schedule-arn>","run":"<aws.scheduler.execution-id>",'
        '"try":<aws.scheduler.attempt-number>,"shards":[0,1],"other":"<aws.scheduler.unknown>"}'
    )
    filled = with_context_attributes(text, scheduled_at=TICK, schedule_arn=SCHEDULE, execution_id="0f")
    assert filled == (
        f'{{"at":"2026-11-29T20:05:03Z","by":"{SCHEDULE}","run":"0f","try":1,"shards":[0,1],'
        '"other":"<aws.scheduler.unknown>"}'
    )


class EventBridge(SimpleNamespace):
    """As much of ministack's EventBridge as schedules are dispatched by."""

    _invoke_target: Callable[..., None]

    def __init__(self) -> None:
        super().__init__(__name__="eventbridge", dispatched=[])
        self._invoke_target = lambda target, _event, _rule, _view=None: self.dispatched.append(target)
        self._parse_cron_fields = lambda expression: expression
        self._cron_next_fire = lambda _fields, after: every(1)(after)


class Scheduler(SimpleNamespace):
    def __init__(self) -> None:
        super().__init__(__name__="scheduler", _SCHEDULE_TICK_INTERVAL=10)
        self._at_time_epoch = {"at(2026-11-29T20:04:30)": datetime(2026, 11, 29, 20, 4, 30, tzinfo=UTC).timestamp()}.get

    def _tick_schedules(self, _eb: Any = None, target: Any = None, event: Any = None, sched: Any = None) -> None:
        _eb._invoke_target(target, event, sched)


def wake_up(eventbridge: EventBridge, source: str, expression: str = "cron(* * * * ? *)") -> dict[str, str]:
    target = {"Arn": "arn:aws:lambda:::function:planner", "Input": '{"at":"<aws.scheduler.scheduled-time>"}'}
    event = {"Source": source, "Time": TICK.timestamp()}
    eventbridge._invoke_target(target, event, {"ScheduleExpression": expression, "Arn": SCHEDULE})
    dispatched: dict[str, str] = eventbridge.dispatched[-1]
    assert target["Input"] == '{"at":"<aws.scheduler.scheduled-time>"}', "the stored schedule keeps its attribute"
    return dispatched


def test_the_emulator_fills_in_what_the_planner_takes_its_time_from() -> None:
    eventbridge, scheduler = EventBridge(), Scheduler()
    fill_schedule_inputs(scheduler, eventbridge)
    assert wake_up(eventbridge, "aws.scheduler")["Input"] == '{"at":"2026-11-29T20:05:00Z"}'
    assert scheduler._SCHEDULE_TICK_INTERVAL == 1


def test_a_schedule_that_runs_once_hands_over_the_time_it_was_made_for() -> None:
    eventbridge = EventBridge()
    fill_schedule_inputs(Scheduler(), eventbridge)
    assert wake_up(eventbridge, "aws.scheduler", "at(2026-11-29T20:04:30)")["Input"] == '{"at":"2026-11-29T20:04:30Z"}'


def test_the_emulator_leaves_rules_of_the_event_bus_as_they_are() -> None:
    eventbridge = EventBridge()
    fill_schedule_inputs(Scheduler(), eventbridge)
    assert wake_up(eventbridge, "aws.events")["Input"] == '{"at":"<aws.scheduler.scheduled-time>"}'


@pytest.mark.parametrize("name", ["_invoke_target", "_parse_cron_fields", "_cron_next_fire"])
def test_an_emulator_of_another_make_is_refused_with_what_it_lacks_and_the_way_out(name: str) -> None:
    eventbridge = EventBridge()
    delattr(eventbridge, name)
    with pytest.raises(EmulatorChangedError, match=rf"no eventbridge\.{name}.*pin that one again"):
        fill_schedule_inputs(Scheduler(), eventbridge)


def test_an_emulator_that_dispatches_schedules_in_another_way_is_refused() -> None:
    class OtherScheduler(Scheduler):
        def _tick_schedules(self, *_: Any) -> None:
            raise NotImplementedError

    with pytest.raises(EmulatorChangedError, match="_tick_schedules"):
        fill_schedule_inputs(OtherScheduler(), EventBridge())
