"""The console on a port of this machine's loopback address."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Thread
from typing import Any, Final
from urllib.parse import urlencode

from typing_extensions import override
from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

from ops.console.session import KEY_PARAMETER, Session
from ops.console.site import Console
from ops.deployment import Deployment, DeploymentError

HOST: Final = "127.0.0.1"


class _Quiet(WSGIRequestHandler):
    @override
    def log(self, type: str, message: str, *args: Any) -> None:
        """Say nothing: an address holds the key."""


@dataclass(frozen=True)
class Served:
    """A console that answers."""

    server: BaseWSGIServer
    session: Session

    @property
    def url(self) -> str:
        """The address to open, with its key."""
        return f"http://{HOST}:{self.server.port}/?{urlencode({KEY_PARAMETER: self.session.key})}"


@contextmanager
def serving(deployment: Deployment, port: int) -> Iterator[Served]:
    """Serve for as long as the block lasts.

    Raises:
        DeploymentError: the port is taken, or may not be used.
    """
    session = Session()
    with _listening(port) as listening:
        console = Console(deployment, session)
        server = make_server(HOST, port, console, threaded=True, request_handler=_Quiet, fd=listening.fileno())
        answering = Thread(target=server.serve_forever, args=(0.1,), name="console", daemon=True)
        answering.start()
        try:
            yield Served(server, session)
        finally:
            server.shutdown()
            answering.join()
            server.server_close()


def _listening(port: int) -> socket.socket:
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        raise DeploymentError(
            f"--port: {port} cannot be listened on ({error.strerror}); name another one, or 0 for any that is free"
        ) from None
