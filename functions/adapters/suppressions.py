"""Suppressed channels and remembered soft bounces, on the customer's profile: erasing the profile erases them too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from functions import names
from functions.adapters.conditional_write import update_if, updated
from functions.adapters.items import to_item
from functions.core.customer import PROFILE
from functions.core.identity import DeliveryId
from functions.core.instants import from_text, to_text
from functions.core.receipts import SoftBounce, lighter_than

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from datetime import datetime

    from mypy_boto3_dynamodb import DynamoDBClient

    from functions.core.identity import Channel
    from functions.core.receipts import SuppressionCause

_SEPARATOR: Final = " "  # between the time and the delivery of a remembered bounce: neither holds one
# A profile has a locale; a customer who was erased, or never was, has none.
_IS_A_PROFILE: Final = "attribute_exists(#locale)"
_NOT_CLEARED_SINCE: Final = "(attribute_not_exists(#cleared) OR #cleared < :at)"
_NONE_YET: Final = "attribute_not_exists(#suppressed)"
_NOT_THIS_CHANNEL: Final = "attribute_not_exists(#suppressed.#channel)"


class DynamoSuppressions:
    """`Suppressions` on DynamoDB."""

    def __init__(self, client: DynamoDBClient, table: str) -> None:
        self._client = client
        self._table = table

    def suppress(self, customer_id: str, channel: Channel, cause: SuppressionCause, *, at: datetime, code: str) -> bool:
        """Suppress a channel in one conditional write, two where no other channel is suppressed yet."""
        entry = {"cause": str(cause), "at": to_text(at), "code": code}
        return (
            self._add_to_suppressed(customer_id, channel, cause, entry)
            or self._begin_suppressed(customer_id, channel, entry)
            or self._add_to_suppressed(customer_id, channel, cause, entry)  # another channel's began between the two
        )

    def clear(self, customer_id: str, channel: Channel, *, at: datetime) -> bool:
        """Lift a suppression, and forget the soft bounces so far."""
        lifted = self._write(
            customer_id,
            "SET #cleared = :at REMOVE #suppressed.#channel, #bounces",
            f"{_IS_A_PROFILE} AND attribute_exists(#suppressed.#channel)",
            _attribute_names(channel, "suppressed", "channel", "cleared", "bounces", "locale"),
            {":at": to_text(at)},
        )
        # Where the answer was lost, the SDK asked again and found nothing to lift.
        return lifted or self._cleared_at(customer_id, channel) == to_text(at)

    def withdraw(self, customer_id: str, channel: Channel, cause: SuppressionCause) -> bool:
        """Take a suppression back whose ground has gone."""
        return self._write(
            customer_id,
            "REMOVE #suppressed.#channel",
            f"{_IS_A_PROFILE} AND #suppressed.#channel.#cause = :cause",
            _attribute_names(channel, "suppressed", "channel", "cause", "locale"),
            {":cause": str(cause)},
        )

    def note_soft_bounce(self, delivery_id: DeliveryId, *, at: datetime, since: datetime) -> Collection[SoftBounce]:
        """Add to the set of the channel's bounces; those that are too old to count leave it by and by."""
        entry = f"{to_text(at)}{_SEPARATOR}{delivery_id}"
        held = self._change_bounces("ADD", delivery_id, [entry], unless_cleared_since=at)
        expired = [one for one in held if one < to_text(since)]
        if expired:
            self._change_bounces("DELETE", delivery_id, expired)
        return _read(one for one in held if one not in expired)

    def forget_soft_bounces(self, delivery_id: DeliveryId) -> Collection[SoftBounce]:
        """Take a delivery's bounces out of the set."""
        answer = self._client.get_item(
            TableName=self._table,
            Key=_key(delivery_id.customer_id),
            ConsistentRead=True,
            ProjectionExpression="#bounces",
            ExpressionAttributeNames=_attribute_names(delivery_id.channel, "bounces"),
        )
        held = _bounces(answer.get("Item", {}), delivery_id.channel)
        of_delivery = [one for one in held if one.endswith(f"{_SEPARATOR}{delivery_id}")]
        if of_delivery:
            self._change_bounces("DELETE", delivery_id, of_delivery)
        return _read(one for one in held if one not in of_delivery)

    def _add_to_suppressed(
        self, customer_id: str, channel: Channel, cause: SuppressionCause, entry: Mapping[str, str]
    ) -> bool:
        """Where some channel is suppressed already: a path into a map needs the map."""
        lighter = {f":lighter_{one}": str(one) for one in lighter_than(cause)}
        of_less = [f"#suppressed.#channel.#cause IN ({', '.join(lighter)})"] if lighter else []
        return self._write(
            customer_id,
            "SET #suppressed.#channel = :entry",
            " AND ".join(
                [
                    _IS_A_PROFILE,
                    "attribute_exists(#suppressed)",
                    f"({' OR '.join([_NOT_THIS_CHANNEL, *of_less])})",
                    _NOT_CLEARED_SINCE,
                ]
            ),
            _attribute_names(channel, "suppressed", "channel", "cleared", "locale", *(["cause"] if lighter else [])),
            {":entry": entry, ":at": entry["at"], **lighter},
        )

    def _begin_suppressed(self, customer_id: str, channel: Channel, entry: Mapping[str, str]) -> bool:
        return self._write(
            customer_id,
            "SET #suppressed = :suppressed",
            f"{_IS_A_PROFILE} AND {_NONE_YET} AND {_NOT_CLEARED_SINCE}",
            _attribute_names(channel, "suppressed", "cleared", "locale"),
            {":suppressed": {str(channel): entry}, ":at": entry["at"]},
        )

    def _write(
        self, customer_id: str, update: str, condition: str, attributes: Mapping[str, str], values: Mapping[str, Any]
    ) -> bool:
        return updated(
            self._client,
            TableName=self._table,
            Key=_key(customer_id),
            UpdateExpression=update,
            ConditionExpression=condition,
            ExpressionAttributeNames=attributes,
            ExpressionAttributeValues=to_item(values),
        )

    def _cleared_at(self, customer_id: str, channel: Channel) -> str | None:
        answer = self._client.get_item(
            TableName=self._table,
            Key=_key(customer_id),
            ConsistentRead=True,
            ProjectionExpression="#cleared",
            ExpressionAttributeNames=_attribute_names(channel, "cleared"),
        )
        return answer.get("Item", {}).get(f"suppression_cleared_{channel}", {}).get("S")

    def _change_bounces(
        self, verb: str, delivery_id: DeliveryId, entries: list[str], *, unless_cleared_since: datetime | None = None
    ) -> list[str]:
        """Add entries to the set of a channel's bounces or delete them; return the set, empty where that may not be."""
        attributes = _attribute_names(delivery_id.channel, "bounces", "locale")
        condition = _IS_A_PROFILE
        values: dict[str, Any] = {":entries": {"SS": entries}}
        if unless_cleared_since is not None:
            attributes |= _attribute_names(delivery_id.channel, "cleared")
            condition += f" AND {_NOT_CLEARED_SINCE}"
            values |= to_item({":at": to_text(unless_cleared_since)})
        answer = update_if(
            self._client,
            TableName=self._table,
            Key=_key(delivery_id.customer_id),
            UpdateExpression=f"{verb} #bounces :entries",
            ConditionExpression=condition,
            ExpressionAttributeNames=attributes,
            ExpressionAttributeValues=values,
            ReturnValues="ALL_NEW",
        )
        return [] if answer is None else _bounces(answer.get("Attributes", {}), delivery_id.channel)


def _key(customer_id: str) -> Any:  # noqa: ANN401 - a key, as every operation types it anew
    return {names.CUSTOMER_ID: {"S": customer_id}, names.RECORD: {"S": PROFILE}}


def _attribute_names(channel: Channel, *wanted: str) -> dict[str, str]:
    """The placeholders that an expression uses, and no others: DynamoDB refuses one that is not used."""
    known = {
        "suppressed": "suppressed",
        "channel": str(channel),
        "cause": "cause",
        "cleared": f"suppression_cleared_{channel}",
        "bounces": f"soft_bounces_{channel}",
        "locale": "locale",
    }
    return {f"#{name}": known[name] for name in wanted}


def _bounces(item: Mapping[str, Any], channel: Channel) -> list[str]:
    held: list[str] = item.get(f"soft_bounces_{channel}", {}).get("SS", [])
    return held


def _read(entries: Iterable[str]) -> list[SoftBounce]:
    pairs = (entry.partition(_SEPARATOR) for entry in entries)
    return [SoftBounce(from_text(at), delivery_id) for at, _, delivery_id in pairs]
