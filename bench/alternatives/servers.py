"""PostgreSQL and Redis of a contestant's own: on a free loopback port, in a scratch folder, for a `with` block."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import psutil

from ops.local.emulator import HOST, free_port

DEBIAN: Final = Path("/usr/lib/postgresql")
DEADLINE_S: Final = 20.0


class MissingToolError(RuntimeError):
    """Something that only this comparison needs is not installed; the text says how to get it."""


class ServerError(RuntimeError):
    """A server did not start; the text ends with its last words."""


def postgres_programs() -> Path:
    """Return the folder of PostgreSQL's programs: the newest of Debian's, or where the shell finds `initdb`."""
    newest = max(DEBIAN.glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]), default=None)
    found = newest or shutil.which("initdb")
    if found is None:
        raise MissingToolError("PostgreSQL is not installed; on Debian and Ubuntu: apt-get install postgresql")
    return Path(found).parent


def redis_program() -> str:
    """Return the path of Redis's server."""
    found = shutil.which("redis-server")
    if found is None:
        raise MissingToolError("Redis is not installed; on Debian and Ubuntu: apt-get install redis-server")
    return found


@contextmanager
def postgres(scratch: Path) -> Iterator[tuple[str, psutil.Process]]:
    """Yield the DSN of a new cluster with the settings that it is delivered with, and its first process."""
    programs, data, port = postgres_programs(), scratch / "postgres", free_port()
    data.mkdir()
    _hand_over(data)
    _as_its_user([programs / "initdb", "--auth=trust", "--username=bench", "--no-sync", "-D", data])
    options = f"-p {port} -c listen_addresses={HOST} -c unix_socket_directories={data}"
    _as_its_user([programs / "pg_ctl", "start", "-w", "-D", data, "-l", data / "log", "-o", options])
    try:
        pid = int((data / "postmaster.pid").read_text().splitlines()[0])
        yield f"postgresql://bench@{HOST}:{port}/postgres", psutil.Process(pid)
    finally:
        _as_its_user([programs / "pg_ctl", "stop", "-w", "-m", "fast", "-D", data])


@contextmanager
def redis(scratch: Path) -> Iterator[tuple[str, psutil.Process]]:
    """Yield the URL of a Redis that keeps a log of what it was told, and its process.

    The log (`appendonly`) is what it takes to be a queue that survives a restart; it is flushed each second.
    """
    folder, port = scratch / "redis", free_port()
    folder.mkdir()
    command = [redis_program(), "--port", str(port), "--bind", HOST, "--dir", str(folder), "--logfile", "log"]
    with subprocess.Popen([*command, "--appendonly", "yes", "--save", ""]) as process:
        try:
            _await(lambda: _answers(port), process, folder / "log")
            yield f"redis://{HOST}:{port}/0", psutil.Process(process.pid)
        finally:
            process.terminate()


def cpu_s(processes: Sequence[psutil.Process]) -> float:
    """Return the seconds of CPU that these processes took up to now, with all that they started."""
    total = 0.0
    for root in processes:
        for process in [root, *root.children(recursive=True)]:
            with suppress(psutil.NoSuchProcess):
                times = process.cpu_times()
                total += times.user + times.system + times.children_user + times.children_system
    return total


def _hand_over(folder: Path) -> None:
    """PostgreSQL refuses to run as root: there, it runs as the user that its package made."""
    if os.getuid() == 0:
        shutil.chown(folder, "postgres", "postgres")
        folder.parent.chmod(0o755)


def _as_its_user(command: Sequence[Path | str]) -> None:
    # Its output goes to a file: the server would keep a pipe open, and whoever reads it waiting.
    user = "postgres" if os.getuid() == 0 else None
    log = Path(command[command.index("-D") + 1]).parent / "pg_ctl.log"
    with log.open("ab") as out:
        done = subprocess.run([str(part) for part in command], user=user, stdout=out, stderr=out, check=False, cwd="/")
    if done.returncode:
        raise ServerError(f"{Path(command[0]).name} ended with {done.returncode}:\n{log.read_text()}")


def _await(ready: Callable[[], bool], process: subprocess.Popen[bytes], log: Path) -> None:
    ends = time.monotonic() + DEADLINE_S
    while not ready():
        if process.poll() is not None or time.monotonic() > ends:
            raise ServerError(f"it did not start:\n{log.read_text() if log.exists() else ''}")
        time.sleep(0.02)


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0
