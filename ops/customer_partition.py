"""Rows of a customer's partition, as those take hold of them who clear it away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from functions import names
from functions.adapters.conditional_write import updated

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ops.deployment import RegionDeployment


def key_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the key of a row of the customers table."""
    return {name: {"S": row[name]} for name in (names.CUSTOMER_ID, names.RECORD)}


def stop_schedule(region: RegionDeployment, row: Mapping[str, Any]) -> None:
    """Take a row out of the due index, if it is in there: a planner that has read it commits nothing any more."""
    if names.NEXT_RUN_AT in row:
        updated(
            region.dynamodb,
            TableName=region.customers_table,
            Key=key_of(row),
            UpdateExpression="REMOVE #next_run_at, #due_shard",
            ConditionExpression="attribute_exists(#next_run_at)",
            ExpressionAttributeNames={"#next_run_at": names.NEXT_RUN_AT, "#due_shard": names.DUE_SHARD},
        )
