"""Clients and adapters, made once for each execution environment."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

import boto3
from botocore.config import Config

from functions.adapters.ledger import DynamoLedger
from functions.adapters.user_agent import USER_AGENT

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_secretsmanager import SecretsManagerClient
    from mypy_boto3_sqs import SQSClient

    from functions.adapters.environment import CommonEnvironment

# Our own tables and queues: repeating a request is safe there, every write being conditional. The SDK does not check
# each attribute of each item first, which was a third of the planner's work: what does not fit is refused by the
# service, and in the tests, where it is checked.
OWN_DATA: Final = Config(
    connect_timeout=2,
    read_timeout=5,
    retries={"mode": "standard", "total_max_attempts": 4},
    tcp_keepalive=True,
    parameter_validation=False,
    user_agent=USER_AGENT,
)

# Asked between a claim and its send: what takes long here takes from the time to send in.
SECRETS: Final = Config(connect_timeout=1, read_timeout=2, retries={"mode": "standard", "total_max_attempts": 1})


@lru_cache(maxsize=1)
def dynamodb() -> DynamoDBClient:
    """Return the DynamoDB client."""
    return boto3.client("dynamodb", config=OWN_DATA)


@lru_cache(maxsize=1)
def sqs() -> SQSClient:
    """Return the SQS client."""
    return boto3.client("sqs", config=OWN_DATA)


@lru_cache(maxsize=1)
def secrets_manager() -> SecretsManagerClient:
    """Return the Secrets Manager client."""
    return boto3.client("secretsmanager", config=SECRETS)


def ledger(environment: CommonEnvironment) -> DynamoLedger:
    """Return the ledger on the environment's deliveries table."""
    return DynamoLedger(dynamodb(), table=environment.deliveries_table, shards=environment.shards)
