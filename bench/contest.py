"""One contestant at a time does its job against the loopback endpoint, in a process of its own, and is measured."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

from bench.endpoint import COUNTS
from functions import names
from functions.core.instants import to_text

CUSTOMERS, DELIVERIES, CONTROL = "customers", "deliveries", "control"
EMAIL_QUEUE, SMS_QUEUE = "https://sqs.us-east-1.amazonaws.com/1/email", "https://sqs.us-east-1.amazonaws.com/1/sms"
KEYS: Final = "keys"
SENDER: Final = "digest@example.com"

# As the stacks set it for each function.
ENVIRONMENT: Final = {
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_REGION": "us-east-1",
    "AWS_ACCESS_KEY_ID": "bench",
    "AWS_SECRET_ACCESS_KEY": "bench",
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_LAMBDA_FUNCTION_NAME": "bench",
    "POWERTOOLS_LOG_LEVEL": "INFO",
    names.ENV_DATA_REGION: "us",
    names.ENV_CUSTOMERS_TABLE: CUSTOMERS,
    names.ENV_DELIVERIES_TABLE: DELIVERIES,
    names.ENV_CONTROL_TABLE: CONTROL,
    names.ENV_SHARDS: "4",
    names.ENV_KEEP_DELIVERIES_DAYS: "90",
    names.ENV_ATTENTION_AFTER_S: "300",
    names.ENV_EXPIRES_AFTER_S: str(72 * 3600),
    names.ENV_MAX_LATENESS_S: str(24 * 3600),
    names.ENV_SURGE_FACTOR: "3",
    names.ENV_SURGE_FLOOR: "100000000",
    names.queue_url_env("email"): EMAIL_QUEUE,
    names.queue_url_env("sms"): SMS_QUEUE,
    names.queue_url_env("webhook"): "https://sqs.us-east-1.amazonaws.com/1/webhook",
    names.ENV_CHANNEL: "email",
    names.ENV_PROVIDER: "ses",
    names.ENV_SENDER: SENDER,
    names.ENV_QUEUE_URL: EMAIL_QUEUE,
    names.ENV_SITE_URL: "https://shop.example.com",
    names.ENV_BACKOFF_S: "30,120,600,1800,3600",
    names.ENV_SEND_TIMEOUT_S: "5",
    names.ENV_RATE_PER_SECOND: "1000000",  # pacing is measured, waiting is not
    names.ENV_UNSUBSCRIBE_URL: "https://leave.example.com/",
    names.ENV_UNSUBSCRIBE_KEYS: KEYS,
}


@dataclass(frozen=True)
class Measured:
    """What one contestant took for so many deliveries."""

    contestant: str
    deliveries: int
    cpu_s: float  # of its process alone
    wall_s: float
    requests: Mapping[str, int]  # by operation

    @property
    def cpu_ms_each(self) -> float:
        """Milliseconds of the client's CPU for one delivery."""
        return 1000 * self.cpu_s / self.deliveries

    @property
    def requests_each(self) -> float:
        """Requests for one delivery."""
        return sum(self.requests.values()) / self.deliveries


@contextmanager
def endpoint(*, customers: int, shards: int, due_at: datetime) -> Iterator[str]:
    """Serve the loopback endpoint in a process of its own, at the URL that is yielded."""
    command = [sys.executable, "-m", "bench.endpoint", "--customers", str(customers), "--shards", str(shards)]
    with subprocess.Popen([*command, "--due-at", to_text(due_at)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None  # noqa: S101 - asked for above
        port = process.stdout.readline().strip()
        if not port:
            raise RuntimeError("the loopback endpoint did not start; what it said stands above")
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def run_apart(module: str, contestant: str, *, url: str, size: int) -> Measured:
    """Have a contestant measured in a process of its own: nobody inherits another's warm caches or its garbage."""
    variables = {**os.environ, **ENVIRONMENT, "AWS_ENDPOINT_URL": url}
    return Measured(**told_by(module, contestant, str(size), variables=variables))


def told_by(module: str, *arguments: str, variables: Mapping[str, str]) -> dict[str, Any]:
    """Run a module in a process of its own; return the JSON of its last line."""
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, env=dict(variables), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[1:])} failed:\n{done.stderr}")
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


def measure(contestant: str, work: Callable[[], int]) -> None:
    """Do the work once, and print what it took as one line of JSON; the work returns how many deliveries it did."""
    url = os.environ["AWS_ENDPOINT_URL"]
    _counts(url)
    cpu, wall = time.process_time(), time.perf_counter()
    deliveries = work()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    measured = Measured(contestant, deliveries, cpu, wall, _counts(url))
    print(json.dumps(asdict(measured)))  # noqa: T201 - read by `run_apart`


def _counts(url: str) -> dict[str, int]:
    with urllib.request.urlopen(url + COUNTS, timeout=10) as answer:  # noqa: S310 - our own endpoint
        counts: dict[str, int] = json.load(answer)
        return counts
