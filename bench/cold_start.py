"""What it takes to import each handler in a fresh process, against a handler that does nothing with the same libraries.

    python -m bench.cold_start [HANDLER]      one handler's import profile, the largest first

Only the bundle that goes to Lambda is on the path. This machine is not Lambda's: read the ratios, not the milliseconds.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.table import Table

from bench.contest import ENVIRONMENT
from functions import names
from stacks.bundling import ROOT, Dependencies, bundle
from stacks.settings import Target

# What everybody's handler has: clients for a table and a queue, and Powertools for log, metrics, batches, idempotency.
BARE: Final = """
import boto3
from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response
from aws_lambda_powertools.utilities.idempotency import DynamoDBPersistenceLayer, IdempotencyConfig, idempotent_function

logger, metrics = Logger(service="bare"), Metrics(namespace="Bare", service="bare")
layer = DynamoDBPersistenceLayer(table_name="records")
processor = BatchProcessor(event_type=EventType.SQS)
dynamodb, sqs = boto3.client("dynamodb"), boto3.client("sqs")
"""
HANDLERS: Final = ("planner", "email", "sms", "webhook", "reconciler", "receipts", "unsubscribe", "inbound")
CHANNELS: Final = {"email": "ses", "sms": "sns", "webhook": "webhook"}

# From the start of the process; the peak of its own memory, which the kernel does not carry over from who started it.
_TELL: Final = """
import time
with open("/proc/self/status") as status:
    (peak,) = (line.split()[1] for line in status if line.startswith("VmHWM"))
print(time.process_time(), peak)
"""
_PROFILE_LINE: Final = re.compile(r"import time:\s+(\d+) \|\s+\d+ \|\s+([\w.]+)")
# The rest of what the stacks set, for functions that are not measured at work.
_MORE: Final = {
    "PYDANTIC_DISABLE_PLUGINS": "__all__",
    names.ENV_SILENCE_AFTER_S: "240",
    names.ENV_INTERVAL_S: "60",
    names.ENV_NUMBER_KEYS: "keys",
    names.ENV_OPT_OUT_KEYS: "keys",
    names.ENV_SOFT_BOUNCES: "3",
    names.ENV_SOFT_BOUNCE_WINDOW_S: "604800",
    names.ENV_BRAKE_AFTER: "1000",
    names.ENV_BRAKE_BOUNCES_PERCENT: "8",
    names.ENV_BRAKE_COMPLAINTS_PERCENT: "0.4",
    names.ENV_RECEIPTS_QUEUE_URL: "https://sqs.us-east-1.amazonaws.com/1/receipts",
    **{names.provider_env(channel): provider for channel, provider in CHANNELS.items()},
    **{names.rate_env(channel): "100" for channel in CHANNELS},
}


@dataclass(frozen=True)
class Start:
    """What one fresh process took until its handler was there."""

    cpu_s: float
    memory_mb: float  # at most, resident


def start(handler: str) -> Start:
    """Import a handler, `bare` or one of HANDLERS, in a process of its own."""
    command = _command(handler)
    done = subprocess.run(command, env=_environment(handler), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{handler} cannot be imported:\n{done.stderr}")
    cpu_s, peak_kb = done.stdout.split()
    return Start(float(cpu_s), int(peak_kb) / 1024)


def profile(handler: str) -> Counter[str]:
    """Return microseconds of importing by package, their own only, as Python's `-X importtime` tells them."""
    command = [*_command(handler)[:1], "-X", "importtime", *_command(handler)[1:]]
    done = subprocess.run(command, env=_environment(handler), capture_output=True, text=True, check=True)
    spent: Counter[str] = Counter()
    for line in done.stderr.splitlines():
        if found := _PROFILE_LINE.match(line):
            spent[found[2].partition(".")[0]] += int(found[1])
    return spent


def code_size() -> tuple[int, int]:
    """Return the bytes of the zip that goes to Lambda, and of our own package in it before it is zipped."""
    ours = sum(
        file.stat().st_size for file in (ROOT / "functions").rglob("*") if file.suffix in {".py", ".j2", ".json"}
    )
    return Path(bundle(Target.AWS)).stat().st_size, ours


def _command(handler: str) -> list[str]:
    code = BARE if handler == "bare" else f"import functions.{handler}.handler\n"
    return [sys.executable, "-S", "-c", code + _TELL]  # without the site, whose packages Lambda does not have


def _environment(handler: str) -> Mapping[str, str]:
    channel = handler if handler in CHANNELS else "email"
    return {
        **{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
        **ENVIRONMENT,
        **_MORE,
        names.ENV_CHANNEL: channel,
        names.ENV_PROVIDER: CHANNELS[channel],
        "PYTHONPATH": os.pathsep.join([str(Dependencies(Target.EMULATOR).folder), str(ROOT)]),
    }


def main(handler: Annotated[str, typer.Argument(help="bare, or the name of a function.")] = "email") -> None:
    """Show where the time goes when a handler is imported."""
    spent = profile(handler)
    table = Table("package", "ms", title=f"importing {handler}: {spent.total() / 1000:.0f} ms, measured from inside")
    for package, microseconds in spent.most_common(20):
        table.add_row(package, f"{microseconds / 1000:.1f}")
    Console().print(table)


if __name__ == "__main__":
    typer.run(main)
