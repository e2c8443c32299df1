"""An HTTP server on loopback whose answers may also be silence, or a connection that breaks.

with LoopbackServer(lambda request: Reply(200, b"{}")) as server:
    urllib.request.urlopen(server.url)
"""

from __future__ import annotations

import select
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Final, Self, cast
from urllib.parse import parse_qs, urlsplit

from typing_extensions import override

HOST: Final = "127.0.0.1"
LONGEST_BODY: Final = 10 * 1024 * 1024  # bytes
_PEER_LOOK_S: Final = 0.1
# Closing a socket with this option sends a reset at once instead of an orderly end.
_NO_LINGER: Final = struct.pack("ii", 1, 0)


class Ending(StrEnum):
    """How an exchange ends."""

    ANSWER = "answer"
    SILENCE = "silence"  # nothing is ever answered; over when the other side gives up
    RESET = "reset"


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it came in; header names are in small letters."""

    method: str
    path: str
    query: Mapping[str, str] = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Reply:
    """What is sent back."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    ending: Ending = Ending.ANSWER


SILENCE: Final = Reply(0, ending=Ending.SILENCE)
RESET: Final = Reply(0, ending=Ending.RESET)


class LoopbackServer:
    """A server as a context manager, with a thread for each connection.

    `answer` is called with each request, from several threads at once. Whatever it waits for it should wait for with
    `pause`, which ends early when the server does. `host` is any address of loopback; with `tls` it speaks https.
    """

    def __init__(
        self,
        answer: Callable[[Request], Reply],
        *,
        port: int = 0,
        host: str = HOST,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._closing = threading.Event()
        self._server = _Server((host, port), answer, self._closing)
        self._scheme = "http" if tls is None else "https"
        if tls is not None:
            # The handshake is made in the connection's own thread: a client that makes none holds nobody up.
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), name="loopback", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        return f"{self._scheme}://{self._server.server_address[0]!s}:{self.port}"

    def pause(self, seconds: float) -> None:
        """Wait, unless the server is being closed."""
        if seconds > 0:
            self._closing.wait(seconds)


class _Server(ThreadingHTTPServer):
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], answer: Callable[[Request], Reply], closing: threading.Event) -> None:
        self.answer = answer
        self.closing = closing
        self._open: set[socket.socket] = set()
        super().__init__(address, _Handler)

    @override
    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    @override
    def shutdown_request(self, request: Any) -> None:
        # Not shut down first, which would be an orderly end even where a reset is wanted.
        self._open.discard(request)
        self.close_request(request)

    @override
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients that leave while they are being answered are what such a server is for."""

    @override
    def server_close(self) -> None:
        super().server_close()
        for connection in tuple(self._open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def _serve(self) -> None:
        parts = urlsplit(self.path)
        length = min(int(self.headers.get("Content-Length") or 0), LONGEST_BODY)
        request = Request(
            method=self.command,
            path=parts.path,
            query={name: values[-1] for name, values in parse_qs(parts.query).items()},
            headers={name.lower(): value for name, value in self.headers.items()},
            body=self.rfile.read(length),
        )
        reply = self._server.answer(request)
        if reply.ending is Ending.ANSWER:
            self._answer(reply)
            return
        self.close_connection = True
        if reply.ending is Ending.SILENCE:
            self._keep_silent()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)

    do_GET = do_POST = do_DELETE = _serve  # noqa: N815 - the names that the base class looks for

    @property
    def _server(self) -> _Server:
        return cast("_Server", self.server)

    def _answer(self, reply: Reply) -> None:
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)

    def _keep_silent(self) -> None:
        while not self._server.closing.is_set():
            readable, _, _ = select.select([self.connection], [], [], _PEER_LOOK_S)
            # Looked at below TLS, which has no way to look without taking.
            if readable and not socket.socket.recv(self.connection, 1, socket.MSG_PEEK):
                return

    @override
    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: a request line may name a person."""
