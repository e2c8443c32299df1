"""What each contestant runs on, and the commands that seed it, plan with it and work for it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from bench import contest
from bench.alternatives import servers, variables
from bench.alternatives.job import RETRY_AFTER_S, Task
from functions import names
from functions.core.identity import Channel
from ops.local.emulator import ACCOUNT, Emulator

ROOT: Final = Path(__file__).parents[2]
BENCH_PYTHON: Final = ROOT / ".venv-bench" / "bin" / "python"
LEASE_S: Final = 6  # where a worker dies: until then its work is its own, for every contestant
Command = list[str]


@dataclass(frozen=True)
class Stand:
    """A contestant with its servers up and nothing in them."""

    environment: Mapping[str, str]
    plan: Command
    work: Callable[[int], Sequence[Command]]  # so many processes
    servers: Sequence[psutil.Process] = ()
    seed: Command | None = None
    states: Command | None = None
    reconcile: Command | None = None


Contestant = Callable[[Task], AbstractContextManager[Stand]]


def bench_python() -> str:
    """Return the interpreter that has the alternatives' packages."""
    if not BENCH_PYTHON.exists():
        raise servers.MissingToolError("Celery and pgqueuer are not installed: make bench-setup")
    return str(BENCH_PYTHON)


def missing() -> list[str]:
    """Return what is not installed, each with the way to get it."""
    ways = []
    for needed in (bench_python, servers.postgres_programs, servers.redis_program):
        try:
            needed()
        except servers.MissingToolError as error:
            ways.append(str(error))
    return ways


@contextmanager
def pgqueuer(task: Task, *, claims: bool = False) -> Iterator[Stand]:
    """A queue in a PostgreSQL table; where a task `claims`, it writes that it is sending before it does."""
    command = [bench_python(), "-m", "bench.alternatives.postgres_queue"]
    with servers.postgres(task.folder) as (dsn, server):
        yield Stand(
            {
                variables.DSN: dsn,
                variables.HEARTBEAT_S: str(LEASE_S if task.dies else 30),
                variables.CLAIMS: "1" if claims else "0",
            },
            plan=[*command, "plan"],
            work=lambda processes: [[*command, "work"]] * processes,
            servers=[server],
            seed=[*command, "seed"],
            states=[*command, "states"],
        )


@contextmanager
def celery(task: Task, *, acks_late: bool = True) -> Iterator[Stand]:
    """Celery with its usual pool of processes, a parent and so many children, and Redis."""
    python = bench_python()
    command = [python, "-m", "bench.alternatives.celery_redis"]
    worker = [python, "-m", "celery", "--app", "bench.alternatives.celery_redis", "worker", "--loglevel", "WARNING"]
    with servers.redis(task.folder) as (url, server):
        yield Stand(
            {
                variables.REDIS: url,
                variables.ACKS_LATE: "1" if acks_late else "0",
                **({variables.VISIBILITY_S: str(LEASE_S)} if task.dies else {}),
            },
            plan=[*command, "plan"],
            work=lambda processes: [[*worker, "--concurrency", str(processes)]],
            servers=[server],
            seed=[*command, "seed"],
            states=[*command, "states"],
        )


@contextmanager
def on_loopback(task: Task) -> Iterator[Stand]:
    """Our handlers, against an endpoint that answers at once and does no work: what they take is theirs alone."""
    ours = [sys.executable, "-m", "bench.alternatives.ours", "carry"]
    plan = [sys.executable, "-m", "bench.planning", "ours", str(task.deliveries)]
    with contest.endpoint(customers=task.deliveries, shards=4, due_at=task.due_at) as url:
        yield Stand(
            {**contest.ENVIRONMENT, "AWS_ENDPOINT_URL": url, names.ENV_BACKOFF_S: _backoff()},
            plan=plan,
            work=lambda processes: [
                [*ours, "--worker", str(one), "--workers", str(processes)] for one in range(processes)
            ],
        )


@contextmanager
def on_emulator(task: Task, *, knows_keys: bool = False) -> Iterator[Stand]:
    """Our handlers on an emulator of AWS in Python, which is no measure of AWS; with Lambda's polling done by us."""
    command = [sys.executable, "-m", "bench.alternatives.ours"]
    with Emulator(task.folder / "emulator") as emulator:
        queues = {names.queue_url_env(one): f"{emulator.endpoint_url}/{ACCOUNT}/{one}" for one in Channel}
        yield Stand(
            {
                **emulator.environment({**contest.ENVIRONMENT, **queues, **_reconciling()}),
                "AWS_DEFAULT_REGION": "us-east-1",
                names.ENV_QUEUE_URL: queues[names.queue_url_env("email")],
                names.ENV_BACKOFF_S: _backoff(),
                names.ENV_SEND_TIMEOUT_S: "1" if task.dies else "5",
                variables.LEASE_S: str(LEASE_S if task.dies else 30),
                variables.VISIBILITY_S: str(LEASE_S if task.dies else 180),
                variables.KNOWS_KEYS: "1" if knows_keys else "0",
            },
            plan=[*command, "plan"],
            work=lambda processes: [[*command, "work"]] * processes,
            servers=[_serving(emulator.port)],
            seed=[*command, "seed"],
            states=[*command, "states"],
            # Where keys are honoured, the message that comes back is enough. The reconciler would have to be told, too,
            # what this provider promises, which it knows of real ones by name.
            reconcile=None if knows_keys else [*command, "reconcile"],
        )


def environment_of(stand: Stand, task: Task) -> dict[str, str]:
    """Return the environment of a contestant's processes."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "HOME") if name in os.environ}
    return {**kept, **stand.environment, **task.environment}


def _backoff() -> str:
    return ",".join([str(RETRY_AFTER_S)] * 5)


def _reconciling() -> dict[str, str]:
    return {
        names.ENV_SILENCE_AFTER_S: "240",
        names.ENV_INTERVAL_S: "60",
        **{names.rate_env(channel): "1000" for channel in Channel},
        names.provider_env("email"): "ses",
        names.provider_env("sms"): "sns",
        names.provider_env("webhook"): "webhook",
    }


def _serving(port: int) -> psutil.Process:
    """Return the process of ours that listens there."""
    for child in psutil.Process().children():
        with suppress(psutil.NoSuchProcess):  # a step of another run ends whenever it likes
            if port in {connection.laddr.port for connection in child.net_connections()}:
                return child
    raise servers.ServerError(f"nobody listens on port {port}")
