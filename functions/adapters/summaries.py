"""The summaries of digests that may still be sent: records in the customers' partitions, and a week's tokens.

A summary tells what a person bought, so it lies with everything else of theirs and is erased with it. It is dropped
when its delivery expires: after that nothing sends it. What became of it is on the delivery's row, without its words.
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from functions import names
from functions.adapters.conditional_write import CONDITION_FAILED, updated
from functions.adapters.delivery_rows import summary_from_row, summary_to_row
from functions.adapters.items import from_item, to_item
from functions.adapters.transactions import CANCELLED, cancellation_codes, transact
from functions.core.customer import PROFILE
from functions.core.instants import epoch_s_after
from functions.core.summary import Summary

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from functions.core.delivery import Delivery
    from functions.core.identity import DeliveryId

SUMMARY: Final = "SUMMARY#"
USE_KEPT_FOR: Final = timedelta(days=90)

# Who is erased while a model writes must not come back by what it wrote.
_STILL_THERE: Final = f"attribute_exists({names.CUSTOMER_ID})"
_NONE_YET: Final = f"attribute_not_exists({names.CUSTOMER_ID})"


class DynamoSummaries:
    """`Summaries` on the customers table."""

    def __init__(self, client: DynamoDBClient, table: str) -> None:
        self._client = client
        self._table = table

    def read(self, delivery_id: DeliveryId) -> Summary | None:
        """Read one record consistently."""
        answer = self._client.get_item(TableName=self._table, Key=_key(delivery_id), ConsistentRead=True)
        if "Item" not in answer:
            return None
        row = from_item(answer["Item"])
        return Summary(summary_from_row(row), row.get("text"))

    def keep(self, delivery: Delivery, summary: Summary) -> Summary | None:
        """Write a record in one transaction with the condition that the customer is there."""
        row = {
            **_record(delivery.delivery_id),
            **summary_to_row(summary.note),
            "text": summary.text,
            names.TTL: int(delivery.expires_at.timestamp()),
        }
        profile = {names.CUSTOMER_ID: delivery.delivery_id.customer_id, names.RECORD: PROFILE}
        there = {"TableName": self._table, "Key": to_item(profile), "ConditionExpression": _STILL_THERE}
        put = {"TableName": self._table, "Item": to_item(row), "ConditionExpression": _NONE_YET}
        try:
            transact(self._client, [{"ConditionCheck": there}, {"Put": put}])
        except ClientError as error:
            if error.response["Error"]["Code"] != CANCELLED or CONDITION_FAILED not in cancellation_codes(error):
                raise
            return self.read(delivery.delivery_id)
        return summary


class DynamoTokenBudget:
    """`TokenBudget` on the control table: one item a week, which a region's consumers all count in.

    An item takes a thousand writes a second, and a summary needs two: models are far slower than that.
    """

    def __init__(self, client: DynamoDBClient, table: str, *, tokens_per_period: int) -> None:
        self._client = client
        self._table = table
        self._tokens_per_period = tokens_per_period

    def reserve(self, period: str, tokens: int) -> bool:
        """Count the tokens as used in one conditional update. If its answer is lost they count twice: less is spent."""
        return updated(
            self._client,
            TableName=self._table,
            Key=_week(period),
            UpdateExpression="ADD tokens :tokens SET #purge_at = :purge_at",
            ConditionExpression="attribute_not_exists(tokens) OR tokens <= :room",
            ExpressionAttributeNames={"#purge_at": names.TTL},
            ExpressionAttributeValues={
                ":tokens": {"N": str(tokens)},
                ":room": {"N": str(self._tokens_per_period - tokens)},
                ":purge_at": {"N": str(epoch_s_after(date.fromisoformat(period), USE_KEPT_FOR))},
            },
        )

    def give_back(self, period: str, tokens: int) -> None:
        """Count the tokens as not used."""
        self._client.update_item(
            TableName=self._table,
            Key=_week(period),
            UpdateExpression="ADD tokens :tokens",
            ExpressionAttributeValues={":tokens": {"N": str(-tokens)}},
        )


def _record(delivery_id: DeliveryId) -> dict[str, str]:
    record = f"{SUMMARY}{delivery_id.occasion}#{delivery_id.channel}"
    return {names.CUSTOMER_ID: delivery_id.customer_id, names.RECORD: record}


def _key(delivery_id: DeliveryId) -> Any:  # noqa: ANN401 - a key, as every operation types it anew
    return to_item(_record(delivery_id))


def _week(period: str) -> Any:  # noqa: ANN401 - a key, as every operation types it anew
    return {names.CONTROL_KEY: {"S": f"summary_tokens#{period}"}}
