"""What is remembered of people who were erased: rows of the customers table that belong to no customer.

A mark holds a dot, which no customer id does, so that the two never meet in one partition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from functions import names
from functions.adapters.clock import utc_now
from functions.adapters.secrets import SecretKeyRing
from functions.adapters.wiring import dynamodb, secrets_manager
from functions.core.identity import Channel, Topic
from functions.core.instants import to_text
from functions.core.opt_out_memory import LateOptOuts, Memory
from functions.core.receipts import SuppressionCause

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from mypy_boto3_dynamodb import DynamoDBClient

    from functions.adapters.environment import InboundEnvironment, UnsubscribeEnvironment

LEFT: Final = "LEFT"
_SEPARATOR: Final = "#"


class DynamoOptOutMemory:
    """`OptOutMemory` on DynamoDB: one update, which adds to sets and so needs no condition."""

    def __init__(self, client: DynamoDBClient, table: str) -> None:
        self._client = client
        self._table = table

    def remember(self, mark: str, memory: Memory, *, at: datetime) -> None:
        """Add to the sets under a mark."""
        self._client.update_item(TableName=self._table, **remembering(mark, memory, at=at))


def late_opt_outs(environment: UnsubscribeEnvironment | InboundEnvironment) -> LateOptOuts:
    """Return what takes those at their word who are not on record any more."""
    memory = DynamoOptOutMemory(dynamodb(), environment.customers_table)
    return LateOptOuts(memory, SecretKeyRing.named(secrets_manager(), environment.opt_out_keys, clock=utc_now))


def remembering(mark: str, memory: Memory, *, at: datetime) -> Any:  # noqa: ANN401 - update_item's arguments
    """Return the UpdateItem arguments that add to what is remembered under a mark. The first time stays."""
    told = {
        names.LEFT_OPTED_OUT: [f"{topic}{_SEPARATOR}{channel}" for topic, channel in sorted(memory.opted_out)],
        "causes": [str(cause) for cause in sorted(memory.causes)],
    }
    added = {name: texts for name, texts in told.items() if texts}  # DynamoDB knows no empty set
    return {
        "Key": {names.CUSTOMER_ID: {"S": mark}, names.RECORD: {"S": LEFT}},
        "UpdateExpression": f"SET {names.LEFT_SINCE} = if_not_exists({names.LEFT_SINCE}, :at) ADD "
        + ", ".join(f"{name} :{name}" for name in added),
        "ExpressionAttributeValues": {
            ":at": {"S": to_text(at)},
            **{f":{name}": {"SS": texts} for name, texts in added.items()},
        },
    }


def memory_from_row(row: Mapping[str, Any]) -> Memory:
    """Read what is remembered under a mark."""
    pairs = (one.split(_SEPARATOR) for one in row.get(names.LEFT_OPTED_OUT, ()))
    return Memory(
        opted_out=frozenset((Topic(topic), Channel(channel)) for topic, channel in pairs),
        causes=frozenset(SuppressionCause(cause) for cause in row.get("causes", ())),
    )
