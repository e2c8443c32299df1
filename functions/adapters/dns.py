"""What a host name leads to, within a time: a name server that never answers must not hold a consumer."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TypeAlias

Resolve: TypeAlias = Callable[[str, float], Sequence[str]]


class NotResolvedError(Exception):
    """The name leads nowhere, or nobody said where in time."""


def resolve(host: str, timeout_s: float) -> Sequence[str]:
    """Return every IPv4 and IPv6 address of a name, IPv4 first. Raises NotResolvedError."""
    answers: SimpleQueue[list[str] | None] = SimpleQueue()
    # getaddrinfo takes no timeout, and a thread that is stuck in it cannot be ended: it is left behind.
    Thread(target=lambda: answers.put(_look_up(host)), daemon=True, name="resolve").start()
    try:
        addresses = answers.get(timeout=timeout_s)
    except Empty:
        raise NotResolvedError from None
    if not addresses:
        raise NotResolvedError
    return addresses


def _look_up(host: str) -> list[str] | None:
    try:
        # The dot at the end keeps the resolver from trying the name in the machine's own domains.
        found = socket.getaddrinfo(f"{host}.", None, family=socket.AF_UNSPEC, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return None
    ordered = sorted(found, key=lambda one: one[0] != socket.AF_INET)
    return list(dict.fromkeys(str(address[0]) for *_, address in ordered))
