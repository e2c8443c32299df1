"""The due index, and the transactions that turn due schedules into rows."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from functions import names
from functions.adapters.conditional_write import CONDITION_FAILED
from functions.adapters.delivery_rows import purge_at, to_row
from functions.adapters.items import from_item, to_item
from functions.adapters.ledger import TRANSACTION_LIMIT
from functions.adapters.schedule_rows import schedule_from_row
from functions.adapters.transactions import CANCELLED, cancellation_codes, transact
from functions.core.customer import ReminderSchedule
from functions.core.instants import to_text
from functions.core.ports import PlanReceipt, UnreadableSchedule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime, timedelta

    from mypy_boto3_dynamodb import DynamoDBClient

    from functions.core.customer import Schedule
    from functions.core.delivery import Delivery
    from functions.core.planning import SchedulePlan

PAGE: Final = 500  # schedules in one query: enough to fill transactions and batches, little enough to stop between


class DynamoPlanBook:
    """`PlanBook` on DynamoDB."""

    def __init__(
        self,
        client: DynamoDBClient,
        *,
        customers_table: str,
        deliveries_table: str,
        shards: int,
        keep_for: timedelta,
    ) -> None:
        self._client = client
        self._customers_table = customers_table
        self._deliveries_table = deliveries_table
        self._shards = shards
        self._keep_for = keep_for

    def due(self, shard: int, until: datetime) -> Iterator[Sequence[Schedule | UnreadableSchedule]]:
        """Pages of schedules due in a shard up to and including `until`, oldest first.

        Reads only what is due: paused and ended schedules are not in the index.
        """
        pages = self._client.get_paginator("query").paginate(
            TableName=self._customers_table,
            IndexName=names.DUE_INDEX,
            KeyConditionExpression="#shard = :shard AND #next_run_at <= :until",
            ExpressionAttributeNames={"#shard": names.DUE_SHARD, "#next_run_at": names.NEXT_RUN_AT},
            ExpressionAttributeValues={":shard": {"S": f"due#{shard}"}, ":until": {"S": to_text(until)}},
            PaginationConfig={"PageSize": PAGE},
        )
        for page in pages:
            if page["Items"]:
                yield [read_schedule(from_item(item)) for item in page["Items"]]

    def commit(self, plans: Sequence[SchedulePlan]) -> PlanReceipt:
        """Write the rows of many customers and move their schedules on, about a hundred actions in a transaction.

        A transaction that is cancelled is done again customer by customer, so that one row never holds up the others.
        """
        receipts = list(chain.from_iterable(self._commit_together(group) for group in _groups(plans)))
        return PlanReceipt(
            planned=tuple(chain.from_iterable(receipt.planned for receipt in receipts)),
            existing=sum(receipt.existing for receipt in receipts),
            moved=sum(receipt.moved for receipt in receipts),
            failed=tuple(chain.from_iterable(receipt.failed for receipt in receipts)),
        )

    def _commit_together(self, plans: Sequence[SchedulePlan]) -> Iterator[PlanReceipt]:
        try:
            transact(self._client, [action for plan in plans for action in self._actions(plan, plan.deliveries)])
        except ClientError as error:
            if error.response["Error"]["Code"] != CANCELLED:
                raise
            for plan in plans:
                yield self._commit_alone(plan)
        else:
            yield PlanReceipt(tuple(one for plan in plans for one in plan.deliveries), existing=0, moved=0, failed=())

    def _commit_alone(self, plan: SchedulePlan) -> PlanReceipt:
        fresh = plan.deliveries
        while True:
            existing = len(plan.deliveries) - len(fresh)
            try:
                transact(self._client, self._actions(plan, fresh))
            except ClientError as error:
                codes = cancellation_codes(error)
                if CONDITION_FAILED not in codes:
                    return PlanReceipt((), existing=0, moved=0, failed=(plan.schedule.customer_id,))
                if codes[0] == CONDITION_FAILED:
                    return PlanReceipt((), existing=len(plan.deliveries), moved=1, failed=())
                # Rows that are there already stay as they are, whatever their state; only the missing ones are written.
                fresh = tuple(one for one, code in zip(fresh, codes[1:], strict=True) if code != CONDITION_FAILED)
            else:
                return PlanReceipt(fresh, existing=existing, moved=0, failed=())

    def _actions(self, plan: SchedulePlan, fresh: Sequence[Delivery]) -> list[Any]:
        return [self._advance(plan), *(self._put(delivery) for delivery in fresh)]

    def _put(self, delivery: Delivery) -> Any:  # noqa: ANN401 - one shape of several in a TypedDict
        row = to_row(delivery, shards=self._shards) | {names.TTL: purge_at(delivery, self._keep_for)}
        return {
            "Put": {
                "TableName": self._deliveries_table,
                "Item": to_item(row),
                "ConditionExpression": "attribute_not_exists(#delivery_id)",
                "ExpressionAttributeNames": {"#delivery_id": names.DELIVERY_ID},
            }
        }

    def _advance(self, plan: SchedulePlan) -> Any:  # noqa: ANN401 - one shape of several in a TypedDict
        read_at = to_text(plan.schedule.next_run_at)
        attributes = {"#next_run_at": names.NEXT_RUN_AT}
        values = {":read": {"S": read_at}}
        if plan.next_run_at is not None:
            update = "SET #next_run_at = :next"
            values[":next"] = {"S": to_text(plan.next_run_at)}
        else:
            update = "REMOVE #next_run_at, #due_shard"
            attributes["#due_shard"] = names.DUE_SHARD
            if isinstance(plan.schedule, ReminderSchedule):
                # When the customer is erased, its event leads to its deliveries: it is kept as long as they are.
                update = f"SET #ttl = :ttl {update}"
                attributes["#ttl"] = names.TTL
                values[":ttl"] = {"N": str(purge_at(plan.schedule, self._keep_for))}
        return {
            "Update": {
                "TableName": self._customers_table,
                "Key": {
                    names.CUSTOMER_ID: {"S": plan.schedule.customer_id},
                    names.RECORD: {"S": plan.schedule.record},
                },
                "UpdateExpression": update,
                "ConditionExpression": "#next_run_at = :read",
                "ExpressionAttributeNames": attributes,
                "ExpressionAttributeValues": values,
            }
        }


def read_schedule(row: Mapping[str, Any]) -> Schedule | UnreadableSchedule:
    """Read a schedule's row, if it makes sense."""
    try:
        return schedule_from_row(row)
    except (KeyError, TypeError, ValueError):
        # Whoever wrote it, one row must not keep its shard from being planned.
        return UnreadableSchedule(row[names.CUSTOMER_ID], row[names.RECORD])


def _groups(plans: Sequence[SchedulePlan]) -> Iterator[list[SchedulePlan]]:
    """Group plans so that each group's actions fit into one transaction."""
    group: list[SchedulePlan] = []
    actions = 0
    for plan in plans:
        size = 1 + len(plan.deliveries)
        if group and actions + size > TRANSACTION_LIMIT:
            yield group
            group, actions = [], 0
        group.append(plan)
        actions += size
    if group:
        yield group
