"""A delivery, a customer and a schedule as rows, and what a row writes to its indexes."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions import names
from functions.adapters.delivery_rows import from_row, purge_at, to_row
from functions.adapters.items import from_item, to_item
from functions.adapters.ledger import update_of
from functions.adapters.schedule_rows import (
    activity_from_row,
    activity_record,
    activity_to_row,
    profile_from_row,
    profile_to_row,
    schedule_from_row,
    schedule_to_row,
)
from functions.core.customer import ACTIVITY, PROFILE, ActivityKind, Consent, Obsolete, Schedule, WallTime
from functions.core.delivery import FINISHED, Attempt, Delivery, Failure, SkipReason, Status
from functions.core.identity import Channel, Topic
from functions.core.outcome import Dedupe, Guarantee
from functions.core.settlement import claimed, settled
from functions.core.summary import Recipe, SummaryNote
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.examples import (
    ACCEPTED,
    a_claim,
    a_delivery,
    a_digest_schedule,
    a_profile,
    a_reminder,
    an_activity,
    in_unfinished_states,
)

INDEX_KEYS = {names.ATTENTION, names.ATTENTION_AT, names.PERIOD_SHARD, names.PERIOD_END}
INSTANTS = st.datetimes(
    min_value=datetime(2026, 1, 1),  # noqa: DTZ001 - a bound
    max_value=datetime(2036, 1, 1),  # noqa: DTZ001 - a bound
    timezones=st.just(UTC),
).map(lambda instant: instant.replace(microsecond=instant.microsecond // 1000 * 1000))
OPTIONAL_INSTANTS = st.none() | INSTANTS
ATTEMPTS = st.builds(Attempt, st.integers(1, 99), INSTANTS, st.text(), st.text(), st.integers(1, 9))
RECIPES = st.builds(Recipe, st.text(), st.text(), st.integers(1, 999), st.none() | st.floats(0, 1))
DELIVERIES = st.builds(
    Delivery,
    delivery_id=st.sampled_from([a_delivery().delivery_id, a_delivery(channel=Channel.SMS).delivery_id]),
    template_id=st.text(),
    period=st.just("2026-11-16"),
    status=st.sampled_from(sorted(set(Status) - FINISHED)),
    due_at=INSTANTS,
    selected_at=INSTANTS,
    expires_at=INSTANTS,
    enqueued_at=OPTIONAL_INSTANTS,
    accepted_at=OPTIONAL_INSTANTS,
    attempt=st.integers(0, 99),
    lease_until=OPTIONAL_INSTANTS,
    claimed_at=OPTIONAL_INSTANTS,
    claimed_by=st.none() | st.text(),
    last_receive=st.booleans(),
    published=st.integers(0, 9),
    in_doubt_since=OPTIONAL_INSTANTS,
    next_attempt_at=OPTIONAL_INSTANTS,
    attention_at=INSTANTS,
    provider=st.none() | st.text(),
    provider_reference=st.none() | st.text(),
    fingerprint=st.none() | st.text(),
    summary=st.none() | st.builds(SummaryNote, RECIPES, st.text(), st.integers(0, 9999), st.integers(0, 999)),
    skip_reason=st.none() | st.sampled_from(SkipReason),
    failure=st.none() | st.builds(Failure, st.text(), st.text(), INSTANTS),
    history=st.lists(ATTEMPTS, max_size=3).map(tuple),
    erased_at=OPTIONAL_INSTANTS,
)


@given(DELIVERIES)
def test_a_delivery_comes_back_from_its_row_as_it_was(delivery: Delivery) -> None:
    assert from_row(from_item(to_item(to_row(delivery, shards=8)))) == delivery


@pytest.mark.parametrize("row", in_unfinished_states(), ids=lambda row: row.status)
def test_a_row_that_has_not_ended_is_in_the_attention_index_only(row: Delivery) -> None:
    item = to_item(to_row(row, shards=8))
    assert {names.ATTENTION, names.ATTENTION_AT} <= set(item)
    assert {names.PERIOD_SHARD, names.PERIOD_END}.isdisjoint(item)


@pytest.mark.parametrize(
    ("row", "end"),
    [
        (a_delivery(status=Status.ACCEPTED), "accepted#email"),
        (a_delivery(status=Status.SKIPPED, skip_reason=SkipReason.EMPTY, channel=Channel.SMS), "skipped#sms#empty"),
        (a_delivery(status=Status.EXPIRED), "expired#email"),
    ],
)
def test_a_row_that_has_ended_is_counted_in_its_week_and_needs_nobody(row: Delivery, end: str) -> None:
    item = to_item(to_row(row, shards=1))
    assert {names.ATTENTION, names.ATTENTION_AT}.isdisjoint(item)
    assert (item[names.PERIOD_SHARD], item[names.PERIOD_END]) == ({"S": "2026-11-16#0"}, {"S": end})


def test_every_index_partition_carries_a_shard() -> None:
    for status in Status:
        item = to_item(to_row(a_delivery("c-5", status=status), shards=8))
        for name in (names.ATTENTION, names.PERIOD_SHARD):
            if name in item:
                assert item[name]["S"].endswith("#7")
    assert schedule_to_row(a_digest_schedule("c-5"), shards=8)[names.DUE_SHARD] == "due#7"


def test_on_the_straight_way_a_row_changes_its_indexes_once() -> None:
    planned = a_delivery()
    queued = replace(planned, status=Status.QUEUED, enqueued_at=SUNDAY_EVENING)
    sending = claimed(queued, a_claim())
    accepted = settled(sending, ACCEPTED, guarantee=Guarantee(Dedupe.NONE), pause_s=None, at=SUNDAY_EVENING)
    assert written(planned, queued) == set()
    assert written(queued, sending) == set()
    assert written(sending, accepted) == INDEX_KEYS  # out of one index, into the other


def written(before: Delivery, after: Delivery) -> set[str]:
    """Names of the indexes' keys that a write touches."""
    expression = update_of(before, after, shards=8)["UpdateExpression"]
    return {name for name in INDEX_KEYS if re.search(rf"#{name}\b", expression)}


def test_a_write_is_fenced_by_the_attempt_and_by_where_the_row_may_come_from() -> None:
    row = a_delivery(status=Status.SENDING, attempt=3)
    accepted = settled(row, ACCEPTED, guarantee=Guarantee(Dedupe.NONE), pause_s=None, at=SUNDAY_EVENING)
    update = update_of(row, accepted, shards=8)
    assert update["ConditionExpression"].startswith("#attempt = :seen_attempt AND #status IN (")
    assert update["ExpressionAttributeValues"][":seen_attempt"] == {"N": "3"}
    assert ":from_accepted" not in update["ConditionExpression"]


def test_a_row_is_kept_until_long_after_its_expiry() -> None:
    row = a_delivery()
    assert purge_at(row, timedelta(days=90)) == int((row.expires_at + timedelta(days=90)).timestamp())


# --- customers ---


@pytest.mark.parametrize(
    "differing",
    [
        {},
        {"active": False},
        {"addresses": {}},
        {"consent": {}},
        {"consent": {(Topic.DIGEST, Channel.SMS): Consent.OPTED_OUT}},
        {"suppressed": {Channel.EMAIL: "hard_bounce"}},
    ],
    ids=str,
)
def test_a_profile_comes_back_from_its_row_as_it_was(differing: dict[str, Any]) -> None:
    profile = a_profile(**differing)
    assert profile_from_row(from_item(to_item(profile_to_row(profile)))) == profile


@pytest.mark.parametrize(
    "schedule",
    [
        a_digest_schedule(),
        a_reminder(),
        a_reminder(obsolete=Obsolete.PAID),
        a_reminder(due_local=WallTime(datetime(2026, 11, 29, 15), "America/New_York")),  # noqa: DTZ001 - a wall time
    ],
    ids=repr,
)
def test_a_schedule_comes_back_from_its_row_as_it_was(schedule: Schedule) -> None:
    assert schedule_from_row(from_item(to_item(schedule_to_row(schedule, shards=8)))) == schedule


@pytest.mark.parametrize("kind", ActivityKind)
def test_an_activity_comes_back_from_its_row_as_it_was(kind: ActivityKind) -> None:
    activity = an_activity(kind=kind)
    assert activity_from_row(from_item(to_item(activity_to_row("c-1", activity, purge_at=1)))) == activity


@given(INSTANTS, INSTANTS)
def test_activities_lie_in_the_order_of_time_and_before_the_profile(one: datetime, other: datetime) -> None:
    first, second = activity_record(an_activity(occurred_at=one)), activity_record(an_activity(occurred_at=other))
    assert (first < second) is (one < other)
    assert ACTIVITY < first < PROFILE


# --- items ---

PLAIN = st.recursive(
    st.text() | st.integers() | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(min_size=1), PLAIN, max_size=5))
def test_plain_values_survive_dynamodbs_form(row: dict[str, object]) -> None:
    assert from_item(to_item(row)) == row


def test_what_is_none_is_left_out() -> None:
    assert to_item({"kept": 1, "gone": None}) == {"kept": {"N": "1"}}


@pytest.mark.parametrize("value", [1.5, b"bytes", {1, 2}, SUNDAY_EVENING], ids=lambda value: type(value).__name__)
def test_what_rows_do_not_hold_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match="a row cannot hold a"):
        to_item({"value": value})
