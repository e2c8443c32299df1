"""TransactWriteItems, and what a cancelled one says."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from functions.adapters.conditional_write import CONDITION_FAILED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mypy_boto3_dynamodb import DynamoDBClient

CANCELLED: Final = "TransactionCanceledException"
CONDITION_FAILED_REASON: Final = "ConditionalCheckFailed"
# Reasons that pass by themselves: another transaction holds the item, or the table is being throttled.
PASSING: Final = frozenset({"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"})
TRIES: Final = 5


def transact(client: DynamoDBClient, actions: Sequence[Any]) -> None:
    """Write all actions or none, waiting out conflicts. Raises ClientError when a condition failed or waiting did."""
    for pause_s in _pauses():
        try:
            client.transact_write_items(TransactItems=actions)
        except ClientError as error:
            codes = set(cancellation_codes(error)) - {"None"}
            if pause_s is None or not codes or not codes <= PASSING:
                raise
            time.sleep(pause_s)
        else:
            return


def cancellation_codes(error: ClientError) -> list[str]:
    """Return the reason for each action of a cancelled transaction, `None` (as text) where it was not the cause.

    A failed condition is reported as CONDITION_FAILED, the name that single writes use for it.
    """
    reasons: Any = error.response.get("CancellationReasons", [])
    return [
        CONDITION_FAILED if reason.get("Code") == CONDITION_FAILED_REASON else str(reason.get("Code"))
        for reason in reasons
    ]


def _pauses() -> list[float | None]:
    return [0.02 * 2**attempt for attempt in range(TRIES - 1)] + [None]
