"""What is deployed: found from the stacks' outputs, the same way on AWS and on a local emulator.

boto3 honours AWS_PROFILE, AWS_ENDPOINT_URL and the rest, so nothing here knows where the stacks run.
"""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Final, Self

import boto3
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionError,  # noqa: A004 - botocore's own, the base of all its failures to reach an endpoint
    CredentialRetrievalError,
    HTTPClientError,
    NoCredentialsError,
    PartialCredentialsError,
    ProfileNotFound,
    ReadTimeoutError,
    SSOError,
    TokenRetrievalError,
)

from functions import names
from functions.adapters.clock import utc_now
from functions.adapters.dead_letter_queue import DeadLetterQueue
from functions.adapters.ledger import DynamoLedger
from functions.adapters.secrets import SecretError, SecretKeyRing
from functions.core.keyring import KeyRing, KeyRingError
from functions.core.opting_out import number_hash
from ops.imports.rows import DynamoRows
from stacks.settings import SettingsError, read_cdk_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_cloudwatch import CloudWatchClient
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_scheduler import EventBridgeSchedulerClient
    from mypy_boto3_secretsmanager import SecretsManagerClient
    from mypy_boto3_sns import SNSClient
    from mypy_boto3_sqs import SQSClient

    from functions.core.identity import Channel
    from stacks.settings import Settings

CDK_JSON: Final = Path(__file__).resolve().parents[1] / "cdk.json"
LOCAL_RUN: Final = "start a local run with `make demo KEEP=1`"

# A person waits for the answer: a dead endpoint is reported within seconds, a throttled one is given time.
_PATIENT: Final = Config(
    connect_timeout=5,
    read_timeout=20,
    retries={"mode": "standard", "total_max_attempts": 6},
    tcp_keepalive=True,
    max_pool_connections=16,
)
# botocore's own check of every parameter takes a third of an import's time, and DynamoDB checks them too.
_TABLES: Final = _PATIENT.merge(Config(parameter_validation=False))
# Lambda may take its 15 minutes. Asking a second time would run the function a second time.
_ONCE: Final = Config(
    connect_timeout=5, read_timeout=910, retries={"mode": "standard", "total_max_attempts": 1}, tcp_keepalive=True
)


class DeploymentError(RuntimeError):
    """Nothing can be done against the deployment; the text is one line and says the way out."""


class RegionDeployment:
    """One data region's stack, looked up when something of it is first needed.

    Args:
        data_region: the name in the settings, such as `us`.
        aws_region: where its stack is, such as `us-east-1`.
        outputs: the stack's outputs, where they are known already.
    """

    def __init__(self, data_region: str, aws_region: str, *, outputs: Mapping[str, str] | None = None) -> None:
        self.data_region: Final = data_region
        self.aws_region: Final = aws_region
        self._known_outputs = outputs
        # boto3 makes clients in one thread at a time; an import writes in several.
        self._making = RLock()

    @property
    def stack_name(self) -> str:
        """`DigestDelivery-us`."""
        return names.stack_name(self.data_region)

    @property
    def outputs(self) -> Mapping[str, str]:
        """The stack's outputs. Raises DeploymentError where there is no such stack, botocore's errors otherwise."""
        with self._making:
            if self._known_outputs is None:
                self._known_outputs = self._described()
        return self._known_outputs

    def _described(self) -> Mapping[str, str]:
        try:
            (stack,) = self.cloudformation.describe_stacks(StackName=self.stack_name)["Stacks"]
        except ClientError as error:
            if error.response["Error"]["Code"] == "ValidationError":
                raise NotDeployedError(self) from None
            raise
        return {output["OutputKey"]: output["OutputValue"] for output in stack.get("Outputs", [])}

    def output(self, name: str) -> str:
        """One output by its name in `functions.names`. Raises DeploymentError when the stack has none of that name."""
        if name not in self.outputs:
            raise DeploymentError(
                f"{self.stack_name} in {self.aws_region} has no output {name}: it is still being deployed, failed, or "
                f"is of another release; deploy it again with `npx cdk deploy {self.stack_name}`"
            )
        return self.outputs[name]

    def schedules(self, output: str) -> list[str]:
        """Names of the schedules that an output names, with a comma between them. Raises as `output` does."""
        return self.output(output).split(",")

    @property
    def customers_table(self) -> str:
        return self.output(names.OUTPUT_CUSTOMERS_TABLE)

    @property
    def deliveries_table(self) -> str:
        return self.output(names.OUTPUT_DELIVERIES_TABLE)

    @property
    def control_table(self) -> str:
        return self.output(names.OUTPUT_CONTROL_TABLE)

    @property
    def planner_function(self) -> str:
        return self.output(names.OUTPUT_PLANNER_FUNCTION)

    def queue_url(self, channel: str) -> str:
        return self.output(names.queue_output(channel))

    def dead_letter_queue_url(self, channel: str) -> str:
        return self.output(names.dead_letter_queue_output(channel))

    def dead_letter_queue(self, channel: Channel) -> DeadLetterQueue:
        """A channel's dead-letter queue."""
        return DeadLetterQueue(
            self.sqs, channel, url=self.dead_letter_queue_url(channel), source_url=self.queue_url(channel)
        )

    def consumer_variables(self, channel: str) -> Mapping[str, str]:
        """Environment of a channel's consumer, as it is deployed: what decides about a message beside the rows."""
        name = self.output(names.consumer_output(channel))
        return self.functions.get_function_configuration(FunctionName=name)["Environment"]["Variables"]

    def planner_variables(self) -> Mapping[str, str]:
        """Environment of the planner, as it is deployed."""
        return self.functions.get_function_configuration(FunctionName=self.planner_function)["Environment"]["Variables"]

    @property
    def caller(self) -> str:
        """ARN of whoever's credentials these are."""
        identity: Mapping[str, str] = self._session.client("sts", config=_PATIENT).get_caller_identity()
        return identity["Arn"]

    @property
    def shards(self) -> int:
        """Partitions of every index."""
        return int(self.output(names.OUTPUT_SHARDS))

    @property
    def rows(self) -> DynamoRows:
        """The customers table, for imports."""
        return DynamoRows(self.dynamodb, self.customers_table)

    @property
    def ledger(self) -> DynamoLedger:
        """The deliveries table."""
        return DynamoLedger(self.dynamodb, table=self.deliveries_table, shards=self.shards)

    def number_hash(self, number: str) -> str:
        """What a phone number is found by. Raises DeploymentError when its key cannot be read."""
        with self._making:
            keys = self._number_keys
        why = "phone numbers are stored with a keyed hash, so that STOP finds its sender"
        return number_hash(number, self._read(keys, names.OUTPUT_NUMBER_KEYS, why).of(utc_now()))

    @property
    def opt_out_keys(self) -> KeyRing:
        """Keys that opt-outs are remembered under. Raises DeploymentError when they cannot be read."""
        with self._making:
            keys = self._opt_out_keys
        why = "opt-outs of people who were erased are remembered under a keyed hash, so that an import respects them"
        return self._read(keys, names.OUTPUT_OPT_OUT_KEYS, why)

    def _read(self, keys: SecretKeyRing, output: str, why: str) -> KeyRing:
        try:
            return keys()
        except (SecretError, KeyRingError) as error:
            raise DeploymentError(
                f"the secret {self.output(output)} in {self.aws_region} cannot be used ({_code_of(error)}): {why}; "
                "use a role that may read the secret"
            ) from None

    @property
    def dynamodb(self) -> DynamoDBClient:
        with self._making:
            return self._dynamodb

    @cached_property
    def functions(self) -> LambdaClient:
        """Lambda, asked once and waited for."""
        return self._session.client("lambda", config=_ONCE)

    @cached_property
    def cloudwatch(self) -> CloudWatchClient:
        return self._session.client("cloudwatch", config=_PATIENT)

    @cached_property
    def scheduler(self) -> EventBridgeSchedulerClient:
        return self._session.client("scheduler", config=_PATIENT)

    @cached_property
    def sns(self) -> SNSClient:
        return self._session.client("sns", config=_PATIENT)

    @cached_property
    def cloudformation(self) -> CloudFormationClient:
        return self._session.client("cloudformation", config=_PATIENT)

    @cached_property
    def _number_keys(self) -> SecretKeyRing:
        return SecretKeyRing.named(self.secrets_manager, self.output(names.OUTPUT_NUMBER_KEYS), clock=utc_now)

    @cached_property
    def _opt_out_keys(self) -> SecretKeyRing:
        return SecretKeyRing.named(self.secrets_manager, self.output(names.OUTPUT_OPT_OUT_KEYS), clock=utc_now)

    @cached_property
    def secrets_manager(self) -> SecretsManagerClient:
        return self._session.client("secretsmanager", config=_PATIENT)

    @cached_property
    def sqs(self) -> SQSClient:
        return self._session.client("sqs", config=_PATIENT)

    @cached_property
    def _dynamodb(self) -> DynamoDBClient:
        return self._session.client("dynamodb", config=_TABLES)

    @cached_property
    def _session(self) -> boto3.Session:
        return boto3.Session(region_name=self.aws_region)


class NotDeployedError(DeploymentError):
    """The data region has no stack."""

    def __init__(self, region: RegionDeployment) -> None:
        super().__init__(
            f"{region.stack_name} is not deployed in {region.aws_region}: deploy it with "
            f"`npx cdk deploy {region.stack_name}`, or {LOCAL_RUN}"
        )


class Deployment:
    """All data regions of the settings."""

    def __init__(self, regions: Sequence[RegionDeployment]) -> None:
        self._regions = {region.data_region: region for region in regions}

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """The deployment that settings describe; nothing is asked of AWS yet."""
        return cls([RegionDeployment(name, region.region) for name, region in settings.regions.items()])

    @classmethod
    def load(cls, cdk_json: Path = CDK_JSON, *, overrides: Path | None = None) -> Self:
        """The deployment of a `cdk.json`. Raises DeploymentError for settings that do not fit."""
        try:
            return cls.of(read_cdk_json(cdk_json, overrides))
        except SettingsError as error:
            raise DeploymentError(f"the settings do not fit:\n{error}") from None

    def __iter__(self) -> Iterator[RegionDeployment]:
        return iter(self._regions.values())

    @property
    def data_regions(self) -> tuple[str, ...]:
        """Names of the data regions, in the order of the settings."""
        return tuple(self._regions)

    def region(self, data_region: str) -> RegionDeployment:
        """One data region by its name. Raises DeploymentError for a name that the settings do not have."""
        if data_region not in self._regions:
            raise DeploymentError(f"--region: there is no data region of that name; use {' or '.join(self._regions)}")
        return self._regions[data_region]

    def others(self, data_region: str) -> Iterator[RegionDeployment]:
        """All data regions but one, as far as they are deployed."""
        for region in self:
            if region.data_region != data_region and _is_deployed(region):
                yield region

    def only(self, data_region: str | None) -> tuple[RegionDeployment, ...]:
        """The named data region, or all of them."""
        return tuple(self) if data_region is None else (self.region(data_region),)


def _code_of(error: SecretError | KeyRingError) -> str:
    return error.code if isinstance(error, SecretError) else str(error)


def _is_deployed(region: RegionDeployment) -> bool:
    try:
        return bool(region.outputs)
    except NotDeployedError:
        return False


# --- what went wrong, in words ----------------------------------------------------------------------------------------

_LOGIN_PROBLEMS: Final = (
    NoCredentialsError,
    PartialCredentialsError,
    CredentialRetrievalError,
    ProfileNotFound,
    SSOError,
    TokenRetrievalError,
)
_LOGIN_CODES: Final = frozenset(
    {
        "ExpiredToken",
        "ExpiredTokenException",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    }
)
_REFUSED_CODES: Final = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"})


def in_words(error: BotoCoreError | ClientError) -> str:
    """One line about an AWS error and the way out. Never AWS's own message, which may quote what it was sent."""
    if isinstance(error, ClientError):
        return _refusal_in_words(error)
    if isinstance(error, _LOGIN_PROBLEMS):
        return (
            f"no usable AWS credentials ({type(error).__name__}): log in, or set AWS_PROFILE; for an emulator on this "
            f"machine, {LOCAL_RUN} and set what it prints"
        )
    if isinstance(error, ReadTimeoutError):
        return f"{_endpoint()} did not answer in time: what was asked may still have happened; look before asking again"
    if isinstance(error, ConnectionError | HTTPClientError):
        return f"{_endpoint()} cannot be reached: {_way_to_an_endpoint()}"
    return f"{type(error).__name__}: check the AWS settings of this shell (AWS_PROFILE, AWS_ENDPOINT_URL)"


def _refusal_in_words(error: ClientError) -> str:
    code = error.response["Error"]["Code"]
    if code in _LOGIN_CODES:
        return f"AWS does not accept the credentials ({code}): log in again, or set AWS_PROFILE"
    if code in _REFUSED_CODES:
        return f"AWS refused {error.operation_name} ({code}): use a role that may do it"
    return f"AWS answered {error.operation_name} with {code}: try again; if it stays, look into AWS Health"


def _endpoint() -> str:
    local = os.environ.get("AWS_ENDPOINT_URL")
    return f"{local} (AWS_ENDPOINT_URL)" if local else "AWS"


def _way_to_an_endpoint() -> str:
    if "AWS_ENDPOINT_URL" in os.environ:
        return f"{LOCAL_RUN} and set the AWS_ENDPOINT_URL that it prints, or unset it to talk to AWS"
    return f"check the network, or {LOCAL_RUN}"
