"""Deliveries that somebody should look at, oldest first and a page at a time, whatever number of them there is.

The `attention` index is sorted within each of its partitions. They are read lazily and merged, so that a page costs a
request for each partition and little more. What the index says is a hint; the rows are read consistently.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from functions import names
from functions.adapters.delivery_rows import attention_partition
from functions.core.delivery import ATTENTION_OF, Attention, Delivery
from functions.core.instants import to_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from datetime import datetime

    from functions.adapters.region_tables import RegionTables
    from functions.core.identity import Channel

_EVER: Final = "~"  # instants are text of fixed width, so it comes after all of them
_READ_AT_ONCE: Final = 25


@dataclass(frozen=True, slots=True)
class AttentionPage:
    """Rows that wait, and whether there are more behind them."""

    rows: tuple[Delivery, ...]
    more: bool


@dataclass(frozen=True, slots=True)
class _Hint:
    at: str
    delivery_id: str


def attention_page(
    region: RegionTables,
    until: Mapping[Attention, datetime | None],
    channels: Collection[Channel],
    *,
    number: int,
    limit: int,
) -> AttentionPage:
    """Read the page `number`, from 0 on, of the rows that wait for these reasons and were to be looked at by then.

    None is at any time. Rows that have moved on meanwhile are left out, so that a page may be shorter than `limit`.
    """
    partitions = [
        _partition(region, attention_partition(why, channel, shard), _EVER if by is None else to_text(by))
        for why, by in until.items()
        for channel in channels
        for shard in range(region.shards)
    ]
    # Skipped by number, not by key: many rows may be due at the same instant, in no order among themselves.
    hints = list(islice(heapq.merge(*partitions, key=attrgetter("at")), number * limit, (number + 1) * limit + 1))
    ids = [hint.delivery_id for hint in hints[:limit]]
    rows = region.ledger.read(ids)
    waiting = tuple(rows[one] for one in ids if one in rows and ATTENTION_OF.get(rows[one].status) in until)
    return AttentionPage(waiting, more=len(hints) > limit)


def _partition(region: RegionTables, partition: str, until: str) -> Iterator[_Hint]:
    pages = region.dynamodb.get_paginator("query").paginate(
        TableName=region.deliveries_table,
        IndexName=names.ATTENTION_INDEX,
        KeyConditionExpression="#attention = :attention AND #at <= :until",
        ExpressionAttributeNames={"#attention": names.ATTENTION, "#at": names.ATTENTION_AT},
        ExpressionAttributeValues={":attention": {"S": partition}, ":until": {"S": until}},
        ProjectionExpression=f"{names.DELIVERY_ID}, #at",
        PaginationConfig={"PageSize": _READ_AT_ONCE},
    )
    for page in pages:
        for item in page["Items"]:
            yield _Hint(item[names.ATTENTION_AT]["S"], item[names.DELIVERY_ID]["S"])
