"""The whole system for as long as one week's digests take: `make demo`.

Deploys both regions to an emulator on this machine, imports a marketplace (or a real shop's order log), lets the
schedules plan, does some damage on purpose, waits until nothing is open, and adds everything up. Ends with status 0
only if every sum agrees, 1 if one does not or the run could not be made, 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import FrameType
from typing import Final, NoReturn

from botocore.exceptions import BotoCoreError, ClientError
from rich.console import Console

from functions import names
from functions.core.identity import Channel
from ops.deployment import DeploymentError, RegionDeployment, in_words
from ops.imports.activity import KEPT_FOR
from ops.local import cdk
from ops.local.emulator import Emulator, EmulatorError
from ops.local.experiments import REGION_OF_THE_PROVIDER
from ops.local.marketplace import Marketplace, generate
from ops.local.orders import OrdersError, marketplace_of, read_orders, week_start
from ops.local.progress import Progress
from ops.local.provider_simulator import ProviderSimulator
from ops.local.reckoning import reckon
from ops.local.report import Run, summary_table, write_report
from ops.local.running_region import RunningRegion
from ops.local.simulated_provider import KEY_WINDOW, LOOKUP_WINDOW, SimulatedProvider
from ops.local.week import Outbox, Week, WeekFailedError
from stacks.settings import SettingsError

OUT: Final = cdk.ROOT / "out" / "demo"
INTERRUPTED: Final = 130
BATCHES: Final = 10  # messages in a batch of the one channel, or of both together
API_KEY_SECRET: Final = "digest/email-api-key"  # noqa: S105 - a secret's name
SHORTEST_ATTENTION_S: Final = 60
ATTENTION_S_PER_DELIVERY: Final = 1 / 40
_CUT_OFF: Final = "killing worker"  # what the emulator says of an invocation whose time is over


@dataclass(frozen=True)
class Arguments:
    customers: int
    keep: bool
    orders: Path | None
    week: str | None
    port: int | None
    rates: Mapping[Channel, float] = field(default_factory=dict)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demo; returns the exit status."""
    arguments = read_arguments(argv)
    console = Console(highlight=False)
    errors = Console(stderr=True, highlight=False, soft_wrap=True)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        return Demo(arguments, console).run()
    except KeyboardInterrupt:
        errors.print("Stopped. Nothing is left running.", markup=False)
        return INTERRUPTED
    except (OrdersError, SettingsError, EmulatorError, cdk.CdkError, DeploymentError, WeekFailedError) as error:
        errors.print(str(error), markup=False, style="red")
        return 1
    except (ClientError, BotoCoreError) as error:
        errors.print(in_words(error), markup=False, style="red")
        return 1


def _interrupt(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def read_arguments(argv: Sequence[str] | None) -> Arguments:
    """Read the command line; ends the process with status 2 and one line where it does not fit."""
    parser = argparse.ArgumentParser(prog="make demo", description="Send a week's digests on an emulator, and add up.")
    parser.add_argument("--customers", type=_count, default=1000, metavar="N", help="customers to make up (1000)")
    parser.add_argument("--keep", action="store_true", help="leave it running afterwards, until Ctrl-C")
    parser.add_argument("--orders", type=Path, metavar="FILE", help="a real order log instead of made-up customers")
    parser.add_argument("--week", metavar="YYYY-Www", help="the week of the order log that has just ended")
    parser.add_argument("--port", type=_port, metavar="PORT", help="loopback port of the emulator (any free one)")
    rate_is = "let a channel send no faster than its provider would allow, in each region; may be repeated"
    parser.add_argument("--rate", type=_rate, action="append", default=[], metavar="CHANNEL=PER_SECOND", help=rate_is)
    given = parser.parse_args(argv)
    if (given.orders is None) != (given.week is None):
        parser.error("--orders and --week belong together: name the log and the week of it, such as --week 1997-W11")
    return Arguments(given.customers, given.keep, given.orders, given.week, given.port, dict(given.rate))


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 1_000_000:  # noqa: PLR2004 - ends a typing error
        raise argparse.ArgumentTypeError(f"{text!r} must be a whole number from 1 to 1000000")
    return int(text)


def _rate(text: str) -> tuple[Channel, float]:
    channel, _, rate = text.partition("=")
    try:
        return Channel(channel), float(rate)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} must be like sms=20: a channel, and sends a second") from None


def _port(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 65_535:  # noqa: PLR2004 - ports that there are
        raise argparse.ArgumentTypeError(f"{text!r} must be a port from 1 to 65535")
    return int(text)


class Demo:
    """One run."""

    def __init__(self, arguments: Arguments, console: Console) -> None:
        self._arguments = arguments
        self._console = console
        self._progress = Progress(console)
        self._began_at = datetime.now(UTC)

    def run(self) -> int:
        """Run it; returns 0 if every sum agrees, else 1."""
        marketplace = self._marketplace()
        for old in (OUT / "report.json", OUT / "report.html"):
            old.unlink(missing_ok=True)
        with (
            ProviderSimulator() as simulator,
            cdk.deployed(
                OUT,
                port=self._arguments.port,
                overrides=write_settings(
                    marketplace, OUT / "settings.json", provider_url=simulator.url, rates=self._arguments.rates
                ),
                on_step=self._progress.step,
            ) as deployed,
            pointed_at(deployed.emulator),
        ):
            secrets = deployed.emulator.client("secretsmanager", deployed.aws_region(REGION_OF_THE_PROVIDER))
            secrets.create_secret(Name=API_KEY_SECRET, SecretString=simulator.api_key)
            run = self._week(marketplace, deployed, simulator.provider)
            write_report(run, OUT)
            self._tell(run, deployed.emulator.log)
            if self._arguments.keep:
                self._keep(deployed.emulator, marketplace.example())
        return 0 if run.agrees else 1

    def _marketplace(self) -> Marketplace:
        """Whatever is wrong with the arguments shows before anything is started."""
        now = self._began_at
        if self._arguments.orders is None or self._arguments.week is None:
            return generate(self._arguments.customers, now=now)
        week_start(self._arguments.week)
        self._progress.step(f"reading {self._arguments.orders}")
        orders = read_orders(self._arguments.orders)
        # An hour less than imports hold: what would grow too old while the stacks deploy is left out now.
        return marketplace_of(orders, self._arguments.week, now=now, kept_for=KEPT_FOR - timedelta(hours=1))

    def _week(self, marketplace: Marketplace, deployed: cdk.Deployment, provider: SimulatedProvider) -> Run:
        week = Week(marketplace, running_regions(deployed), provider, self._progress)
        week.import_marketplace()
        self._progress.step(f"planning and sending the digests of the week from {marketplace.period_start}")
        week.run_until_quiet()
        self._progress.step("adding up")
        outbox = Outbox.of(deployed.emulator, provider, deployed.aws_region(REGION_OF_THE_PROVIDER))
        aftermaths = week.aftermath(outbox)
        evidence = week.evidence(aftermaths, outbox, deployed.emulator)
        return Run(
            marketplace=marketplace,
            began_at=self._began_at,
            wall_s=self._progress.elapsed_s,
            evidence=evidence,
            reckonings=[reckon(one) for one in evidence],
            faults=week.faults(aftermaths),
            settled_from_outbox=sum(len(one.settled_from_evidence) for one in aftermaths.values()),
            emails=outbox.emails,
            texts=outbox.texts,
        )

    def _tell(self, run: Run, log: Path) -> None:
        self._console.print()
        self._console.print(summary_table(run))
        for fault in run.faults:
            if not fault.held:
                self._console.print(f"{fault.verdict}  {fault.region}: {fault.name}: {fault.happened}", style="red")
        for check in run.failed_checks:
            self._console.print(
                f"does not agree  {check.region}: {check.what}: expected {check.expected}, found {check.found}",
                style="red",
            )
        if not run.agrees and (cut := cut_off(log)):
            self._console.print(
                f"{cut:,} invocations ran out of time, and what they had in hand came back: this machine was too busy "
                "for the run. Try again when it is not, or with fewer CUSTOMERS",
                style="red",
            )
        verdict = "Every sum agrees" if run.agrees else "Not every sum agrees"
        self._console.print(f"{verdict}, after {run.wall_s:.0f} s. The report: {shown(OUT / 'report.html')}")

    def _keep(self, emulator: Emulator, customer_id: str) -> None:
        self._console.print("\nStill running, until Ctrl-C. In another terminal, in this folder:\n")
        for name, value in exports(emulator).items():
            self._console.print(f"  export {name}={value}", soft_wrap=True)
        for command in ("status", "due", f"show --customer {customer_id}", "console --open"):
            self._console.print(f"  .venv/bin/digest {command}")
        while True:
            time.sleep(1)
            emulator.function_workers()  # raises when the emulator has ended


def write_settings(
    marketplace: Marketplace, path: Path, *, provider_url: str, rates: Mapping[Channel, float] | None = None
) -> Path:
    """Write the local run's settings with what so many consumers on one small machine need; returns the path.

    One region's email goes through the simulated provider at `provider_url`, the other's through SES.

    A batch that its function has no time for comes back and uses up a receive, so the more consumers share the machine,
    the smaller are their batches. And the reconciler leaves open deliveries alone for as long as all of them take:
    looking after each one costs as much as sending it.
    """
    settings = json.loads(cdk.SETTINGS.read_text(encoding="utf-8"))
    deliveries = sum(len(person.addresses) for person in marketplace.people)
    channels = len({channel for person in marketplace.people for channel in person.addresses})
    for region in settings["regions"].values():
        region["attention_after_s"] = max(SHORTEST_ATTENTION_S, round(deliveries * ATTENTION_S_PER_DELIVERY))
        for channel in region["channels"].values():
            channel["batch_size"] = BATCHES // max(1, channels)
        for name, rate in (rates or {}).items():
            region["channels"][str(name)]["rate_per_second"] = rate
    settings["regions"][REGION_OF_THE_PROVIDER]["channels"]["email"] |= {
        "provider": "http",
        "provider_options": {
            "url": provider_url,
            "api_key_secret": API_KEY_SECRET,
            "key_window_s": round(KEY_WINDOW.total_seconds()),
            "lookup_window_s": round(LOOKUP_WINDOW.total_seconds()),
        },
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
    return path


def cut_off(log: Path) -> int:
    """Return how many invocations the emulator ended because their time was over, by its log."""
    with log.open(encoding="utf-8", errors="replace") as lines:
        return sum(_CUT_OFF in line for line in lines)


def shown(path: Path) -> str:
    """A path as a person in this folder would write it."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def running_regions(deployed: cdk.Deployment) -> dict[str, RunningRegion]:
    """Every data region of a deployment, by name."""
    return {
        name: RunningRegion(
            deployed.emulator,
            RegionDeployment(name, region.region, outputs=deployed.outputs[names.stack_name(name)]),
        )
        for name, region in deployed.settings.regions.items()
    }


def exports(emulator: Emulator) -> dict[str, str]:
    """Variables with which the command line finds the emulator, and nothing else."""
    return {name: value for name, value in emulator.environment({}).items() if name.startswith("AWS_")}


@contextmanager
def pointed_at(emulator: Emulator) -> Iterator[None]:
    """Let this process's AWS clients find the emulator, as the command line would with the printed variables."""
    before = dict(os.environ)
    replaced = emulator.environment()
    for name in before.keys() - replaced.keys():
        del os.environ[name]
    os.environ.update(replaced)
    try:
        yield
    finally:
        for name in os.environ.keys() - before.keys():
            del os.environ[name]
        os.environ.update(before)


if __name__ == "__main__":
    sys.exit(main())
