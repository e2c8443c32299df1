"""A time by which a request is over, however slowly the other end talks.

A socket's timeout begins anew with every byte that arrives: an endpoint that sends one a second is never late by it.
"""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from urllib3.connection import HTTPSConnection


class Deadline:
    """A context manager that cuts the connection which it watches when its seconds are over."""

    def __init__(self, seconds: float) -> None:
        self._ends_at = time.monotonic() + seconds
        self._timer = threading.Timer(seconds, self._cut)
        self._timer.daemon = True
        self._watched: socket.socket | None = None
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        with self._lock:
            if self._watched is not None:
                self._watched.close()
                self._watched = None

    @property
    def left_s(self) -> float:
        """Seconds that are left, and never none: a timeout of zero would mean something else."""
        return max(0.001, self._ends_at - time.monotonic())

    @property
    def passed(self) -> bool:
        """Whether the time is over."""
        return time.monotonic() >= self._ends_at

    def watch(self, sock: socket.socket) -> None:
        """Cut this connection at the deadline. It is watched by a second handle: TLS takes the first one over."""
        with self._lock:
            self._watched = sock.dup()
        if self.passed:
            self._cut()

    def _cut(self) -> None:
        with self._lock, suppress(OSError):
            if self._watched is not None:
                self._watched.shutdown(socket.SHUT_RDWR)


class DeadlinedConnection(HTTPSConnection):
    """An HTTPS connection that is cut at a deadline, from its handshake on."""

    def __init__(self, *arguments: Any, deadline: Deadline, **options: Any) -> None:  # noqa: ANN401 - urllib3's own
        super().__init__(*arguments, **options)
        self._deadline = deadline

    def _new_conn(self) -> socket.socket:
        sock = super()._new_conn()
        self._deadline.watch(sock)
        return sock
