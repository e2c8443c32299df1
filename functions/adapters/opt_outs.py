"""Consent as a person withdraws it: on the profile, where the composer reads it consistently before each send."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from functions import names
from functions.adapters.conditional_write import updated
from functions.adapters.schedule_rows import consent_attribute
from functions.core.customer import PROFILE, Consent
from functions.core.identity import Channel, Topic
from functions.core.instants import to_text
from functions.core.opting_out import Way

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from mypy_boto3_dynamodb import DynamoDBClient

    from functions.core.unsubscribe_token import Subscription

# An update would make a row where there is none: who was erased stays so.
_ON_RECORD: Final = f"attribute_exists({names.CUSTOMER_ID})"
_STILL_THEIR_NUMBER: Final = f"{names.NUMBER_HASH} = :number_hash"


class DynamoOptOuts:
    """`OptOuts` on DynamoDB: each a single conditional write, which a repetition finds done."""

    def __init__(self, client: DynamoDBClient, table: str) -> None:
        self._client = client
        self._table = table

    def opt_out(self, subscription: Subscription, *, at: datetime) -> bool:
        """Withdraw consent for one topic on one channel, unless it is withdrawn, or the customer gone."""
        attribute = consent_attribute(subscription.topic, subscription.channel)
        not_yet = f"(attribute_not_exists({attribute}) OR {attribute} <> :opted_out)"
        return self._withdraw(
            subscription.customer_id, [attribute], f"{_ON_RECORD} AND {not_yet}", values=_said(at, Way.LINK)
        )

    def stop_texts(self, customer_id: str, number_hash: str, *, at: datetime) -> bool:
        """Withdraw consent for every topic by text, if the number is still the customer's."""
        return self._withdraw(
            customer_id,
            [consent_attribute(topic, Channel.SMS) for topic in Topic],
            f"{_ON_RECORD} AND {_STILL_THEIR_NUMBER}",
            values={**_said(at, Way.STOP), ":number_hash": number_hash},
        )

    def customers_at(self, number_hashes: Iterable[str]) -> Sequence[str]:
        """Ask the `number` index, once for each key that numbers were hashed with."""
        found: dict[str, None] = {}
        for number_hash in number_hashes:
            pages = self._client.get_paginator("query").paginate(
                TableName=self._table,
                IndexName=names.NUMBER_INDEX,
                KeyConditionExpression=_STILL_THEIR_NUMBER,
                ExpressionAttributeValues={":number_hash": {"S": number_hash}},
            )
            found |= {item[names.CUSTOMER_ID]["S"]: None for page in pages for item in page["Items"]}
        return list(found)

    def _withdraw(
        self, customer_id: str, attributes: Iterable[str], condition: str, *, values: Mapping[str, str]
    ) -> bool:
        changes = [f"{one} = :opted_out, {one}_at = :at, {one}_by = :way" for one in attributes]
        return updated(
            self._client,
            TableName=self._table,
            Key={names.CUSTOMER_ID: {"S": customer_id}, names.RECORD: {"S": PROFILE}},
            UpdateExpression=f"SET {', '.join(changes)}",
            ConditionExpression=condition,
            ExpressionAttributeValues={name: {"S": value} for name, value in values.items()},
        )


def _said(at: datetime, way: Way) -> dict[str, str]:
    return {":opted_out": str(Consent.OPTED_OUT), ":at": to_text(at), ":way": str(way)}
