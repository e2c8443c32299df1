"""An operator looks at what became of a delivery, and has a channel written to again."""

from __future__ import annotations

from datetime import timedelta

import pytest

from functions.adapters.suppressions import DynamoSuppressions
from functions.core.delivery import Receipt, ReceiptState, Status
from functions.core.identity import Channel
from functions.core.receipts import SuppressionCause
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.environment import CUSTOMERS
from tests.fakes.examples import CUSTOMER, a_delivery, a_profile
from tests.integration.operators_desk import Desk, FakeLambda, a_second_region
from tests.integration.region import Clock, Functions, Region

BOUNCED = Receipt(ReceiptState.BOUNCED, SUNDAY_EVENING, "Permanent/General/5.1.1")
UNSUPPRESS = ("unsuppress", "--customer", CUSTOMER, "--channel", "email")


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
    lifted = desk.digest(*UNSUPPRESS)
    assert lifted.out == "c-417 in eu: email is written to again (was suppressed: hard_bounce)\n"
    old = SUNDAY_EVENING + timedelta(minutes=30)
    assert not suppressions.suppress(CUSTOMER, Channel.EMAIL, SuppressionCause.HARD_BOUNCE, at=old, code="-")


def test_what_is_not_suppressed_is_left_as_it_is(desk: Desk) -> None:
    desk.eu.add(a_profile())
    assert desk.digest(*UNSUPPRESS).out == "c-417 in eu: email is not suppressed; nothing was changed\n"
    assert desk.digest(*UNSUPPRESS, "--json").json == {
        "customer_id": "c-417",
        "data_region": "eu",
        "channel": "email",
        "lifted": False,
        "cause": None,
    }


def test_nobody_takes_back_a_stop_for_somebody_else(desk: Desk) -> None:
    a_suppressed_customer(desk, SuppressionCause.STOP)
    refused = desk.digest(*UNSUPPRESS)
    assert refused.status == 1
    assert "email: c-417 has said STOP, which nobody takes back for them" in refused.err
    assert desk.digest("show", "--customer", CUSTOMER, "--json").json["channels"]["email"]["suppressed"] == "stop"


def test_an_address_for_an_id_is_refused_without_being_repeated(desk: Desk) -> None:
    refused = desk.digest("unsuppress", "--customer", "canary@example.com", "--channel", "email")
    assert refused.status == 2
    assert "canary" not in refused.out + refused.err
