"""The last gate of a staging deployment, and how a function learns of it."""

from __future__ import annotations

import pytest

from functions import names
from functions.adapters.environment import ConsumerEnvironment, EnvironmentFaultError
from functions.adapters.providers.allow_listed import only_to
from functions.core.allow_list import AllowList
from functions.core.envelope import EmailEnvelope
from functions.core.identity import Channel
from functions.core.outcome import OutcomeClass
from tests.fakes.environment import ENVIRONMENT, channel_environment
from tests.fakes.examples import EMAIL_ADDRESS, a_delivery
from tests.fakes.providers import FakeProvider

EMAIL = EmailEnvelope(to=EMAIL_ADDRESS, sender="digest@example.com", subject="s", html="h", text="t")


def environment(**variables: str) -> ConsumerEnvironment:
    return ConsumerEnvironment.load(ENVIRONMENT | channel_environment(Channel.SMS) | variables)


def test_what_is_not_on_the_list_never_reaches_the_provider() -> None:
    provider = FakeProvider()
    outcome = only_to(AllowList(("*@qa.example.com",)), provider).send(a_delivery(), EMAIL)
    assert (outcome.outcome, outcome.code) == (OutcomeClass.REJECTED, "not_on_allow_list")
    assert provider.calls == []


def test_what_is_on_the_list_is_sent_by_the_provider_under_its_own_name() -> None:
    provider = FakeProvider()
    guarded = only_to(AllowList((EMAIL_ADDRESS,)), provider)
    assert guarded.send(a_delivery(), EMAIL).outcome is OutcomeClass.ACCEPTED
    assert (guarded.name, guarded.guarantee) == (provider.name, provider.guarantee)


def test_production_has_no_gate() -> None:
    provider = FakeProvider()
    assert only_to(None, provider) is provider


def test_a_function_reads_quiet_hours_and_recipients_as_the_stacks_write_them() -> None:
    staging = environment(**{names.ENV_QUIET_HOURS: "21:00-08:00", names.ENV_RECIPIENTS: '["*@example.com"]'})
    assert str(staging.quiet_hours) == "21:00-08:00"
    assert staging.recipients == AllowList(("*@example.com",))
    production = environment(**{names.ENV_QUIET_HOURS: "", names.ENV_RECIPIENTS: "null"})
    assert (production.quiet_hours, production.recipients) == (None, None)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (names.ENV_QUIET_HOURS, "late"),
        (names.ENV_RECIPIENTS, "[]"),
        (names.ENV_RECIPIENTS, '["*"]'),
        (names.ENV_RECIPIENTS, '"qa@example.com"'),
        (names.ENV_RECIPIENTS, "qa@example.com"),
    ],
)
def test_a_gate_that_cannot_be_read_stops_the_function_and_shows_no_address(name: str, value: str) -> None:
    with pytest.raises(EnvironmentFaultError, match=name) as fault:
        environment(**{name: value})
    assert "qa@" not in str(fault.value)


def test_the_environment_shows_no_address() -> None:
    assert "secret-tester" not in repr(environment(**{names.ENV_RECIPIENTS: '["secret-tester@example.com"]'}))
