"""The functions on a region in moto, and a clock that a test moves."""

from __future__ import annotations

import io
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType

import pytest
import time_machine
from botocore.config import Config
from moto import mock_aws

from functions import names
from functions.adapters import wiring
from functions.adapters.wiring import dynamodb, sqs
from functions.core.identity import Channel
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.environment import (
    CONTROL,
    CUSTOMERS,
    DELIVERIES,
    ENVIRONMENT,
    channel_environment,
    unsubscribe_environment,
)
from tests.integration.region import Clock, Functions, Region, make_key_rings, make_queues, make_table

pytest.register_assert_rewrite("tests.conformance", "tests.integration.lambda_poller")


@pytest.fixture(scope="session")
def functions() -> Iterator[Functions]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (ENVIRONMENT | unsubscribe_environment()).items():
            patch.setenv(name, value)
        # Full jitter may choose the whole pause, or hardly any; when a message comes back is not left to chance here.
        patch.setattr("random.uniform", lambda low, high: low + (high - low) / 2)
        # What we ask for is checked against the services' models here, and not in Lambda.
        checked = wiring.OWN_DATA.merge(Config(parameter_validation=True))
        patch.setattr(wiring, "OWN_DATA", checked)
        modules: dict[str, ModuleType] = {}
        for channel in Channel:
            for name, value in channel_environment(channel).items():
                patch.setenv(name, value)
            modules[str(channel)] = import_module(f"functions.{channel}.handler")
        yield Functions(
            planner=import_module("functions.planner.handler"),
            reconciler=import_module("functions.reconciler.handler"),
            email=modules["email"],
            sms=modules["sms"],
            webhook=modules["webhook"],
            telemetry=import_module("functions.adapters.telemetry"),
        )


@pytest.fixture
def clock() -> Iterator[Clock]:
    with time_machine.travel(SUNDAY_EVENING, tick=False) as traveller:
        yield Clock(traveller)


@pytest.fixture
def tables(functions: Functions) -> Iterator[Region]:  # noqa: ARG001 - sets the environment
    """A region without its queues."""
    with mock_aws():
        make_table(dynamodb(), CUSTOMERS, (names.CUSTOMER_ID, names.RECORD))
        make_table(dynamodb(), DELIVERIES, (names.DELIVERY_ID,))
        make_table(dynamodb(), CONTROL, (names.CONTROL_KEY,))
        make_key_rings()
        yield Region(dynamodb(), sqs())


@pytest.fixture
def region(tables: Region) -> Region:
    for channel in Channel:
        make_queues(tables.sqs, channel)
    return tables


@pytest.fixture
def log(functions: Functions) -> Iterator[io.StringIO]:
    """Everything that the functions log, a JSON object a line."""
    handler = functions.telemetry.logger.registered_handler
    lines = io.StringIO()
    before = handler.setStream(lines)
    yield lines
    handler.setStream(before)
