"""Whole weeks on the emulator: how long, how fast, and how much of it is the emulator's own work.

python -m bench.whole_run --customers 18000 --rate sms=20
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import psutil
from rich.console import Console

from ops.local.cdk import ROOT

REPORT: Final = ROOT / "out" / "demo" / "report.json"
LOOK_EVERY_S: Final = 0.5  # a process's time is what it was when it was last seen


@dataclass(frozen=True)
class WholeRun:
    """One run that agreed with what was expected of it."""

    arguments: Sequence[str]
    customers: int
    accepted: int
    wall_s: float
    agrees: bool
    latency_ms: Mapping[str, Mapping[str, Mapping[str, int]]]  # by region and channel: p50, p95, p99
    cpu_s: Mapping[str, float]  # of the emulator, of the functions' processes, and of everything around them

    @property
    def accepted_a_second(self) -> float:
        """Deliveries for each second of the whole run, start of the emulator and its checks included."""
        return self.accepted / self.wall_s

    @property
    def emulators_share(self) -> float:
        """How much of the CPU was the emulator's own."""
        return self.cpu_s["emulator"] / sum(self.cpu_s.values())


def run(*arguments: str) -> WholeRun:
    """Send one week as `make demo` does, with its arguments."""
    with subprocess.Popen([sys.executable, "-m", "ops.local.demo", *arguments], cwd=ROOT, stdout=sys.stderr) as demo:
        seen: dict[int, tuple[str, float]] = {}
        while demo.poll() is None:
            _look(psutil.Process(demo.pid), seen)
            time.sleep(LOOK_EVERY_S)
    if not REPORT.exists():
        raise RuntimeError("the run came to no end: what it said stands above")
    cpu: dict[str, float] = {}
    for role, spent in seen.values():
        cpu[role] = cpu.get(role, 0) + spent
    told: dict[str, Any] = json.loads(REPORT.read_text(encoding="utf-8"))
    return WholeRun(
        arguments,
        told["customers"],
        sum(region["accepted"] for region in told["regions"].values()),
        told["wall_s"],
        told["agrees"],
        {name: {kind: one["latency_ms"] for kind, one in by.items()} for name, by in told["channels"].items()},
        cpu,
    )


def _look(demo: psutil.Process, seen: dict[int, tuple[str, float]]) -> None:
    for process in [demo, *demo.children(recursive=True)]:
        try:
            times = process.cpu_times()
            seen[process.pid] = (_role(process), times.user + times.system)
        except psutil.Error:
            continue  # it has ended: what it took is known from the last look


def _role(process: psutil.Process) -> str:
    if any("emulator_server" in word for word in process.cmdline()):
        return "emulator"
    parent = process.parent()
    under_it = parent is not None and any("emulator_server" in word for word in parent.cmdline())
    return "functions" if under_it else "around"


if __name__ == "__main__":
    Console().print(run(*sys.argv[1:]))
