"""An operator settles deliveries that may have been sent, by what was found out."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from functions.adapters.items import from_item
from functions.core.delivery import Attempt, Delivery, Failure, FailureClass, Receipt, ReceiptState, SkipReason, Status
from functions.core.identity import Channel
from functions.core.settlement import confirmed
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.environment import CONTROL
from tests.fakes.examples import a_delivery
from tests.fakes.lambda_context import FakeLambdaContext
from tests.integration.faults import answer_lost, failing, just_before, refused
from tests.integration.operators_desk import Desk, FakeLambda, a_second_region
from tests.integration.region import Clock, Functions, Region

AN_HOUR = timedelta(hours=1)
WHO = "arn:aws:sts::123456789012:user/moto"
NOW = SUNDAY_EVENING + 2 * AN_HOUR
ID = "digest:c-1:2026-11-16:email"
RESOLVE = ("uncertain", "resolve", ID, "--region", "us", "--reason", "looked it up")


@pytest.fixture
def desk(region: Region, functions: Functions, clock: Clock, capsys: pytest.CaptureFixture[str]) -> Desk:
    desk = Desk(region, a_second_region(), FakeLambda(functions.planner.handler, clock), clock, capsys)
    clock.move_to(NOW)
    return desk


def in_doubt(customer_id: str = "c-1", **differing: Any) -> Delivery:
    row = a_delivery(
        customer_id,
        channel=differing.pop("channel", Channel.EMAIL),
        status=Status.UNCERTAIN,
        attempt=1,
        provider="ses",
        in_doubt_since=SUNDAY_EVENING,
        attention_at=NOW + timedelta(days=1),  # as the reconciler leaves it
        history=(Attempt(1, SUNDAY_EVENING, "unknown", "ReadTimeoutError", 3),),
    )
    return replace(row, **differing)


def records(region: Region) -> list[dict[str, Any]]:
    rows = [from_item(item) for item in region._scan(CONTROL)]
    return [row for row in rows if row["control_key"].startswith("audit#")]


# --- list ---


def test_what_is_in_doubt_is_listed_with_its_age_its_provider_and_why(desk: Desk) -> None:
    desk.us.put_deliveries(
        in_doubt("c-2", in_doubt_since=SUNDAY_EVENING + AN_HOUR, channel=Channel.SMS, provider="sns"),
        in_doubt("c-1"),
        a_delivery("c-3", status=Status.RETRYABLE),
    )
    told = desk.digest("uncertain", "list", "--json").json
    us = told["regions"]["us"]
    assert (us["total"], told["regions"]["eu"]["total"]) == (2, 0)
    assert us["uncertain"][0] == {
        "delivery_id": ID,
        "since": "2026-11-29T20:00:00.000Z",
        "age_s": 7200,
        "provider": "ses",
        "why": "unknown (ReadTimeoutError)",
        "attempt": 1,
        "expires_at": "2026-12-02T20:00:00.000Z",
        "too_late": False,
        "erased": False,
    }
    shown = desk.digest("uncertain", "list").out
    assert shown.startswith("us: 2 deliveries in doubt, the oldest since 2026-11-29 20:00:00 UTC\n")
    assert "eu: 0 deliveries in doubt" in shown
    only = desk.digest("uncertain", "list", "--region", "us", "--channel", "sms", "--json").json
    assert [one["delivery_id"] for one in only["regions"]["us"]["uncertain"]] == ["digest:c-2:2026-11-16:sms"]


def test_the_list_fits_eighty_columns(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    desk.us.put_deliveries(in_doubt("c-10428"))
    told = re.sub("\x1b\\[[0-9;]*m", "", desk.digest("uncertain", "list", "--region", "us").out)
    assert max(len(line) for line in told.splitlines()) <= 80


# --- resolve ---


def test_what_the_provider_has_is_accepted_under_its_reference_and_on_record(desk: Desk) -> None:
    desk.us.put_deliveries(in_doubt())
    told = desk.digest(*RESOLVE, "--accepted", "0100018f-aa-000000")
    assert told.out.startswith(f"{ID} in us: accepted\n")
    row = desk.us.delivery(ID)
    assert (row.status, row.provider_reference, row.accepted_at) == (Status.ACCEPTED, "0100018f-aa-000000", NOW)
    assert (row.in_doubt_since, row.attention_at) == (None, None)
    (record,) = records(desk.us)
    assert (record["what"], record["why"]) == (f"resolve {ID} as accepted", "looked it up")


def test_what_the_provider_never_had_is_sent_again_while_there_is_time(
    desk: Desk, functions: Functions, clock: Clock
) -> None:
    desk.us.put_deliveries(in_doubt())
    told = desk.digest(*RESOLVE, "--not-accepted", "--yes")
    assert told.out.startswith(f"{ID} in us: will be sent again by the reconciler, within minutes\n")
    assert desk.us.delivery(ID).status is Status.RETRYABLE
    functions.reconciler.handler({}, FakeLambdaContext(clock, timeout=timedelta(seconds=50)))
    assert desk.us.waiting_ids(Channel.EMAIL) == [ID]


@pytest.mark.parametrize(
    ("row", "ends", "says"),
    [
        (in_doubt(expires_at=NOW), Status.EXPIRED, "ends as expired; nothing is sent"),
        (
            in_doubt(skip_reason=SkipReason.OPTED_OUT),
            Status.SKIPPED,
            "ends as skipped (opted_out); nothing is sent",
        ),
        (
            in_doubt(failure=Failure(FailureClass.EXHAUSTED, "ServiceUnavailable", SUNDAY_EVENING)),
            Status.DEAD_LETTER,
            "becomes the dead letter that it would have been; `digest redrive` opens it",
        ),
    ],
    ids=["too late", "opted out", "exhausted"],
)
def test_what_was_never_accepted_becomes_what_it_would_have_been(
    desk: Desk, row: Delivery, ends: Status, says: str
) -> None:
    desk.us.put_deliveries(row)
    assert desk.digest(*RESOLVE, "--not-accepted", "--yes").out.startswith(f"{ID} in us: {says}\n")
    assert desk.us.delivery(ID).status is ends


def test_sending_again_is_asked_about_and_no_is_no(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.us.put_deliveries(in_doubt())
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    told = desk.digest(*RESOLVE, "--not-accepted")
    assert told.status == 1
    assert "If the provider had it after all, the customer gets it twice" in told.err
    assert (desk.us.delivery(ID).status, records(desk.us)) == (Status.UNCERTAIN, [])


@pytest.mark.parametrize("found_out", [["--not-accepted", "--yes"], ["--accepted", "ses-2"]])
def test_an_event_that_comes_at_the_same_time_wins(desk: Desk, found_out: list[str]) -> None:
    row = in_doubt()
    desk.us.put_deliveries(row)
    delivered = replace(row, receipt=Receipt(ReceiptState.DELIVERED, NOW, "-"))

    def the_event_comes() -> None:
        desk.us.ledger.write(row, confirmed(delivered, "ses-1", at=NOW))

    with just_before(desk.deployment.region("us").dynamodb, "UpdateItem", the_event_comes):
        told = desk.digest(*RESOLVE, *found_out)
    assert told.status == 1
    assert told.err == f"digest: {ID} was settled meanwhile: it is accepted; nothing was changed\n"
    after = desk.us.delivery(ID)
    assert (after.status, after.provider_reference) == (Status.ACCEPTED, "ses-1")
    assert records(desk.us) == []


@pytest.mark.parametrize(
    ("found_out", "ends"), [(["--not-accepted", "--yes"], Status.RETRYABLE), (["--accepted", "s-2"], Status.ACCEPTED)]
)
def test_what_was_settled_while_the_answer_was_lost_is_told_as_done_and_on_record(
    desk: Desk, found_out: list[str], ends: Status
) -> None:
    desk.us.put_deliveries(in_doubt())
    with answer_lost(desk.deployment.region("us").dynamodb, "UpdateItem"):
        told = desk.digest(*RESOLVE, *found_out)
    assert (told.status, desk.us.delivery(ID).status, len(records(desk.us))) == (0, ends, 1)


@pytest.mark.parametrize("status", [Status.ACCEPTED, Status.RETRYABLE, Status.DEAD_LETTER])
def test_what_is_not_in_doubt_is_not_settled(desk: Desk, status: Status) -> None:
    desk.us.put_deliveries(a_delivery("c-1", status=status))
    told = desk.digest(*RESOLVE, "--accepted", "ses-1")
    assert told.status == 1
    assert f"is not in doubt: it is {status.replace('_', ' ')}; nothing was changed" in told.err
    assert desk.us.delivery(ID).status is status


def test_somebody_who_was_erased_leaves_no_reference_behind(desk: Desk) -> None:
    desk.us.put_deliveries(in_doubt(erased_at=NOW, skip_reason=SkipReason.INACTIVE))
    desk.digest(*RESOLVE, "--accepted", "ses-1")
    assert (desk.us.delivery(ID).status, desk.us.delivery(ID).provider_reference) == (Status.ACCEPTED, None)


def test_it_is_settled_even_if_nobody_can_write_down_by_whom(desk: Desk) -> None:
    desk.us.put_deliveries(in_doubt())
    with failing(desk.deployment.region("us").dynamodb, "PutItem", refused("PutItem", "AccessDeniedException")):
        told = desk.digest(*RESOLVE, "--accepted", "ses-1")
    assert told.status == 1
    assert told.err.startswith("digest: settled, but nothing of it is on record")
    assert desk.us.delivery(ID).status is Status.ACCEPTED


@pytest.mark.parametrize(
    "found_out",
    [
        [],
        ["--accepted", "ses-1", "--not-accepted"],
        ["--accepted", "canary@example.com"],
        ["--accepted", "+15550104170"],
        ["--accepted", ""],
    ],
)
def test_a_resolution_that_makes_no_sense_changes_nothing(desk: Desk, found_out: list[str]) -> None:
    desk.us.put_deliveries(in_doubt())
    told = desk.digest(*RESOLVE, *found_out)
    assert (told.status, desk.us.delivery(ID).status) == (2, Status.UNCERTAIN)
    assert "canary" not in told.err
    assert "5550104170" not in told.err


# --- what was done ---


def test_what_operators_did_is_listed_newest_first_and_found_by_what_it_is_about(desk: Desk) -> None:
    desk.us.put_deliveries(in_doubt("c-1"), in_doubt("c-2"))
    for customer_id in ("c-1", "c-2"):
        desk.clock.advance(AN_HOUR)
        delivery_id = f"digest:{customer_id}:2026-11-16:email"
        desk.digest("uncertain", "resolve", delivery_id, *RESOLVE[3:], "--accepted", "ses-1")
    told = desk.digest("actions", "--json").json["regions"]
    assert [one["what"].split(":")[1] for one in told["us"]] == ["c-2", "c-1"]
    assert told["eu"] == []
    found = desk.digest("actions", "--region", "us", "--about", ID)
    assert found.out == (
        "us: 1 action in the last 365 days\n"
        f"  2026-11-29 23:00:00 UTC  resolve {ID} as accepted, by {WHO}: looked it up\n"
    )
