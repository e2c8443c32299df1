"""The requests that a handler makes, taken down to be made again without anything around them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self

import boto3
from botocore import xform_name

_EVENT: Final = "provide-client-params"


@dataclass(frozen=True)
class Request:
    """One call of a client: `Request("dynamodb", "GetItem", {...})`."""

    service: str
    operation: str
    parameters: Mapping[str, Any]


class Recording:
    """Takes down every request that clients make for these services while it is open, whoever made the clients."""

    def __init__(self, *clients: Any) -> None:  # noqa: ANN401 - a client of any service
        self._clients = clients
        self.requests: list[Request] = []

    def __enter__(self) -> Self:
        for client in self._clients:
            client.meta.events.register(_EVENT, self._take_down, unique_id=_EVENT)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for client in self._clients:
            client.meta.events.unregister(_EVENT, unique_id=_EVENT)

    def _take_down(self, params: dict[str, Any], model: Any, **_: object) -> None:  # noqa: ANN401 - botocore's
        self.requests.append(Request(model.service_model.service_name, model.name, params))


def replay(requests: Sequence[Request]) -> Callable[[], None]:
    """Return these requests in their order, on clients as boto3 makes them, which are warm."""
    session: Any = boto3.Session()
    clients = {service: session.client(service) for service in {one.service for one in requests}}
    calls = [(getattr(clients[one.service], xform_name(one.operation)), one.parameters) for one in requests]
    for call, parameters in {call.__name__: (call, parameters) for call, parameters in calls}.values():
        call(**parameters)

    def again() -> None:
        for call, parameters in calls:
            call(**parameters)

    return again


class Invocation:
    """The context of an invocation that has a quarter of an hour."""

    aws_request_id = "bench"
    function_name = "bench"
    memory_limit_in_mb = 512
    invoked_function_arn = "arn:aws:lambda:us-east-1:1:function:bench"

    def __init__(self) -> None:
        self._ends = time.monotonic() + 900

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds until Lambda would end it."""
        return int(1000 * (self._ends - time.monotonic()))
