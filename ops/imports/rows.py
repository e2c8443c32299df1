"""Rows of the customers table as an import reads and changes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from botocore.exceptions import ClientError

from functions import names
from functions.adapters.conditional_write import CONDITION_FAILED
from functions.adapters.customers import customer_records
from functions.adapters.items import Plain, from_item, to_item, to_value
from functions.adapters.ledger import BATCH_GET_LIMIT, TRANSACTION_LIMIT
from functions.adapters.transactions import CANCELLED, cancellation_codes, transact
from functions.core.customer import REMINDER_SCHEDULE

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

Key: TypeAlias = tuple[str, str]  # customer_id, record
Row: TypeAlias = Mapping[str, Plain]

# Passes by itself, and sooner with a smaller transaction; one action that still meets it is reported.
_TOO_MUCH: Final = frozenset(
    {
        CANCELLED,
        "TransactionInProgressException",
        "ThrottlingException",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "InternalServerError",
        "ValidationException",
    }
)


@dataclass(frozen=True, slots=True)
class RowChange:
    """What is to become of one row. One that was read and is gone by now was erased: it is not made again.

    Attributes:
        key: the row.
        put: attributes that get a value; None removes one.
        if_absent: attributes that get a value only where they have none. Whatever is on record stays.
        expected: the condition: attributes as they were read, None for one that was not there.
        new: the row was not there when it was read; it is written whole, unless there is one by now.
        replaces: the row is written whole, whatever was there.
        first: the customer's other rows are written only once this one has been.
        remembered: it keeps somebody as they had left, before they were erased.
    """

    key: Key
    put: Row = field(repr=False)
    if_absent: Row = field(default_factory=dict, repr=False)
    expected: Row = field(default_factory=dict, repr=False)
    new: bool = False
    replaces: bool = False
    first: bool = False
    remembered: bool = False

    def changes_anything(self, held: Row | None) -> bool:
        """Whether a row as it was read would differ afterwards."""
        if held is None:
            return True
        return any(held.get(name) != value for name, value in self.put.items()) or any(
            name not in held for name in self.if_absent
        )


@dataclass(frozen=True, slots=True)
class Refused:
    """A change that was not written, and DynamoDB's code for why."""

    change: RowChange
    code: str

    @property
    def overtaken(self) -> bool:
        """Whether the row had been changed by somebody else since it was read."""
        return self.code == CONDITION_FAILED


class Rows(Protocol):
    """The customers table of one data region."""

    def read(self, keys: Sequence[Key]) -> Mapping[Key, Row]:
        """Read rows consistently; keys without a row are left out."""
        ...

    def reminders(self, customer_id: str) -> Mapping[Key, Row]:
        """Read all reminders of a customer consistently."""
        ...

    def write(self, changes: Sequence[RowChange]) -> Sequence[Refused]:
        """Write what can be written, and return the rest."""
        ...


class DynamoRows:
    """`Rows` on DynamoDB. Safe to use from several threads."""

    def __init__(self, client: DynamoDBClient, table: str) -> None:
        self._client = client
        self._table = table

    def read(self, keys: Sequence[Key]) -> Mapping[Key, Row]:
        """Read up to 100 rows in a request; what DynamoDB left unread is asked for again."""
        remaining = iter(dict.fromkeys(keys))
        rows: dict[Key, Row] = {}
        while page := list(islice(remaining, BATCH_GET_LIMIT)):
            wanted: Any = {self._table: {"Keys": [_key(key) for key in page], "ConsistentRead": True}}
            while wanted:
                answer = self._client.batch_get_item(RequestItems=wanted)
                for item in answer["Responses"].get(self._table, []):
                    row = from_item(item)
                    rows[row[names.CUSTOMER_ID], row[names.RECORD]] = row
                wanted = answer.get("UnprocessedKeys")
        return rows

    def reminders(self, customer_id: str) -> Mapping[Key, Row]:
        """Read all reminders of a customer; event ids hold nothing that comes after "~"."""
        found = customer_records(
            self._client, self._table, customer_id, first=REMINDER_SCHEDULE, last=f"{REMINDER_SCHEDULE}~"
        )
        return {(customer_id, row[names.RECORD]): row for row in found}

    def write(self, changes: Sequence[RowChange]) -> Sequence[Refused]:
        """Write a hundred changes in a transaction. One that is cancelled is done again in halves, down to one change.

        The halves need not be written together: rows of different customers have nothing to do with each other, and a
        profile and a schedule are each right without the other.
        """
        remaining = iter(changes)
        refused: list[Refused] = []
        while page := list(islice(remaining, TRANSACTION_LIMIT)):
            refused.extend(self._write_together(page))
        return refused

    def _write_together(self, changes: Sequence[RowChange]) -> Sequence[Refused]:
        try:
            transact(self._client, [self._action(change) for change in changes])
        except ClientError as error:
            code = error.response["Error"]["Code"]
            if code not in _TOO_MUCH:
                raise
            codes = cancellation_codes(error)
            if len(changes) == 1:
                return [Refused(changes[0], codes[0] if codes else code)]
            if CONDITION_FAILED in codes:
                return self._without_overtaken(changes, codes)
            middle = len(changes) // 2
            return [*self._write_together(changes[:middle]), *self._write_together(changes[middle:])]
        return []

    def _without_overtaken(self, changes: Sequence[RowChange], codes: Sequence[str]) -> Sequence[Refused]:
        pairs = list(zip(changes, codes, strict=True))
        overtaken = [Refused(change, code) for change, code in pairs if code == CONDITION_FAILED]
        rest = [change for change, code in pairs if code != CONDITION_FAILED]
        return [*overtaken, *(self._write_together(rest) if rest else ())]

    def _action(self, change: RowChange) -> Any:  # noqa: ANN401 - one shape of several in a TypedDict
        # A whole row takes half the work of an update expression, on both ends.
        if change.new or change.replaces:
            return {"Put": self._put(change)}
        return {"Update": self._update(change)}

    def _put(self, change: RowChange) -> Any:  # noqa: ANN401 - one shape of several in a TypedDict
        condition = {
            "ConditionExpression": "attribute_not_exists(#customer_id)",
            "ExpressionAttributeNames": {"#customer_id": names.CUSTOMER_ID},
        }
        return {
            "TableName": self._table,
            "Item": _key(change.key) | to_item({**change.put, **change.if_absent}),
            **(condition if change.new else {}),
        }

    def _update(self, change: RowChange) -> Any:  # noqa: ANN401 - one shape of several in a TypedDict
        given = {name: value for name, value in change.put.items() if value is not None}
        gone = [name for name, value in change.put.items() if value is None]
        read = {name: value for name, value in change.expected.items() if value is not None}
        assignments = [
            *(f"#{name} = :{name}" for name in given),
            *(f"#{name} = if_not_exists(#{name}, :{name})" for name in change.if_absent),
        ]
        clauses = [
            *(["SET " + ", ".join(assignments)] if assignments else []),
            *(["REMOVE " + ", ".join(f"#{name}" for name in gone)] if gone else []),
        ]
        conditions = [
            f"attribute_exists(#{names.CUSTOMER_ID})",
            *(
                f"#{name} = :read_{name}" if value is not None else f"attribute_not_exists(#{name})"
                for name, value in change.expected.items()
            ),
        ]
        values = {
            **{f":{name}": to_value(value) for name, value in {**given, **change.if_absent}.items()},
            **{f":read_{name}": to_value(value) for name, value in read.items()},
        }
        return {
            "TableName": self._table,
            "Key": _key(change.key),
            "UpdateExpression": " ".join(clauses),
            "ConditionExpression": " AND ".join(conditions),
            "ExpressionAttributeNames": {
                f"#{name}": name for name in {names.CUSTOMER_ID, *change.put, *change.if_absent, *change.expected}
            },
            **({"ExpressionAttributeValues": values} if values else {}),
        }


def _key(key: Key) -> dict[str, Any]:
    customer_id, record = key
    return {names.CUSTOMER_ID: {"S": customer_id}, names.RECORD: {"S": record}}
