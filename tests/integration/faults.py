"""Makes calls to AWS fail, or the process die, where a scenario needs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from botocore.exceptions import ClientError


def refused(operation: str, code: str = "ThrottlingException", status: int = 400) -> ClientError:
    """The answer of a service that does not take a request."""
    answer: Any = {
        "Error": {"Code": code, "Message": "the service's own words"},
        "ResponseMetadata": {"HTTPStatusCode": status},
    }
    return ClientError(answer, operation)


@contextmanager
def just_before(client: Any, operation: str, act: Callable[[], object]) -> Iterator[None]:
    """Let something happen, once, right before a call of an operation is sent."""
    event = f"before-call.{client.meta.service_model.service_id.hyphenize()}.{operation}"

    def once(**_: Any) -> None:
        client.meta.events.unregister(event, once)
        act()

    client.meta.events.register(event, once)
    try:
        yield
    finally:
        client.meta.events.unregister(event, once)


@contextmanager
def failing(
    client: Any, operation: str, error: BaseException, *, when: Callable[[int], bool] = lambda _: True
) -> Iterator[list[int]]:
    """Let calls of an operation fail before they are sent, those for whose number (from 1) `when` is true.

    Yields the numbers of the calls that were made.
    """
    made: list[int] = []
    event = f"before-call.{client.meta.service_model.service_id.hyphenize()}.{operation}"

    def fail(**_: Any) -> None:
        made.append(len(made) + 1)
        if when(made[-1]):
            raise error

    client.meta.events.register(event, fail)
    try:
        yield made
    finally:
        client.meta.events.unregister(event, fail)


@contextmanager
def answer_lost(client: Any, operation: str) -> Iterator[None]:
    """Let the next call of an operation be done and its answer be lost, so that the SDK asks again."""
    event = f"needs-retry.{client.meta.service_model.service_id.hyphenize()}.{operation}"
    handler = "answer-lost"

    def lose(**_: Any) -> float:
        client.meta.events.unregister(event, unique_id=handler)
        return 0.0  # seconds to wait before asking again

    client.meta.events.register_first(event, lose, unique_id=handler)
    try:
        yield
    finally:
        client.meta.events.unregister(event, unique_id=handler)
