"""What people read of times and numbers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from functions.core.calendar import zone
from functions.core.wording import count_of, distance, local, utc
from tests.fakes.clock import SUNDAY_EVENING


def test_times_name_their_zone() -> None:
    assert utc(SUNDAY_EVENING) == "2026-11-29 20:00:00 UTC"
    assert local(SUNDAY_EVENING, zone("America/New_York")) == "Sun 2026-11-29 15:00 EST"
    assert local(datetime(2026, 7, 1, 19, tzinfo=UTC), zone("America/New_York")) == "Wed 2026-07-01 15:00 EDT"


@pytest.mark.parametrize(
    ("away", "words"),
    [
        (timedelta(), "now"),
        (timedelta(seconds=40), "in 40 s"),
        (timedelta(minutes=-12), "12 min ago"),
        (timedelta(hours=3, minutes=59), "in 3 h"),
        (timedelta(days=-2), "2 d ago"),
    ],
)
def test_how_far_away_a_time_is(away: timedelta, words: str) -> None:
    assert distance(SUNDAY_EVENING + away, SUNDAY_EVENING) == words


def test_one_is_not_many() -> None:
    assert (count_of(1, "activity", "activities"), count_of(1204, "line")) == ("1 activity", "1,204 lines")
