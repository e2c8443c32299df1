"""Rows of a restored table that the live one has lost, copied back into it; what the live one has is left as it is.

A restore always makes a table of its own, as the rows were at one moment. What happened since is in the live table
only, so the live table stays, and only what is missing there comes back:

```
scan the restored table ── which keys are missing? ── put, if still missing
                                     │ a delivery that had not ended may have been sent since: it comes back in doubt
```
"""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from functions import names
from functions.adapters.conditional_write import CONDITION_FAILED
from functions.adapters.delivery_rows import from_row, to_row
from functions.adapters.items import from_item, to_item
from functions.core.delivery import FINISHED, Status
from functions.core.settlement import doubtful
from ops.deployment import DeploymentError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from functions.core.ports import Clock
    from ops.deployment import RegionDeployment

PAGE: Final = 100  # keys in one BatchGetItem
WRITERS: Final = 8
_TABLES: Final[Mapping[str, tuple[str, ...]]] = {
    "customers": (names.CUSTOMER_ID, names.RECORD),
    "deliveries": (names.DELIVERY_ID,),
}


class Restorable(StrEnum):
    """Tables of which rows may come back. The control table's are about now: gates, leases, tallies."""

    CUSTOMERS = "customers"
    DELIVERIES = "deliveries"


@dataclass(slots=True)
class CopiedBack:
    """What was done so far, or would be."""

    looked_at: int = 0
    missing: Counter[str] = field(default_factory=Counter)  # by kind: profile, schedule, ...; or by a delivery's state
    copied: int = 0


@dataclass(frozen=True, slots=True)
class CopyBack:
    """Copies from one table of a region into its live one. May be stopped anywhere and run again."""

    region: RegionDeployment
    which: Restorable
    source: str
    clock: Clock

    def look(self) -> CopiedBack:
        """Count what is missing; change nothing. Raises DeploymentError where there is no such table."""
        found = CopiedBack()
        for page in self._pages():
            self._count(page, self._missing(page), found)
        return found

    def run(self, done: CopiedBack) -> None:
        """Copy what is missing; `done` says how far it is, whatever ends it."""
        with ThreadPoolExecutor(WRITERS, thread_name_prefix="copy-back") as writers:
            for page in self._pages():
                missing = self._missing(page)
                self._count(page, missing, done)
                done.copied += sum(writers.map(self._put, missing))

    def _count(self, page: Sequence[Any], missing: Sequence[Any], found: CopiedBack) -> None:
        found.looked_at += len(page)
        found.missing.update(_kind(self.which, item) for item in missing)

    def _pages(self) -> Iterator[Sequence[Any]]:
        scan = self.region.dynamodb.get_paginator("scan")
        try:
            for page in scan.paginate(TableName=self.source, PaginationConfig={"PageSize": PAGE}):
                yield page["Items"]
        except ClientError as error:
            if error.response["Error"]["Code"] != "ResourceNotFoundException":
                raise
            raise DeploymentError(
                f"--from: {self.region.aws_region} has no table {self.source}: wait until the restore is ACTIVE"
            ) from None

    def _missing(self, page: Sequence[Any]) -> list[Any]:
        keys = [{name: item[name] for name in _TABLES[self.which]} for item in page]
        there: set[str] = set()
        named = {f"#{name}": name for name in _TABLES[self.which]}  # DynamoDB has a word of its own for some
        asked = {"ProjectionExpression": ", ".join(named), "ExpressionAttributeNames": named}
        wanted: Any = {self._live: {"Keys": keys, "ConsistentRead": True, **asked}}
        while wanted and keys:
            answer = self.region.dynamodb.batch_get_item(RequestItems=wanted)
            there.update(str(sorted(item.items())) for item in answer["Responses"].get(self._live, []))
            wanted = answer.get("UnprocessedKeys")
        return [item for item, key in zip(page, keys, strict=True) if str(sorted(key.items())) not in there]

    @property
    def _live(self) -> str:
        tables = {
            Restorable.CUSTOMERS: self.region.customers_table,
            Restorable.DELIVERIES: self.region.deliveries_table,
        }
        return tables[self.which]

    def _put(self, item: Any) -> bool:  # noqa: ANN401 - an item of the client
        try:
            self.region.dynamodb.put_item(
                TableName=self._live,
                Item=self._in_doubt(item) if self.which is Restorable.DELIVERIES else item,
                ConditionExpression="attribute_not_exists(#key)",
                ExpressionAttributeNames={"#key": _TABLES[self.which][0]},
            )
        except ClientError as error:
            if error.response["Error"]["Code"] != CONDITION_FAILED:
                raise
            return False
        return True

    def _in_doubt(self, item: Any) -> Any:  # noqa: ANN401 - an item of the client
        row = from_row(from_item(item))
        if not _is_doubtful(row.status):
            return item
        since = row.in_doubt_since or row.claimed_at or row.selected_at
        doubted = doubtful(replace(row, in_doubt_since=since), at=self.clock())
        after = to_item(to_row(doubted, shards=self.region.shards))
        return after | {name: item[name] for name in (names.TTL,) if name in item}


def _kind(which: Restorable, item: Any) -> str:  # noqa: ANN401 - an item of the client
    if which is Restorable.CUSTOMERS:
        return str(item[names.RECORD]["S"]).partition("#")[0].lower()
    state = Status(item["status"]["S"])
    return f"{state}, comes back as uncertain" if _is_doubtful(state) else str(state)


def _is_doubtful(status: Status) -> bool:
    """Whether more may have happened to it than is known: also to a dead letter, which may have been redriven."""
    return status not in FINISHED and status is not Status.UNCERTAIN
