"""Batches on their way to the tables: nothing is lost, whatever the tables say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from functions.core.calendar import WEEK
from functions.core.customer import DIGEST_SCHEDULE
from functions.core.instants import from_text, to_text
from ops.imports.activity import import_activity
from ops.imports.customers import import_customers
from ops.imports.rows import Key, Refused, Row, RowChange
from ops.imports.writing import OVERTAKEN
from tests.fakes.clock import FakeClock
from tests.fakes.customer_rows import FakeRegion, FakeRegions, FakeRows

HEADER = "customer_id,data_region,time_zone,email,digest_weekday,digest_time"


def people(count: int) -> list[str]:
    return [HEADER, *(f"c-{n},{'us' if n % 2 else 'eu'},UTC,c{n}@example.com,mon,09:00" for n in range(count))]


def test_a_thousand_customers_all_arrive_and_progress_counts_every_line() -> None:
    regions = FakeRegions()
    told: list[int] = []
    report = import_customers([*people(1000), "broken"], regions, progress=told.append, clock=FakeClock())
    assert (report.kept, len(report.bad), sum(told)) == (1000, 1, 1001)
    assert len(regions.us.rows.held) == len(regions.eu.rows.held) == 1000  # a profile and a schedule each


def test_a_customer_whom_dynamodb_does_not_take_is_reported_and_the_others_are_kept() -> None:
    regions = FakeRegions()
    regions.us.rows.refusing["c-7"] = "ThrottlingError"
    report = import_customers(people(20), regions, clock=FakeClock())
    assert report.kept == 19
    assert report.bad == ((9, "was not kept (DynamoDB: ThrottlingError); import the line again"),)


def test_a_row_that_somebody_else_changes_all_the_time_is_reported_in_the_end() -> None:
    class Restless(FakeRows):
        def write(self, changes: Sequence[RowChange]) -> Sequence[Refused]:
            schedule = self.held["c-1", DIGEST_SCHEDULE]
            schedule["next_run_at"] = to_text(from_text(schedule["next_run_at"]) + WEEK)
            return super().write(changes)

    regions = FakeRegions()
    import_customers(people(2), regions, clock=FakeClock())
    regions.us.rows = Restless(held=regions.us.rows.held)
    report = import_customers([HEADER, "c-1,us,UTC,c1@example.com,tue,09:00"], regions, clock=FakeClock())
    assert report.bad == ((2, OVERTAKEN),)


def test_a_table_that_cannot_be_used_at_all_stops_the_import() -> None:
    class Gone(FakeRows):
        def write(self, changes: Sequence[RowChange]) -> Sequence[Refused]:
            raise PermissionError(len(changes))

    with pytest.raises(PermissionError):
        import_customers(people(500), FakeRegions(us=FakeRegion(Gone())), clock=FakeClock())


def test_activity_of_many_customers_is_written_without_reading() -> None:
    class WriteOnly(FakeRows):
        def read(self, keys: Sequence[Key]) -> Mapping[Key, Row]:
            assert not keys
            return {}

    regions = FakeRegions(us=FakeRegion(WriteOnly()))
    header = "customer_id,data_region,activity_id,occurred_at,kind,title"
    lines = [header, *(f"c-{n % 7},us,a-{n},2026-11-18T12:00:00Z,message,Hello" for n in range(250))]
    assert import_activity(lines, regions, clock=FakeClock()).kept == 250
