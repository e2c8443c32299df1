"""The deliveries table as the ledger: every write carries the condition that the table of transitions implies."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from functions import names
from functions.adapters.conditional_write import CONDITION_FAILED, updated
from functions.adapters.delivery_rows import attention_partition, from_row, to_row
from functions.adapters.items import from_item, to_value
from functions.adapters.transactions import CANCELLED, cancellation_codes, transact
from functions.core.delivery import UNSETTLED, Attention, Delivery, Status, may_have_become
from functions.core.identity import Channel
from functions.core.instants import to_text
from functions.core.ports import Claim, ClaimRefusedError
from functions.core.settlement import claimed, is_own_claim

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from mypy_boto3_dynamodb import DynamoDBClient


BATCH_GET_LIMIT: Final = 100  # keys in one BatchGetItem
TRANSACTION_LIMIT: Final = 100  # actions in one TransactWriteItems


class DynamoLedger:
    """`Ledger` on DynamoDB."""

    def __init__(self, client: DynamoDBClient, *, table: str, shards: int) -> None:
        self._client = client
        self._table = table
        self._shards = shards

    def read(self, delivery_ids: Iterable[str]) -> Mapping[str, Delivery]:
        """Read rows consistently, by id, up to 100 in a request; what DynamoDB left unread is asked for again."""
        remaining = iter(dict.fromkeys(delivery_ids))
        rows: dict[str, Delivery] = {}
        while page := list(islice(remaining, BATCH_GET_LIMIT)):
            for item in self._batch_get(page):
                delivery = from_row(from_item(item))
                rows[str(delivery.delivery_id)] = delivery
        return rows

    def claim(self, before: Delivery, claim: Claim) -> Delivery:
        """Move a row to `sending` with the next attempt number, in one conditional write.

        ```
        read ── claim (attempt n+1, lease_until = the invocation's end) ── send ── settle (if attempt is still n+1)
                     │ somebody claimed since the read: attempt differs, refused
                     └ it was skipped, expired or settled since: status differs, refused
        ```
        """
        after = claimed(before, claim)
        # A row that is `sending` is claimed again only by who saw its lease run out; the attempt number fences it.
        if self._update(before, after):
            return after
        current = self.read([str(before.delivery_id)]).get(str(before.delivery_id))
        if current is not None and is_own_claim(current, after):
            return current  # it took effect, its answer was lost, and the SDK asked again
        raise ClaimRefusedError(current)

    def write(self, before: Delivery, after: Delivery) -> bool:
        """Move a row on, if it is still at the attempt that was read and its state may become the new one."""
        return self._update(before, after)

    def took_effect(self, before: Delivery, after: Delivery) -> bool:
        """Whether a write that was refused had been done: its answer was lost, and the SDK asked again.

        Seen by all that it changed being there, its time to the millisecond.
        """
        found = self.read([str(before.delivery_id)]).get(str(before.delivery_id))
        if found is None:
            return False
        old, new, held = (to_row(one, shards=self._shards) for one in (before, after, found))
        return all(held[name] == value for name, value in new.items() if value != old[name])

    def mark_enqueued(self, deliveries: Sequence[Delivery], at: datetime) -> None:
        """Move rows from `planned` to `queued`, a hundred in a transaction.

        A consumer may be quicker than we are. Its row fails the condition, and the others are written without it.
        """
        remaining = iter(deliveries)
        while page := list(islice(remaining, TRANSACTION_LIMIT)):
            self._mark_page(page, at)

    def needing_attention(self, why: Attention, channel: Channel, shard: int, until: datetime) -> Iterator[str]:
        """Ids in the `attention` index whose time has come, oldest first."""
        pages = self._client.get_paginator("query").paginate(
            TableName=self._table,
            IndexName=names.ATTENTION_INDEX,
            KeyConditionExpression="#attention = :attention AND #at <= :until",
            ExpressionAttributeNames={"#attention": names.ATTENTION, "#at": names.ATTENTION_AT},
            ExpressionAttributeValues={
                ":attention": {"S": attention_partition(why, channel, shard)},
                ":until": {"S": to_text(until)},
            },
            ProjectionExpression=names.DELIVERY_ID,
        )
        for page in pages:
            for item in page["Items"]:
                yield item[names.DELIVERY_ID]["S"]

    def has_open(self, period: str) -> bool:
        """Whether the `attention` index holds an open row of a period; stops at the first one."""
        return any(
            self._open_in(attention_partition(why, channel, shard), period)
            for why in (Attention.OPEN, Attention.RETRYABLE)
            for channel in Channel
            for shard in range(self._shards)
        )

    def _open_in(self, partition: str, period: str) -> bool:
        pages = self._client.get_paginator("query").paginate(
            TableName=self._table,
            IndexName=names.ATTENTION_INDEX,
            KeyConditionExpression="#attention = :attention",
            FilterExpression="#period = :period",
            ExpressionAttributeNames={"#attention": names.ATTENTION, "#period": names.PERIOD},
            ExpressionAttributeValues={":attention": {"S": partition}, ":period": {"S": period}},
            ProjectionExpression=names.DELIVERY_ID,
        )
        return any(page["Items"] for page in pages)

    def _batch_get(self, delivery_ids: Sequence[str]) -> Iterator[Mapping[str, Any]]:
        wanted: Any = {
            self._table: {"Keys": [{names.DELIVERY_ID: {"S": one}} for one in delivery_ids], "ConsistentRead": True}
        }
        while wanted:
            answer = self._client.batch_get_item(RequestItems=wanted)
            yield from answer["Responses"].get(self._table, [])
            wanted = answer.get("UnprocessedKeys")

    def _update(self, before: Delivery, after: Delivery) -> bool:
        if not may_have_become(before.status, after.status):
            return False
        return updated(self._client, TableName=self._table, **update_of(before, after, shards=self._shards))

    def _mark_page(self, page: Sequence[Delivery], at: datetime) -> None:
        waiting = list(page)
        while waiting:
            try:
                transact(self._client, [{"Update": self._mark(one, at)} for one in waiting])
            except ClientError as error:
                if error.response["Error"]["Code"] != CANCELLED:
                    raise
                codes = cancellation_codes(error)
                if CONDITION_FAILED not in codes:
                    raise
                # Only those whose condition held are tried again, so that each round is smaller than the last.
                waiting = [one for one, code in zip(waiting, codes, strict=True) if code != CONDITION_FAILED]
            else:
                return

    def _mark(self, delivery: Delivery, at: datetime) -> Any:  # noqa: ANN401 - one shape of several in a TypedDict
        return {
            "TableName": self._table,
            "Key": {names.DELIVERY_ID: {"S": str(delivery.delivery_id)}},
            "UpdateExpression": "SET #status = :queued, enqueued_at = :at",
            "ConditionExpression": "#status = :planned",
            "ExpressionAttributeNames": {"#status": "status"},
            "ExpressionAttributeValues": {
                ":queued": {"S": str(Status.QUEUED)},
                ":planned": {"S": str(Status.PLANNED)},
                ":at": {"S": to_text(at)},
            },
        }


def update_of(before: Delivery, after: Delivery, *, shards: int) -> Any:  # noqa: ANN401 - update_item's arguments
    """Return the UpdateItem arguments that turn one row into the other: only what differs is written.

    Fenced by `attempt` and by the state that was read: what is left unwritten must still be there. Of an accepted row
    everything goes that others may have written of it as a failure. A receipt is not an attempt's: it is fenced by the
    receipt that it was joined to.
    """
    old, new = to_row(before, shards=shards), to_row(after, shards=shards)
    rewritten = UNSETTLED | {names.ATTENTION} if after.status is Status.ACCEPTED else frozenset()
    changed = {name: value for name, value in new.items() if value != old[name] or name in rewritten}
    kept = {name: value for name, value in changed.items() if value is not None}
    gone = [name for name, value in changed.items() if value is None]
    # The new state is always written, so that the expression is never empty and the row never half changed.
    kept["status"] = str(after.status)
    update = "SET " + ", ".join(f"#{name} = :{name}" for name in kept)
    if gone:
        update += " REMOVE " + ", ".join(f"#{name}" for name in gone)
    states = {f":from_{status}": str(status) for status in sorted(may_have_become(before.status, after.status))}
    condition = f"#attempt = :seen_attempt AND #status IN ({', '.join(states)})"
    values = {
        **{f":{name}": to_value(value) for name, value in kept.items()},
        **{name: to_value(value) for name, value in states.items()},
        ":seen_attempt": {"N": str(before.attempt)},
    }
    if "receipt" in changed and old["receipt"] is None:
        condition += " AND attribute_not_exists(#receipt)"
    elif "receipt" in changed:
        condition += " AND #receipt = :seen_receipt"
        values[":seen_receipt"] = to_value(old["receipt"])
    return {
        "Key": {names.DELIVERY_ID: {"S": str(before.delivery_id)}},
        "UpdateExpression": update,
        "ConditionExpression": condition,
        "ExpressionAttributeNames": {f"#{name}": name for name in {*kept, *gone, "attempt", "status"}},
        "ExpressionAttributeValues": values,
    }
