"""An alarm as time goes on: what is said in each of its periods, and what state that leaves it in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from tests.fakes.clock import SUNDAY_EVENING
from tests.infrastructure.alarm_evaluation import Alarm, Recorded, Sample, State
from tests.infrastructure.templates import Template


def alarms_of(template: Template) -> dict[str, Alarm]:
    """A region's alarms, by the name that people know them by."""
    return {
        properties["AlarmName"].removeprefix(f"DigestDelivery-{template.data_region}-"): Alarm.of(
            logical_id, properties
        )
        for logical_id, properties in template.properties("AWS::CloudWatch::Alarm").items()
    }


@dataclass
class Course:
    """What an alarm sees as time goes on."""

    alarm: Alarm
    recorded: Recorded

    def __post_init__(self) -> None:
        self.now = SUNDAY_EVENING

    def goes_on(self, samples: Iterable[Sample], *, periods: int, times: int = 1) -> State:
        """Let the same be said, so many times, in each of so many periods; return the alarm's state after them."""
        said = list(samples)
        for _ in range(periods):
            self.recorded.take(replace(sample, at=self.now) for sample in said for _ in range(times))
            self.now += self.alarm.period
        return self.alarm.state(self.recorded, self.now)


def comes_and_goes(alarm: Alarm, wrong: list[Sample], mended: list[Sample], *, times: int = 1) -> None:
    """Assert that an alarm is down when all is well, up while something is wrong, and down again after it."""
    beyond = int(alarm.reach / alarm.period)  # after so many periods nothing counts of what was before
    course = Course(alarm, Recorded())
    assert course.goes_on(mended, periods=beyond, times=times) is State.OK
    # An alarm on silence looks further back before it believes it.
    enough = alarm.properties["EvaluationPeriods"] if wrong else beyond
    assert course.goes_on(wrong, periods=enough, times=times) is State.ALARM
    assert course.goes_on(mended, periods=beyond, times=times) is State.OK
    if wrong:
        assert course.goes_on(wrong, periods=enough, times=times) is State.ALARM
        assert course.goes_on([], periods=beyond) is State.OK  # silence ends it, too
