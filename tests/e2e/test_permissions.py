"""Roles are enforced here: taking one permission away is seen, named, and mended without losing anything."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.exceptions import ClientError

from functions import names
from functions.adapters.clock import utc_now
from functions.adapters.traffic import DynamoTraffic
from functions.core.delivery import Status
from functions.core.identity import Channel
from functions.core.traffic import GatePosition
from ops.local.emulator import Emulator
from ops.local.running_region import RunningRegion
from tests.e2e.people import Person, eventually, import_people, rows_of

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

Regions = Mapping[str, RunningRegion]
EMIL = Person("permission-emil", "eu", digest_channels="email")


class Role:
    """The role of a deployed function, and one of its permissions to take away and give back."""

    def __init__(self, region: RunningRegion, function_output: str) -> None:
        function = region.deployment.output(function_output)
        held = region.deployment.functions.get_function_configuration(FunctionName=function)
        self._name = held["Role"].rsplit("/", 1)[-1]
        self._iam: Any = region.emulator.client("iam", region.aws_region)
        self._before: dict[str, Any] = {
            name: self._iam.get_role_policy(RoleName=self._name, PolicyName=name)["PolicyDocument"]
            for name in self._iam.list_role_policies(RoleName=self._name)["PolicyNames"]
        }

    def lose(self, action: str) -> None:
        lost = False
        for name, document in self._before.items():
            kept = [one for one in document["Statement"] if action not in _actions(one)]
            lost = lost or len(kept) < len(document["Statement"])
            self._put(name, {**document, "Statement": kept})
        assert lost, f"the role had no {action} to lose"

    def regain(self) -> None:
        for name, document in self._before.items():
            self._put(name, document)

    def _put(self, name: str, document: dict[str, Any]) -> None:
        self._iam.put_role_policy(RoleName=self._name, PolicyName=name, PolicyDocument=json.dumps(document))


def _actions(statement: Mapping[str, Any]) -> list[str]:
    actions = statement["Action"]
    return [actions] if isinstance(actions, str) else list(actions)


@pytest.fixture
def role(regions: Regions) -> Iterator[Role]:
    role = Role(regions["eu"], names.consumer_output("email"))
    yield role
    role.regain()


def test_a_consumer_that_may_not_send_halts_its_channel_and_loses_nothing(
    regions: Regions, emulator: Emulator, cloud: Mapping[str, str], tmp_path: Path, role: Role
) -> None:
    region = regions["eu"]
    traffic = DynamoTraffic(region.deployment.dynamodb, region.deployment.control_table)
    role.lose("ses:SendEmail")

    import_people([EMIL], tmp_path, cloud)
    region.wake(names.OUTPUT_PLANNER_SCHEDULE)
    eventually(
        lambda: traffic.gate(Channel.EMAIL).position(utc_now()) is GatePosition.HALTED,
        waking=region,
        within_s=30,
        what="the channel halted",
    )
    waiting = rows_of(region, EMIL)[Channel.EMAIL]
    assert waiting.failure is not None
    assert (waiting.status, waiting.failure.failure_class) == (Status.RETRYABLE, "auth")
    assert not [one for one in emulator.emails() if EMIL.email in one.to]
    assert not region.messages(region.dead_letter_queue(Channel.EMAIL))

    role.regain()
    traffic.resume(Channel.EMAIL)

    def accepted() -> bool:
        region.wake(names.OUTPUT_RECONCILER_SCHEDULE)
        return bool(rows_of(region, EMIL)[Channel.EMAIL].status is Status.ACCEPTED)

    eventually(accepted, within_s=90, what="the delivery accepted after the channel was resumed")
    assert len([one for one in emulator.emails() if EMIL.email in one.to]) == 1


class Somebody:
    """A person of the account who has the policy of one output, and no right but that."""

    def __init__(self, region: RunningRegion, policy_output: str) -> None:
        self._iam: Any = region.emulator.client("iam", region.aws_region)
        self._name = f"somebody-with-{policy_output}"
        self._policy = region.deployment.output(policy_output)
        self._iam.create_user(UserName=self._name)
        self._iam.attach_user_policy(UserName=self._name, PolicyArn=self._policy)
        key = self._iam.create_access_key(UserName=self._name)["AccessKey"]
        self._key = key["AccessKeyId"]
        session = boto3.Session(key["AccessKeyId"], key["SecretAccessKey"], region_name=region.aws_region)
        self.functions: LambdaClient = session.client("lambda", endpoint_url=region.emulator.endpoint_url)

    def leave(self) -> None:
        self._iam.delete_access_key(UserName=self._name, AccessKeyId=self._key)
        self._iam.detach_user_policy(UserName=self._name, PolicyArn=self._policy)
        self._iam.delete_user(UserName=self._name)

    def calls(self, region: RunningRegion, output: str, **params: str) -> str:
        """What the function says; the error's code where it may not be invoked."""
        try:
            answer = self.functions.invoke(
                FunctionName=region.deployment.output(output), Payload=json.dumps(params).encode()
            )
        except ClientError as error:
            return str(error.response["Error"]["Code"])
        page: str = json.load(answer["Payload"])
        return page


@pytest.mark.parametrize(
    ("policy", "acted"),
    [
        (names.OUTPUT_READERS_POLICY, "AccessDeniedException"),
        (names.OUTPUT_OPERATORS_POLICY, "Nothing was changed. webhook is open."),
    ],
)
def test_a_reader_of_the_widgets_can_look_and_an_operator_act(regions: Regions, policy: str, acted: str) -> None:
    region = regions["eu"]
    somebody = Somebody(region, policy)
    try:
        for widget in (names.WIDGET_CHANNELS, names.WIDGET_ATTENTION, names.WIDGET_DUE, names.WIDGET_DEAD_LETTERS):
            page = somebody.calls(region, names.OUTPUT_WIDGETS_FUNCTION, widget=widget)
            assert "As of " in page, page  # drawn to its end, so its role may read what it shows
        told = somebody.calls(region, names.OUTPUT_OPERATE_FUNCTION, action="resume", channel="webhook", shown="|")
        assert acted in told
    finally:
        somebody.leave()
