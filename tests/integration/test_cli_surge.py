"""An operator sees that planning waits, agrees, and it goes on."""

from __future__ import annotations

import io
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from functions import names
from functions.adapters.planned_days import DynamoPlannedDays
from ops.deployment import Deployment
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.environment import CONTROL
from tests.integration.operators_desk import Desk, FakeLambda, RegionAtHand, a_second_region
from tests.integration.region import Clock, Functions, Region

TODAY = SUNDAY_EVENING.date()
APPROVE = ("surge", "approve", "--region", "us", "--reason", "the shop moved in")


class Guarded(RegionAtHand):
    """A region whose planner says what is too much."""

    def planner_variables(self) -> Mapping[str, str]:
        return {names.ENV_SURGE_FACTOR: "3", names.ENV_SURGE_FLOOR: "100"}


@pytest.fixture
def desk(region: Region, functions: Functions, clock: Clock, capsys: pytest.CaptureFixture[str]) -> Desk:
    desk = Desk(region, a_second_region(), FakeLambda(functions.planner.handler, clock), clock, capsys)
    desk.deployment = Deployment([Guarded("us", "us-east-1", desk.planner), Guarded("eu", "eu-west-1", desk.planner)])
    return desk


@pytest.fixture
def days(region: Region) -> DynamoPlannedDays:
    days = DynamoPlannedDays(region.dynamodb, CONTROL)
    days.add(TODAY - timedelta(days=7), 50, at_most=None)
    days.add(TODAY, 149, at_most=None)
    return days


def told(desk: Desk, *arguments: str) -> Any:
    return desk.digest("surge", *arguments, "--json").json


@pytest.mark.usefixtures("days")
def test_what_was_planned_and_what_may_be_is_shown(desk: Desk) -> None:
    assert told(desk, "show", "--region", "us")["regions"] == {
        "us": {"planned": 149, "last_week": 50, "most": 150, "approved_until": None}
    }


def test_an_approval_is_in_force_for_its_hours_and_on_record(desk: Desk, days: DynamoPlannedDays) -> None:
    answer = told(desk, *APPROVE[1:], "--hours", "3", "--yes")
    assert days.approved_until() == SUNDAY_EVENING + timedelta(hours=3)
    assert (answer["action"]["what"], answer["action"]["why"]) == ("approve surge for 3 h", "the shop moved in")


def test_an_approval_is_taken_back(desk: Desk, days: DynamoPlannedDays) -> None:
    told(desk, *APPROVE[1:], "--yes")
    back = desk.digest(*APPROVE, "--hours", "0", "--yes")
    assert back.out.startswith("us: the approval is taken back\n")
    assert "take back the approval of the surge" in back.out
    assert days.approved_until() == SUNDAY_EVENING


def test_whoever_does_not_agree_changes_nothing(
    desk: Desk, days: DynamoPlannedDays, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    assert desk.digest(*APPROVE).status == 1
    assert days.approved_until() is None
