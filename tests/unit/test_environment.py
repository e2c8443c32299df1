"""A function that was deployed with an environment that it cannot run in says so at once."""

from __future__ import annotations

import pytest

from functions import names
from functions.adapters.environment import (
    ConsumerEnvironment,
    EnvironmentFaultError,
    PlannerEnvironment,
    ReconcilerEnvironment,
)
from functions.core.identity import Channel
from tests.fakes.environment import ENVIRONMENT, channel_environment

CONSUMER = ENVIRONMENT | channel_environment(Channel.EMAIL)


def test_each_function_reads_what_the_stacks_set() -> None:
    consumer = ConsumerEnvironment.load(CONSUMER)
    assert (consumer.channel, consumer.backoff_s, consumer.send_timeout_s) == (
        Channel.EMAIL,
        (30, 120, 600, 1800, 3600),
        5,
    )
    assert PlannerEnvironment.load(ENVIRONMENT).queue_urls[Channel.SMS].endswith("/sms")
    assert ReconcilerEnvironment.load(ENVIRONMENT).rates == dict.fromkeys(Channel, 1000)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (names.ENV_CHANNEL, "pigeon"),
        (names.ENV_BACKOFF_S, "30,soon"),
        (names.ENV_BACKOFF_S, "30,-1"),
        (names.ENV_SEND_TIMEOUT_S, "0"),
        (names.ENV_SHARDS, "0"),
        (names.ENV_RATE_PER_SECOND, "0"),
        (names.ENV_QUEUE_URL, ""),
        (names.ENV_DELIVERIES_TABLE, ""),
    ],
)
def test_a_wrong_variable_is_named_and_its_value_is_not_told(name: str, value: str) -> None:
    with pytest.raises(EnvironmentFaultError, match=name) as fault:
        ConsumerEnvironment.load(CONSUMER | {name: value})
    assert not value or f"'{value}'" not in str(fault.value).replace("'email'", "").replace("'sms'", "")


@pytest.mark.parametrize("name", [names.ENV_CUSTOMERS_TABLE, names.ENV_SHARDS, names.ENV_SENDER, names.ENV_SITE_URL])
def test_a_missing_variable_is_named(name: str) -> None:
    with pytest.raises(EnvironmentFaultError, match=f"{name}: Field required"):
        ConsumerEnvironment.load({key: value for key, value in CONSUMER.items() if key != name})


def test_variables_of_others_are_none_of_its_business() -> None:
    assert ConsumerEnvironment.load(CONSUMER | {"LANG": "C.UTF-8"}).shards == 2


def test_the_sender_is_not_shown() -> None:
    assert "digest@example.com" not in repr(ConsumerEnvironment.load(CONSUMER))
