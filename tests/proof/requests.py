"""What processes ask of the outside: AWS, the provider, and time itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final
from unittest import mock

from botocore.client import BaseClient
from botocore.exceptions import ClientError, ReadTimeoutError

from tests.proof.direct_line import ask
from tests.proof.outside import Outside, Side, perform_quietly

_READS: Final = frozenset({"GetItem", "BatchGetItem", "Query", "GetQueueAttributes"})
_READ_SIDES: Final = (Side.KILLED_BEFORE, Side.KILLED_AFTER, Side.STALLED, Side.THROTTLED, Side.TIMED_OUT_BEFORE)
_WRITE_SIDES: Final = (
    *(Side.KILLED_BEFORE, Side.KILLED_AFTER, Side.LANDS_LATE, Side.STALLED),
    *(Side.THROTTLED, Side.TIMED_OUT_BEFORE, Side.TIMED_OUT_AFTER, Side.REPEATED),
)
# A transaction carries a token that the SDK makes once for all its own tries, so a repeated one has no second effect.
_SAFE_TO_REPEAT: Final = frozenset({"TransactWriteItems"})
_IN_PARTS: Final = frozenset({"SendMessageBatch", "BatchGetItem"})


@dataclass(frozen=True, slots=True)
class AwsRequest:
    """One call through boto3. It fails as it does after the SDK's own tries, or is repeated as they repeat it."""

    client: BaseClient
    operation: str
    parameters: dict[str, Any]
    ask: Callable[[BaseClient, str, dict[str, Any]], Any]

    @property
    def name(self) -> str:
        service = self.client.meta.service_model.service_name
        where = self.parameters.get("IndexName") or self.parameters.get("TableName") or ""
        return f"{service} {self.operation} {where}".rstrip()

    @property
    def sides(self) -> tuple[Side, ...]:
        sides: tuple[Side, ...] = _READ_SIDES if self.operation in _READS else _WRITE_SIDES
        if self.operation in _SAFE_TO_REPEAT:
            sides = tuple(side for side in sides if side is not Side.REPEATED)
        in_part = self.operation in _IN_PARTS or "IndexName" in self.parameters
        return (*sides, Side.IN_PART) if in_part else sides

    def perform(self) -> Any:
        return self.ask(self.client, self.operation, self.parameters)

    def fail(self, side: Side) -> Any:
        if side is Side.IN_PART:
            return self._in_part()
        if side is Side.THROTTLED:
            answer: Any = {
                "Error": {"Code": "ThrottlingException", "Message": "Rate exceeded"},
                "ResponseMetadata": {"HTTPStatusCode": 400},
            }
            raise ClientError(answer, self.operation)
        if side is Side.TIMED_OUT_AFTER:
            perform_quietly(self)
        raise ReadTimeoutError(endpoint_url="https://aws.example.com")

    def _in_part(self) -> Any:
        if self.operation == "BatchGetItem":
            ((table, wanted),) = self.parameters["RequestItems"].items()
            return {"Responses": {table: []}, "UnprocessedKeys": {table: wanted}}
        if self.operation == "Query":
            return {"Items": [], "Count": 0}  # an index is behind its table
        taken, refused = self.parameters["Entries"][:1], self.parameters["Entries"][1:]
        answer = self.ask(self.client, self.operation, self.parameters | {"Entries": taken})
        failed = [{"Id": one["Id"], "Code": "InternalError", "SenderFault": False} for one in refused]
        return answer | {"Failed": failed}


@dataclass(frozen=True, slots=True)
class Sleep:
    """Waiting: time passes, and the process may die of it."""

    seconds: float
    pass_time: Callable[[float], None]
    name: str = "sleep"
    sides: tuple[Side, ...] = (Side.KILLED_BEFORE, Side.KILLED_AFTER)

    def perform(self) -> None:
        self.pass_time(self.seconds)

    def fail(self, side: Side) -> None:
        raise NotImplementedError(side)


@contextmanager
def intercepted(outside: Outside, pass_time: Callable[[float], None]) -> Iterator[None]:
    """Lead every call through boto3 and every sleep past `outside`, and from there to moto."""

    def call(client: BaseClient, operation: str, parameters: dict[str, Any]) -> Any:
        return outside.reach(AwsRequest(client, operation, parameters, ask))

    def sleep(seconds: float) -> None:
        outside.reach(Sleep(seconds, pass_time))

    with mock.patch.object(BaseClient, "_make_api_call", call), mock.patch("time.sleep", sleep):
        yield
