"""An operator looks after a customer's endpoint: how it does, its secret, and that it is called again."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from standardwebhooks.webhooks import Webhook

from functions.adapters.audit import AuditTrail
from functions.adapters.endpoints import DynamoEndpoints
from functions.core.identity import Channel
from functions.core.webhook_endpoint import DisabledBecause, Health, WebhookEndpoint, address_mark
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.environment import CONTROL, CUSTOMERS
from tests.fakes.examples import AN_ENDPOINT, CUSTOMER, WEBHOOK_SECRET, WEBHOOK_URL, a_profile
from tests.integration.faults import answer_lost
from tests.integration.operators_desk import Desk, FakeLambda, a_second_region
from tests.integration.region import Clock, Functions, Region

FAILING = Health(
    address_mark(WEBHOOK_URL),
    failures=4,
    failing_since=SUNDAY_EVENING - timedelta(hours=3),
    last_failure_at=SUNDAY_EVENING,
    last_code="timed_out",
)
GONE = replace(FAILING, last_code="gone", disabled_at=SUNDAY_EVENING, disabled_because=DisabledBecause.GONE)


@pytest.fixture
def desk(region: Region, functions: Functions, clock: Clock, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(region, a_second_region(), FakeLambda(functions.planner.handler, clock), clock, capsys)


def held(desk: Desk) -> WebhookEndpoint:
    endpoint = DynamoEndpoints(desk.eu.dynamodb, CUSTOMERS).read(CUSTOMER)
    assert endpoint is not None
    return endpoint


def a_customer(desk: Desk, health: Health | None = None) -> None:
    desk.eu.add(a_profile(webhook=replace(AN_ENDPOINT, health=health or Health())))


def test_an_endpoint_that_is_well_is_shown_in_two_lines(desk: Desk) -> None:
    a_customer(desk)
    assert desk.digest("webhooks", "show", "--customer", CUSTOMER).out.splitlines() == [
        "c-417 in eu: https://hooks.example.com/***",
        "  Endpoint  called; no failure since its last success",
        "  Signed    with 1 secret",
    ]


def test_an_endpoint_that_rests_says_until_when_and_why(desk: Desk) -> None:
    a_customer(desk, FAILING)
    shown = desk.digest("webhooks", "show", "--customer", CUSTOMER).out
    assert "left alone until 2026-11-29 20:02:00 UTC; 4 failures in a row since 2026-11-29 17:00:00 UTC" in shown
    told = desk.digest("webhooks", "show", "--customer", CUSTOMER, "--json").json
    assert (told["state"], told["rests_until"]) == ("resting", "2026-11-29T20:02:00.000Z")


def test_a_disabled_endpoint_says_why_and_the_way_back(desk: Desk) -> None:
    a_customer(desk, GONE)
    shown = desk.digest("webhooks", "show", "--customer", CUSTOMER).out
    assert "disabled since 2026-11-29 20:00:00 UTC: it answered 410 Gone" in shown
    assert "digest webhooks enable --customer c-417" in shown
    assert "canary" not in shown


def test_enabling_it_forgets_its_failures_and_is_not_needed_twice(desk: Desk) -> None:
    a_customer(desk, GONE)
    assert desk.digest("webhooks", "enable", "--customer", CUSTOMER).out == (
        "c-417 in eu: called again, from the next delivery on\n"
    )
    assert held(desk).health == Health(address_mark(WEBHOOK_URL))
    assert desk.digest("webhooks", "enable", "--customer", CUSTOMER, "--json").json["changed"] is False
    assert "nothing was changed" in desk.digest("webhooks", "enable", "--customer", CUSTOMER).out
    (action,) = AuditTrail(desk.eu.dynamodb, CONTROL).latest(5)
    assert (action.what, action.why) == (
        "enable endpoint c-417",
        "it was disabled since 2026-11-29 20:00:00 UTC: it answered 410 Gone",
    )


def test_the_customer_is_shown_with_the_endpoints_state(desk: Desk) -> None:
    a_customer(desk, GONE)
    shown = desk.digest("show", "--customer", CUSTOMER)
    assert "Webhook endpoint: disabled since 2026-11-29 20:00:00 UTC: it answered 410 Gone" in shown.out
    assert "https://hooks.example.com/***" in shown.out
    told = desk.digest("show", "--customer", CUSTOMER, "--json").json
    assert told["webhook_endpoint"]["disabled_because"] == "gone"
    assert WEBHOOK_SECRET not in shown.out + str(told)


def test_the_secret_is_printed_where_it_is_asked_for_and_alone_on_its_line(desk: Desk) -> None:
    a_customer(desk)
    told = desk.digest("webhooks", "secret", "--customer", CUSTOMER)
    assert (told.out, told.err, told.status) == (f"{WEBHOOK_SECRET}\n", "", 0)


def test_a_rotation_prints_the_new_secret_and_keeps_the_old_one_for_a_day(desk: Desk) -> None:
    a_customer(desk, FAILING)
    told = desk.digest("webhooks", "secret", "--customer", CUSTOMER, "--rotate")
    new = told.out.strip()
    assert re.fullmatch(r"whsec_[A-Za-z0-9+/]{43}=", new)
    Webhook(new)
    assert told.err.startswith("the last one signs too until 2026-11-30 20:00:00 UTC")
    assert held(desk).signing(SUNDAY_EVENING) == (new, WEBHOOK_SECRET)
    assert held(desk).health == FAILING
    (action,) = AuditTrail(desk.eu.dynamodb, CONTROL).latest(5)
    assert (action.what, action.why) == ("rotate secret c-417", "not said")
    again = desk.digest("webhooks", "secret", "--customer", CUSTOMER, "--json").json
    assert again == {"customer_id": CUSTOMER, "secret": new, "last_one_signs_until": "2026-11-30T20:00:00.000Z"}
    assert "with 2 secrets; the older one until 2026-11-30" in (
        desk.digest("webhooks", "show", "--customer", CUSTOMER).out
    )


def test_a_rotation_whose_answer_is_lost_prints_the_secret_that_is_kept_and_makes_no_second_one(desk: Desk) -> None:
    a_customer(desk)
    with answer_lost(desk.deployment.region("eu").dynamodb, "UpdateItem"):
        told = desk.digest("webhooks", "secret", "--customer", CUSTOMER, "--rotate")
    assert held(desk).signing(SUNDAY_EVENING) == (told.out.strip(), WEBHOOK_SECRET)
    assert len(AuditTrail(desk.eu.dynamodb, CONTROL).latest(5)) == 1


def test_a_change_that_somebody_else_made_first_is_told(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    a_customer(desk, GONE)
    monkeypatch.setattr("functions.adapters.endpoints.DynamoEndpoints._write", lambda *_: False)
    for command in (["enable"], ["secret", "--rotate"]):
        told = desk.digest("webhooks", *command, "--customer", CUSTOMER)
        assert told.status == 1
        assert told.err.startswith("digest: the endpoint was changed by somebody else just now")
        assert told.out == ""


@pytest.mark.parametrize("command", ["show", "enable", "secret"])
def test_a_customer_without_an_endpoint_is_told_how_to_get_one(desk: Desk, command: str) -> None:
    desk.us.add(a_profile(addresses={Channel.EMAIL: "canary.person@example.com"}))
    told = desk.digest("webhooks", command, "--customer", CUSTOMER)
    assert told.status == 1
    assert told.err == ("digest: c-417 in us has no webhook endpoint: import the customer with a webhook_url\n")


@pytest.mark.parametrize("command", ["show", "enable", "secret"])
def test_an_unknown_customer_is_told_so(desk: Desk, command: str) -> None:
    told = desk.digest("webhooks", command, "--customer", "c-404")
    assert told.status == 1
    assert "no customer c-404 in us or eu" in told.err


def test_an_import_makes_the_secret_and_never_prints_it(desk: Desk, tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text(
        "customer_id,data_region,time_zone,webhook_url,webhook_consent,digest_weekday,digest_time\n"
        f"{CUSTOMER},eu,Europe/Berlin,{WEBHOOK_URL},opted_in,mon,09:30\n"
    )
    told = desk.digest("customers", "import", str(file))
    assert told.status == 0, told.err
    (secret,) = held(desk).signing(SUNDAY_EVENING)
    assert secret not in told.out + told.err
    desk.digest("customers", "import", str(file))
    assert held(desk).signing(SUNDAY_EVENING) == (secret,)
    schedule = desk.eu.customer_row(CUSTOMER, "SCHEDULE#digest")
    assert schedule["channels"] == ["webhook"]
