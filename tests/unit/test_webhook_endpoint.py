"""How an endpoint's answers add up: it rests, it is disabled, it is well again; and which secrets sign."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.core.outcome import Outcome, OutcomeClass
from functions.core.webhook_endpoint import (
    DISABLE_AFTER,
    LONGEST_REST,
    RESTS_FROM,
    DisabledBecause,
    Health,
    SigningSecret,
    WebhookEndpoint,
    address_mark,
    rotated,
)
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.examples import AN_ENDPOINT, WEBHOOK_SECRET, WEBHOOK_URL

FAILED = Outcome(OutcomeClass.UNKNOWN, "timed_out")
TAKEN = Outcome(OutcomeClass.ACCEPTED, "ok")
GONE = Outcome(OutcomeClass.REJECTED, "gone")
A_DAY = timedelta(days=1)


def after(*steps: tuple[Outcome, timedelta], health: Health | None = None) -> Health:
    """Health after outcomes, each so long after SUNDAY_EVENING."""
    health = health or Health(address_mark(WEBHOOK_URL))
    for outcome, since in steps:
        health = health.after(outcome, at=SUNDAY_EVENING + since, disable_after=DISABLE_AFTER)
    return health


def test_an_endpoint_that_is_gone_is_disabled_at_once() -> None:
    health = after((GONE, timedelta()))
    assert (health.disabled_at, health.disabled_because) == (SUNDAY_EVENING, DisabledBecause.GONE)


def test_days_of_failures_disable_an_endpoint_and_no_fewer() -> None:
    almost = after((FAILED, timedelta()), (FAILED, DISABLE_AFTER))
    assert almost.disabled_at is None
    health = after((FAILED, DISABLE_AFTER + timedelta(seconds=1)), health=almost)
    assert health.disabled_because is DisabledBecause.FAILING
    assert health.failing_since == SUNDAY_EVENING


def test_one_success_ends_all_that_was_held_against_it() -> None:
    failing = after((FAILED, timedelta()), (FAILED, 4 * A_DAY))
    assert after((TAKEN, 4 * A_DAY), health=failing) == Health(address_mark(WEBHOOK_URL))
    late = after((TAKEN, 4 * A_DAY), (FAILED, 8 * A_DAY), health=failing)
    assert (late.failures, late.disabled_at) == (1, None)


def test_a_failure_of_a_disabled_endpoint_does_not_move_the_time_at_which_it_was_disabled() -> None:
    health = after((GONE, timedelta()), (FAILED, 9 * A_DAY))
    assert (health.disabled_at, health.disabled_because) == (SUNDAY_EVENING, DisabledBecause.GONE)


def test_a_single_deliverys_first_retries_give_no_rest() -> None:
    health = after(*[(FAILED, timedelta())] * (RESTS_FROM - 1))
    assert health.rests_until(SUNDAY_EVENING) is None


@given(st.integers(RESTS_FROM, 10_000))
def test_rests_grow_with_the_failures_up_to_an_hour(failures: int) -> None:
    health = Health("", failures, SUNDAY_EVENING, last_failure_at=SUNDAY_EVENING, last_code="timed_out")
    until = health.rests_until(SUNDAY_EVENING)
    assert until is not None
    assert timedelta(minutes=1) <= until - SUNDAY_EVENING <= LONGEST_REST
    longer = replace(health, failures=failures + 1).rests_until(SUNDAY_EVENING)
    assert longer is not None
    assert longer >= until
    assert health.rests_until(until) is None


def test_a_new_address_starts_well_and_an_old_ones_failures_are_not_its_own() -> None:
    endpoint = replace(AN_ENDPOINT, health=after((GONE, timedelta())))
    assert endpoint.health_at(WEBHOOK_URL).disabled_at is not None
    assert endpoint.health_at("https://hooks.example.com/another") == Health(
        address_mark("https://hooks.example.com/another")
    )


def test_a_mark_tells_nothing_of_the_address() -> None:
    assert "hooks" not in address_mark(WEBHOOK_URL)
    assert len(address_mark(WEBHOOK_URL)) == 16


def test_two_secrets_sign_for_a_day_after_a_rotation_and_then_the_new_one_alone() -> None:
    endpoint = WebhookEndpoint(rotated(AN_ENDPOINT.secrets, "whsec_new", at=SUNDAY_EVENING))
    assert endpoint.signing(SUNDAY_EVENING) == ("whsec_new", WEBHOOK_SECRET)
    assert endpoint.signing(SUNDAY_EVENING + A_DAY - timedelta(seconds=1)) == ("whsec_new", WEBHOOK_SECRET)
    assert endpoint.signing(SUNDAY_EVENING + A_DAY) == ("whsec_new",)


def test_a_second_rotation_on_the_same_day_takes_no_secret_away_early() -> None:
    once = rotated(AN_ENDPOINT.secrets, "whsec_b", at=SUNDAY_EVENING)
    twice = WebhookEndpoint(rotated(once, "whsec_c", at=SUNDAY_EVENING + A_DAY / 2))
    assert twice.signing(SUNDAY_EVENING + A_DAY / 2) == ("whsec_c", "whsec_b", WEBHOOK_SECRET)
    assert twice.signing(SUNDAY_EVENING + A_DAY) == ("whsec_c", "whsec_b")


def test_secrets_that_have_ended_are_dropped_with_the_next_rotation() -> None:
    once = rotated(AN_ENDPOINT.secrets, "whsec_b", at=SUNDAY_EVENING)
    later = rotated(once, "whsec_c", at=SUNDAY_EVENING + 9 * A_DAY)
    assert [one.text for one in later] == ["whsec_c", "whsec_b"]


@pytest.mark.parametrize("shown", [AN_ENDPOINT, AN_ENDPOINT.secrets[0], SigningSecret(WEBHOOK_SECRET)])
def test_a_secret_that_lands_in_a_log_is_not_shown(shown: object) -> None:
    assert WEBHOOK_SECRET not in f"{shown} {shown!r}"
