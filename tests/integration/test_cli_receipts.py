"""An operator looks at what became of a delivery, and has a channel written to again."""

from __future__ import annotations

from datetime import timedelta

import pytest

from functions.adapters.audit import AuditTrail
from functions.adapters.suppressions import DynamoSuppressions
from functions.core.delivery import Receipt, ReceiptState, SkipReason, Status
from functions.core.identity import Channel
from functions.core.receipts import SuppressionCause
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.environment import CONTROL, CUSTOMERS
from tests.fakes.examples import CUSTOMER, EMAIL_ADDRESS, a_delivery, a_profile
from tests.integration.faults import answer_lost
from tests.integration.operators_desk import Desk, FakeLambda, a_second_region
from tests.integration.region import Clock, Functions, Region

BOUNCED = Receipt(ReceiptState.BOUNCED, SUNDAY_EVENING, "Permanent/General/5.1.1")
CLEAR = ("suppressions", "clear", "--customer", CUSTOMER, "--channel", "email", "--reason", "mailbox mended")
WHO = "arn:aws:sts::123456789012:user/moto"


@pytest.fixture
def desk(region: Region, functions: Functions, clock: Clock, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(region, a_second_region(), FakeLambda(functions.planner.handler, clock), clock, capsys)


def a_suppressed_customer(desk: Desk, cause: SuppressionCause = SuppressionCause.HARD_BOUNCE) -> DynamoSuppressions:
    desk.eu.add(a_profile())
    suppressions = DynamoSuppressions(desk.eu.dynamodb, CUSTOMERS)
    suppressions.suppress(CUSTOMER, Channel.EMAIL, cause, at=SUNDAY_EVENING, code="-")
    return suppressions


def test_a_delivery_that_came_back_says_so_and_why(desk: Desk) -> None:
    row = a_delivery(status=Status.ACCEPTED, attempt=1, accepted_at=SUNDAY_EVENING, receipt=BOUNCED)
    desk.eu.put_deliveries(row)
    shown = desk.digest("show", str(row.delivery_id)).out
    assert "  Receipt    bounced, 2026-11-29 20:00:00 UTC (Permanent/General/5.1.1)" in shown.splitlines()
    assert desk.digest("show", str(row.delivery_id), "--json").json["receipt"] == {
        "state": "bounced",
        "code": "Permanent/General/5.1.1",
        "at": "2026-11-29T20:00:00.000Z",
    }


def test_a_delivery_of_which_nothing_was_heard_shows_no_receipt(desk: Desk) -> None:
    row = a_delivery(status=Status.ACCEPTED, attempt=1, accepted_at=SUNDAY_EVENING)
    desk.eu.put_deliveries(row)
    assert "Receipt" not in desk.digest("show", str(row.delivery_id)).out
    assert desk.digest("show", str(row.delivery_id), "--json").json["receipt"] is None


def test_a_suppression_is_lifted_and_an_older_bounce_does_not_bring_it_back(desk: Desk) -> None:
    suppressions = a_suppressed_customer(desk)
    desk.clock.advance(timedelta(hours=1))
    lifted = desk.digest(*CLEAR)
    assert lifted.out == (
        "c-417 in eu: email is written to again (was suppressed: hard_bounce)\n"
        f"  2026-11-29 21:00:00 UTC  clear suppression c-417 email, by {WHO}: mailbox mended\n"
    )
    assert [one.why for one in AuditTrail(desk.eu.dynamodb, CONTROL).latest(5)] == ["mailbox mended"]
    old = SUNDAY_EVENING + timedelta(minutes=30)
    assert not suppressions.suppress(CUSTOMER, Channel.EMAIL, SuppressionCause.HARD_BOUNCE, at=old, code="-")


def test_a_suppression_lifted_while_the_answer_was_lost_is_told_as_lifted_and_on_record(desk: Desk) -> None:
    a_suppressed_customer(desk)
    with answer_lost(desk.deployment.region("eu").dynamodb, "UpdateItem"):
        assert desk.digest(*CLEAR).out.startswith("c-417 in eu: email is written to again")
    assert len(AuditTrail(desk.eu.dynamodb, CONTROL).latest(5)) == 1


def test_what_is_not_suppressed_is_left_as_it_is(desk: Desk) -> None:
    desk.eu.add(a_profile())
    assert desk.digest(*CLEAR).out == "c-417 in eu: email is not suppressed; nothing was changed\n"
    assert desk.digest(*CLEAR, "--json").json == {
        "customer_id": "c-417",
        "data_region": "eu",
        "channel": "email",
        "lifted": False,
        "cause": None,
        "action": None,
    }


def test_nobody_takes_back_a_stop_for_somebody_else(desk: Desk) -> None:
    a_suppressed_customer(desk, SuppressionCause.STOP)
    refused = desk.digest(*CLEAR)
    assert refused.status == 1
    assert "email: c-417 has said STOP, which nobody takes back for them" in refused.err
    assert desk.digest("show", "--customer", CUSTOMER, "--json").json["channels"]["email"]["suppressed"] == "stop"


def test_an_address_for_an_id_is_refused_without_being_repeated(desk: Desk) -> None:
    refused = desk.digest("suppressions", "list", "--customer", "canary@example.com")
    assert refused.status == 2
    assert "canary" not in refused.out + refused.err


def test_a_customer_s_suppressions_are_listed_with_their_cause_their_time_and_the_code(desk: Desk) -> None:
    a_suppressed_customer(desk)
    assert desk.digest("suppressions", "list", "--customer", CUSTOMER, "--json").json == {
        "regions": {
            "eu": [
                {
                    "customer_id": "c-417",
                    "channel": "email",
                    "cause": "hard_bounce",
                    "since": "2026-11-29T20:00:00.000Z",
                    "code": "-",
                }
            ]
        }
    }
    assert desk.digest("suppressions", "list", "--customer", CUSTOMER, "--channel", "sms").out == (
        "eu, c-417: 0 channels suppressed\n"
    )


def test_a_week_s_suppressed_customers_are_found_by_what_was_skipped(desk: Desk) -> None:
    a_suppressed_customer(desk)
    desk.eu.add(a_profile("c-500"))
    desk.eu.put_deliveries(
        a_delivery(status=Status.SKIPPED, skip_reason=SkipReason.SUPPRESSED),
        a_delivery("c-500", status=Status.SKIPPED, skip_reason=SkipReason.SUPPRESSED),  # cleared since
        a_delivery("c-600", status=Status.SKIPPED, skip_reason=SkipReason.EMPTY),
    )
    told = desk.digest("suppressions", "list", "--json").json["regions"]
    assert [(one["customer_id"], one["channel"]) for one in told["eu"]] == [("c-417", "email")]
    assert told["us"] == []
    shown = desk.digest("suppressions", "list", "--region", "eu").out
    assert shown.startswith("eu, week 2026-11-16 to 2026-11-22: 1 channel suppressed\n")
    assert EMAIL_ADDRESS not in shown
    other = desk.digest("suppressions", "list", "--region", "eu", "--period", "2026-11-09", "--json").json
    assert other["regions"]["eu"] == []
