"""`digest plan`, `due`, `status` and `show` against DynamoDB."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from functions import names
from functions.adapters.periods import DynamoPeriods
from functions.adapters.traffic import DynamoTraffic
from functions.core.customer import Consent, Obsolete
from functions.core.delivery import Attempt, SkipReason, Status
from functions.core.identity import Channel, Topic
from functions.core.summary import SummaryNote
from ops.cli.weeks import count_week
from ops.deployment import Deployment, RegionDeployment
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.environment import CONTROL, CUSTOMERS
from tests.fakes.examples import (
    BOTH,
    EMAIL_ADDRESS,
    PERIOD,
    PHONE_NUMBER,
    a_delivery,
    a_digest_schedule,
    a_profile,
    a_rejected_delivery,
    a_reminder,
    an_exhausted_delivery,
)
from tests.fakes.summaries import RECIPE
from tests.integration.operators_desk import OUTPUTS, Desk, FakeLambda, RegionAtHand, a_second_region
from tests.integration.region import Clock, Functions, Region

AN_HOUR = timedelta(hours=1)


@pytest.fixture
def desk(region: Region, functions: Functions, clock: Clock, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(region, a_second_region(), FakeLambda(functions.planner.handler, clock), clock, capsys)


def a_mixed_week(region: Region) -> None:
    accepted: dict[str, Any] = {"status": Status.ACCEPTED, "accepted_at": SUNDAY_EVENING}
    region.put_deliveries(
        a_delivery("c-1", **accepted),
        a_delivery("c-1", channel=Channel.SMS, **accepted),
        a_delivery("c-2", status=Status.SKIPPED, skip_reason=SkipReason.EMPTY),
        a_delivery("c-2", channel=Channel.SMS, status=Status.SKIPPED, skip_reason=SkipReason.OPTED_OUT),
        a_delivery("c-3", status=Status.SKIPPED, skip_reason=SkipReason.EMPTY),
        a_delivery("c-4", status=Status.EXPIRED),
        a_delivery("c-5", status=Status.UNCERTAIN),
        a_delivery("c-6", status=Status.RETRYABLE),
        a_delivery("c-7"),
        an_exhausted_delivery(customer_id="c-8"),
        a_delivery("c-9", period="2026-11-09", **accepted),
    )


# --- plan -------------------------------------------------------------------------------------------------------------


def test_planning_twice_says_what_was_planned_and_then_that_it_is_there(desk: Desk) -> None:
    desk.us.add(a_profile())
    desk.us.schedule(a_digest_schedule())
    first = desk.digest("plan", "--region", "us")
    assert (first.status, first.out) == (0, "2 deliveries planned in us, 2 enqueued\n")
    second = desk.digest("plan", "--region", "us")
    assert (second.status, second.out) == (0, "already planned, 2 existing; nothing new was due in us\n")
    assert len(desk.us.deliveries()) == 2


def test_the_planner_is_invoked_once_and_on_purpose_only_for_a_time_that_was_asked_for(desk: Desk) -> None:
    desk.digest("plan", "--region", "us")
    desk.digest("plan", "--region", "us", "--at", "2026-11-20T10:00:00+01:00")
    assert desk.planner.events == [
        {"scheduled_time": "2026-11-29T20:00:00.000Z", "shards": [0, 1]},
        {"scheduled_time": "2026-11-20T09:00:00.000Z", "shards": [0, 1], "on_purpose": True},
    ]


def test_a_region_in_which_nothing_is_due_says_where_to_look(desk: Desk) -> None:
    assert desk.digest("plan", "--region", "us").out == "nothing was due in us; `digest due` shows what comes next\n"


def test_a_planner_that_fails_is_reported_without_what_it_said(desk: Desk) -> None:
    desk.planner.failing = True
    told = desk.digest("plan", "--region", "us")
    assert told.status == 1
    assert told.err.startswith("digest: the planner in us failed (TableGoneError): see the log of planner.")
    assert "canary" not in told.err


def test_a_customer_who_cannot_be_planned_is_named_and_the_others_are_planned(desk: Desk) -> None:
    desk.us.schedule(a_digest_schedule("c-good"), a_digest_schedule("c-bad", time_zone="Mars/Phobos"))
    told = desk.digest("plan", "--region", "us")
    assert told.status == 1
    assert told.out == "2 deliveries planned in us, 2 enqueued\n"
    assert told.err == "digest: 1 customer could not be planned and stay due: c-bad\n"


def test_a_dry_run_counts_by_region_channel_day_and_reason_to_skip_and_writes_nothing(desk: Desk) -> None:
    withdrawn = {**a_profile().consent, (Topic.DIGEST, Channel.EMAIL): Consent.OPTED_OUT}
    desk.us.add(a_profile("c-1"))
    desk.us.add(a_profile("c-2", consent=withdrawn, suppressed={Channel.SMS: "stop"}))
    desk.us.schedule(
        a_digest_schedule("c-1"),
        a_digest_schedule("c-2"),
        a_digest_schedule("c-gone", channels=[Channel.EMAIL], next_run_at=SUNDAY_EVENING - 24 * AN_HOUR),
        a_digest_schedule("c-3", next_run_at=SUNDAY_EVENING + AN_HOUR),
    )
    told = desk.digest("plan", "--dry-run", "--json").json
    assert told == {
        "until": "2026-11-29T20:00:00.000Z",
        "regions": {
            "us": {
                "schedules": 3,
                "unreadable": [],
                "due": [
                    {"due_on": "2026-11-28", "channel": "email", "deliveries": 1, "skipped": {"inactive": 1}},
                    {"due_on": "2026-11-29", "channel": "email", "deliveries": 2, "skipped": {"opted_out": 1}},
                    {"due_on": "2026-11-29", "channel": "sms", "deliveries": 2, "skipped": {"suppressed": 1}},
                ],
            },
            "eu": {"schedules": 0, "unreadable": [], "due": []},
        },
    }
    assert not desk.planner.events
    assert not desk.us.deliveries()
    shown = desk.digest("plan", "--region", "us", "--dry-run", "--at", "2026-11-30T00:00:00Z").out
    assert shown.startswith(
        "7 deliveries of 4 schedules due in us by 2026-11-30 00:00:00 UTC, 5 of them to be skipped; nothing was written"
    )
    assert "email skipped: inactive 2, opted_out 1" in shown


def test_a_dry_run_knows_whom_a_staging_deployment_may_write_to(desk: Desk) -> None:
    class Staging(RegionAtHand):
        def consumer_variables(self, channel: str) -> Mapping[str, str]:
            return {names.ENV_RECIPIENTS: '["qa@example.com"]' if channel == Channel.EMAIL else "null"}

    desk.deployment = Deployment([Staging("us", "us-east-1", desk.planner)])
    desk.us.add(a_profile())
    desk.us.schedule(a_digest_schedule(), a_reminder(obsolete=Obsolete.PAID))
    due = desk.digest("plan", "--dry-run", "--json").json["regions"]["us"]["due"]
    assert {one["channel"]: one["skipped"] for one in due} == {
        "email": {"not_on_allow_list": 1, "paid": 1},
        "sms": {"paid": 1},
    }


def test_a_schedule_that_makes_no_sense_is_told_and_the_others_are_counted(desk: Desk) -> None:
    desk.us.add(a_profile())
    desk.us.schedule(a_digest_schedule())
    row = desk.us.customer_row("c-417", "SCHEDULE#digest")
    desk.us.put_raw(CUSTOMERS, {**row, "customer_id": "c-bad", "local_time": "soon"})
    told = desk.digest("plan", "--region", "us", "--dry-run")
    assert told.out.startswith("2 deliveries of 2 schedules due in us")
    assert told.err == "digest: 1 schedule cannot be planned; import again: c-bad\n"


# --- due --------------------------------------------------------------------------------------------------------------


def test_what_is_due_and_what_comes_next_is_listed_oldest_first(desk: Desk) -> None:
    desk.us.schedule(
        a_digest_schedule("c-1", next_run_at=SUNDAY_EVENING + 2 * AN_HOUR),
        a_digest_schedule("c-2", next_run_at=SUNDAY_EVENING - 2 * AN_HOUR),
        a_reminder("c-3", next_run_at=SUNDAY_EVENING),
        a_digest_schedule("c-4", next_run_at=SUNDAY_EVENING + 4 * AN_HOUR),
    )
    told = desk.digest("due", "--limit", "3", "--json").json["regions"]
    assert told["eu"] == {"due": 0, "oldest": None, "next": [], "unreadable": []}
    assert (told["us"]["due"], told["us"]["oldest"]) == (2, "2026-11-29T18:00:00.000Z")
    assert [(one["customer_id"], one["what"]) for one in told["us"]["next"]] == [
        ("c-2", "digest"),
        ("c-3", "reminder invoice-9"),
        ("c-1", "digest"),
    ]
    shown = desk.digest("due", "--region", "us").out
    assert shown.startswith("us: 2 schedules due, the oldest since 2026-11-29 18:00:00 UTC\n")
    assert "2026-11-29 22:00:00  Sun 17:00 EST" in shown


def test_a_due_schedule_that_makes_no_sense_is_named_and_hides_no_other(desk: Desk) -> None:
    desk.us.schedule(a_digest_schedule())
    row = desk.us.customer_row("c-417", "SCHEDULE#digest")
    desk.us.put_raw(CUSTOMERS, {**row, "customer_id": "c-bad", "local_time": "soon"})
    shown = desk.digest("due", "--region", "us").out
    assert shown.startswith("us: SCHEDULE#digest of c-bad makes no sense: import the customer again\n")
    assert "c-417" in shown


def test_a_region_without_schedules_says_how_to_get_some(desk: Desk) -> None:
    assert desk.digest("due", "--region", "eu").out == (
        "eu: no schedule will run; import customers first: digest customers import FILE\n"
    )


# --- status -----------------------------------------------------------------------------------------------------------


def test_a_weeks_funnel_adds_up_by_region_channel_and_reason(desk: Desk) -> None:
    a_mixed_week(desk.us)
    desk.eu.put_deliveries(a_delivery("c-20", status=Status.ACCEPTED, accepted_at=SUNDAY_EVENING))
    told = desk.digest("status", "--json").json
    assert told["period"] == "2026-11-16"
    us = told["regions"]["us"]
    assert us["channels"]["email"] == {
        "planned": 8,
        "to_come": 0,
        "accepted": 1,
        "skipped": {"empty": 2},
        "expired": 1,
        "dead_letter": 1,
        "uncertain": 1,
        "open": 2,
        "percent_complete": 62.5,
        "adds_up": True,
        "gate": "open",
    }
    assert us["planned"] == us["accepted"] + sum(us["skipped"].values()) + us["expired"] + us["dead_letter"] + 1 + 2
    assert us["skipped"] == {"empty": 2, "opted_out": 1}
    assert told["regions"]["eu"]["percent_complete"] == 100
    assert desk.digest("status", "--period", "2026-11-09", "--json").json["regions"]["us"]["planned"] == 1


def test_the_first_lines_say_how_far_it_is_and_what_needs_somebody(desk: Desk) -> None:
    a_mixed_week(desk.us)
    lines = desk.digest("status", "--region", "us").out.splitlines()
    assert lines[:2] == [
        "Week 2026-11-16 to 2026-11-22: 70.0 % done; 2 accepted, 3 skipped, 1 expired, 2 open of 10 deliveries",
        "Needs somebody: 1 dead letter, 1 uncertain delivery",
    ]
    assert "email skipped: empty 2" in lines


def test_a_week_is_not_done_before_its_last_customer_was_planned(desk: Desk) -> None:
    desk.us.put_deliveries(a_delivery("c-1", status=Status.ACCEPTED, accepted_at=SUNDAY_EVENING))
    DynamoPeriods(desk.us.dynamodb, CONTROL).open("2026-11-16", at=SUNDAY_EVENING)
    DynamoPeriods(desk.us.dynamodb, CONTROL).close("2026-11-16", version=1, at=SUNDAY_EVENING)
    desk.us.schedule(
        a_digest_schedule("c-2", channels=[Channel.EMAIL]),  # due, and not planned yet
        a_digest_schedule("c-3", next_run_at=SUNDAY_EVENING + 6 * AN_HOUR),  # still Sunday in New York
        a_digest_schedule("c-4", next_run_at=SUNDAY_EVENING + 9 * AN_HOUR),  # Monday there: the week after
        a_reminder("c-5"),
    )
    told = desk.digest("status", "--region", "us", "--json").json["regions"]["us"]
    assert (told["planned"], told["to_come"], told["percent_complete"]) == (1, 3, 25.0)
    assert (told["last_run_at"], told["closed_at"]) == ("2026-11-30T02:00:00.000Z", "2026-11-29T20:00:00.000Z")
    lines = desk.digest("status", "--region", "us").out.splitlines()
    assert lines[0].startswith("Week 2026-11-16 to 2026-11-22: 25.0 % done;")
    assert "Still to be planned: email 2, sms 1; the last run is at 2026-11-30 02:00:00 UTC" in lines
    assert "Nothing open since 2026-11-29 20:00:00 UTC" in lines


def test_a_week_that_is_over_says_when_it_was_closed(desk: Desk) -> None:
    desk.us.put_deliveries(a_delivery("c-1", status=Status.ACCEPTED, accepted_at=SUNDAY_EVENING))
    assert "Not closed" in desk.digest("status", "--region", "us").out.splitlines()
    DynamoPeriods(desk.us.dynamodb, CONTROL).open("2026-11-16", at=SUNDAY_EVENING)
    DynamoPeriods(desk.us.dynamodb, CONTROL).close("2026-11-16", version=1, at=SUNDAY_EVENING)
    assert "Closed since 2026-11-29 20:00:00 UTC" in desk.digest("status", "--region", "us").out.splitlines()


def test_a_week_in_which_nothing_was_planned_says_so(desk: Desk) -> None:
    assert "nothing is planned" in desk.digest("status").out


def test_a_halted_channel_is_told_with_its_cause(desk: Desk) -> None:
    traffic = DynamoTraffic(desk.us.dynamodb, CONTROL)
    traffic.halt(Channel.EMAIL, at=SUNDAY_EVENING, cause="AccessDenied")
    traffic.close(Channel.SMS, until=SUNDAY_EVENING + AN_HOUR, cause="Throttling")
    told = desk.digest("status", "--region", "us").out
    assert "email has been halted since 2026-11-29 20:00:00 UTC (AccessDenied)" in told
    assert "sms pauses until 2026-11-29 21:00:00 UTC (Throttling)" in told


def test_a_delivery_that_finishes_while_it_is_counted_is_noticed(desk: Desk) -> None:
    before, after = a_delivery("c-1"), a_delivery("c-1", status=Status.ACCEPTED, accepted_at=SUNDAY_EVENING)
    desk.us.put_deliveries(before)

    class Busy(RegionDeployment):
        """Its consumer settles the row after the open rows have been read."""

        @property
        def deliveries_table(self) -> str:
            queries.append(1)
            if len(queries) == 17:  # four reasons, two channels, two shards: the first read of finished rows
                desk.us.put_deliveries(after)
            return super().deliveries_table

    queries: list[int] = []
    total = count_week(Busy("us", "us-east-1", outputs=OUTPUTS), PERIOD.isoformat()).total
    assert total.planned == 1
    assert not total.adds_up


# --- show -------------------------------------------------------------------------------------------------------------


def test_a_delivery_answers_the_three_questions_first(desk: Desk) -> None:
    desk.eu.put_deliveries(
        a_delivery(
            "c-1",
            status=Status.ACCEPTED,
            enqueued_at=SUNDAY_EVENING + timedelta(seconds=1),
            accepted_at=SUNDAY_EVENING + timedelta(seconds=2),
            attempt=1,
            provider="ses",
            provider_reference="message-1",
            history=(Attempt(1, SUNDAY_EVENING + timedelta(seconds=2), "accepted", "ok", 1),),
        )
    )
    lines = desk.digest("show", "digest:c-1:2026-11-16:email").out.splitlines()
    assert lines[0] == "digest:c-1:2026-11-16:email in eu: accepted"
    assert [line.strip() for line in lines[2:5]] == [
        "Selected?  yes, 2026-11-29 20:00:00 UTC",
        "Enqueued?  yes, 2026-11-29 20:00:01 UTC",
        "Accepted?  yes, 2026-11-29 20:00:02 UTC",
    ]
    told = desk.digest("show", "digest:c-1:2026-11-16:email", "--json").json
    assert told["accepted"] == {"yes": True, "at": "2026-11-29T20:00:02.000Z", "why": None}
    assert told["provider_reference"] == "message-1"
    assert told["history"] == [
        {"attempt": 1, "at": "2026-11-29T20:00:02.000Z", "outcome": "accepted", "code": "ok", "policy_version": 1}
    ]


def test_an_open_delivery_of_a_stopped_channel_says_that_it_waits_for_that(desk: Desk) -> None:
    DynamoTraffic(desk.us.dynamodb, CONTROL).halt(Channel.EMAIL, at=SUNDAY_EVENING, cause="INC-47")
    desk.us.put_deliveries(a_delivery("c-1", status=Status.RETRYABLE), a_delivery("c-2", status=Status.ACCEPTED))
    held = "email is halted since 2026-11-29 20:00:00 UTC (INC-47): nothing of it is sent before that ends"
    assert held in desk.digest("show", "digest:c-1:2026-11-16:email").out
    assert "halted" not in desk.digest("show", "digest:c-2:2026-11-16:email").out


def test_a_dead_letter_says_why_and_what_to_do(desk: Desk) -> None:
    desk.us.put_deliveries(a_rejected_delivery(customer_id="c-1"))
    told = desk.digest("show", "digest:c-1:2026-11-16:email", "--json").json
    assert told["accepted"] == {"yes": False, "at": None, "why": "dead letter: rejected (InvalidParameter)"}
    assert told["failure"] == {"class": "rejected", "code": "InvalidParameter", "at": "2026-11-29T20:00:00.000Z"}
    command = "digest redrive digest:c-1:2026-11-16:email --region us --reason TEXT"
    assert command in desk.digest("show", "digest:c-1:2026-11-16:email").out


def test_a_delivery_says_what_became_of_its_summary(desk: Desk) -> None:
    desk.us.put_deliveries(a_delivery("c-1", attempt=1, summary=SummaryNote(RECIPE, "written", 700, 40)))
    told = desk.digest("show", "digest:c-1:2026-11-16:email")
    assert "  Summary    written by us.example.model-v1:0 from weekly-summary-v1, 740 tokens" in told.out.splitlines()
    assert desk.digest("show", "digest:c-1:2026-11-16:email", "--json").json["summary"] == {
        "outcome": "written",
        "prompt_version": "weekly-summary-v1",
        "model_id": "us.example.model-v1:0",
        "max_output_tokens": 200,
        "temperature": None,
        "input_tokens": 700,
        "output_tokens": 40,
    }


def test_a_delivery_of_nobody_says_so(desk: Desk) -> None:
    told = desk.digest("show", "digest:c-404:2026-11-16:email")
    assert told.status == 1
    assert told.err == "digest: no customer c-404 in us or eu: never imported, or erased; check the id\n"


def test_a_delivery_of_somebody_who_was_erased_says_so(desk: Desk) -> None:
    desk.eu.put_deliveries(a_delivery("c-404", status=Status.SKIPPED, erased_at=SUNDAY_EVENING))
    told = desk.digest("show", "digest:c-404:2026-11-09:email")
    assert told.err == "digest: no customer c-404 in us or eu: erased, 2026-11-29 20:00:00 UTC\n"


def test_a_delivery_that_never_came_to_be_says_why(desk: Desk) -> None:
    withdrawn = {**a_profile().consent, (Topic.DIGEST, Channel.EMAIL): Consent.OPTED_OUT}
    desk.eu.add(a_profile(consent=withdrawn))
    desk.eu.schedule(a_digest_schedule(next_run_at=SUNDAY_EVENING + AN_HOUR))
    told = desk.digest("show", "digest:c-417:2026-11-16:email")
    assert told.status == 0
    assert told.out.splitlines() == [
        "digest:c-417:2026-11-16:email in eu: no such delivery",
        "",
        "  Selected?  no: not due yet: its run is at 2026-11-29 21:00:00 UTC",
        "  If sent    it would be skipped (opted_out): no consent for this topic on this channel",
    ]
    assert desk.digest("show", "digest:c-417:2026-11-16:webhook", "--json").json == {
        "delivery_id": "digest:c-417:2026-11-16:webhook",
        "data_region": "eu",
        "status": None,
        "selected": {"yes": False, "at": None, "why": "its schedule does not name webhook"},
        "would_skip": None,
    }


def test_one_week_of_a_customer_is_shown_on_every_channel(desk: Desk) -> None:
    desk.us.add(a_profile())
    desk.us.schedule(a_digest_schedule(next_run_at=SUNDAY_EVENING + 168 * AN_HOUR))
    desk.us.put_deliveries(a_delivery(period="2026-11-16", status=Status.SKIPPED, skip_reason=SkipReason.EMPTY))
    told = desk.digest("show", "--customer", "c-417", "--period", "2026-11-16", "--json").json["deliveries"]
    assert {one["delivery_id"].rpartition(":")[2]: one["why"] for one in told} == {
        "email": "skipped (empty): nothing happened in that week",
        "sms": "before the schedule's first run, or purged since",
        "webhook": "its schedule does not name webhook",
    }


def test_a_customer_is_shown_with_masked_addresses_schedules_and_every_week(desk: Desk) -> None:
    desk.eu.add(a_profile(suppressed={Channel.SMS: "stop"}))
    desk.eu.schedule(a_digest_schedule(next_run_at=SUNDAY_EVENING + 168 * AN_HOUR), a_reminder())
    desk.eu.put_deliveries(
        a_delivery(status=Status.ACCEPTED, accepted_at=SUNDAY_EVENING),
        a_delivery(channel=Channel.SMS, status=Status.SKIPPED, skip_reason=SkipReason.SUPPRESSED),
        a_delivery(topic=Topic.REMINDER),
    )
    told = desk.digest("show", "--customer", "c-417", "--json").json
    assert told["data_region"] == "eu"
    assert told["channels"]["email"] == {
        "address": "c***@example.com",
        "consent": {"digest": "opted_in", "reminder": "opted_in"},
        "suppressed": None,
    }
    assert told["channels"]["sms"]["address"] == "+1******4170"
    assert told["channels"]["sms"]["suppressed"] == "stop"
    assert [one["what"] for one in told["schedules"]] == ["digest", "reminder invoice-9"]
    states = {one["delivery_id"]: (one["status"], one["why"]) for one in told["deliveries"]}
    assert states["digest:c-417:2026-11-16:email"] == ("accepted", None)
    assert states["digest:c-417:2026-11-16:sms"][0] == "skipped"
    assert states["digest:c-417:2026-11-09:email"] == (None, "before the schedule's first run, or purged since")
    assert states["reminder:c-417:invoice-9:email"] == ("planned", "not yet")


def test_a_week_that_was_never_selected_says_why(desk: Desk) -> None:
    desk.us.add(a_profile())
    desk.us.schedule(a_digest_schedule(next_run_at=SUNDAY_EVENING + AN_HOUR))
    told = desk.digest("show", "--customer", "c-417", "--json").json["deliveries"]
    assert told[0] == {
        "delivery_id": "digest:c-417:2026-11-16:email",
        "status": None,
        "accepted_at": None,
        "why": "not due yet: its run is at 2026-11-29 21:00:00 UTC",
    }
    paused = {"customer_id": "c-417", "record": "SCHEDULE#digest", "weekday": 6, "local_time": "15:00"}
    desk.us.put_raw(CUSTOMERS, {**paused, "time_zone": "America/New_York", "channels": [str(one) for one in BOTH]})
    shown = desk.digest("show", "--customer", "c-417").out
    assert "Sundays 15:00 America/New_York, email and sms; paused" in shown
    assert "the schedule is paused" in shown


def test_no_command_shows_an_address_in_full(desk: Desk) -> None:
    desk.us.add(a_profile())
    desk.us.schedule(a_digest_schedule())
    desk.digest("plan", "--region", "us")
    for arguments in (
        ["due"],
        ["status"],
        ["show", "--customer", "c-417"],
        ["show", "digest:c-417:2026-11-16:email"],
        ["plan", "--region", "us", "--dry-run"],
    ):
        for form in ([], ["--json"]):
            told = desk.digest(*arguments, *form)
            assert EMAIL_ADDRESS not in told.out + told.err
            assert PHONE_NUMBER not in told.out + told.err


@pytest.mark.parametrize("arguments", [["due"], ["status"], ["show", "--customer", "c-417"]])
def test_every_table_fits_eighty_columns(desk: Desk, arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    a_mixed_week(desk.us)
    desk.us.add(a_profile())
    desk.us.schedule(a_digest_schedule(), a_reminder())
    told = re.sub("\x1b\\[[0-9;]*m", "", desk.digest(*arguments).out)
    assert max(len(line) for line in told.splitlines()) <= 80


def test_a_table_of_eighty_columns_has_every_word_and_number_whole(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    desk.us.put_deliveries(a_delivery("c-1", status=Status.ACCEPTED))  # 100.0 % is the widest
    told = re.sub("\x1b\\[[0-9;]*m", "", desk.digest("status", "--region", "us").out)
    assert "uncertain  open     done" in told
    assert told.count("100.0 %") == 3  # in the first line, of emails, of all


def test_in_a_pipe_no_id_is_broken(desk: Desk) -> None:
    customer = "c-" + "4" * 62  # the longest
    desk.us.put_deliveries(a_rejected_delivery(customer_id=customer, attention_at=SUNDAY_EVENING))
    told = desk.digest("dead-letters", "list", "--region", "us")
    (line,) = (one for one in told.out.splitlines() if customer in one)
    assert line.startswith(f"digest:{customer}:2026-11-16:email  rejected")
