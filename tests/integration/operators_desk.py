"""An operator at a terminal: two data regions in moto, and a planner that runs when it is invoked."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

import boto3
import pytest

from functions import names
from functions.core.identity import Channel
from ops.cli import main
from ops.cli.workplace import Workplace
from ops.deployment import Deployment, RegionDeployment
from tests.fakes.environment import (
    CONTROL,
    CUSTOMERS,
    DELIVERIES,
    NUMBER_KEYS,
    OPT_OUT_KEYS,
    SHARDS,
    dead_letter_url,
    queue_url,
)
from tests.fakes.lambda_context import FakeLambdaContext
from tests.integration.region import Clock, Region, make_key_rings, make_queues, make_table, session_in

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_lambda import LambdaClient

OUTPUTS = {
    names.OUTPUT_CUSTOMERS_TABLE: CUSTOMERS,
    names.OUTPUT_DELIVERIES_TABLE: DELIVERIES,
    names.OUTPUT_CONTROL_TABLE: CONTROL,
    names.OUTPUT_PLANNER_FUNCTION: "planner",
    names.OUTPUT_SHARDS: str(SHARDS),
    names.OUTPUT_NUMBER_KEYS: NUMBER_KEYS,
    names.OUTPUT_OPT_OUT_KEYS: OPT_OUT_KEYS,
}


def outputs_of(aws_region: str) -> dict[str, str]:
    """A stack's outputs, those with the region's own queues among them."""
    queues = {names.queue_output(channel): queue_url(channel, aws_region) for channel in Channel}
    dead = {names.dead_letter_queue_output(channel): dead_letter_url(channel, aws_region) for channel in Channel}
    return OUTPUTS | queues | dead


@dataclass
class FakeLambda:
    """Runs the planner's own handler, and keeps the events. Moto would run functions in Docker."""

    handler: Callable[[dict[str, Any], Any], dict[str, Any]]
    clock: Clock
    events: list[dict[str, Any]] = field(default_factory=list)
    failing: bool = False

    def invoke(self, *, FunctionName: str, Payload: bytes) -> dict[str, Any]:  # noqa: N803 - as boto3 spells them
        assert FunctionName == "planner"
        self.events.append(json.loads(Payload))
        if self.failing:
            told = {"errorType": "TableGoneError", "errorMessage": "canary.person@example.com"}
            return {"FunctionError": "Unhandled", "Payload": io.BytesIO(json.dumps(told).encode())}
        with redirect_stdout(io.StringIO()):  # its metrics go to the log of the function
            report = self.handler(self.events[-1], FakeLambdaContext(self.clock, request_id=f"r-{len(self.events)}"))
        return {"Payload": io.BytesIO(json.dumps(report).encode())}


@dataclass(frozen=True)
class FakeStack:
    """CloudFormation's account of a stack: its alarms. Moto's own needs packages that nothing else here does."""

    alarms: tuple[str, ...] = ()

    def get_paginator(self, operation: str) -> FakeStack:
        assert operation == "list_stack_resources"
        return self

    def paginate(self, *, StackName: str) -> Iterator[dict[str, Any]]:  # noqa: N803 - as boto3 spells it
        assert StackName.startswith("DigestDelivery-")
        yield {"StackResourceSummaries": [{"ResourceType": "AWS::SQS::Queue", "PhysicalResourceId": "email"}]}
        for name in self.alarms:
            arn = f"arn:aws:cloudwatch:us-east-1:123456789012:alarm:{name}"
            yield {"StackResourceSummaries": [{"ResourceType": "AWS::CloudWatch::Alarm", "PhysicalResourceId": arn}]}


class RegionAtHand(RegionDeployment):
    """A region whose functions run here."""

    stack = FakeStack()

    def __init__(self, data_region: str, aws_region: str, planner: FakeLambda) -> None:
        super().__init__(data_region, aws_region, outputs=outputs_of(aws_region))
        self.planner = planner

    @cached_property
    def _session(self) -> boto3.Session:
        return session_in(self.aws_region)

    @property
    def cloudformation(self) -> CloudFormationClient:
        return self.stack  # type: ignore[return-value]

    @property
    def functions(self) -> LambdaClient:
        return self.planner  # type: ignore[return-value]

    def consumer_variables(self, channel: str) -> Mapping[str, str]:  # noqa: ARG002 - all of them write to everybody
        return {}


@dataclass
class Told:
    """What a command wrote, and its exit status."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass
class Desk:
    """`us` is the region of the other fixtures; `eu` has its own tables."""

    us: Region
    eu: Region
    planner: FakeLambda
    clock: Clock
    capsys: pytest.CaptureFixture[str]
    meanwhile: Callable[[], None] = lambda: None  # what happens while a command lets time pass
    deployment: Deployment = field(init=False)

    def __post_init__(self) -> None:
        self.deployment = Deployment(
            [RegionAtHand("us", "us-east-1", self.planner), RegionAtHand("eu", "eu-west-1", self.planner)]
        )

    def digest(self, *arguments: str) -> Told:
        """Run a command as the shell would."""
        self.capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main(arguments, workplace=Workplace(self.deployment, self.clock, self._sleep))
        written = self.capsys.readouterr()
        return Told(left.value.code if isinstance(left.value.code, int) else 0, written.out, written.err)

    def _sleep(self, seconds: float) -> None:
        self.clock.advance(timedelta(seconds=seconds))
        self.meanwhile()


def a_second_region() -> Region:
    """Tables and queues of the same names in another AWS region."""
    dynamodb = session_in("eu-west-1").client("dynamodb")
    make_table(dynamodb, CUSTOMERS, (names.CUSTOMER_ID, names.RECORD))
    make_table(dynamodb, DELIVERIES, (names.DELIVERY_ID,))
    make_table(dynamodb, CONTROL, (names.CONTROL_KEY,))
    make_key_rings("eu-west-1")
    sqs = session_in("eu-west-1").client("sqs")
    for channel in Channel:
        make_queues(sqs, channel, "eu-west-1")
    return Region(dynamodb, sqs)
