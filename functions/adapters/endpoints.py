"""The customers' webhook endpoints: one record in each customer's partition.

A record of its own, not attributes of the profile: the profile is read by every channel and shown to operators, and
nobody but the webhook channel needs the secrets; and what is noted after each failure contends with nobody's consent.
It lies in the same partition, so erasing the customer erases it, and in the range that a digest reads anyway.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from functions import names
from functions.adapters.conditional_write import updated
from functions.adapters.items import from_item, to_value
from functions.adapters.schedule_rows import endpoint_from_row, health_to_row, secrets_to_row
from functions.core.customer import WEBHOOK_ENDPOINT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mypy_boto3_dynamodb import DynamoDBClient

    from functions.adapters.items import Plain
    from functions.core.webhook_endpoint import Health, SigningSecret, WebhookEndpoint

# A record that is not there belongs to somebody who was erased: it is not written again. One that was never changed
# since its import has no version.
_UNCHANGED = "attribute_exists(#record) AND (#version = :read OR (attribute_not_exists(#version) AND :read = :never))"


class DynamoEndpoints:
    """`Endpoints` on DynamoDB."""

    def __init__(self, client: DynamoDBClient, table: str) -> None:
        self._client = client
        self._table = table

    def read(self, customer_id: str) -> WebhookEndpoint | None:
        """Read a record consistently."""
        answer = self._client.get_item(TableName=self._table, Key=_key(customer_id), ConsistentRead=True)
        return endpoint_from_row(from_item(answer["Item"])) if "Item" in answer else None

    def note(self, customer_id: str, health: Health, *, version: int) -> bool:
        """Write the health in one conditional update."""
        return self._write(customer_id, "health", health_to_row(health), version)

    def keep_secrets(self, customer_id: str, secrets: Sequence[SigningSecret], *, version: int) -> bool:
        """Write the secrets in one conditional update."""
        return self._write(customer_id, "secrets", secrets_to_row(secrets), version)

    def _write(self, customer_id: str, attribute: str, value: Plain, version: int) -> bool:
        written = updated(
            self._client,
            TableName=self._table,
            Key=_key(customer_id),
            UpdateExpression="SET #attribute = :value, #version = :next",
            ConditionExpression=_UNCHANGED,
            ExpressionAttributeNames={"#attribute": attribute, "#version": "version", "#record": names.RECORD},
            ExpressionAttributeValues={
                ":value": to_value(value),
                ":read": to_value(version),
                ":next": to_value(version + 1),
                ":never": to_value(0),
            },
        )
        return written or self._took_effect(customer_id, attribute, value, version)

    def _took_effect(self, customer_id: str, attribute: str, value: Plain, version: int) -> bool:
        """Whether a write that was refused had been done: its answer was lost, and the SDK asked again."""
        answer = self._client.get_item(TableName=self._table, Key=_key(customer_id), ConsistentRead=True)
        held = answer.get("Item", {})
        return (held.get(attribute), held.get("version")) == (to_value(value), to_value(version + 1))


def _key(customer_id: str) -> Any:  # noqa: ANN401 - a key, as every operation types it anew
    return {names.CUSTOMER_ID: {"S": customer_id}, names.RECORD: {"S": WEBHOOK_ENDPOINT}}
