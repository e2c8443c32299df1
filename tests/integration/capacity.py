"""What calls to DynamoDB and SQS are billed as: requests, and read and write units by DynamoDB's published rules.

Moto answers with a made-up capacity, so the units are reckoned here from the items themselves, as they were before a
call and as they are after it:
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html (sizes)
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html (indexes)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import ceil
from typing import Any, Final

from moto.dynamodb.models import dynamodb_backends

from tests.fakes.environment import ACCOUNT, REGION

Item = Mapping[str, Any]
WRITE_UNIT: Final = 1024  # bytes, or a part of them
READ_UNIT: Final = 4096
TRANSACTIONAL: Final = 2
OVERHEAD: Final = 100  # bytes of storage for each item, in a table and in an index
EVENTUAL: Final = 0.5
_REFUSED: Final = 300  # and more: a condition failed


@dataclass
class Metered:
    """What was asked for, by operation, and the units that it takes."""

    requests: Counter[str] = field(default_factory=Counter)
    read_units: float = 0
    write_units: float = 0


@contextmanager
def metered(*clients: Any) -> Iterator[Metered]:
    """Count what clients of DynamoDB and SQS ask for."""
    meter = Metered()

    def before(params: Any, model: Any, context: Any, **_: Any) -> None:
        context["metered"] = (params, _images(model.name, params))

    def after(http_response: Any, parsed: Any, model: Any, context: Any, **_: Any) -> None:
        params, images = context["metered"]
        meter.requests[model.name] += 1
        meter.read_units += _read_units(model.name, params, parsed)
        wrote = http_response.status_code < _REFUSED
        meter.write_units += sum(_write_units(one, wrote=wrote, operation=model.name) for one in images)

    events = [("provide-client-params", before), ("after-call", after)]
    wired = [
        (client, f"{event}.{client.meta.service_model.service_id.hyphenize()}", act)
        for client in clients
        for event, act in events
    ]
    for client, event, act in wired:
        client.meta.events.register(event, act)
    try:
        yield meter
    finally:
        for client, event, act in wired:
            client.meta.events.unregister(event, act)


# --- writes -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Written:
    """An item that a call is about to write, as it was."""

    table: str
    key: Item
    before: Item | None


def _images(operation: str, params: Mapping[str, Any]) -> list[Written]:
    if operation == "TransactWriteItems":
        actions = [next(iter(one.values())) for one in params["TransactItems"]]
    elif operation in {"PutItem", "UpdateItem", "DeleteItem"}:
        actions = [params]
    else:
        assert operation != "BatchWriteItem", "how it is billed is not written down here"
        actions = []
    written = []
    for action in actions:
        table = action["TableName"]
        given = action.get("Key") or action["Item"]
        key = {name: given[name] for name in _key_of(table)}
        written.append(Written(table, key, _item(table, key)))
    return written


def _write_units(one: Written, *, wrote: bool, operation: str) -> int:
    after = _item(one.table, one.key) if wrote else one.before
    size = max(_size(one.before), _size(after))
    units = max(1, ceil(size / WRITE_UNIT)) * (TRANSACTIONAL if operation == "TransactWriteItems" else 1)
    return units + sum(_index_units(index, one, after) for index in _table(one.table).global_indexes)


def _index_units(index: Any, one: Written, after: Item | None) -> int:
    """An entry that comes or goes is one write; one whose key changes is two; one that does not change is none."""
    was, is_now = _entry(index, one.table, one.before), _entry(index, one.table, after)
    if was == is_now:
        return 0
    if was and is_now and all(was[name] == is_now[name] for name in _keys(index)):
        return ceil(max(_size(was), _size(is_now)) / WRITE_UNIT)
    return sum(ceil(_size(entry) / WRITE_UNIT) for entry in (was, is_now) if entry)


def _entry(index: Any, table: str, item: Item | None) -> Item | None:
    keys = _keys(index)
    if item is None or not all(name in item for name in keys):
        return None
    kind = index.projection["ProjectionType"]
    if kind == "ALL":
        return item
    wanted = {*keys, *_key_of(table), *index.projection.get("NonKeyAttributes", [])}
    return {name: value for name, value in item.items() if name in wanted}


# --- reads ------------------------------------------------------------------------------------------------------------


def _read_units(operation: str, params: Mapping[str, Any], parsed: Mapping[str, Any]) -> float:
    if operation == "GetItem":
        return _of_reads([_item(params["TableName"], params["Key"])], consistent=params.get("ConsistentRead", False))
    if operation == "BatchGetItem":
        return sum(
            _of_reads([_item(table, key)], consistent=wanted.get("ConsistentRead", False))
            for table, wanted in params["RequestItems"].items()
            for key in wanted["Keys"]
        )
    if operation == "Query":
        return _of_reads(_found(params, parsed), consistent=params.get("ConsistentRead", False))
    assert operation not in {"Scan", "TransactGetItems"}, "how it is billed is not written down here"
    return 0


def _of_reads(items: Sequence[Item | None], *, consistent: bool) -> float:
    """One that is not there, and a query that finds nothing, are billed as the smallest read."""
    units = max(1, ceil(sum(_size(one) for one in items) / READ_UNIT))
    return units * (1 if consistent else EVENTUAL)


def _found(params: Mapping[str, Any], parsed: Mapping[str, Any]) -> Sequence[Item | None]:
    """What a query read, before anything was left out of it."""
    table = _table(params["TableName"])
    index = next((one for one in table.global_indexes if one.name == params.get("IndexName")), None)
    if "Select" in params:
        entries = [_entry(index, table.name, one) for one in _all(table)]
        there = [one for one in entries if one]
        return there[: parsed["ScannedCount"]]  # a count names no items: as many of the same index
    items = [_item(table.name, {name: one[name] for name in _key_of(table.name)}) for one in parsed["Items"]]
    return items if index is None else [_entry(index, table.name, one) for one in items]


def item_bytes(table: str, key: Item) -> int:
    """How much is stored of an item and of its index entries, each with the 100 bytes that DynamoDB adds."""
    item = _item(table, key)
    entries = [item, *(_entry(index, table, item) for index in _table(table).global_indexes)]
    return sum(_size(one) + OVERHEAD for one in entries if one)


# --- moto's tables ----------------------------------------------------------------------------------------------------


def _table(name: str) -> Any:
    return dynamodb_backends[ACCOUNT][REGION].tables[name]


def _key_of(table: str) -> list[str]:
    found = _table(table)
    return [name for name in (found.hash_key_attr, found.range_key_attr) if name]


def _all(table: Any) -> Iterator[Item]:
    for one in table.all_items():
        yield one.to_json()["Attributes"]


def _item(table: str, key: Item) -> Item | None:
    found = dynamodb_backends[ACCOUNT][REGION].get_item(table, dict(key))
    return None if found is None else found.to_json()["Attributes"]


def _keys(index: Any) -> list[str]:
    return [one["AttributeName"] for one in index.schema]


def _size(item: Item | None) -> int:
    return sum(len(name.encode()) + _size_of(value) for name, value in (item or {}).items())


def _size_of(value: Mapping[str, Any]) -> int:
    ((kind, held),) = value.items()
    if kind == "S":
        return len(held.encode())
    if kind == "N":
        return ceil(len(held.strip("-").replace(".", "")) / 2) + 1
    if kind in {"BOOL", "NULL"}:
        return 1
    if kind == "L":
        return 3 + sum(1 + _size_of(one) for one in held)
    if kind == "M":
        return 3 + sum(1 + len(name.encode()) + _size_of(one) for name, one in held.items())
    if kind in {"SS", "NS"}:
        return sum(len(one.encode()) for one in held)
    raise AssertionError(f"no size is written down for {kind}")
