"""A file of customers: what is kept, what is refused, and what a second import leaves alone."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from functions import names
from functions.adapters.schedule_rows import endpoint_from_row, profile_from_row, schedule_from_row
from functions.core.customer import DIGEST_SCHEDULE, PROFILE, WEBHOOK_ENDPOINT, Consent, DigestSchedule
from functions.core.identity import Channel, Topic
from functions.core.instants import to_text
from functions.core.webhook_endpoint import WebhookEndpoint
from ops.imports.customers import import_customers
from ops.imports.report import ImportReport
from tests.fakes.clock import FakeClock
from tests.fakes.customer_rows import FakeRegions

HEADER = "customer_id,data_region,time_zone,locale,email,phone,email_consent,sms_consent,digest_weekday,digest_time"
ANNA = "c-1,us,America/New_York,en,anna.canary@example.com,+12025550123,opted_in,opted_out,mon,09:30"
EVA = "c-2,eu,Europe/Berlin,de,eva.canary@example.org,,opted_in,,wed,07:15"
NEXT_MONDAY = datetime(2026, 11, 30, 14, 30, tzinfo=UTC)  # 09:30 in New York


@pytest.fixture
def regions() -> FakeRegions:
    return FakeRegions()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def importing(regions: FakeRegions, clock: FakeClock, *lines: str, header: str = HEADER) -> ImportReport:
    return import_customers([header, *lines], regions, clock=clock)


def reasons(report: ImportReport) -> Sequence[str]:
    return [line.reason for line in report.bad]


def profile(regions: FakeRegions, customer_id: str = "c-1", region: str = "us") -> Any:
    return profile_from_row(regions.region(region).rows.held[customer_id, PROFILE])


def schedule_row(regions: FakeRegions, customer_id: str = "c-1", region: str = "us") -> dict[str, Any]:
    return regions.region(region).rows.held[customer_id, DIGEST_SCHEDULE]


def test_each_customer_goes_to_the_region_that_their_line_names(regions: FakeRegions, clock: FakeClock) -> None:
    report = importing(regions, clock, ANNA, EVA)
    assert (report.kept, report.bad, report.kept_by_region) == (2, (), {"us": 1, "eu": 1})
    assert {customer_id for customer_id, _ in regions.us.rows.held} == {"c-1"}
    assert {customer_id for customer_id, _ in regions.eu.rows.held} == {"c-2"}


def test_a_customer_is_stored_with_addresses_consent_and_the_next_run(regions: FakeRegions, clock: FakeClock) -> None:
    importing(regions, clock, ANNA)
    stored = profile(regions)
    assert stored.addresses == {Channel.EMAIL: "anna.canary@example.com", Channel.SMS: "+12025550123"}
    assert stored.consent == {
        (topic, channel): Consent.OPTED_IN if channel is Channel.EMAIL else Consent.OPTED_OUT
        for topic in Topic
        for channel in (Channel.EMAIL, Channel.SMS)
    }
    schedule = schedule_from_row(schedule_row(regions))
    assert isinstance(schedule, DigestSchedule)
    assert schedule.channels == (Channel.EMAIL, Channel.SMS)
    assert schedule.next_run_at == NEXT_MONDAY


def test_no_answer_is_no_consent_and_may_still_be_given_later(regions: FakeRegions, clock: FakeClock) -> None:
    importing(regions, clock, EVA)
    assert (Topic.DIGEST, Channel.SMS) not in profile(regions, "c-2", "eu").consent
    importing(
        regions, clock, EVA.replace("opted_in,,", "opted_in,opted_in,").replace(",,opted_in", ",+447700900123,opted_in")
    )
    assert profile(regions, "c-2", "eu").consent[Topic.DIGEST, Channel.SMS] is Consent.OPTED_IN


def test_an_import_never_changes_consent_or_suppression_on_record(regions: FakeRegions, clock: FakeClock) -> None:
    importing(regions, clock, ANNA)
    row = regions.us.rows.held["c-1", PROFILE]
    row["consent_digest_email"] = "opted_out"  # she withdrew it
    row["suppressed"] = {"sms": {"cause": "stop"}}
    importing(regions, clock, ANNA.replace("opted_out", "opted_in"))
    stored = profile(regions)
    assert stored.consent[Topic.DIGEST, Channel.EMAIL] is Consent.OPTED_OUT
    assert stored.consent[Topic.DIGEST, Channel.SMS] is Consent.OPTED_OUT
    assert stored.suppressed == {Channel.SMS: "stop"}


def test_consent_withdrawn_while_the_import_runs_stays_withdrawn(regions: FakeRegions, clock: FakeClock) -> None:
    importing(regions, clock, EVA)

    def withdraw() -> None:
        regions.eu.rows.held["c-2", PROFILE]["consent_digest_sms"] = "opted_out"

    regions.eu.rows.before_write = withdraw
    importing(regions, clock, EVA.replace("opted_in,,", "opted_in,opted_in,"))
    assert profile(regions, "c-2", "eu").consent[Topic.DIGEST, Channel.SMS] is Consent.OPTED_OUT


def test_importing_the_same_file_again_writes_nothing(regions: FakeRegions, clock: FakeClock) -> None:
    importing(regions, clock, ANNA, EVA)
    written = len(regions.us.rows.writes)
    report = importing(regions, clock, ANNA, EVA)
    assert (report.kept, report.unchanged) == (2, 2)
    assert len(regions.us.rows.writes) == written


def test_a_new_address_replaces_the_old_and_an_empty_field_removes_it(regions: FakeRegions, clock: FakeClock) -> None:
    importing(regions, clock, ANNA)
    importing(regions, clock, ANNA.replace("anna.canary", "anna.new").replace("+12025550123", ""))
    assert profile(regions).addresses == {Channel.EMAIL: "anna.new@example.com"}


def test_a_column_that_the_file_does_not_have_leaves_what_is_on_record(regions: FakeRegions, clock: FakeClock) -> None:
    importing(regions, clock, f"{ANNA},false", header=f"{HEADER},active")
    before = schedule_row(regions).copy()
    importing(regions, clock, "c-1,us,America/New_York,+12025550199", header="customer_id,data_region,time_zone,phone")
    stored = profile(regions)
    assert stored.addresses == {Channel.EMAIL: "anna.canary@example.com", Channel.SMS: "+12025550199"}
    assert not stored.active
    assert schedule_row(regions) == before


def test_an_inactive_customer_leaves_the_due_index_and_comes_back(regions: FakeRegions, clock: FakeClock) -> None:
    header = f"{HEADER},active"
    importing(regions, clock, f"{ANNA},true", header=header)
    importing(regions, clock, f"{ANNA},false", header=header)
    assert not {"next_run_at", "due_shard"} & schedule_row(regions).keys()
    importing(regions, clock, f"{ANNA},true", header=header)
    assert schedule_row(regions)["next_run_at"] == to_text(NEXT_MONDAY)


def test_a_customer_without_weekday_and_time_gets_reminders_only(regions: FakeRegions, clock: FakeClock) -> None:
    importing(regions, clock, ANNA.replace("mon,09:30", ","))
    assert list(regions.us.rows.held) == [("c-1", PROFILE)]


def test_a_customer_without_any_address_is_kept_and_not_due(regions: FakeRegions, clock: FakeClock) -> None:
    importing(regions, clock, "c-1,us,America/New_York,en,,,,,mon,09:30")
    assert "due_shard" not in schedule_row(regions)


def test_an_unchanged_time_keeps_the_run_that_is_due(regions: FakeRegions, clock: FakeClock) -> None:
    importing(regions, clock, ANNA)
    clock.now = datetime(2026, 12, 3, tzinfo=UTC)  # the planner has been down since Monday
    importing(regions, clock, ANNA.replace("anna.canary", "anna.new"))
    assert schedule_row(regions)["next_run_at"] == to_text(NEXT_MONDAY)


def test_a_planner_that_moves_the_schedule_on_meanwhile_is_not_set_back(regions: FakeRegions, clock: FakeClock) -> None:
    importing(regions, clock, ANNA)
    clock.now = datetime(2026, 11, 30, 15, tzinfo=UTC)

    def plan() -> None:
        regions.us.rows.held["c-1", DIGEST_SCHEDULE]["next_run_at"] = to_text(datetime(2026, 12, 7, 14, 30, tzinfo=UTC))

    regions.us.rows.before_write = plan
    report = importing(regions, clock, ANNA.replace("mon,09:30", "tue,09:30"))
    assert report.kept == 1
    # The week of 23 November has been planned on Monday; Tuesday's first run is the one of the week after.
    assert schedule_row(regions)["next_run_at"] == to_text(datetime(2026, 12, 8, 14, 30, tzinfo=UTC))


def test_a_customer_who_lives_in_another_region_is_not_brought_into_a_second_one(
    regions: FakeRegions, clock: FakeClock
) -> None:
    importing(regions, clock, EVA)
    report = importing(regions, clock, EVA.replace(",eu,", ",us,"))
    assert reasons(report) == ["data_region: this customer lives in eu; use that, or erase the customer there first"]
    assert not regions.us.rows.held


def test_somebody_who_is_in_the_file_twice_is_kept_once_and_reported(regions: FakeRegions, clock: FakeClock) -> None:
    report = importing(regions, clock, ANNA, EVA, ANNA.replace("anna", "other"))
    assert report.kept == 2
    assert report.bad == ((4, "repeats line 2; leave one of them"),)
    assert profile(regions).addresses[Channel.EMAIL] == "anna.canary@example.com"


def test_bad_lines_come_with_number_field_and_way_out_and_the_good_ones_stay(
    regions: FakeRegions, clock: FakeClock
) -> None:
    report = importing(regions, clock, ANNA, EVA.replace("wed", "someday").replace("Berlin", "Bärlin"))
    assert report.kept == 1
    assert report.bad == (
        (
            3,
            "time_zone: must be an IANA zone such as Europe/Berlin; "  # noqa: ISC004 - one text in two lines
            "digest_weekday: must be a weekday, monday to sunday, or its first three letters",
        ),
    )


@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [
        ("customer_id", "canary@example.com", "looks like an email address; use an opaque id such as c-10428"),
        ("customer_id", "+12025550123", "looks like a phone number; use an opaque id such as c-10428"),
        (
            "customer_id",
            "c 1",
            "must be 1 to 64 letters, digits, '-' or '_', starting with a letter or digit",
        ),
        ("data_region", "canary", "must be one of us, eu"),
        ("time_zone", "", "must be an IANA zone such as Europe/Berlin"),
        ("time_zone", "+01:00", "must be an IANA zone such as Europe/Berlin"),
        ("locale", "canary", "must be one of en, de, fr, es"),
        ("email", "canary.example.com", "is no address that mail can go to; write it like name@example.com"),
        ("email", "canary@@example.com", "is no address that mail can go to; write it like name@example.com"),
        ("email", "canary@localhost", "is no address that mail can go to; write it like name@example.com"),
        ("phone", "2025550123", "is no phone number; write it with + and country code, like +12025550123"),
        ("phone", "+1202", "is no phone number; write it with + and country code, like +12025550123"),
        ("phone", "+442079460000 ext 5", "is no phone number; write it with + and country code, like +12025550123"),
        ("email_consent", "canary", "must be one of opted_in, opted_out"),
        ("digest_weekday", "canary", "must be a weekday, monday to sunday, or its first three letters"),
        ("digest_time", "25:00", "must be a local time such as 09:30"),
        ("digest_time", "9.30", "must be a local time such as 09:30"),
        ("digest_channels", "email,pigeon", "must list channels out of email, sms, webhook, such as email,sms"),
        ("active", "canary", "must be true or false"),
        ("first_run_on", "30.11.2026", "must be an ISO date such as 2026-11-30"),
    ],
)
def test_a_field_that_does_not_fit_is_named_and_not_repeated(
    regions: FakeRegions, clock: FakeClock, column: str, value: str, reason: str
) -> None:
    columns = [*HEADER.split(","), "digest_channels", "active", "first_run_on"]
    values = dict(zip(columns, [*ANNA.split(","), "email,sms", "true", "2026-11-30"], strict=True)) | {column: value}
    line = ",".join(f'"{text}"' for text in values.values())
    report = importing(regions, clock, line, header=",".join(columns))
    assert reasons(report) == [f"{column}: {reason}"]
    assert "canary" not in repr(report)


def test_weekday_and_time_belong_together(regions: FakeRegions, clock: FakeClock) -> None:
    report = importing(regions, clock, ANNA.replace("09:30", ""))
    assert reasons(report) == ["digest_weekday and digest_time: give both, or neither for a customer without a digest"]


@pytest.mark.parametrize("number", ["+12025550123", "+1 (202) 555-0123", "+44 7700 900123"])
def test_numbers_of_the_ranges_kept_for_fiction_are_taken(regions: FakeRegions, clock: FakeClock, number: str) -> None:
    report = importing(regions, clock, ANNA.replace("+12025550123", number))
    assert report.bad == ()
    assert profile(regions).addresses[Channel.SMS] in {"+12025550123", "+447700900123"}


def test_json_lines_take_the_same_keys(regions: FakeRegions, clock: FakeClock) -> None:
    line = (
        '{"customer_id": "c-1", "data_region": "us", "time_zone": "America/New_York", "email": "anna@example.com", '
        '"digest_weekday": "monday", "digest_time": "09:30", "digest_channels": ["sms", "email"], "active": true}'
    )
    report = import_customers([line, line.replace('"active"', '"canary@example.com"')], regions, clock=clock)
    assert (report.kept, report.bad) == (1, ((2, "one key is unknown; take it out"),))
    assert schedule_row(regions)["channels"] == ["email", "sms"]


# --- the hash that a STOP finds its sender by ---


def hash_of(regions: FakeRegions, customer_id: str = "c-1", region: str = "us") -> str | None:
    held: str | None = regions.region(region).rows.held[customer_id, PROFILE].get(names.NUMBER_HASH)
    return held


def test_a_number_is_stored_with_the_hash_of_its_own_region(regions: FakeRegions, clock: FakeClock) -> None:
    importing(regions, clock, ANNA, EVA.replace("example.org,,", "example.org,+447700900123,"))
    assert hash_of(regions) == regions.us.number_hash("+12025550123")
    assert hash_of(regions, "c-2", "eu") == regions.eu.number_hash("+447700900123")


def test_a_hash_follows_the_number_and_goes_with_it(regions: FakeRegions, clock: FakeClock) -> None:
    importing(regions, clock, ANNA)
    importing(regions, clock, ANNA.replace("+12025550123", "+12025550124"))
    assert hash_of(regions) == regions.us.number_hash("+12025550124")
    importing(regions, clock, ANNA.replace("+12025550123", ""))
    assert hash_of(regions) is None


def test_a_file_without_numbers_leaves_number_and_hash(regions: FakeRegions, clock: FakeClock) -> None:
    importing(regions, clock, ANNA)
    importing(regions, clock, "c-1,us,America/Chicago", header="customer_id,data_region,time_zone")
    assert hash_of(regions) == regions.us.number_hash("+12025550123")


def test_a_customer_of_before_the_hashes_gets_one_with_the_next_import(regions: FakeRegions, clock: FakeClock) -> None:
    importing(regions, clock, ANNA)
    del regions.us.rows.held["c-1", PROFILE][names.NUMBER_HASH]
    importing(regions, clock, ANNA)
    assert hash_of(regions) == regions.us.number_hash("+12025550123")


# --- webhooks ---

WEBHOOK_HEADER = "customer_id,data_region,time_zone,email,webhook_url,webhook_consent,digest_weekday,digest_time"
SHOP = "c-3,us,America/New_York,,https://Hooks.Example.com:443/canary-token,opted_in,mon,09:30"


def endpoint_of(regions: FakeRegions, customer_id: str = "c-3") -> WebhookEndpoint:
    return endpoint_from_row(regions.us.rows.held[customer_id, WEBHOOK_ENDPOINT])


def test_a_customer_with_a_webhook_gets_a_secret_of_its_own(regions: FakeRegions, clock: FakeClock) -> None:
    report = importing(regions, clock, SHOP, SHOP.replace("c-3", "c-4"), header=WEBHOOK_HEADER)
    assert report.bad == ()
    assert profile(regions, "c-3").addresses == {Channel.WEBHOOK: "https://hooks.example.com/canary-token"}
    assert profile(regions, "c-3").consent[Topic.DIGEST, Channel.WEBHOOK] is Consent.OPTED_IN
    assert schedule_row(regions, "c-3")["channels"] == ["webhook"]
    assert endpoint_of(regions).signing(clock()) != endpoint_of(regions, "c-4").signing(clock())


def test_a_secret_is_made_once_whatever_becomes_of_the_address(regions: FakeRegions, clock: FakeClock) -> None:
    importing(regions, clock, SHOP, header=WEBHOOK_HEADER)
    first = endpoint_of(regions)
    moved, gone = SHOP.replace("canary-token", "moved"), SHOP.replace(SHOP.split(",")[4], "")
    for line in (SHOP, moved, gone):
        assert importing(regions, clock, line, header=WEBHOOK_HEADER).bad == ()
        assert endpoint_of(regions) == first
    assert profile(regions, "c-3").addresses == {}


def test_a_customer_without_a_webhook_has_no_endpoint_and_is_not_planned_for_it(
    regions: FakeRegions, clock: FakeClock
) -> None:
    importing(regions, clock, ANNA)
    assert ("c-1", WEBHOOK_ENDPOINT) not in regions.us.rows.held
    assert "webhook" not in schedule_row(regions)["channels"]


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://hooks.example.com/canary", "webhook_url: must begin with https://"),
        ("https://user:canary@hooks.example.com/", "webhook_url: must not hold a user name or password"),
        ("https://169.254.169.254/canary", "webhook_url: must name a host such as hooks.example.com: no IP address"),
        ("https://2852039166/canary", "webhook_url: must name a host such as hooks.example.com: no IP address"),
        ("https://[::1]/canary", "webhook_url: must name a host such as hooks.example.com: no IP address"),
        ("https://localhost/canary", "webhook_url: must name a host such as hooks.example.com"),
        ("https://api.internal/canary", "webhook_url: must name a host of the public internet"),
        ("https://hooks.example.com:8080/canary", "webhook_url: must use port 443 or 8443"),
    ],
)
def test_an_address_that_webhooks_may_not_go_to_is_refused_with_the_way_out(
    regions: FakeRegions, clock: FakeClock, url: str, reason: str
) -> None:
    line = SHOP.replace("https://Hooks.Example.com:443/canary-token", url)
    (refused,) = reasons(importing(regions, clock, line, header=WEBHOOK_HEADER))
    assert refused.startswith(reason)
    assert "canary" not in refused
    assert not regions.us.rows.held


def test_an_id_of_the_check_after_a_deployment_is_refused(regions: FakeRegions, clock: FakeClock) -> None:
    (refused,) = reasons(importing(regions, clock, ANNA.replace("c-1", "smoke-success")))
    assert refused == "customer_id: ids that begin with smoke- belong to `digest smoke`; use another"
    assert not regions.us.rows.held
