"""An email provider on loopback, with idempotency keys, that fails when it is told to.

In a test or a demo:

    with ProviderSimulator() as simulator:
        simulator.provider.will(ProviderFault(kind=FaultKind.RATE_LIMITED, to="ada@example.com", retry_after="2"))
        ...  # email is sent to simulator.url with simulator.api_key
        assert not simulator.provider.performed_more_than_once()

For other processes, `python -m ops.local.provider_simulator --port 8025`, and on the same port, without the key:

    POST   /_simulator/faults      one fault or a list of them: the fields of `ProviderFault`
    GET    /_simulator/faults      those still to come
    DELETE /_simulator/faults      forget them
    GET    /_simulator/operations  what was accepted, what was asked, and every key that was performed more than once
    POST   /_simulator/clock       {"advance_s": 90000} lets the provider's keys age
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from http import HTTPStatus
from types import TracebackType
from typing import Any, Final, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from functions.adapters.clock import utc_now
from functions.core.instants import to_text
from ops.local.loopback_server import HOST, LoopbackServer, Reply, Request
from ops.local.provider_faults import ProviderFault, answer
from ops.local.simulated_provider import KEY_WINDOW, LOOKUP_WINDOW, SimulatedProvider

API_KEY: Final = "simulated-key"
CONTROL: Final = "/_simulator/"
_FAULTS: Final = TypeAdapter(list[ProviderFault])


class _Advance(BaseModel):
    model_config = ConfigDict(extra="forbid")

    advance_s: int = Field(ge=0)


class ProviderSimulator:
    """A `SimulatedProvider` behind HTTP on a loopback port, any free one when `port` is 0; a context manager."""

    def __init__(
        self,
        *,
        port: int = 0,
        api_key: str = API_KEY,
        seed: int = 0,
        key_window: timedelta = KEY_WINDOW,
        lookup_window: timedelta = LOOKUP_WINDOW,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self.api_key: Final = api_key
        self._server = LoopbackServer(self._answer, port=port)
        self.provider: Final = SimulatedProvider(
            api_key=api_key,
            wait=self._server.pause,
            seed=seed,
            key_window=key_window,
            lookup_window=lookup_window,
            clock=clock,
        )

    def __enter__(self) -> Self:
        self._server.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.__exit__(kind, error, trace)

    @property
    def url(self) -> str:
        """What the settings call `channels.email.provider_options.url`."""
        return self._server.url

    def _answer(self, request: Request) -> Reply:
        if not request.path.startswith(CONTROL):
            return self.provider.answer(request)
        control = self._controls().get((request.method, request.path.removeprefix(CONTROL)))
        if control is None:
            return answer({"error": f"there is no {request.method} {request.path}"}, status=HTTPStatus.NOT_FOUND)
        try:
            return answer(control(request))
        except ValidationError as refused:
            told = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in refused.errors(include_input=False)]
            return answer({"error": told}, status=HTTPStatus.BAD_REQUEST)

    def _controls(self) -> Mapping[tuple[str, str], Callable[[Request], Mapping[str, Any]]]:
        return {
            ("POST", "faults"): self._add_faults,
            ("GET", "faults"): lambda _: self._faults(),
            ("DELETE", "faults"): self._forget_faults,
            ("GET", "operations"): lambda _: self._operations(),
            ("POST", "clock"): self._advance,
        }

    def _add_faults(self, request: Request) -> Mapping[str, Any]:
        listed = request.body if request.body.lstrip().startswith(b"[") else b"[" + request.body + b"]"
        self.provider.will(*_FAULTS.validate_json(listed))
        return self._faults()

    def _forget_faults(self, _request: Request) -> Mapping[str, Any]:
        self.provider.behave()
        return self._faults()

    def _faults(self) -> Mapping[str, Any]:
        return {"faults": [fault.model_dump(mode="json") for fault in self.provider.faults_left]}

    def _operations(self) -> Mapping[str, Any]:
        return {
            "operations": [
                {
                    "id": one.operation_id,
                    "key": one.key,
                    "to": one.to,
                    "body_sha256": one.body_sha256,
                    "at": to_text(one.at),
                }
                for one in self.provider.operations
            ],
            "calls": [
                {"at": to_text(one.at), "key": one.key, "to": one.to, "ended": one.ended} for one in self.provider.calls
            ],
            "performed_more_than_once": self.provider.performed_more_than_once(),
        }

    def _advance(self, request: Request) -> Mapping[str, Any]:
        by = _Advance.model_validate_json(request.body)
        return {"now": to_text(self.provider.advance(timedelta(seconds=by.advance_s)))}


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until Ctrl-C; returns the exit status."""
    given = _read_arguments(argv)
    stop = threading.Event()
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, lambda *_: stop.set())
    try:
        simulator = ProviderSimulator(
            port=given.port,
            api_key=given.api_key,
            seed=given.seed,
            key_window=timedelta(seconds=given.key_window_s),
            lookup_window=timedelta(seconds=given.lookup_window_s),
        )
    except OSError as error:
        print(f"--port: cannot listen on {HOST}:{given.port}: {error.strerror}; 0 takes a free one", file=sys.stderr)  # noqa: T201
        return 1
    with simulator:
        print(f"Listening on {simulator.url}", flush=True)  # noqa: T201
        stop.wait()
    return 0


def _read_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m ops.local.provider_simulator", description="An email provider on loopback that fails on demand."
    )
    parser.add_argument("--port", type=int, default=0, help="loopback port (any free one)")
    parser.add_argument("--api-key", default=API_KEY, metavar="TEXT", help=f"key that senders must show ({API_KEY})")
    parser.add_argument("--seed", type=int, default=0, help="decides what a fault with a share strikes (0)")
    parser.add_argument("--key-window-s", type=int, default=int(KEY_WINDOW.total_seconds()), metavar="N")
    parser.add_argument("--lookup-window-s", type=int, default=int(LOOKUP_WINDOW.total_seconds()), metavar="N")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
