"""A table was restored: what the live one has lost comes back, and nothing of what it has."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import pytest

from functions import names
from functions.adapters.delivery_rows import to_row
from functions.adapters.items import from_item, to_item
from functions.core.customer import PROFILE, Consent
from functions.core.delivery import Delivery, Status
from functions.core.identity import Channel, Topic
from tests.fakes.environment import CONTROL, CUSTOMERS, SHARDS
from tests.fakes.examples import (
    a_delivery,
    a_digest_schedule,
    a_profile,
    an_activity,
    an_exhausted_delivery,
    in_unfinished_states,
)
from tests.integration.faults import failing, refused
from tests.integration.operators_desk import Desk, FakeLambda, a_second_region
from tests.integration.region import INDEXES, Clock, Functions, Region, make_table

RESTORED: Final = "restored"
BACK: Final = ("tables", "copy-back", "deliveries", "--from", RESTORED, "--region", "us")
REASON: Final = ("--reason", "INC-51: a script deleted rows")
DONE: Final = a_delivery("c-done", status=Status.ACCEPTED, attempt=1, attention_at=None)


@pytest.fixture
def desk(
    region: Region,
    functions: Functions,
    clock: Clock,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Desk:
    monkeypatch.setitem(INDEXES, RESTORED, {})
    return Desk(region, a_second_region(), FakeLambda(functions.planner.handler, clock), clock, capsys)


def restored(desk: Desk, *rows: Delivery) -> None:
    make_table(desk.us.dynamodb, RESTORED, (names.DELIVERY_ID,))
    for row in rows:
        item = to_item(to_row(row, shards=SHARDS) | {names.TTL: 4_000_000_000})
        desk.us.dynamodb.put_item(TableName=RESTORED, Item=item)


def test_what_is_missing_comes_back_and_what_is_there_stays_as_it_is(desk: Desk) -> None:
    lost, kept = replace(DONE), a_delivery("c-kept", status=Status.ACCEPTED, attempt=1, attention_at=None)
    desk.us.put_deliveries(kept)
    restored(desk, lost, replace(kept, status=Status.QUEUED, attempt=0))
    told = desk.digest(*BACK, *REASON, "--yes", "1")
    assert told.status == 0, told.err
    assert desk.us.deliveries() == {str(row.delivery_id): row for row in (lost, kept)}
    assert "1 missing of 2 rows in the restored table\n  1 accepted\n1 row copied back\n" in told.out


@pytest.mark.parametrize("row", in_unfinished_states(), ids=lambda row: str(row.status))
def test_what_had_not_ended_may_have_been_sent_since_and_comes_back_in_doubt(desk: Desk, row: Delivery) -> None:
    restored(desk, row)
    desk.digest(*BACK, *REASON, "--yes", "1")
    back = desk.us.delivery(row.delivery_id)
    assert back.status is Status.UNCERTAIN
    assert (back.attempt, back.failure) == (row.attempt, row.failure)
    told = desk.digest("uncertain", "list", "--region", "us", "--json").json
    assert str(row.delivery_id) in str(told)


def test_a_dry_run_counts_and_changes_nothing(desk: Desk) -> None:
    restored(desk, DONE, an_exhausted_delivery(customer_id="c-2"))
    told = desk.digest(*BACK, "--dry-run")
    assert "  1 dead_letter, comes back as uncertain\n" in told.out
    assert told.out.endswith("nothing was changed\n")
    assert desk.us.deliveries() == {}


def test_one_that_is_interrupted_is_run_again_and_takes_the_rest(desk: Desk) -> None:
    restored(desk, *(replace(DONE, delivery_id=a_delivery(f"c-{number}").delivery_id) for number in range(5)))
    fault = refused("PutItem")
    with failing(desk.deployment.region("us").dynamodb, "PutItem", fault, when=lambda number: number == 4):
        assert desk.digest(*BACK, *REASON, "--yes", "5").status == 1
    left = desk.digest(*BACK, "--dry-run", "--json").json["missing"]["accepted"]
    assert desk.digest(*BACK, *REASON, "--yes", str(left)).status == 0
    assert len(desk.us.deliveries()) == 5


def test_customers_come_back_with_all_that_is_theirs_and_who_is_there_keeps_their_word(desk: Desk) -> None:
    make_table(desk.us.dynamodb, RESTORED, (names.CUSTOMER_ID, names.RECORD))
    for customer in ("c-lost", "c-left"):
        desk.us.add(a_profile(customer), an_activity())
        desk.us.schedule(a_digest_schedule(customer))
    copy_all(desk, CUSTOMERS, RESTORED)
    for item in list(desk.us._scan(CUSTOMERS)):
        if item[names.CUSTOMER_ID]["S"] == "c-lost":
            key = {name: item[name] for name in (names.CUSTOMER_ID, names.RECORD)}
            desk.us.dynamodb.delete_item(TableName=CUSTOMERS, Key=key)
    left = a_profile("c-left", consent={(Topic.DIGEST, Channel.EMAIL): Consent.OPTED_OUT})
    desk.us.add(left)
    told = desk.digest("tables", "copy-back", "customers", "--from", RESTORED, "--region", "us", *REASON, "--yes", "3")
    assert told.status == 0, told.err
    assert desk.us.next_run_at(a_digest_schedule("c-lost")) == a_digest_schedule().next_run_at
    assert desk.us.customer_row("c-left", PROFILE)["consent_digest_email"] == "opted_out"
    records = [from_item(item) for item in desk.us._scan(CONTROL)]
    assert [(row["what"], row["how_many"]) for row in records if row["control_key"].startswith("audit#")] == [
        ("copy back customers", 3)
    ]


def test_a_table_that_is_not_there_is_said_to_be_none(desk: Desk) -> None:
    told = desk.digest(*BACK, "--dry-run")
    assert told.status == 1
    assert "--from: us-east-1 has no table restored: wait until the restore is ACTIVE" in told.err


def copy_all(desk: Desk, source: str, target: str) -> None:
    for item in desk.us._scan(source):
        copied: Any = item
        desk.us.dynamodb.put_item(TableName=target, Item=copied)
