"""An AWS emulator on a free loopback port, for as long as a `with` block lasts.

    with Emulator(Path("out/demo")) as emulator:
        emulator.client("sqs", "us-east-1").list_queues()

Everything it starts is one process group, functions included, and everything it writes is one temporary folder: both
are gone when the block is left, on Ctrl-C and when this process dies as well. Only its log, `emulator.log`, stays.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import boto3
import psutil
from botocore.config import Config

from ops.local.emulator_server import SENT_PATH

HOST: Final = "127.0.0.1"
ACCOUNT: Final = "000000000000"
START_DEADLINE_S: Final = 30.0
LAST_LINES: Final = 15
FREE_PORT_TRIES: Final = 3
# What a child may know of the surrounding process: how to find programs and how to write text, never an AWS account.
KEPT_VARIABLES: Final = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT")


class EmulatorError(RuntimeError):
    """The emulator did not start, or died; the text ends with the way out or with its last words."""


@dataclass(frozen=True, slots=True)
class Email:
    """An email that SES accepted. Only its id and region show in a `repr`: the rest is about a person."""

    region: str
    message_id: str
    source: str
    to: tuple[str, ...] = field(repr=False)
    subject: str = field(repr=False)
    html: str = field(repr=False)
    text: str = field(repr=False)
    sent_at: datetime  # UTC


@dataclass(frozen=True, slots=True)
class Text:
    """A text that SNS accepted for a phone number. The emulator does not keep the time."""

    region: str
    message_id: str
    sender: str | None
    to: str = field(repr=False)
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class QueueMessage:
    """A message as it lies in a queue, looked at without receiving it."""

    region: str
    queue_url: str
    message_id: str
    body: str
    sent_at: datetime  # UTC, to the second
    visible_at: datetime  # UTC, to the second
    visible: bool
    receive_count: int


@dataclass(frozen=True, slots=True)
class FunctionWorker:
    """A process that runs a function's code: what AWS calls an execution environment."""

    pid: int
    function: str
    region: str

    def kill(self) -> None:
        """End it at once, as a crash would; nothing happens if it is gone already."""
        with contextlib.suppress(psutil.NoSuchProcess):
            psutil.Process(self.pid).kill()


class Emulator:
    """The emulator as a context manager.

    Args:
        run: folder that keeps `emulator.log`; made if missing.
        port: loopback port; any free one when left out.
        auth: enforce IAM, so that a function may do what its role allows and nothing else.

    Raises (on entering):
        EmulatorError: the port is taken, or the process died or did not answer in time.
    """

    def __init__(self, run: Path, *, port: int | None = None, auth: bool = False) -> None:
        self.run = run
        self.auth = auth
        self.log = run / "emulator.log"
        self._wanted_port = port
        self._port = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: Path | None = None

    # --- life ---------------------------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start it and wait until it answers; a port that was free a moment ago and is not now is tried again."""
        if self._wanted_port is not None and not is_free(self._wanted_port):
            raise EmulatorError(
                f"port {self._wanted_port} on {HOST} is taken: end what listens there, name another port, "
                "or name none to get a free one"
            )
        tries = 1 if self._wanted_port is not None else FREE_PORT_TRIES
        for tried in range(1, tries + 1):
            self._port = self._wanted_port or free_port()
            try:
                self._launch()
            except EmulatorError:
                self.stop()
                if tried == tries or is_free(self._port):
                    raise
            except BaseException:  # Ctrl-C while it starts must leave nothing behind either
                self.stop()
                raise
            else:
                return

    def stop(self) -> None:
        """End the process group, functions included, and remove its folder. May be called twice."""
        process, self._process = self._process, None
        if process is not None:
            # There is nothing to save, so there is nothing to wait for.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if process.stdin is not None:
                process.stdin.close()
        folder, self._folder = self._folder, None
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)

    def _launch(self) -> None:
        self.run.mkdir(parents=True, exist_ok=True)
        self._folder = Path(tempfile.mkdtemp(prefix="digest-emulator-"))
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "ops.local.emulator_server"],
                cwd=Path(__file__).parents[2],
                env=self._server_environment(self._folder),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._await_answer(self._process)

    def _server_environment(self, folder: Path) -> dict[str, str]:
        return {
            **{name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ},
            "GATEWAY_PORT": str(self._port),
            "MINISTACK_HOST": HOST,
            "AUTH": "true" if self.auth else "false",
            # At INFO it logs addresses, numbers and texts.
            "LOG_LEVEL": "WARNING",
            "HOME": str(folder),
            "TMPDIR": str(folder),
            "S3_DATA_DIR": str(folder / "s3"),
            # Not used here, and half of the time it takes to start.
            "IOT_MTLS_ENABLED": "0",
            "SFTP_ENABLED": "0",
            "PYTHONUNBUFFERED": "1",
            **no_account(),
        }

    def _await_answer(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + START_DEADLINE_S
        while time.monotonic() < deadline:
            if process.poll() is not None:
                raise EmulatorError(f"the emulator ended with status {process.returncode}:\n{self.last_words()}")
            with contextlib.suppress(OSError, http.client.HTTPException):
                self._get("/_ministack/health")
                return
            time.sleep(0.05)
        raise EmulatorError(f"the emulator did not answer within {START_DEADLINE_S:.0f} s:\n{self.last_words()}")

    def last_words(self) -> str:
        """The last lines of its log; says so when there are none."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines() if self.log.exists() else []
        return "\n".join(lines[-LAST_LINES:]) or f"(nothing in {self.log})"

    # --- how to reach it ----------------------------------------------------------------------------------------------

    @property
    def port(self) -> int:
        return self._port

    @property
    def endpoint_url(self) -> str:
        return f"http://{HOST}:{self._port}"

    def environment(self, base: Mapping[str, str] | None = None) -> dict[str, str]:
        """`base` (this process's environment when left out) with its AWS settings replaced by the emulator's.

        What runs in it reaches the emulator and cannot reach an account: no profile, no file, no instance role.
        """
        kept = os.environ if base is None else base
        return {
            **{name: value for name, value in kept.items() if not name.startswith("AWS_")},
            "AWS_ENDPOINT_URL": self.endpoint_url,
            **no_account(),
        }

    def client(self, service: str, region: str) -> Any:  # noqa: ANN401 - boto3 types a client by its literal name only
        """A boto3 client of `service` in an AWS region (`us-east-1`), as the account's root user."""
        session = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name=region)  # noqa: S106
        return session.client(  # type: ignore[call-overload]
            service, endpoint_url=self.endpoint_url, config=Config(retries={"total_max_attempts": 2})
        )

    # --- what happened inside -----------------------------------------------------------------------------------------

    def emails(self, region: str | None = None) -> list[Email]:
        """Every email that was accepted, in the order of sending, optionally of one AWS region."""
        found = [as_email(record) for record in self._sent()["emails"]]
        return [email for email in found if region in (None, email.region)]

    def texts(self, region: str | None = None) -> list[Text]:
        """Every text that was accepted, optionally of one AWS region."""
        found = [as_text(record) for record in self._sent()["texts"]]
        return [text for text in found if region in (None, text.region)]

    def queue_messages(self, queue_url: str | None = None) -> list[QueueMessage]:
        """Every message that lies in a queue, optionally in one queue; receives nothing."""
        accounts = self._get("/_ministack/sqs/messages")["messages"]
        found = [
            as_queue_message(region, url, record)
            for regions in accounts.values()
            for region, queues in regions.items()
            for url, records in queues.items()
            for record in records
        ]
        return [message for message in found if queue_url in (None, message.queue_url)]

    def function_workers(self, function: str | None = None, region: str | None = None) -> list[FunctionWorker]:
        """The processes that run functions, optionally of one function name and one AWS region."""
        return [
            worker
            for worker in self._workers()
            if function in (None, worker.function) and region in (None, worker.region)
        ]

    def _workers(self) -> Iterator[FunctionWorker]:
        if self._process is None:
            return
        for child in psutil.Process(self._process.pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                variables = child.environ()
                if name := variables.get("AWS_LAMBDA_FUNCTION_NAME"):
                    yield FunctionWorker(pid=child.pid, function=name, region=variables.get("AWS_REGION", ""))

    def _sent(self) -> dict[str, list[dict[str, Any]]]:
        found: dict[str, list[dict[str, Any]]] = self._get(SENT_PATH)
        return found

    def _get(self, path: str) -> Any:  # noqa: ANN401 - whatever JSON the emulator answers
        with urllib.request.urlopen(self.endpoint_url + path, timeout=10) as answer:  # noqa: S310 - our own loopback URL
            return json.load(answer)


def no_account() -> dict[str, str]:
    """Variables under which an AWS SDK has the emulator's credentials and finds no others."""
    return {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def is_free(port: int) -> bool:
    """Whether this process could listen on `port` of the loopback address."""
    with socket.socket() as probe:
        # As servers do: a port that was only just closed counts as free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def as_email(record: Mapping[str, Any]) -> Email:
    return Email(
        region=record["Region"],
        message_id=record["MessageId"],
        source=record["Source"],
        to=tuple(record["To"]),
        subject=record.get("Subject") or "",
        html=record.get("BodyHtml") or "",
        text=record.get("BodyText") or "",
        sent_at=datetime.fromtimestamp(record["Timestamp"], tz=UTC),
    )


def as_text(record: Mapping[str, Any]) -> Text:
    sender = (record.get("MessageAttributes") or {}).get("AWS.SNS.SMS.SenderID") or {}
    return Text(
        region=record["Region"],
        message_id=record["MessageId"],
        sender=sender.get("StringValue") or sender.get("Value"),
        to=record["PhoneNumber"],
        text=record["Message"],
    )


def as_queue_message(region: str, queue_url: str, record: Mapping[str, Any]) -> QueueMessage:
    return QueueMessage(
        region=region,
        queue_url=queue_url,
        message_id=record["MessageId"],
        body=record["Body"],
        sent_at=datetime.fromtimestamp(record["SentTimestamp"], tz=UTC),
        visible_at=datetime.fromtimestamp(record["VisibleAt"], tz=UTC),
        visible=record["IsVisible"],
        receive_count=record["ReceiveCount"],
    )
