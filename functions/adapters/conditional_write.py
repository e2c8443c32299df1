"""UpdateItem under a condition: a condition that does not hold is an answer, not an error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import UpdateItemOutputTypeDef

CONDITION_FAILED: Final = "ConditionalCheckFailedException"


def update_if(client: DynamoDBClient, **arguments: Any) -> UpdateItemOutputTypeDef | None:  # noqa: ANN401 - update_item's
    """Update an item; return the answer, or None if its condition does not hold. Raises ClientError for all else."""
    try:
        return client.update_item(**arguments)
    except ClientError as error:
        if error.response["Error"]["Code"] == CONDITION_FAILED:
            return None
        raise


def updated(client: DynamoDBClient, **arguments: Any) -> bool:  # noqa: ANN401 - update_item's
    """Update an item; False if its condition does not hold. Raises ClientError for all else."""
    return update_if(client, **arguments) is not None
