"""The channels' gates and clocks in the control table: one item for each channel."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from botocore.exceptions import BotoCoreError, ClientError

from functions import names
from functions.adapters.conditional_write import CONDITION_FAILED, updated
from functions.adapters.items import from_item
from functions.core.instants import from_text, to_text
from functions.core.traffic import Gate, Reservation

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from functions.core.identity import Channel


class DynamoTraffic:
    """`Traffic` on DynamoDB."""

    def __init__(self, client: DynamoDBClient, table: str) -> None:
        self._client = client
        self._table = table
        self._seen: dict[Channel, int] = {}  # where each clock stood when it was last read or written

    def gate(self, channel: Channel) -> Gate:
        """Read a channel's gate; a channel that nobody has touched is open."""
        answer = self._client.get_item(TableName=self._table, Key=_key(channel), ConsistentRead=True)
        held = from_item(answer.get("Item", {}))
        self._seen[channel] = held.get("slot_clock", 0)
        return Gate(_instant(held, "halted_at"), _instant(held, "closed_until"), held.get("cause"))

    def close(self, channel: Channel, *, until: datetime, cause: str) -> None:
        """Close a gate until a time, unless it is closed for longer or halted already."""
        self._update(
            channel,
            UpdateExpression="SET closed_until = :until, cause = :cause",
            ConditionExpression="attribute_not_exists(halted_at) AND "
            "(attribute_not_exists(closed_until) OR closed_until < :until)",
            ExpressionAttributeValues={":until": {"S": to_text(until)}, ":cause": {"S": cause}},
        )

    def halt(self, channel: Channel, *, at: datetime, cause: str) -> bool:
        """Halt a channel; False if it was halted already, whose cause then stays."""
        return self._turn(
            channel,
            "SET halted_at = :at, cause = :cause, turned_by = :turn REMOVE closed_until",
            condition="attribute_not_exists(halted_at)",
            values={":at": {"S": to_text(at)}, ":cause": {"S": cause}},
        )

    def resume(self, channel: Channel, *, seen: Gate | None = None) -> bool:
        """Open a channel's gate, whatever closed it; or only if it still is as it was `seen`."""
        condition, values = (None, {}) if seen is None else _still(seen)
        update = "SET turned_by = :turn REMOVE halted_at, closed_until, cause"
        return self._turn(channel, update, condition=condition, values=values)

    def reserve(
        self, channel: Channel, count: int, *, interval: timedelta, now: datetime, not_after: datetime
    ) -> Reservation:
        """Move the clock on by `count` slots, from where it stands or from now if it is behind.

        One conditional write, chosen by where the clock stood when it was last read. The clock is a whole number of
        microseconds since the epoch.
        """
        length, present = count * _micros(interval), _epoch(now)
        seen = self._seen.get(channel, 0)
        while True:
            if seen > _epoch(not_after):
                return Reservation(_from_epoch(seen), reserved=False)
            first = max(seen, present)
            if self._move(channel, first + length, seen=seen):
                return Reservation(_from_epoch(first), reserved=True)
            self.gate(channel)  # somebody else reserved meanwhile: look again
            seen = self._seen[channel]

    def give_back(self, channel: Channel, count: int, *, interval: timedelta, last: datetime) -> None:
        """Move the clock back by `count` slots, if it still stands where this reservation left it.

        A courtesy to the next batch: where it fails, this one is still done, and the channel idles for those slots.
        """
        end = _epoch(last)
        with suppress(ClientError, BotoCoreError):
            self._move(channel, end - count * _micros(interval), seen=end)

    def _turn(self, channel: Channel, update: str, *, condition: str | None, values: dict[str, Any]) -> bool:
        """Halt or open a gate; False if its condition does not hold.

        Where the answer is lost the SDK asks again, and finds the condition gone by what it has just done. So each turn
        leaves a mark that it knows itself by, in the item that the refusal returns: not every role may read it.
        """
        turn = uuid4().hex
        still: Any = {} if condition is None else {"ConditionExpression": condition}
        try:
            self._client.update_item(
                TableName=self._table,
                Key=_key(channel),
                UpdateExpression=update,
                ExpressionAttributeValues={**values, ":turn": {"S": turn}},
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
                **still,
            )
        except ClientError as error:
            if error.response["Error"]["Code"] != CONDITION_FAILED:
                raise
            refusal: Any = error.response
            return bool(from_item(refusal.get("Item", {})).get("turned_by") == turn)
        return True

    def _move(self, channel: Channel, clock: int, *, seen: int) -> bool:
        moved = self._update(
            channel,
            UpdateExpression="SET slot_clock = :clock",
            ConditionExpression="slot_clock = :seen" if seen else "attribute_not_exists(slot_clock)",
            ExpressionAttributeValues={":clock": {"N": str(clock)}} | ({":seen": {"N": str(seen)}} if seen else {}),
        )
        if moved:
            self._seen[channel] = clock
        return moved

    def _update(self, channel: Channel, **expression: Any) -> bool:  # noqa: ANN401 - update_item's arguments
        return updated(self._client, TableName=self._table, Key=_key(channel), **expression)


def _key(channel: Channel) -> Any:  # noqa: ANN401 - a key, as every operation types it anew
    return {names.CONTROL_KEY: {"S": f"channel#{channel}"}}


def _still(gate: Gate) -> tuple[str, dict[str, Any]]:
    """That a gate is still this one, halted then or closed until then, as a condition and its values."""
    held = {"halted_at": gate.halted_at, "closed_until": gate.closed_until}
    values = {f":{name}": {"S": to_text(at)} for name, at in held.items() if at is not None}
    parts = [f"attribute_not_exists({name})" if at is None else f"{name} = :{name}" for name, at in held.items()]
    return " AND ".join(parts), values


def _instant(held: dict[str, Any], name: str) -> datetime | None:
    return from_text(held[name]) if name in held else None


def _micros(length: timedelta) -> int:
    return length // timedelta(microseconds=1)


def _epoch(instant: datetime) -> int:
    return (instant - datetime.fromtimestamp(0, UTC)) // timedelta(microseconds=1)


def _from_epoch(micros: int) -> datetime:
    return datetime.fromtimestamp(0, UTC) + timedelta(microseconds=micros)
