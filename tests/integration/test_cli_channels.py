"""An operator stops a channel, sees that it is stopped, and lets it go on."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import boto3
import pytest
from moto.ses.models import ses_backends

from functions import names
from functions.adapters.items import from_item
from functions.adapters.traffic import DynamoTraffic
from functions.core.delivery import Status
from functions.core.identity import Channel
from functions.core.message import DeliveryMessage
from functions.core.traffic import Gate
from ops.deployment import Deployment
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.environment import ACCOUNT, CONTROL, REGION, queue_url
from tests.fakes.examples import a_delivery, a_profile, an_activity
from tests.fakes.lambda_context import FakeLambdaContext
from tests.integration.faults import answer_lost, failing, just_before, refused
from tests.integration.lambda_poller import LambdaPoller
from tests.integration.operators_desk import Desk, FakeLambda, RegionAtHand, a_second_region
from tests.integration.region import Clock, Functions, Region

WHO = "arn:aws:sts::123456789012:user/moto"
PAUSE = ("channels", "pause", "email", "--region", "us", "--reason", "INC-47: wrong prices")
RESUME = ("channels", "resume", "email", "--region", "us")
PAUSED = Gate(halted_at=SUNDAY_EVENING, cause="INC-47: wrong prices")


class Staffed(RegionAtHand):
    """A region whose consumers say at which pace they send."""

    def consumer_variables(self, channel: str) -> Mapping[str, str]:
        return {names.ENV_RATE_PER_SECOND: {"email": "14", "sms": "20", "webhook": "0.5"}[channel]}


@pytest.fixture
def desk(region: Region, functions: Functions, clock: Clock, capsys: pytest.CaptureFixture[str]) -> Desk:
    desk = Desk(region, a_second_region(), FakeLambda(functions.planner.handler, clock), clock, capsys)
    desk.deployment = Deployment([Staffed("us", "us-east-1", desk.planner), Staffed("eu", "eu-west-1", desk.planner)])
    return desk


def gate(region: Region, channel: Channel = Channel.EMAIL) -> Gate:
    return DynamoTraffic(region.dynamodb, CONTROL).gate(channel)


def records(region: Region) -> list[dict[str, Any]]:
    rows = [from_item(item) for item in region._scan(CONTROL)]
    return [row for row in rows if row[names.CONTROL_KEY].startswith("audit#")]


# --- list ---


def test_channels_are_listed_with_their_gates_their_pace_and_what_waits(desk: Desk) -> None:
    traffic = DynamoTraffic(desk.us.dynamodb, CONTROL)
    traffic.halt(Channel.EMAIL, at=SUNDAY_EVENING, cause="NotVerified")
    traffic.close(Channel.SMS, until=SUNDAY_EVENING + timedelta(hours=1), cause="ServiceQuotaExceededException")
    desk.us.put_deliveries(
        *(a_delivery(f"c-{number}", status=Status.RETRYABLE) for number in range(3)),
        a_delivery("c-4"),
        a_delivery("c-5", channel=Channel.SMS, status=Status.QUEUED),
        a_delivery("c-6", status=Status.ACCEPTED),
    )
    told = desk.digest("channels", "list", "--region", "us", "--json").json["regions"]["us"]
    assert told["channels"]["email"] == {
        "gate": "halted",
        "halted_at": "2026-11-29T20:00:00.000Z",
        "closed_until": None,
        "cause": "NotVerified",
        "rate_per_second": 14.0,
        "on_the_way": 1,
        "waiting": 3,
    }
    shown = desk.digest("channels", "list").out
    assert shown.startswith("us: email, sms is stopped\n")
    assert "email is halted since 2026-11-29 20:00:00 UTC (NotVerified)" in shown
    assert "sms is closed until 2026-11-29 21:00:00 UTC (ServiceQuotaExceededException)" in shown
    assert "eu: nothing is stopped" in shown


def test_the_list_fits_eighty_columns(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    desk.digest(*PAUSE)
    told = re.sub("\x1b\\[[0-9;]*m", "", desk.digest("channels", "list").out)
    assert max(len(line) for line in told.splitlines()) <= 80


# --- pause ---


def test_a_pause_halts_one_channel_of_one_region_and_says_by_whom_and_how_to_undo_it(desk: Desk) -> None:
    told = desk.digest(*PAUSE)
    assert told.out == (
        "email in us: paused. The batches in hand are still sent, and nothing after them\n"
        f"  2026-11-29 20:00:00 UTC  pause email, by {WHO}: INC-47: wrong prices\n"
        "Undo: digest channels resume email --region us\n"
    )
    assert gate(desk.us) == PAUSED
    assert gate(desk.us, Channel.SMS) == gate(desk.eu) == Gate()
    assert "INC-47: wrong prices" in desk.digest("channels", "list", "--region", "us").out


def test_a_pause_is_on_record_for_a_year(desk: Desk) -> None:
    desk.digest(*PAUSE)
    (row,) = records(desk.us)
    assert (row["at"], row["who"], row["what"], row["why"]) == (
        "2026-11-29T20:00:00.000Z",
        WHO,
        "pause email",
        "INC-47: wrong prices",
    )
    assert row[names.TTL] == int((SUNDAY_EVENING + timedelta(days=365)).timestamp())


def test_a_channel_that_is_halted_already_stays_as_it_is(desk: Desk) -> None:
    DynamoTraffic(desk.us.dynamodb, CONTROL).halt(Channel.EMAIL, at=SUNDAY_EVENING, cause="NotVerified")
    assert desk.digest(*PAUSE).out == (
        "email in us: halted since 2026-11-29 20:00:00 UTC (NotVerified); nothing was changed\n"
    )
    assert desk.digest(*PAUSE, "--json").json["changed"] is False
    assert records(desk.us) == []


def test_a_channel_is_stopped_even_if_nobody_can_write_down_by_whom(desk: Desk) -> None:
    with failing(desk.deployment.region("us").dynamodb, "PutItem", refused("PutItem", "AccessDeniedException")):
        told = desk.digest(*PAUSE)
    assert told.status == 1
    assert told.err == (
        "digest: paused, but nothing of it is on record: AWS refused PutItem (AccessDeniedException): use a role that "
        "may do it\n"
    )
    assert gate(desk.us) == PAUSED


def test_a_pause_and_a_resumption_whose_answers_are_lost_are_told_as_done_and_on_record(desk: Desk) -> None:
    dynamodb = desk.deployment.region("us").dynamodb
    # The role of the receipts, whose brake halts channels, too, may write a gate and not read it.
    with answer_lost(dynamodb, "UpdateItem"), failing(dynamodb, "GetItem", refused("GetItem", "AccessDeniedException")):
        assert desk.digest(*PAUSE).out.startswith("email in us: paused.")
    assert gate(desk.us) == PAUSED
    desk.clock.advance(timedelta(minutes=5))
    with answer_lost(dynamodb, "UpdateItem"):
        assert desk.digest(*RESUME, "--yes").out.startswith("email in us: resumed.")
    assert gate(desk.us) == Gate()
    assert sorted(row["what"] for row in records(desk.us)) == ["pause email", "resume email"]


@pytest.mark.parametrize("reason", ["ask anna@example.com", "call +1 (202) 555-0123", " ", "two\nlines", "x" * 201])
def test_a_reason_that_could_be_about_a_person_or_says_nothing_is_refused(desk: Desk, reason: str) -> None:
    told = desk.digest("channels", "pause", "email", "--region", "us", "--reason", reason)
    assert (told.status, gate(desk.us)) == (2, Gate())
    assert "anna" not in told.err
    assert "202" not in told.err


def test_a_pause_without_a_reason_or_a_region_is_refused(desk: Desk) -> None:
    assert desk.digest(*PAUSE[:-2]).status == 2
    assert desk.digest("channels", "pause", "email", "--reason", "INC-47").status == 2
    assert gate(desk.us) == Gate()


# --- resume ---


def test_a_channel_is_resumed_once_somebody_says_that_its_cause_is_mended(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.digest(*PAUSE)
    desk.us.put_deliveries(a_delivery(status=Status.RETRYABLE))
    desk.clock.advance(timedelta(minutes=5))
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    asked = desk.digest(*RESUME)
    assert asked.status == 1
    assert asked.err.startswith(
        "email in us: halted since 2026-11-29 20:00:00 UTC (INC-47: wrong prices); 1 delivery waits, 14 a second\n"
    )
    assert gate(desk.us) == PAUSED
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert desk.digest(*RESUME, "--reason", "prices mended").status == 0
    assert gate(desk.us) == Gate()
    last = desk.digest("channels", "list", "--region", "us", "--json").json["regions"]["us"]["last_actions"]
    assert [(one["what"], one["why"]) for one in last] == [
        ("resume email", "prices mended"),
        ("pause email", "INC-47: wrong prices"),
    ]


def test_what_had_halted_a_channel_is_on_record_where_nobody_says_what_was_mended(desk: Desk) -> None:
    DynamoTraffic(desk.us.dynamodb, CONTROL).halt(Channel.EMAIL, at=SUNDAY_EVENING, cause="NotVerified")
    told = desk.digest(*RESUME, "--yes", "--json").json
    assert told == {
        "data_region": "us",
        "channel": "email",
        "changed": True,
        "action": {
            "at": "2026-11-29T20:00:00.000Z",
            "who": WHO,
            "what": "resume email",
            "why": "it was halted since 2026-11-29 20:00:00 UTC (NotVerified)",
            "how_many": None,
        },
    }


def test_a_channel_that_is_halted_anew_while_somebody_resumes_it_stays_halted(desk: Desk) -> None:
    desk.digest(*PAUSE)
    traffic = DynamoTraffic(desk.us.dynamodb, CONTROL)

    def meanwhile() -> None:
        traffic.resume(Channel.EMAIL)
        traffic.halt(Channel.EMAIL, at=SUNDAY_EVENING + timedelta(seconds=1), cause="AccessDenied")

    with just_before(desk.deployment.region("us").dynamodb, "UpdateItem", meanwhile):
        told = desk.digest(*RESUME, "--yes")
    assert told.status == 1
    assert told.err.endswith("digest: email in us has changed meanwhile; nothing was changed\n")
    assert gate(desk.us).cause == "AccessDenied"
    assert len(records(desk.us)) == 1


def test_an_open_channel_is_not_resumed_and_nobody_is_asked(desk: Desk) -> None:
    assert desk.digest(*RESUME).out == "email in us: open; nothing was changed\n"
    assert records(desk.us) == []


# --- what it does to the messages ---


def test_a_channel_stopped_in_the_middle_of_a_run_goes_on_where_it_was_and_sends_each_once(
    desk: Desk, functions: Functions, clock: Clock
) -> None:
    boto3.client("sesv2").create_email_identity(EmailIdentity="digest@example.com")
    poller = LambdaPoller(desk.us.sqs, queue_url(Channel.EMAIL), functions.email.handler, clock, batch_size=4)
    for number in range(12):
        row = a_delivery(f"c-{number}", status=Status.QUEUED, enqueued_at=SUNDAY_EVENING)
        desk.us.add(a_profile(f"c-{number}"), an_activity())
        desk.us.put_deliveries(row)
        desk.us.sqs.send_message(QueueUrl=queue_url(Channel.EMAIL), MessageBody=DeliveryMessage.of(row).to_body())
    poller.poll()
    desk.digest(*PAUSE)
    while poller.poll() is not None:
        pass
    sent = ses_backends[ACCOUNT][REGION].sent_messages
    assert len(sent) == 4
    assert [row.attempt for row in desk.us.deliveries().values() if row.status is Status.RETRYABLE] == [0] * 8
    desk.digest(*RESUME, "--yes")
    clock.advance(timedelta(minutes=1))
    functions.reconciler.handler({}, FakeLambdaContext(clock, timeout=timedelta(seconds=50)))
    while poller.poll() is not None:
        pass
    assert {row.status for row in desk.us.deliveries().values()} == {Status.ACCEPTED}
    assert len(sent) == 12
