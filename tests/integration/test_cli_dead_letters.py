"""An operator sees what failed for good, and opens again exactly what they mean to."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import boto3
import pytest
from moto.ses.models import ses_backends

from functions.adapters.items import from_item
from functions.core.delivery import Delivery, Failure, Status
from functions.core.identity import Channel
from functions.core.message import DeliveryMessage
from functions.core.settlement import confirmed
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.environment import ACCOUNT, CONTROL, REGION, dead_letter_url, queue_url
from tests.fakes.examples import (
    EMAIL_ADDRESS,
    EXPIRES_AFTER,
    a_delivery,
    a_profile,
    a_rejected_delivery,
    an_activity,
    an_exhausted_delivery,
)
from tests.integration.faults import failing, just_before, refused
from tests.integration.lambda_poller import LambdaPoller
from tests.integration.operators_desk import Desk, FakeLambda, a_second_region
from tests.integration.region import Clock, Functions, Region

AN_HOUR = timedelta(hours=1)
A_MOMENT = timedelta(milliseconds=1)  # moto's time stands still, too
WHO = "arn:aws:sts::123456789012:user/moto"
BY = ("--region", "us", "--reason", "INC-47: provider is back")
LATER = SUNDAY_EVENING + 3 * AN_HOUR


@pytest.fixture
def desk(region: Region, functions: Functions, clock: Clock, capsys: pytest.CaptureFixture[str]) -> Desk:
    desk = Desk(region, a_second_region(), FakeLambda(functions.planner.handler, clock), clock, capsys)
    clock.move_to(LATER)
    return desk


def died(row: Delivery, hours_ago: float) -> Delivery:
    at = LATER - hours_ago * AN_HOUR
    held = row.failure or Failure("exhausted", "-", at)
    return replace(row, attention_at=at, failure=replace(held, at=at))


def some_dead_letters(region: Region) -> None:
    region.put_deliveries(
        died(an_exhausted_delivery(customer_id="c-1"), 2.5),
        died(an_exhausted_delivery(customer_id="c-2"), 1),
        died(an_exhausted_delivery(customer_id="c-3", channel=Channel.SMS), 1),
        died(an_exhausted_delivery(customer_id="c-4", period="2026-11-09"), 1),
        died(a_rejected_delivery(customer_id="c-5"), 2),
        a_delivery("c-6", status=Status.RETRYABLE),
        a_delivery("c-7", status=Status.ACCEPTED),
    )


def in_dead_letter_queue(region: Region, *rows: Delivery) -> None:
    for row in rows:
        body = DeliveryMessage.of(row).to_body()
        region.sqs.send_message(QueueUrl=dead_letter_url(row.delivery_id.channel), MessageBody=body)


def listed(told: Any) -> list[str]:
    return [one["delivery_id"].split(":")[1] for one in told["regions"]["us"]["dead_letters"]]


def records(region: Region) -> list[dict[str, Any]]:
    rows = [from_item(item) for item in region._scan(CONTROL)]
    return [row for row in rows if row["control_key"].startswith("audit#")]


# --- list ---


def test_dead_letters_are_counted_by_class_and_code_and_listed_oldest_first(desk: Desk) -> None:
    some_dead_letters(desk.us)
    in_dead_letter_queue(desk.us, an_exhausted_delivery(customer_id="c-1"))
    told = desk.digest("dead-letters", "list", "--json").json
    us = told["regions"]["us"]
    assert (us["total"], us["classes"]) == (5, {"rejected": 1, "exhausted": 4})
    assert us["groups"][0] == {
        "class": "exhausted",
        "channel": "email",
        "code": "ServiceUnavailable",
        "number": 3,
        "too_late": 0,
        "oldest": "2026-11-29T20:30:00.000Z",
    }
    assert listed(told)[:2] == ["c-1", "c-5"]
    assert us["messages"] == {"email": 1, "sms": 0, "webhook": 0}
    assert told["regions"]["eu"]["total"] == 0
    shown = desk.digest("dead-letters", "list").out
    assert shown.startswith("us: 5 dead letters: 1 rejected, 4 exhausted\n")
    assert "email dead-letter queue: 1 message; see `digest dlq peek email --region us`" in shown
    assert "eu: 0 dead letters" in shown


@pytest.mark.parametrize(
    ("options", "customers"),
    [
        (["--channel", "sms"], {"c-3"}),
        (["--class", "rejected"], {"c-5"}),
        (["--period", "2026-11-09"], {"c-4"}),
        (["--newer-than", "90min"], {"c-2", "c-3", "c-4"}),
        (["--older-than", "2h"], {"c-1", "c-5"}),
        (["--class", "exhausted", "--channel", "email", "--newer-than", "1d", "--older-than", "2h"], {"c-1"}),
    ],
)
def test_dead_letters_are_picked_by_channel_class_week_and_age(
    desk: Desk, options: list[str], customers: set[str]
) -> None:
    some_dead_letters(desk.us)
    assert set(listed(desk.digest("dead-letters", "list", *options, "--json").json)) == customers


@pytest.mark.parametrize("age", ["2", "0h", "2 h", "-1h", "2w"])
def test_an_age_that_says_nothing_is_refused_with_one_that_would(desk: Desk, age: str) -> None:
    told = desk.digest("dead-letters", "list", f"--older-than={age}")
    assert told.status == 2
    assert "30min, 2h or 3d" in told.err


# --- show ---


def test_the_story_of_a_dead_letter_stands_beside_its_message_and_what_moving_it_would_do(desk: Desk) -> None:
    row = an_exhausted_delivery(customer_id="c-2")
    desk.us.put_deliveries(row)
    in_dead_letter_queue(desk.us, an_exhausted_delivery(customer_id="c-1"), row)
    shown = desk.digest("dead-letters", "show", str(row.delivery_id)).out
    assert shown.startswith("digest:c-2:2026-11-16:email in us: dead letter\n")
    assert "  If moved   tried again, under the same id" in shown.splitlines()
    desk.clock.advance(A_MOMENT)
    told = desk.digest("dead-letters", "show", str(row.delivery_id), "--json").json
    assert told["failure"]["class"] == "exhausted"
    assert told["message"] == {"sent_at": "2026-11-29T23:00:00.000Z", "if_moved": "tried again, under the same id"}


def test_ages_that_leave_nothing_between_them_are_refused(desk: Desk) -> None:
    told = desk.digest("dead-letters", "list", "--newer-than", "2h", "--older-than", "1d")
    assert told.status == 2
    assert "--newer-than: must be more than --older-than" in " ".join(told.err.split())


def test_looking_for_a_message_takes_none_away(desk: Desk) -> None:
    row = an_exhausted_delivery(customer_id="c-2")
    desk.us.put_deliveries(row)
    in_dead_letter_queue(desk.us, *(an_exhausted_delivery(customer_id=f"c-1{n}") for n in range(12)))
    shown = desk.digest("dead-letters", "show", str(row.delivery_id)).out
    assert "not in the dead-letter queue, of which 12 messages could be looked at" in shown
    desk.clock.advance(A_MOMENT)
    assert len(desk.us.bodies(dead_letter_url("email"))) == 12


# --- redrive ---


def test_exhausted_deliveries_of_a_channel_are_sent_once_each_under_their_own_ids(
    desk: Desk, functions: Functions, clock: Clock
) -> None:
    boto3.client("sesv2").create_email_identity(EmailIdentity="digest@example.com")
    for number in range(3):
        desk.us.add(a_profile(f"c-{number}"), an_activity())
    rows = [an_exhausted_delivery(customer_id=f"c-{number}") for number in range(3)]
    desk.us.put_deliveries(*rows, a_rejected_delivery(customer_id="c-3"))
    in_dead_letter_queue(desk.us, *rows)
    told = desk.digest("redrive", *BY, "--channel", "email", "--yes", "3")
    assert told.status == 0, told.err
    assert told.out == (
        "3 deliveries redriven in us\n"
        f"  2026-11-29 23:00:00 UTC  redrive exhausted email (3), by {WHO}: INC-47: provider is back\n"
        "Messages of theirs in the dead-letter queue stay there; moving them does nothing more (`digest dlq move`)\n"
    )
    poller = LambdaPoller(desk.us.sqs, queue_url(Channel.EMAIL), functions.email.handler, clock)
    while poller.poll() is not None:
        pass
    after = desk.us.deliveries()
    assert [after[str(row.delivery_id)].status for row in rows] == [Status.ACCEPTED] * 3
    assert {after[str(row.delivery_id)].attempt for row in rows} == {7}
    assert after["digest:c-3:2026-11-16:email"].status is Status.DEAD_LETTER
    # What stayed in the dead-letter queue is moved back afterwards: the rows absorb it.
    with failing(desk.deployment.region("us").sqs, "ListMessageMoveTasks", refused("List", "InvalidAction")):
        assert desk.digest("dlq", "move", "email", *BY, "--yes", "3").status == 0
    while poller.poll() is not None:
        pass
    assert len(ses_backends[ACCOUNT][REGION].sent_messages) == 3
    assert desk.us.count(dead_letter_url("email")) == 0


def test_a_dry_run_says_how_many_and_changes_nothing(desk: Desk) -> None:
    some_dead_letters(desk.us)
    desk.us.put_deliveries(died(an_exhausted_delivery(customer_id="c-8", expires_at=LATER), 2))
    told = desk.digest("redrive", "--region", "us", "--dry-run")
    assert (
        told.out
        == "5 dead letters in us (5 exhausted); 1 of them too late, which end as expired; nothing was changed\n"
    )
    assert desk.digest("redrive", "--region", "us", "--dry-run", "--class", "rejected", "--json").json == {
        "data_region": "us",
        "would_redrive": 1,
        "too_late": 0,
        "changed": False,
    }
    assert {row.status for row in desk.us.deliveries().values()} == {
        Status.DEAD_LETTER,
        Status.RETRYABLE,
        Status.ACCEPTED,
    }
    assert (records(desk.us), desk.us.waiting_ids(Channel.EMAIL)) == ([], [])


def test_the_number_is_typed_and_a_wrong_one_changes_nothing(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    some_dead_letters(desk.us)
    monkeypatch.setattr("sys.stdin", io.StringIO("5\n"))
    wrong = desk.digest("redrive", *BY)
    assert (wrong.status, wrong.out.strip()) == (1, "")
    assert "5 confirmed, but the number is 4 now: look again; nothing was changed" in wrong.err
    assert records(desk.us) == []
    monkeypatch.setattr("sys.stdin", io.StringIO("4\n"))
    assert desk.digest("redrive", *BY).out.strip().startswith("4 deliveries redriven in us\n")


def test_a_rejected_delivery_is_opened_by_its_id_once_the_address_is_mended(desk: Desk) -> None:
    some_dead_letters(desk.us)
    told = desk.digest("redrive", "digest:c-5:2026-11-16:email", *BY, "--yes", "1", "--json").json
    assert (told["redriven"], told["action"]["what"]) == (1, "redrive digest:c-5:2026-11-16:email")
    assert desk.us.waiting_ids(Channel.EMAIL) == ["digest:c-5:2026-11-16:email"]
    row = desk.us.delivery("digest:c-5:2026-11-16:email")
    assert (row.status, row.attempt) == (Status.QUEUED, 1)


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (a_delivery("c-1", status=Status.ACCEPTED), "accepted, it is done"),
        (a_delivery("c-1", status=Status.EXPIRED), "expired, it is done"),
        (a_delivery("c-1", status=Status.RETRYABLE), "retryable, it comes by itself"),
    ],
)
def test_what_is_no_dead_letter_is_left_alone_and_says_so(desk: Desk, row: Delivery, says: str) -> None:
    desk.us.put_deliveries(row)
    told = desk.digest("redrive", str(row.delivery_id), *BY)
    assert told.out == f"{row.delivery_id} in us: {says}\n0 dead letters in us; nothing was changed\n"
    assert (told.status, desk.us.delivery(row.delivery_id).status) == (0, row.status)


def test_what_may_have_been_sent_is_not_redriven(desk: Desk) -> None:
    row = a_delivery("c-1", status=Status.UNCERTAIN)
    desk.us.put_deliveries(row)
    told = desk.digest("redrive", str(row.delivery_id), *BY)
    assert told.status == 1
    assert "may have been sent: find out, then settle it with `digest uncertain resolve`" in told.err


def test_a_redrive_is_on_record_with_who_why_and_how_many_it_came_to(desk: Desk) -> None:
    some_dead_letters(desk.us)
    one = desk.us.delivery("digest:c-1:2026-11-16:email")

    def an_event_comes() -> None:
        desk.us.put_deliveries(confirmed(one, "ses-1", at=LATER))

    with just_before(desk.deployment.region("us").dynamodb, "UpdateItem", an_event_comes):
        told = desk.digest("redrive", *BY, "--class", "exhausted", "--yes", "4")
    assert "1 no dead letter any more when its turn came: left alone" in told.out
    (record,) = records(desk.us)
    assert (record["who"], record["what"], record["why"], record["how_many"]) == (
        WHO,
        "redrive exhausted",
        "INC-47: provider is back",
        3,
    )


def test_nothing_is_redriven_that_cannot_be_put_on_record(desk: Desk) -> None:
    some_dead_letters(desk.us)
    with failing(desk.deployment.region("us").dynamodb, "PutItem", refused("PutItem", "AccessDeniedException")):
        told = desk.digest("redrive", *BY, "--yes", "4")
    assert told.status == 1
    assert desk.us.waiting_ids(Channel.EMAIL) == []


def test_an_interrupted_redrive_says_how_far_it_came_and_goes_on_where_it_was(desk: Desk) -> None:
    desk.us.put_deliveries(*(an_exhausted_delivery(customer_id=f"c-{number}") for number in range(5)))

    def ctrl_c() -> None:
        raise KeyboardInterrupt

    desk.meanwhile = ctrl_c
    told = desk.digest("redrive", *BY, "--yes", "5", "--rate", "2")
    assert told.status != 0
    assert told.out.startswith("2 deliveries redriven in us\n3 left as before: run it again\n")
    assert [one["how_many"] for one in records(desk.us)] == [2]
    desk.meanwhile = lambda: None
    assert desk.digest("redrive", *BY, "--yes", "3").out.startswith("3 deliveries redriven")
    assert len(desk.us.waiting_ids(Channel.EMAIL)) == 5


def test_an_id_that_sqs_does_not_take_is_left_to_the_reconciler(desk: Desk) -> None:
    some_dead_letters(desk.us)
    with failing(desk.deployment.region("us").sqs, "SendMessageBatch", refused("SendMessageBatch")):
        told = desk.digest("redrive", *BY, "--channel", "email", "--yes", "3")
    assert told.status == 1
    assert "3 of them were not taken by their queue; the reconciler brings them within minutes" in told.err
    assert desk.us.delivery("digest:c-2:2026-11-16:email").status is Status.QUEUED


def test_what_is_redriven_too_late_ends_as_expired(desk: Desk) -> None:
    desk.us.put_deliveries(an_exhausted_delivery(customer_id="c-1"))
    desk.clock.move_to(SUNDAY_EVENING + EXPIRES_AFTER)
    told = desk.digest("redrive", *BY, "--yes", "1")
    assert told.out.startswith("0 deliveries redriven in us\n1 too late: ended as expired\n")
    assert desk.us.delivery("digest:c-1:2026-11-16:email").status is Status.EXPIRED


def test_a_redrive_into_a_halted_channel_says_that_it_waits(desk: Desk) -> None:
    some_dead_letters(desk.us)
    desk.digest("channels", "pause", "email", *BY)
    told = desk.digest("redrive", *BY, "--channel", "email", "--yes", "3")
    assert "email is halted: what is redriven waits until it sends again" in told.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["redrive", "--region", "us"], "say what was mended"),
        (["redrive", "digest:c-1:2026-11-16:email", *BY, "--channel", "email"], "leave the other options out"),
        (["redrive", *BY, "--period", "2026-11-17"], "is no Monday"),
        (["redrive", *BY, "--rate", "0"], "0.1"),
        (["redrive", "--reason", "INC-47"], "--region"),
    ],
)
def test_a_redrive_that_makes_no_sense_says_what_would(desk: Desk, arguments: list[str], says: str) -> None:
    some_dead_letters(desk.us)
    told = desk.digest(*arguments)
    assert (told.status, records(desk.us)) == (2, [])
    assert says in re.sub(r"\s+", " ", told.err.replace("│", " "))


@pytest.mark.parametrize("command", [["dead-letters", "list"], ["dead-letters", "show", "digest:c-1:2026-11-16:email"]])
def test_every_table_fits_eighty_columns_and_shows_no_address(
    desk: Desk, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    some_dead_letters(desk.us)
    desk.us.add(a_profile("c-1"))
    told = re.sub("\x1b\\[[0-9;]*m", "", desk.digest(*command).out)
    assert max(len(line) for line in told.splitlines()) <= 80
    assert EMAIL_ADDRESS not in told
