"""Customers who were erased and come back by an import, under whichever id, and others with their address."""

from __future__ import annotations

from typing import Any

import pytest

from functions import names
from functions.adapters.opt_out_memory import LEFT
from functions.adapters.schedule_rows import profile_from_row
from functions.core.customer import DIGEST_SCHEDULE, PROFILE, Consent
from functions.core.identity import Channel, Topic
from functions.core.instants import to_text
from functions.core.opt_out_memory import address_mark, customer_mark
from ops.imports.customers import import_customers
from ops.imports.report import ImportReport
from tests.fakes.clock import SUNDAY_EVENING, FakeClock
from tests.fakes.customer_rows import OPT_OUT_KEYS, FakeRegions

HEADER = "customer_id,data_region,time_zone,email,phone,email_consent,sms_consent,digest_weekday,digest_time"
EMAIL, PHONE = "anna.canary@example.com", "+12025550123"
ANNA = f"c-1,us,America/New_York,{EMAIL},{PHONE},opted_in,opted_in,mon,09:30"
OLD, NEW = OPT_OUT_KEYS
BY_ID = customer_mark("c-1", OLD)
BY_EMAIL = address_mark(Channel.EMAIL, EMAIL, OLD)
BY_PHONE = address_mark(Channel.SMS, PHONE, NEW)
STOP = {"opted_out": ["digest#sms", "reminder#sms"], "causes": ["stop"]}


@pytest.fixture
def regions() -> FakeRegions:
    return FakeRegions()


def remember(regions: FakeRegions, mark: str, **said: list[str]) -> None:
    regions.us.rows.held[mark, LEFT] = {names.CUSTOMER_ID: mark, names.RECORD: LEFT, **said}


def importing(regions: FakeRegions, *lines: str) -> ImportReport:
    return import_customers([HEADER, *lines], regions, clock=FakeClock())


def row(regions: FakeRegions, customer_id: str = "c-1") -> dict[str, Any]:
    return regions.us.rows.held[customer_id, PROFILE]


def test_whoever_comes_back_under_the_same_id_does_not_get_what_they_had_left(regions: FakeRegions) -> None:
    remember(regions, BY_ID, opted_out=["digest#email"])
    report = importing(regions, ANNA.replace(EMAIL, "anna.new@example.com"))
    assert (report.kept, report.remembered) == (1, 1)
    assert profile_from_row(row(regions)).consent == {
        (topic, channel): Consent.OPTED_OUT if (topic, channel) == (Topic.DIGEST, Channel.EMAIL) else Consent.OPTED_IN
        for topic in Topic
        for channel in (Channel.EMAIL, Channel.SMS)
    }
    assert row(regions)["consent_digest_email_by"] == "remembered"
    assert row(regions)["consent_digest_email_at"] == to_text(SUNDAY_EVENING)


def test_whoever_comes_with_the_address_of_somebody_who_left_is_left_alone_there(regions: FakeRegions) -> None:
    remember(regions, BY_EMAIL, opted_out=["digest#email", "reminder#email"], causes=["complaint"])
    importing(regions, ANNA.replace("c-1", "c-2").replace(EMAIL, EMAIL.upper()))
    profile = profile_from_row(row(regions, "c-2"))
    assert profile.suppressed == {Channel.EMAIL: "complaint"}
    assert {topic for (topic, channel), held in profile.consent.items() if held is Consent.OPTED_OUT} == set(Topic)
    assert profile.consent[Topic.DIGEST, Channel.SMS] is Consent.OPTED_IN


def test_a_number_that_has_said_stop_stays_stopped_whichever_key_it_was_remembered_with(regions: FakeRegions) -> None:
    remember(regions, BY_PHONE, **STOP)
    importing(regions, ANNA.replace("c-1", "c-2"))
    assert row(regions, "c-2")["suppressed"] == {
        "sms": {"cause": "stop", "at": to_text(SUNDAY_EVENING), "code": "remembered"}
    }
    assert row(regions, "c-2")["consent_reminder_sms"] == "opted_out"


def test_nobody_else_is_kept_from_anything(regions: FakeRegions) -> None:
    remember(regions, BY_PHONE, **STOP)
    report = importing(regions, ANNA.replace(PHONE, "+12025550199"))
    assert report.remembered == 0
    assert set(profile_from_row(row(regions)).consent.values()) == {Consent.OPTED_IN}
    assert "suppressed" not in row(regions)


def test_a_customer_on_record_who_changes_to_such_a_number_gets_no_texts(regions: FakeRegions) -> None:
    importing(regions, ANNA.replace(PHONE, "+12025550199"))
    row(regions)["suppressed"] = {"email": {"cause": "hard_bounce"}}
    remember(regions, BY_PHONE, **STOP)
    report = importing(regions, ANNA)
    assert report.remembered == 1
    profile = profile_from_row(row(regions))
    assert profile.suppressed == {Channel.EMAIL: "hard_bounce", Channel.SMS: "stop"}
    assert profile.consent[Topic.DIGEST, Channel.SMS] is Consent.OPTED_OUT
    assert profile.consent[Topic.DIGEST, Channel.EMAIL] is Consent.OPTED_IN


@pytest.mark.parametrize(
    ("held", "remembered", "kept"), [("soft_bounces", "stop", "stop"), ("stop", "complaint", "stop")]
)
def test_of_what_is_on_record_and_what_is_remembered_the_heavier_counts(
    regions: FakeRegions, held: str, remembered: str, kept: str
) -> None:
    importing(regions, ANNA.replace(PHONE, "+12025550199"))
    row(regions)["suppressed"] = {"sms": {"cause": held}}
    remember(regions, BY_PHONE, causes=[remembered])
    importing(regions, ANNA)
    assert row(regions)["suppressed"]["sms"]["cause"] == kept


def test_a_suppression_that_comes_in_meanwhile_is_not_lost(regions: FakeRegions) -> None:
    importing(regions, ANNA.replace(PHONE, "+12025550199"))
    remember(regions, BY_PHONE, **STOP)

    def bounce() -> None:
        row(regions)["suppressed"] = {"email": {"cause": "hard_bounce"}}

    regions.us.rows.before_write = bounce
    importing(regions, ANNA)
    assert profile_from_row(row(regions)).suppressed == {Channel.EMAIL: "hard_bounce", Channel.SMS: "stop"}


def test_an_address_that_was_on_record_before_is_nobody_elses_business(regions: FakeRegions) -> None:
    importing(regions, ANNA)
    remember(regions, BY_PHONE, **STOP)  # somebody with the same number was erased
    report = importing(regions, ANNA)
    assert (report.unchanged, report.remembered) == (1, 0)
    assert set(profile_from_row(row(regions)).consent.values()) == {Consent.OPTED_IN}


def test_who_is_erased_while_the_import_runs_comes_back_as_a_new_customer_who_has_left(regions: FakeRegions) -> None:
    importing(regions, ANNA)
    row(regions)["consent_digest_email"] = "opted_out"

    def erase() -> None:
        del regions.us.rows.held["c-1", PROFILE], regions.us.rows.held["c-1", DIGEST_SCHEDULE]
        remember(regions, BY_ID, opted_out=["digest#email"])

    regions.us.rows.before_write = erase
    report = importing(regions, ANNA.replace("mon,09:30", "tue,10:30"))
    assert (report.kept, report.bad) == (1, ())
    profile = profile_from_row(row(regions))
    assert profile.consent[Topic.DIGEST, Channel.EMAIL] is Consent.OPTED_OUT
    assert profile.addresses == {Channel.EMAIL: EMAIL, Channel.SMS: PHONE}
