"""One wake-up of the planner, on fakes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest

from functions.core.delivery import Status
from functions.core.identity import Channel
from functions.core.planning import PlanningRules, SchedulePlan, TooLateError
from functions.core.ports import PlanReceipt
from functions.core.surge import SurgeGuard, SurgeRule
from functions.planner.planner import Planner, PlannerReport
from tests.fakes.clock import SUNDAY_EVENING, FakeClock
from tests.fakes.examples import a_delivery, a_digest_schedule, a_reminder
from tests.fakes.leases import InMemoryShardLeases
from tests.fakes.ledger import InMemoryLedger, InMemoryPlanBook
from tests.fakes.periods import InMemoryPeriods
from tests.fakes.planned_days import InMemoryPlannedDays
from tests.fakes.queues import InMemoryQueues, Killed

RULES = PlanningRules(expires_after=timedelta(hours=72), attention_after=timedelta(minutes=5))
A_WEEK = timedelta(days=7)


class SlowPlanBook(InMemoryPlanBook):
    """Takes `takes` for each page that it commits."""

    def __init__(self, ledger: InMemoryLedger, clock: FakeClock, *, page: int, takes: timedelta) -> None:
        super().__init__(ledger, page=page)
        self._clock = clock
        self._takes = takes

    def commit(self, plans: Sequence[SchedulePlan]) -> PlanReceipt:
        self._clock.advance(self._takes)
        return super().commit(plans)


@dataclass
class Scene:
    clock: FakeClock = field(default_factory=lambda: FakeClock(SUNDAY_EVENING + timedelta(seconds=5)))
    ledger: InMemoryLedger = field(default_factory=InMemoryLedger)
    queues: InMemoryQueues = field(default_factory=InMemoryQueues)
    leases: InMemoryShardLeases = field(default_factory=InMemoryShardLeases)
    periods: InMemoryPeriods = field(default_factory=InMemoryPeriods)
    page: int = 500
    page_takes: timedelta = timedelta()
    surge_guard: SurgeGuard | None = None

    def __post_init__(self) -> None:
        self.book = SlowPlanBook(self.ledger, self.clock, page=self.page, takes=self.page_takes)

    def wake_up(
        self,
        scheduled_time: datetime = SUNDAY_EVENING,
        *,
        owner: str = "request-1",
        shards: Sequence[int] = (0,),
        on_purpose: bool = False,
    ) -> PlannerReport:
        planner = Planner(
            book=self.book,
            ledger=self.ledger,
            queues=self.queues,
            leases=self.leases,
            periods=self.periods,
            clock=self.clock,
            rules=RULES,
            max_lateness=timedelta(hours=24),
            surge_guard=self.surge_guard,
        )
        return planner.run(
            scheduled_time=scheduled_time,
            shards=shards,
            owner=owner,
            stop_at=self.clock() + timedelta(minutes=4),
            on_purpose=on_purpose,
        )

    def statuses(self) -> set[Status]:
        return {row.status for row in self.ledger.rows.values()}


@pytest.fixture
def scene() -> Scene:
    return Scene()


def customers(count: int) -> list[str]:
    return [f"c-{number}" for number in range(count)]


def test_every_customer_who_is_due_gets_a_delivery_for_each_channel_and_its_id_goes_out(scene: Scene) -> None:
    scene.book.add(*(a_digest_schedule(one) for one in customers(30)))
    report = scene.wake_up()
    assert (report.planned, report.enqueued, report.existing, report.complete) == (60, 60, 0, True)
    assert sorted(scene.queues.sent) == sorted(scene.ledger.rows)
    assert scene.statuses() == {Status.QUEUED}


def test_who_is_not_due_yet_is_left_alone(scene: Scene) -> None:
    scene.book.add(a_digest_schedule("c-later", next_run_at=SUNDAY_EVENING + timedelta(seconds=1)))
    assert scene.wake_up().planned == 0
    assert scene.ledger.rows == {}


def test_the_time_is_that_of_the_schedule_and_not_the_clocks(scene: Scene) -> None:
    scene.book.add(a_digest_schedule("c-1", next_run_at=SUNDAY_EVENING + timedelta(minutes=30)))
    scene.clock.advance(timedelta(minutes=70))
    assert scene.wake_up(SUNDAY_EVENING).planned == 0


def test_the_same_wake_up_three_times_the_last_late_and_after_midnight_is_one_run(scene: Scene) -> None:
    scene.book.add(*(a_digest_schedule(one) for one in customers(5)))
    scene.wake_up()
    scene.wake_up(owner="request-2")
    scene.clock.advance(timedelta(hours=5))
    report = scene.wake_up(owner="request-3")
    assert (report.planned, report.complete) == (0, True)
    assert len(scene.ledger.rows) == len(scene.queues.sent) == 10
    assert {row.period for row in scene.ledger.rows.values()} == {"2026-11-16"}


def test_planning_again_after_everything_was_sent_recreates_nothing(scene: Scene) -> None:
    scene.book.add(a_digest_schedule("c-1"))
    scene.ledger.put(*(a_delivery("c-1", channel=channel, status=Status.ACCEPTED) for channel in Channel))
    report = scene.wake_up()
    assert (report.planned, report.enqueued) == (0, 0)
    assert scene.queues.sent == []


def test_two_planners_at_once_share_the_shards(scene: Scene) -> None:
    scene.book.add(a_digest_schedule("c-1"))
    scene.leases.take(0, owner="request-1", now=scene.clock(), until=scene.clock() + timedelta(minutes=4))
    report = scene.wake_up(owner="request-2")
    assert (report.planned, report.busy, report.complete) == (0, [0], False)


def test_a_finished_shard_is_given_back(scene: Scene) -> None:
    scene.wake_up()
    assert scene.leases.held == {}


def test_a_customer_in_a_zone_that_does_not_exist_holds_up_nobody(scene: Scene) -> None:
    everybody = customers(20)
    scene.book.add(*(a_digest_schedule(one) for one in everybody))
    scene.book.add(a_digest_schedule("c-mars", time_zone="Mars/Phobos"))
    report = scene.wake_up()
    assert (report.planned, report.failed, report.complete) == (40, ["c-mars"], False)
    again = scene.wake_up(owner="request-2")
    assert (again.planned, again.failed) == (0, ["c-mars"])


def test_a_customer_whose_rows_cannot_be_written_is_named_and_stays_due(scene: Scene) -> None:
    scene.book.add(*(a_digest_schedule(one) for one in customers(3)))
    scene.book.refused = {"c-1"}
    assert scene.wake_up().failed == ["c-1"]
    scene.book.refused = set()
    report = scene.wake_up(owner="request-2")
    assert (report.planned, report.failed) == (2, [])
    assert len(scene.ledger.rows) == 6


def test_ids_that_the_queue_did_not_take_stay_planned_and_are_told(scene: Scene) -> None:
    scene.book.add(a_digest_schedule("c-1"), a_digest_schedule("c-2"))
    scene.queues.refused = {"digest:c-1:2026-11-16:email"}
    report = scene.wake_up()
    assert (report.planned, report.enqueued, report.not_enqueued, report.complete) == (4, 3, 1, False)
    assert scene.ledger.rows["digest:c-1:2026-11-16:email"].status is Status.PLANNED


def test_a_planner_that_dies_before_the_queue_leaves_rows_that_say_so(scene: Scene) -> None:
    scene.book.add(a_digest_schedule("c-1"))
    scene.queues.dies = True
    with pytest.raises(Killed):
        scene.wake_up()
    assert scene.statuses() == {Status.PLANNED}
    for row in scene.ledger.rows.values():
        assert row.enqueued_at is None
        assert row.attention_at == scene.clock() + timedelta(minutes=5)


def test_a_planner_out_of_time_stops_and_the_next_one_goes_on_where_it_stopped() -> None:
    scene = Scene(page=10, page_takes=timedelta(minutes=1))
    scene.book.add(*(a_digest_schedule(one) for one in customers(95)))
    reports = [scene.wake_up(owner=f"request-{number}") for number in range(3)]
    assert [report.unfinished for report in reports] == [[0], [0], []]
    assert sum(report.planned for report in reports) == len(scene.ledger.rows) == 190
    assert sorted(scene.queues.sent) == sorted(scene.ledger.rows)


def test_shards_that_were_not_begun_are_told_too() -> None:
    scene = Scene(page=1, page_takes=timedelta(minutes=5))
    scene.book.add(a_digest_schedule("c-1"), a_digest_schedule("c-2"))
    assert scene.wake_up(shards=(0, 1, 2)).unfinished == [0, 1, 2]


def test_since_when_something_has_been_left_due_is_told_until_a_run_leaves_nothing() -> None:
    scene = Scene(page=1, page_takes=timedelta(minutes=5))
    an_hour_late = SUNDAY_EVENING - timedelta(hours=1)
    scene.book.add(a_reminder("c-1", next_run_at=an_hour_late), a_digest_schedule("c-2"))
    assert scene.wake_up().due_since == an_hour_late  # there was time for the first one only
    assert scene.wake_up(owner="request-2").due_since == SUNDAY_EVENING
    assert scene.wake_up(owner="request-3").due_since is None
    scene.book.add(a_digest_schedule("c-mars", time_zone="Mars/Phobos"))
    assert scene.wake_up(owner="request-4").due_since == SUNDAY_EVENING


def test_weeks_that_were_missed_are_planned_each_with_its_own_rows(scene: Scene) -> None:
    scene.book.add(a_digest_schedule("c-1", next_run_at=SUNDAY_EVENING - 2 * A_WEEK))
    for number in range(3):
        scene.wake_up(owner=f"request-{number}")
    assert {row.period for row in scene.ledger.rows.values()} == {"2026-11-02", "2026-11-09", "2026-11-16"}
    expired = {row.period for row in scene.ledger.rows.values() if row.expires_at < scene.clock()}
    assert expired == {"2026-11-02", "2026-11-09"}


def test_a_reminder_is_planned_once(scene: Scene) -> None:
    scene.book.add(a_reminder())
    assert [scene.wake_up(owner=f"request-{number}").planned for number in range(2)] == [2, 0]


def test_a_wake_up_from_yesterdays_snapshot_is_refused_unless_it_is_meant(scene: Scene) -> None:
    scene.book.add(a_digest_schedule("c-1"))
    scene.clock.advance(timedelta(hours=26))
    with pytest.raises(TooLateError, match="scheduled_time"):
        scene.wake_up()
    assert scene.ledger.rows == {}
    assert scene.wake_up(on_purpose=True).planned == 2


def test_a_week_is_recorded_as_open_before_anybody_can_close_it(scene: Scene) -> None:
    scene.book.add(a_digest_schedule("c-1"))
    scene.wake_up()
    assert scene.periods.all_open() == {"2026-11-16": 2}


def test_nothing_due_writes_nothing(scene: Scene) -> None:
    report = scene.wake_up()
    assert report.complete
    assert (scene.ledger.rows, scene.queues.sent, scene.periods.versions) == ({}, [], {})


def test_far_more_than_usual_waits_for_a_person_and_is_planned_once_they_agree() -> None:
    days = InMemoryPlannedDays()
    scene = Scene(page=2)
    scene.surge_guard = SurgeGuard(days, SurgeRule(factor=3, floor=2), scene.clock)
    scene.book.add(*(a_digest_schedule(f"c-{number}") for number in range(4)))
    report = scene.wake_up()
    assert (report.held, report.due_since, report.complete) == ([0], SUNDAY_EVENING, False)
    assert len({row.delivery_id.customer_id for row in scene.ledger.rows.values()}) == 2
    days.approve(scene.clock() + timedelta(hours=1))
    report = scene.wake_up()
    assert (report.held, report.complete) == ([], True)
    assert len({row.delivery_id.customer_id for row in scene.ledger.rows.values()}) == 4
