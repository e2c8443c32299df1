"""Somebody on call looks at the dashboard's custom widgets and presses what they offer."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from functions import names
from functions.adapters.audit import Action, AuditTrail
from functions.adapters.items import from_item
from functions.adapters.traffic import DynamoTraffic
from functions.adapters.widgets.attention import SHOWN
from functions.adapters.wiring import dynamodb
from functions.core.customer import Obsolete
from functions.core.delivery import Attempt, Delivery, Receipt, ReceiptState, SkipReason, Status
from functions.core.identity import Channel
from functions.core.message import DeliveryMessage
from functions.core.traffic import GatePosition
from functions.core.widgets.marks import mark_of_row
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.environment import (
    CONTROL,
    CUSTOMERS,
    DELIVERIES,
    OPERATE_FUNCTION,
    WIDGETS_FUNCTION,
    dead_letter_url,
    queue_url,
)
from tests.fakes.examples import (
    CUSTOMER,
    a_delivery,
    a_digest_schedule,
    a_profile,
    a_rejected_delivery,
    a_reminder,
    an_activity,
    an_exhausted_delivery,
)
from tests.fakes.widget_page import Page
from tests.integration.canaries import QUOTING, Watch, every_other_logger
from tests.integration.faults import answer_lost, failing, just_before, refused
from tests.integration.region import Clock, Functions, Region, log_lines
from tests.integration.widgets import Dashboard

MOST_STEPS = 3
STUCK = f"digest:{CUSTOMER}:2026-11-16:email"
REASON = "INC-47: provider is back"
LATER = SUNDAY_EVENING + timedelta(hours=1)
CHANGED = "It has changed since this page was drawn"


@pytest.fixture
def dashboard(region: Region, functions: Functions, clock: Clock) -> Dashboard:  # noqa: ARG001 - set the scene
    clock.move_to(LATER)
    widgets, operate = (import_module(f"functions.{name}.handler") for name in ("widgets", "operate"))
    return Dashboard(widgets, operate, clock)


def records(region: Region) -> list[dict[str, Any]]:
    rows = [from_item(item) for item in region._scan(CONTROL)]
    return [row for row in rows if row[names.CONTROL_KEY].startswith("audit#")]


def gate(region: Region) -> GatePosition:
    return DynamoTraffic(region.dynamodb, CONTROL).gate(Channel.EMAIL).position(LATER)


def an_uncertain_delivery(**differing: Any) -> Delivery:
    return a_delivery(status=Status.UNCERTAIN, attempt=1, in_doubt_since=SUNDAY_EVENING, provider="ses", **differing)


# --- the night shift, each in at most three steps from the first page -------------------------------------------------


def test_a_stuck_delivery_is_found_its_story_read_and_it_is_redriven(dashboard: Dashboard, region: Region) -> None:
    region.put_deliveries(an_exhausted_delivery())
    first = dashboard.open("attention")
    assert "dead letter: exhausted (ServiceUnavailable)" in first.text

    story = dashboard.press(first, STUCK)
    assert f"{STUCK}: dead letter" in story.text
    assert "mend the cause, then digest redrive" in story.text
    assert story.press("Redrive").confirmation == (
        f"Redrive {STUCK}? 1 delivery. It is sent again, under the same id. This cannot be undone."
    )

    done = dashboard.press(story, "Redrive", reason=REASON)
    assert done.text.strip().startswith("Redriven: on its way to its consumer.")
    assert dashboard.pressed <= MOST_STEPS
    assert region.delivery(STUCK).status is Status.QUEUED
    assert region.waiting_ids(Channel.EMAIL) == [STUCK]
    (record,) = records(region)
    assert (record["what"], record["why"], record["how_many"]) == (f"redrive {STUCK}", REASON, 1)
    assert record["who"] == "operate, request request-2"  # CloudTrail says who that was
    assert REASON in done.text


def test_a_channel_is_paused_and_what_was_paused_is_resumed(dashboard: Dashboard, region: Region) -> None:
    page = dashboard.open("channels")
    assert "All channels send" in page.text
    page = dashboard.press(page, "Pause", about="email", reason="INC-47: wrong prices")
    assert "email is paused. Batches in hand are still sent" in page.text
    assert "halted since 2026-11-29 21:00:00 UTC (INC-47: wrong prices)" in page.text
    assert gate(region) is GatePosition.HALTED

    page = dashboard.press(page, "Resume", about="email")
    assert "email is resumed." in page.text
    assert dashboard.pressed <= MOST_STEPS
    assert gate(region) is GatePosition.OPEN
    assert [row["what"] for row in sorted(records(region), key=lambda row: str(row["what"]))] == [
        "pause email",
        "resume email",
    ]


def test_from_a_stopped_channel_to_what_waits_for_it(dashboard: Dashboard, region: Region) -> None:
    region.put_deliveries(a_delivery(status=Status.RETRYABLE, next_attempt_at=SUNDAY_EVENING))
    DynamoTraffic(region.dynamodb, CONTROL).halt(Channel.EMAIL, at=SUNDAY_EVENING, cause="AccessDenied")
    waits = dashboard.press(dashboard.open("channels"), "What waits", about="email")
    assert "email is halted since 2026-11-29 20:00:00 UTC (AccessDenied): its rows wait for that" in waits.text
    story = dashboard.press(waits, STUCK)
    assert "nothing of it is sent before that ends" in story.text


# --- acting only on what was shown ------------------------------------------------------------------------------------


def test_a_page_that_is_out_of_date_changes_nothing_and_shows_the_row_as_it_is(
    dashboard: Dashboard, region: Region
) -> None:
    region.put_deliveries(an_exhausted_delivery())
    story = dashboard.open("story", delivery_id=STUCK)
    region.put_deliveries(replace(an_exhausted_delivery(), attempt=7))  # somebody redrove it, and it failed again

    page = dashboard.press(story, "Redrive", reason=REASON)
    assert page.text.strip().startswith(f"Nothing was changed. {CHANGED}: look at it as it is now.")
    assert region.delivery(STUCK).status is Status.DEAD_LETTER
    assert not records(region)
    assert page.press("Redrive").params["shown"] != story.press("Redrive").params["shown"]
    assert page.fields["reason"] == REASON  # typed once

    assert "Redriven" in dashboard.press(page, "Redrive").text


def test_a_row_that_changes_while_it_is_redriven_is_left_alone(dashboard: Dashboard, region: Region) -> None:
    region.put_deliveries(an_exhausted_delivery())
    story = dashboard.open("story", delivery_id=STUCK)
    with just_before(dynamodb(), "PutItem", lambda: overtake(region)):
        page = dashboard.press(story, "Redrive", reason=REASON)
    assert "Nothing was changed. It was no dead letter any more when its turn came." in page.text
    assert f"{STUCK}: accepted" in page.text
    assert [record["how_many"] for record in records(region)] == [0]


def test_a_redrive_that_fails_is_on_record_as_none(dashboard: Dashboard, region: Region) -> None:
    region.put_deliveries(an_exhausted_delivery())
    story = dashboard.open("story", delivery_id=STUCK)
    with failing(dynamodb(), "UpdateItem", refused("UpdateItem")):
        page = dashboard.press(story, "Redrive", reason=REASON)
    assert "AWS answered UpdateItem with ThrottlingException: look again" in page.text
    assert [record["how_many"] for record in records(region)] == [0]
    assert "Redriven" in dashboard.press(story, "Redrive", reason=REASON).text  # nothing had changed


def overtake(region: Region) -> None:
    region.ledger.write(
        region.delivery(STUCK),
        replace(region.delivery(STUCK), status=Status.ACCEPTED, accepted_at=LATER, attention_at=None, failure=None),
    )


def test_a_channel_that_was_halted_anew_is_not_resumed_by_an_old_page(dashboard: Dashboard, region: Region) -> None:
    traffic = DynamoTraffic(region.dynamodb, CONTROL)
    traffic.halt(Channel.EMAIL, at=SUNDAY_EVENING, cause="wrong prices")
    page = dashboard.open("channels")
    traffic.resume(Channel.EMAIL)
    traffic.halt(Channel.EMAIL, at=LATER, cause="AccessDenied")

    page = dashboard.press(page, "Resume", about="email", reason="prices mended")
    assert "Nothing was changed. email has changed since this page was drawn" in page.text
    assert "(AccessDenied)" in page.text
    assert traffic.gate(Channel.EMAIL).cause == "AccessDenied"
    assert not records(region)


def test_nothing_is_done_without_a_reason_or_with_one_that_names_somebody(dashboard: Dashboard, region: Region) -> None:
    page = dashboard.press(dashboard.open("channels"), "Pause", about="email")
    assert "Nothing was changed. reason: say why, for whoever asks; then press again" in page.text
    page = dashboard.press(page, "Pause", about="email", reason="bob@example.com complained")
    assert "reason: holds what may be an address or a number; name the cause, or a ticket" in page.text
    assert gate(region) is GatePosition.OPEN
    assert not records(region)


def test_what_is_too_late_ends_as_expired_and_says_so_beforehand(
    dashboard: Dashboard, region: Region, clock: Clock
) -> None:
    region.put_deliveries(an_exhausted_delivery())
    clock.advance(timedelta(days=4))
    story = dashboard.open("story", delivery_id=STUCK)
    assert "it ends as expired" in (story.press("Redrive").confirmation or "")
    assert "It was too late to be sent: ended as expired." in dashboard.press(story, "Redrive", reason=REASON).text
    assert region.delivery(STUCK).status is Status.EXPIRED


def test_a_delivery_in_doubt_is_settled_by_what_was_found_out(dashboard: Dashboard, region: Region) -> None:
    region.put_deliveries(an_uncertain_delivery(), an_uncertain_delivery(customer_id="c-2"))
    story = dashboard.press(dashboard.open("attention", why="uncertain"), STUCK)
    refusal = dashboard.press(story, "The provider has it", reason="in its log")
    assert "Nothing was changed. reference: give the provider's id for the message" in refusal.text
    done = dashboard.press(refusal, "The provider has it", reference="0100018f-ses")
    assert f"{STUCK}: accepted" in done.text
    assert region.delivery(STUCK).provider_reference == "0100018f-ses"

    other = "digest:c-2:2026-11-16:email"
    story = dashboard.open("story", delivery_id=other)
    assert "the customer gets it twice" in (story.press("The provider never had it").confirmation or "")
    dashboard.press(story, "The provider never had it", reason="not in its log")
    assert region.delivery(other).status is Status.RETRYABLE
    assert {record["what"] for record in records(region)} == {
        f"resolve {STUCK} as accepted",
        f"resolve {other} as not accepted",
    }


def test_what_was_done_but_could_not_be_put_on_record_is_told_as_done(
    dashboard: Dashboard, region: Region, log: io.StringIO
) -> None:
    page = dashboard.open("channels")
    with failing(dynamodb(), "PutItem", refused("PutItem", "AccessDeniedException")):
        page = dashboard.press(page, "Pause", about="email", reason="INC-47")
    assert "email is paused." in page.text
    assert "It was done, but nothing of it is on record: note it yourself." in page.text
    assert gate(region) is GatePosition.HALTED
    assert [line["message"] for line in log_lines(log)] == ["action.not_recorded"]


def test_a_button_whose_answer_is_lost_is_told_as_done_and_on_record(dashboard: Dashboard, region: Region) -> None:
    region.put_deliveries(an_uncertain_delivery(), an_exhausted_delivery(customer_id="c-2"))
    doubt = dashboard.open("story", delivery_id=STUCK)
    dead = dashboard.open("story", delivery_id="digest:c-2:2026-11-16:email")
    with answer_lost(dynamodb(), "UpdateItem"):
        page = dashboard.press(dashboard.open("channels"), "Pause", about="email", reason=REASON)
    assert "email is paused." in page.text
    with answer_lost(dynamodb(), "UpdateItem"):
        assert "email is resumed." in dashboard.press(page, "Resume", about="email").text
    with answer_lost(dynamodb(), "UpdateItem"):
        assert "Settled as not accepted." in dashboard.press(doubt, "The provider never had it", reason=REASON).text
    with answer_lost(dynamodb(), "UpdateItem"):
        assert "Redriven." in dashboard.press(dead, "Redrive", reason=REASON).text
    assert region.delivery("digest:c-2:2026-11-16:email").status is Status.QUEUED
    assert [row["how_many"] for row in records(region) if row["what"].startswith("redrive")] == [1]
    assert len(records(region)) == 4


def test_what_was_done_is_told_even_if_the_page_cannot_be_drawn_any_more(dashboard: Dashboard, region: Region) -> None:
    page = dashboard.open("channels")
    with failing(dynamodb(), "Scan", refused("Scan")):
        page = dashboard.press(page, "Pause", about="email", reason="INC-47")
    assert "email is paused." in page.text
    assert "What is there now could not be shown: AWS answered Scan with ThrottlingException" in page.text
    assert gate(region) is GatePosition.HALTED


def test_a_redrive_whose_queue_is_away_is_left_to_the_reconciler(dashboard: Dashboard, region: Region) -> None:
    region.put_deliveries(an_exhausted_delivery())
    story = dashboard.open("story", delivery_id=STUCK)
    region.sqs.delete_queue(QueueUrl=queue_url(Channel.EMAIL))
    page = dashboard.press(story, "Redrive", reason=REASON)
    assert "Its queue did not take it just now; the reconciler brings it within minutes." in page.text
    assert region.delivery(STUCK).status is Status.QUEUED


@pytest.mark.parametrize(
    ("params", "told"),
    [
        ({"action": "purge"}, "action: must be one of pause, resume, redrive, confirm, refute"),
        ({"action": "pause", "channel": "fax"}, "channel: must be one of email, sms, webhook"),
        ({"action": "redrive", "delivery_id": "everything"}, "delivery_id: must be &lt;topic&gt;:"),
        ({"action": "redrive", "delivery_id": "digest:c-0:2026-11-16:email", "shown": "x"}, CHANGED),
        ({"action": "resume", "channel": "email", "shown": "|"}, "email is open."),
    ],
)
def test_a_button_that_makes_no_sense_is_answered_and_does_nothing(
    dashboard: Dashboard, region: Region, params: dict[str, str], told: str
) -> None:
    page = dashboard._call(OPERATE_FUNCTION, params, {"reason": REASON})
    assert told in page.html
    assert not records(region)


# --- what needs attention ---------------------------------------------------------------------------------------------


def test_rows_that_need_attention_are_listed_oldest_first_a_page_at_a_time(
    dashboard: Dashboard, region: Region
) -> None:
    rows = [
        an_exhausted_delivery(customer_id=f"c-{number}", attention_at=SUNDAY_EVENING + timedelta(seconds=number // 3))
        for number in range(SHOWN + 5)
    ]
    region.put_deliveries(*rows)
    page = dashboard.open("attention")
    first = deliveries_on(page)
    assert len(first) == SHOWN
    second = dashboard.press(page, "Next page")
    assert "Deliveries that need a look, page 2" in second.text
    assert sorted(first + deliveries_on(second)) == sorted(str(row.delivery_id) for row in rows)
    assert str(rows[0].delivery_id) in first
    assert str(rows[-1].delivery_id) not in first
    assert "Next page" not in second.text
    assert deliveries_on(dashboard.press(second, "Previous page")) == first


def test_what_waits_as_it_should_is_not_called_stuck(dashboard: Dashboard, region: Region) -> None:
    region.put_deliveries(
        a_delivery("c-early", attention_at=LATER - timedelta(minutes=4)),
        a_delivery("c-stuck", attention_at=LATER - timedelta(minutes=6)),
        a_delivery("c-done", status=Status.ACCEPTED, accepted_at=LATER, attention_at=None),
    )
    assert deliveries_on(dashboard.open("attention")) == ["digest:c-stuck:2026-11-16:email"]


def test_attention_is_narrowed_by_what_channel_and_age(dashboard: Dashboard, region: Region) -> None:
    region.put_deliveries(
        an_exhausted_delivery(),
        an_exhausted_delivery(customer_id="c-2", channel=Channel.SMS, attention_at=LATER - timedelta(minutes=20)),
        an_uncertain_delivery(customer_id="c-3", attention_at=LATER + timedelta(days=1)),
    )
    page = dashboard.open("attention")
    assert len(deliveries_on(page)) == 3
    assert deliveries_on(dashboard.press(page, "Show", why="uncertain")) == ["digest:c-3:2026-11-16:email"]
    assert deliveries_on(dashboard.press(page, "Show", channel="sms")) == ["digest:c-2:2026-11-16:sms"]
    narrowed = dashboard.press(page, "Show", age="15min", why="dead_letter", channel="sms")
    assert deliveries_on(narrowed) == ["digest:c-2:2026-11-16:sms"]
    assert narrowed.chosen == {"why": "dead_letter", "channel": "sms", "age": "15min"}
    assert "Nothing of that kind needs a look" in dashboard.press(page, "Show", age="1d", why="dead_letter").text


def deliveries_on(page: Page) -> list[str]:
    return [one.label for one in page.presses if one.label.startswith(("digest:", "reminder:"))]


# --- the story --------------------------------------------------------------------------------------------------------


def test_a_story_tells_attempts_receipt_and_what_operators_did(dashboard: Dashboard, region: Region) -> None:
    delivery = a_delivery(
        status=Status.ACCEPTED,
        attempt=2,
        enqueued_at=SUNDAY_EVENING,
        accepted_at=LATER,
        attention_at=None,
        provider="ses",
        provider_reference="0100018f",
        receipt=Receipt(ReceiptState.DELIVERED, LATER, "250"),
        history=(
            Attempt(1, SUNDAY_EVENING, "unavailable", "ServiceUnavailable", 1),
            Attempt(2, LATER, "accepted", "ok", 1),
        ),
    )
    region.put_deliveries(delivery)
    trail = AuditTrail(region.dynamodb, CONTROL)
    trail.record(Action(SUNDAY_EVENING, "arn:of:somebody", f"redrive {STUCK}", "INC-46", 1))
    trail.record(Action(SUNDAY_EVENING, "arn:of:somebody", "pause sms", "INC-45"))
    page = dashboard.press(dashboard.open("story"), "Show", about="the delivery", delivery_id=STUCK)
    for told in ("Accepted? yes, 2026-11-29 21:00:00 UTC", "delivered, 2026-11-29 21:00:00 UTC (250)", "INC-46"):
        assert told in page.text
    assert "unavailable ServiceUnavailable" in page.text
    assert "INC-45" not in page.text
    assert page.fields["delivery_id"] == STUCK
    assert not [press for press in page.presses if press.endpoint == OPERATE_FUNCTION]  # it is done


@pytest.mark.parametrize(
    ("delivery_id", "why"),
    [
        (f"digest:{CUSTOMER}:2026-11-23:email", "not due yet: its run is at 2026-12-06 20:00:00 UTC"),
        (f"digest:{CUSTOMER}:2026-11-23:webhook", "its schedule does not name webhook"),
        (f"reminder:{CUSTOMER}:invoice-9:sms", "it is paid"),
        (f"reminder:{CUSTOMER}:invoice-10:sms", "no reminder of that event is on record"),
        ("digest:c-0:2026-11-23:email", "customer_id: nobody of that id in us"),
    ],
)
def test_a_delivery_that_never_came_to_be_says_why(
    dashboard: Dashboard, region: Region, delivery_id: str, why: str
) -> None:
    region.add(a_profile())
    region.schedule(a_digest_schedule(next_run_at=SUNDAY_EVENING + timedelta(days=7)))
    reminder = a_reminder(obsolete=Obsolete.PAID)
    region.schedule(reminder)
    row = region.customer_row(CUSTOMER, reminder.record)
    region.put_raw(CUSTOMERS, {name: value for name, value in row.items() if name != names.NEXT_RUN_AT})
    assert why in dashboard.open("story", delivery_id=delivery_id).text


def test_a_customer_s_week_is_found_without_knowing_an_id(dashboard: Dashboard, region: Region) -> None:
    region.add(a_profile())
    region.schedule(a_digest_schedule(next_run_at=SUNDAY_EVENING + timedelta(days=7)))
    region.put_deliveries(a_delivery(status=Status.SKIPPED, skip_reason=SkipReason.EMPTY, attention_at=None))
    page = dashboard.press(dashboard.open("story"), "Show", about="week", customer_id=CUSTOMER, period="2026-11-16")
    assert "skipped (empty): nothing happened in that week" in page.text
    assert "its schedule does not name webhook" in page.text
    assert "before the schedule's first run, or purged since" in page.text
    assert f"{STUCK}: skipped" in dashboard.press(page, STUCK).text
    weeks = dashboard.press(page, "Show", about="week", period="")
    assert f"digest:{CUSTOMER}:2026-11-09:email" in weeks.text


def test_somebody_who_was_erased_is_told_so(dashboard: Dashboard, region: Region) -> None:
    region.put_deliveries(
        a_delivery(status=Status.ACCEPTED, accepted_at=SUNDAY_EVENING, attention_at=None, erased_at=LATER)
    )
    page = dashboard.open("story", customer_id=CUSTOMER)
    assert "customer_id: the customer was erased, 2026-11-29 21:00:00 UTC" in page.text
    assert "Erased the customer, 2026-11-29 21:00:00 UTC" in dashboard.open("story", delivery_id=STUCK).text


@pytest.mark.parametrize(
    ("params", "told"),
    [
        ({"delivery_id": "digest:c-1"}, "delivery_id: must be"),
        ({"delivery_id": "digest:bob@example.com:2026-11-16:email"}, "delivery_id: looks like an email address"),
        ({"customer_id": "+1 555 010 4170"}, "customer_id: must be 1 to 64 letters"),
        ({"customer_id": "c-1", "period": "last week"}, "period: must be a date such as 2026-11-16"),
        ({"customer_id": "c-1", "period": "2026-11-18"}, "the one that it lies in opens on 2026-11-16"),
    ],
)
def test_what_cannot_be_looked_for_names_the_field_and_keeps_the_page(
    dashboard: Dashboard, params: dict[str, str], told: str
) -> None:
    page = dashboard.open("story", **params)
    assert told in page.text
    assert set(page.fields) == {"delivery_id", "customer_id", "period"}


# --- what is due ------------------------------------------------------------------------------------------------------


def test_what_is_due_leads_to_its_story(dashboard: Dashboard, region: Region) -> None:
    region.add(a_profile())
    region.schedule(a_digest_schedule(), a_reminder(next_run_at=LATER + timedelta(hours=3)))
    page = dashboard.open("due")
    assert "1 schedule is due, the oldest since 2026-11-29 20:00:00 UTC" in page.text
    assert "Sun 15:00 EST" in page.text
    digest, reminder = page.presses
    week = dashboard.send(digest, {})
    assert f"{CUSTOMER}: week of 2026-11-16" in week.text
    assert "and not planned yet" in week.text
    assert "reminder:c-417:invoice-9:email: no such delivery" in dashboard.send(reminder, {}).text


def test_a_schedule_that_makes_no_sense_is_named_and_hides_no_other(dashboard: Dashboard, region: Region) -> None:
    region.schedule(a_digest_schedule())
    row = region.customer_row(CUSTOMER, "SCHEDULE#digest")
    region.put_raw(CUSTOMERS, {**row, "customer_id": "c-bad", "local_time": "soon"})
    page = dashboard.open("due")
    assert "SCHEDULE#digest of c-bad makes no sense" in page.text
    assert CUSTOMER in page.text


def test_an_empty_region_says_how_to_begin(dashboard: Dashboard) -> None:
    assert "No schedule will run: import customers first" in dashboard.open("due").text
    assert "Nothing needs a look" in dashboard.open("attention").text


# --- dead letters -----------------------------------------------------------------------------------------------------


def test_messages_are_looked_at_only_when_asked_for_and_stay_where_they_are(
    dashboard: Dashboard, region: Region, clock: Clock
) -> None:
    exhausted, rejected = an_exhausted_delivery(), a_rejected_delivery(customer_id="c-2")
    region.put_deliveries(exhausted, rejected)
    url = dead_letter_url(Channel.EMAIL)
    gone = a_delivery("c-gone")
    for one in (exhausted, rejected, gone):
        region.sqs.send_message(QueueUrl=url, MessageBody=DeliveryMessage.of(one).to_body())
    region.sqs.send_message(QueueUrl=url, MessageBody=QUOTING)

    with failing(sqs_of(dashboard), "ReceiveMessage", refused("ReceiveMessage")) as received:
        page = dashboard.open("dead-letters")
    assert not received
    assert "4 messages in the dead-letter queues" in page.text

    page = dashboard.press(page, "Look into it", about="email")
    for told in (
        "tried again, under the same id",
        "nothing: it was refused as it is",
        "nothing: its row is gone, so the message is deleted",
        "no message of ours: ",
        "back within seconds: nobody can work on it",
    ):
        assert told in page.text
    assert QUOTING not in page.text
    clock.advance(timedelta(seconds=1))
    assert sorted(region.bodies(url)) == sorted(
        [*(DeliveryMessage.of(one).to_body() for one in (exhausted, rejected, gone)), QUOTING]
    )
    assert f"{STUCK}: dead letter" in dashboard.press(page, STUCK).text


def sqs_of(dashboard: Dashboard) -> Any:
    wiring = import_module("functions.adapters.wiring")
    assert dashboard.widgets.environment.dead_letter_queue_urls
    return wiring.sqs()


# --- what goes wrong --------------------------------------------------------------------------------------------------


def test_an_unknown_widget_is_answered_with_those_that_there_are(dashboard: Dashboard) -> None:
    told = "widget: must be one of due, attention, story, dead-letters, channels"
    assert told in dashboard.open("weather").text
    assert told in Page(dashboard.widgets.handler({}, context_of(dashboard))).text


def test_a_table_that_is_missing_is_a_sentence_and_a_line_in_the_log(
    dashboard: Dashboard, region: Region, log: io.StringIO
) -> None:
    region.dynamodb.delete_table(TableName=DELIVERIES)
    page = dashboard.open("attention")
    assert "(ResourceNotFoundException): the stack is being deployed, or a table or queue is gone." in page.text
    assert "Traceback" not in page.html
    assert [line["message"] for line in log_lines(log)] == ["widget.refused"]


def test_a_row_that_nobody_can_read_is_a_page_too(dashboard: Dashboard, region: Region, log: io.StringIO) -> None:
    region.put_raw(DELIVERIES, {names.DELIVERY_ID: STUCK, "status": "canary"})
    page = dashboard.open("story", delivery_id=STUCK)
    assert "This page could not be drawn." in page.text
    (line,) = log_lines(log)
    assert (line["message"], line["error"]) == ("widget.failed", "KeyError")
    assert "canary" not in log.getvalue() + page.html


ANYTHING = st.none() | st.integers() | st.text(max_size=30) | st.lists(st.text(max_size=3), max_size=2)
WORDS = st.sampled_from(
    ["due", "attention", "story", "dead-letters", "channels", "pause", "resume", "redrive", "email"]
)
NAMES = st.sampled_from(
    ["widget", "action", "channel", "delivery_id", "customer_id", "period", "page", "why", "age", "shown"]
)
EVENTS = st.dictionaries(NAMES, WORDS | ANYTHING, max_size=6)


def test_whatever_is_sent_both_functions_answer_with_a_page_and_change_nothing(
    dashboard: Dashboard, region: Region, log: io.StringIO
) -> None:
    region.put_deliveries(an_exhausted_delivery(), an_uncertain_delivery(customer_id="c-2"))

    @settings(max_examples=60, deadline=None, derandomize=True, database=None)
    @given(event=EVENTS, forms=ANYTHING | st.dictionaries(st.sampled_from(["period", "customer_id"]), ANYTHING))
    def is_answered(event: dict[str, Any], forms: Any) -> None:
        for function in (WIDGETS_FUNCTION, OPERATE_FUNCTION):
            module = dashboard.module(function)
            html = module.handler(event | {"widgetContext": {"forms": {"all": forms}}}, dashboard._context_of(function))
            assert html.startswith('<section class="dd auto')
            Page(html)

    is_answered()
    assert not log.getvalue()
    assert not records(region)
    assert gate(region) is GatePosition.OPEN


def test_asked_to_describe_itself_a_function_answers_markdown(dashboard: Dashboard) -> None:
    told = dashboard.widgets.handler({"describe": True}, context_of(dashboard))
    assert told.startswith("## digest-delivery\n")
    gallery = import_module("functions.adapters.widgets.gallery").GALLERY
    assert all(f"`{widget}`" in told for widget in gallery)
    assert dashboard.operate.handler({"describe": True}, context_of(dashboard)).startswith("## digest-delivery")


def context_of(dashboard: Dashboard) -> Any:
    return dashboard._context_of(OPERATE_FUNCTION)


# --- what is never shown, and what never runs -------------------------------------------------------------------------


@pytest.fixture
def watch(region: Region, log: io.StringIO, capsys: pytest.CaptureFixture[str]) -> Iterator[Watch]:
    with every_other_logger() as root:
        allowed = frozenset({"america/new_york"})  # of a schedule its zone is what an operator looks at
        yield Watch(region, log, root, capsys, not_ours=("email", "email-dead-letters"), allowed_in_answers=allowed)


def test_no_page_and_no_log_holds_an_address_a_number_or_a_body(
    dashboard: Dashboard, region: Region, watch: Watch
) -> None:
    region.add(a_profile(), an_activity())
    region.schedule(a_digest_schedule(), a_reminder())
    region.put_deliveries(an_exhausted_delivery(), an_uncertain_delivery(channel=Channel.SMS))
    region.sqs.send_message(QueueUrl=dead_letter_url(Channel.EMAIL), MessageBody=QUOTING)
    for widget in (names.WIDGET_DUE, names.WIDGET_ATTENTION, names.WIDGET_CHANNELS):
        dashboard.open(widget)
    dashboard.open("story", delivery_id=STUCK)
    dashboard.open("story", customer_id=CUSTOMER)
    dashboard.open("dead-letters", channel="email")
    with failing(dynamodb(), "Query", refused("Query")):
        dashboard.open("attention")
    watch.answers.extend(dashboard.seen)
    watch.saw_nothing()


HOSTILE = (
    """<script>alert(1)</script>"'><cwdb-action action="call" endpoint="x">{}</cwdb-action><img src=x onerror=y>"""
)


def test_markup_in_any_field_of_a_row_is_text_on_every_page(dashboard: Dashboard, region: Region, clock: Clock) -> None:
    plain = dict.fromkeys(("provider", "provider_reference", "template_id"), "pl@in")  # refused wherever the other is
    scene = {"plain": plain, "hostile": dict.fromkeys(plain, HOSTILE)}
    drawn: dict[str, list[Page]] = {}
    for name, fields in scene.items():
        word = fields["provider"]
        delivery = an_exhausted_delivery(
            customer_id="c-1", history=(Attempt(1, SUNDAY_EVENING, word, word, 1),), **fields
        )
        region.put_deliveries(
            replace(delivery, failure=replace(delivery.failure, code=word) if delivery.failure else None),
            an_uncertain_delivery(customer_id="c-2", receipt=Receipt(ReceiptState.SENT, LATER, word)),
        )
        region.add(a_profile("c-1"))
        region.schedule(a_reminder("c-1"), a_digest_schedule("c-1"))
        row = region.customer_row("c-1", "SCHEDULE#digest")
        region.put_raw(CUSTOMERS, {**row, "time_zone": word, "local_time": "15:00"})
        traffic = DynamoTraffic(region.dynamodb, CONTROL)
        traffic.resume(Channel.EMAIL)
        traffic.halt(Channel.EMAIL, at=SUNDAY_EVENING, cause=word)
        AuditTrail(region.dynamodb, CONTROL).record(
            Action(SUNDAY_EVENING, word, "redrive digest:c-1:2026-11-16:email", word, 1)
        )
        clock.advance(timedelta(minutes=2))  # SQS purges once a minute
        region.sqs.purge_queue(QueueUrl=dead_letter_url(Channel.EMAIL))
        region.sqs.send_message(QueueUrl=dead_letter_url(Channel.EMAIL), MessageBody=json.dumps({"a": word}))
        typed = {"reason": word, "reference": word, "delivery_id": word, "customer_id": word, "period": word}
        drawn[name] = [
            *(
                dashboard._call(WIDGETS_FUNCTION, {"widget": one}, {})
                for one in ("due", "attention", "channels", "dead-letters")
            ),
            dashboard.open("dead-letters", channel="email"),
            dashboard.open("story", delivery_id="digest:c-1:2026-11-16:email"),
            dashboard.open("story", delivery_id="digest:c-2:2026-11-16:email"),
            dashboard.open("story", customer_id="c-1"),
            dashboard._call(WIDGETS_FUNCTION, {"widget": "story", "delivery_id": word}, {}),
            dashboard._call(WIDGETS_FUNCTION, {"widget": "story", "customer_id": word, "period": word}, {}),
            dashboard._call(WIDGETS_FUNCTION, {"widget": "story"}, typed),
            dashboard._call(
                WIDGETS_FUNCTION, {"widget": "attention", "why": word, "channel": word, "page": word}, typed
            ),
            dashboard._call(WIDGETS_FUNCTION, {"widget": word}, typed),
            dashboard._call(WIDGETS_FUNCTION, {"widget": "channels"}, typed),
            dashboard._call(OPERATE_FUNCTION, {"action": word}, typed),
            dashboard._call(OPERATE_FUNCTION, {"action": "pause", "channel": word}, typed),
            dashboard._call(
                OPERATE_FUNCTION,
                {"action": "redrive", "delivery_id": "digest:c-1:2026-11-16:email", "shown": word},
                typed,
            ),
            dashboard._call(
                OPERATE_FUNCTION,
                {"action": "confirm", "delivery_id": "digest:c-2:2026-11-16:email", "shown": mark(region, "c-2")},
                typed,
            ),
        ]
    for plain_page, hostile_page in zip(drawn["plain"], drawn["hostile"], strict=True):
        assert "<script" not in hostile_page.html
        assert [tag for tag, _ in hostile_page.elements] == [tag for tag, _ in plain_page.elements]
        assert len(hostile_page.html) < 64_000


def mark(region: Region, customer_id: str) -> str:
    return mark_of_row(region.delivery(f"digest:{customer_id}:2026-11-16:email"))
