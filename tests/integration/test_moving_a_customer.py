"""A customer moves to the other region, by the steps of docs/runbooks/moving-a-customer.md."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from functions.core.customer import PROFILE, Consent
from functions.core.delivery import Delivery, Status
from functions.core.identity import Channel, Topic
from tests.fakes.examples import CUSTOMER, EMAIL_ADDRESS, a_delivery, a_digest_schedule, a_profile
from tests.integration.operators_desk import Desk, FakeLambda, a_second_region
from tests.integration.region import Clock, Functions, Region

NEW_YORK: Final = "America/New_York"


@pytest.fixture
def desk(region: Region, functions: Functions, clock: Clock, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(region, a_second_region(), FakeLambda(functions.planner.handler, clock), clock, capsys)


def living_in_us(desk: Desk, *deliveries: Delivery) -> None:
    consent = {(Topic.DIGEST, Channel.EMAIL): Consent.OPTED_IN, (Topic.DIGEST, Channel.SMS): Consent.OPTED_OUT}
    desk.us.add(a_profile(consent=consent, addresses={Channel.EMAIL: EMAIL_ADDRESS, Channel.SMS: "+12025550123"}))
    desk.us.schedule(a_digest_schedule(next_run_at=desk.clock() + timedelta(days=7)))
    desk.us.put_deliveries(*deliveries)


def line(tmp_path: Path, **differing: str) -> str:
    """What the runbook has one import: what is on record, in the other region."""
    file = tmp_path / "moving.jsonl"
    fields = {
        "customer_id": CUSTOMER,
        "data_region": "eu",
        "time_zone": "Europe/Berlin",
        "email": EMAIL_ADDRESS,
        "phone": "+12025550123",
        "email_consent": "opted_in",
        "sms_consent": "opted_out",
        "digest_weekday": "sunday",
        "digest_time": "22:00",
    }
    file.write_text(json.dumps(fields | differing), encoding="utf-8")
    return str(file)


def on_record(desk: Desk) -> Any:
    return desk.digest("show", "--customer", CUSTOMER, "--json").json


def test_what_is_on_record_says_all_that_the_import_needs(desk: Desk) -> None:
    living_in_us(desk)
    told = on_record(desk)
    consent = {channel: held["consent"]["digest"] for channel, held in told["channels"].items()}
    assert (told["data_region"], told["locale"], told["time_zone"]) == ("us", "en", NEW_YORK)
    assert consent == {"email": "opted_in", "sms": "opted_out", "webhook": None}


def test_imported_before_they_are_erased_they_are_refused_and_nothing_changes(desk: Desk, tmp_path: Path) -> None:
    living_in_us(desk)
    told = desk.digest("customers", "import", line(tmp_path))
    assert told.status == 1
    assert "this customer lives in us; use that, or erase the customer there first" in told.out + told.err
    assert desk.eu.customer_row(CUSTOMER, PROFILE) == {}


def test_a_withdrawn_consent_goes_along_only_if_the_line_says_it(desk: Desk, tmp_path: Path) -> None:
    living_in_us(desk)
    desk.digest("customers", "erase", CUSTOMER, "--region", "us", "--yes")
    desk.digest("customers", "import", line(tmp_path))
    held = desk.eu.customer_row(CUSTOMER, PROFILE)
    assert (held["consent_digest_email"], held["consent_digest_sms"]) == ("opted_in", "opted_out")


def test_what_was_withdrawn_in_one_region_is_not_known_in_the_other(desk: Desk, tmp_path: Path) -> None:
    living_in_us(desk)
    desk.digest("customers", "erase", CUSTOMER, "--region", "us", "--yes")
    desk.digest("customers", "import", line(tmp_path, sms_consent="opted_in"))
    # Why the runbook has consent read from the record, and not from the shop.
    assert desk.eu.customer_row(CUSTOMER, PROFILE)["consent_digest_sms"] == "opted_in"


def test_who_has_had_this_week_s_digest_gets_the_next_one_a_week_later(desk: Desk, tmp_path: Path) -> None:
    sent = a_delivery(status=Status.ACCEPTED, attempt=1, attention_at=None, accepted_at=desk.clock())
    living_in_us(desk, sent)
    assert [one["status"] for one in on_record(desk)["deliveries"] if one["status"]] == ["accepted"]
    desk.digest("customers", "erase", CUSTOMER, "--region", "us", "--yes")
    # Sunday 22:00 in Berlin is an hour from now: without the day, this week's would be sent a second time.
    desk.digest("customers", "import", line(tmp_path, first_run_on="2026-11-30"))
    next_run = desk.eu.next_run_at(a_digest_schedule())
    assert next_run is not None
    assert next_run - desk.clock() == timedelta(days=7, hours=1)


def test_what_was_open_ends_with_the_erasure_and_is_not_sent_from_there(desk: Desk) -> None:
    waiting = a_delivery(status=Status.QUEUED, enqueued_at=desk.clock())
    living_in_us(desk, waiting)
    desk.digest("customers", "erase", CUSTOMER, "--region", "us", "--yes")
    assert desk.us.delivery(waiting.delivery_id).status is Status.SKIPPED
