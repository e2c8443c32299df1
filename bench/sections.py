"""Everything that is measured, a function for each part of the report."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench import cold_start, simulation, whole_run
from bench.figures import Aim, Bars, Curve, Figure, Section
from bench.idle import Idle, idle
from bench.rounds import cpu_ms, ratios, rounds
from functions.core.identity import Channel
from ops.cli.cost import workload_of
from ops.costs.measurements import Measurements
from ops.costs.prices import PriceTable
from ops.costs.reckoning import a_week
from ops.local.cdk import ROOT
from stacks.settings import read_cdk_json

SIZES: Final = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
MISSING: Final = 2  # what the comparison ends with where it cannot be made
PLANNING, CONSUMING = "bench.planning", "bench.consuming"


@dataclass(frozen=True)
class Effort:
    """How much is measured."""

    rounds: int
    growth: Sequence[int]  # customers due at once
    idle: Sequence[int]  # customers of whom nobody is due
    weeks: Sequence[Sequence[str]]  # arguments of `make demo`


QUICK: Final = Effort(
    rounds=5, growth=(1_000, 10_000, 100_000), idle=(1_000, 10_000), weeks=[("--customers", "500", "--rate", "sms=20")]
)
FULL: Final = Effort(
    rounds=9,
    growth=(1_000, 10_000, 100_000, 1_000_000),
    idle=(1_000, 10_000, 100_000, 1_000_000),
    weeks=[("--customers", "18000", "--rate", "sms=20")],
)


def planner(effort: Effort, _run: Path) -> Section:
    """Measure the planner against the usual ways and its bare requests."""
    by = rounds(PLANNING, {"ours": 4_000, "floor": 4_000, "loop": 500, "threads": 500}, times=effort.rounds)
    counted = Measurements.load()
    whole = counted.a_customer.write_units / 2 + counted.a_planned_delivery.write_units
    cpu = [
        Figure("this planner", "ms", cpu_ms(by["ours"])),
        Figure("its transactions and batches, bare", "ms", cpu_ms(by["floor"])),
        Figure("a loop of PutItem and SendMessage", "ms", cpu_ms(by["loop"])),
        Figure("the loop in 32 threads", "ms", cpu_ms(by["threads"])),
    ]
    return Section(
        "Planning a delivery",
        "python -m bench --only planner",
        "CPU of the planner's own process for each delivery that it plans, against a loopback endpoint that answers at "
        "once. A customer has two deliveries: two rows, two messages, a schedule that moves on, two rows marked as "
        "enqueued. The loop does the rows and messages only.",
        [
            *cpu,
            Figure("planner over its bare requests", "times", ratios(by["ours"], by["floor"]), Aim(at_most=1.5)),
            Figure("loop over planner", "times", ratios(by["loop"], by["ours"]), Aim(at_least=10)),
            Figure(
                "loop over the bare requests",
                "times",
                ratios(by["loop"], by["floor"]),
                note="nothing that the SDK sends can be further below the loop than this",
            ),
            Figure("threads over planner", "times", ratios(by["threads"], by["ours"])),
            Figure("requests", "each", [one.requests_each for one in by["ours"]]),
            Figure("requests of the loop", "each", [one.requests_each for one in by["loop"]]),
            Figure("write units, schedule and indexes included", "each", [whole], note="counted, `make measure`"),
        ],
        [Bars("CPU for each delivery planned", "ms", cpu)],
    )


def consumer(effort: Effort, _run: Path) -> Section:
    """Measure the email consumer against the bare requests and the usual sample."""
    by = rounds(CONSUMING, dict.fromkeys(("ours", "floor", "sample"), 1_000), times=effort.rounds)
    counted = Measurements.load()
    email = next(iter(counted.a_sent_delivery.values()))
    planned = counted.a_planned_delivery
    cpu = [
        Figure("this consumer", "ms", cpu_ms(by["ours"])),
        Figure("a read, a claim, a send, a settlement, bare", "ms", cpu_ms(by["floor"])),
        Figure("the usual Powertools sample", "ms", cpu_ms(by["sample"])),
    ]
    return Section(
        "Sending a delivery",
        "python -m bench --only consumer",
        "CPU of the email consumer's own process for each delivery, in batches of ten, against the same endpoint. The "
        "sample keeps a table of idempotency records beside everything else and sends a fixed text; this consumer "
        "reads the week's activity, asks for consent, renders three forms in the customer's language, paces, and says "
        "on the row what became of it.",
        [
            *cpu,
            Figure("consumer over the bare requests", "times", ratios(by["ours"], by["floor"]), Aim(at_most=1.5)),
            Figure("consumer over the sample", "times", ratios(by["ours"], by["sample"])),
            Figure(
                "DynamoDB requests, from planning to accepted",
                "each",
                [planned.table_requests + counted.a_customer.table_requests / 2 + email.table_requests],
                Aim(at_most=4),
                "counted, `make measure`",
            ),
            Figure(
                "write units, from planning to accepted",
                "each",
                [planned.write_units + email.write_units],
                Aim(at_most=10),
                "indexes included; the schedule's 4.15 units are its customer's, whatever the channels",
            ),
        ],
        [Bars("CPU for each delivery sent", "ms", cpu)],
    )


def wake_ups(effort: Effort, run: Path) -> Section:
    """Measure a wake-up with nothing due, however many customers there are."""
    told: list[Idle] = list(idle(effort.idle, run / "idle"))
    return Section(
        "A wake-up with nothing due",
        "python -m bench --only idle",
        "Requests and units of one wake-up over four shards, as the emulator says them, with so many customers in the "
        "table who are due another day.",
        [
            figure
            for one in told
            for figure in (
                Figure(f"requests with {one.customers:,} customers", "each", [one.requests]),
                Figure(f"read units with {one.customers:,} customers", "each", [one.read_units]),
                Figure(f"write units with {one.customers:,} customers", "each", [one.write_units]),
            )
        ],
        [
            Curve(
                "One idle wake-up",
                "customers",
                "requests, units",
                {
                    "requests": [(one.customers, one.requests) for one in told],
                    "read units": [(one.customers, one.read_units) for one in told],
                    "write units": [(one.customers, one.write_units) for one in told],
                },
            )
        ],
    )


def growth(effort: Effort, _run: Path) -> Section:
    """Measure planning for more and more customers who are due at once."""
    points = []
    for customers in effort.growth:
        times = 1 if customers >= effort.growth[-1] else 3
        (measured,) = rounds(PLANNING, {"ours": customers}, times=times).values()
        points.append(Figure(f"{customers:,} customers due", "ms", cpu_ms(measured)))
    return Section(
        "Planning for more and more",
        "python -m bench --only growth",
        "CPU for each delivery planned, by how many customers are due in the same wake-up.",
        [
            *points,
            Figure("most over least", "times", [points[-1].middle / points[0].middle], note="flat is 1"),
        ],
        [
            Curve(
                "CPU for each delivery planned",
                "customers due at once",
                "ms",
                {"this planner": [(size, one.middle) for size, one in zip(effort.growth, points, strict=True)]},
            )
        ],
    )


def limits(_effort: Effort, _run: Path) -> Section:
    """Reckon what the services' published limits allow."""
    told = [simulation.simulate(setup) for setup in simulation.scenarios()]
    sent = [
        Figure(one.setup.name, "min", [one.sent_after_s / 60], note=f"limited by: {one.limited_by}") for one in told
    ]
    return Section(
        "Ten million customers in the same hour",
        "python -m bench.simulation",
        "Not measured but reckoned, second by second, from published limits: two channels each; write units per table "
        "or index and per partition, pollers of a queue. Assumed: 25 ms for a transaction of a hundred actions, 10 ms "
        "for ten messages, 200 ms for a send.",
        sent,
        [Bars("Until all 20 million deliveries are sent", "min", sent)],
    )


def starts(effort: Effort, _run: Path) -> Section:
    """Measure what importing each handler takes."""
    everyone = ("bare", *cold_start.HANDLERS)
    by: dict[str, list[cold_start.Start]] = {name: [] for name in everyone}
    for _ in range(effort.rounds):
        for name in everyone:
            by[name].append(cold_start.start(name))
    zipped, ours = cold_start.code_size()
    cpu = [Figure(name, "ms", [1000 * one.cpu_s for one in by[name]]) for name in everyone]
    over = [
        Figure(
            f"{name} over bare",
            "times",
            [one.cpu_s / bare.cpu_s for one, bare in zip(by[name], by["bare"], strict=True)],
            Aim(at_most=1.3),
            _largest(name),
        )
        for name in cold_start.HANDLERS
    ]
    return Section(
        "Cold start",
        "python -m bench --only cold_start",
        "CPU of a fresh Python until a handler is imported, all its clients made and its templates compiled, against a "
        "handler that only makes two clients and the usual Powertools objects. Noted: what of ours and of libraries "
        "takes longest.",
        [
            *cpu,
            *over,
            Figure("zip of the code", "MB", [zipped / 1e6]),
            Figure("our own files in it, unzipped", "MB", [ours / 1e6]),
            *(Figure(f"memory of {name}", "MB", [one.memory_mb for one in by[name]]) for name in ("bare", "email")),
        ],
        [Bars("CPU until a handler is there", "ms", cpu)],
    )


def _largest(handler: str) -> str:
    spent = cold_start.profile(handler)
    return ", ".join(f"{package} {100 * each / spent.total():.0f} %" for package, each in spent.most_common(5))


def whole(effort: Effort, _run: Path) -> Section:
    """Send whole weeks on the emulator."""
    done = [whole_run.run(*arguments) for arguments in effort.weeks]
    return Section(
        "Whole weeks on the emulator",
        "python -m bench.whole_run --customers 18000 --rate sms=20",
        "Import, planning, sending, what goes wrong on purpose, and the sums at the end, both regions side by side on "
        "this machine. The emulator is one process that stands in for DynamoDB, SQS, Lambda and Scheduler; its share "
        "of the CPU is named because AWS takes that part over.",
        [figure for one in done for figure in _figures_of(one)],
    )


def _figures_of(one: whole_run.WholeRun) -> list[Figure]:
    name = " ".join(one.arguments).replace("--", "")
    late = [
        Figure(
            f"{name}: from due to accepted, {region} {channel}",
            "s",
            [latency["p50"] / 1000],
            note=f"95 %: {latency['p95'] / 1000:.0f} s, 99 %: {latency['p99'] / 1000:.0f} s",
        )
        for region, by_channel in one.latency_ms.items()
        for channel, latency in by_channel.items()
    ]
    return [
        Figure(
            f"{name}: wall time", "s", [one.wall_s], note="every sum agrees" if one.agrees else "not every sum agrees"
        ),
        Figure(f"{name}: accepted", "each", [one.accepted], note=f"{one.customers:,} customers"),
        Figure(f"{name}: accepted a second", "each", [one.accepted_a_second]),
        Figure(f"{name}: the emulator's share of the CPU", "%", [100 * one.emulators_share]),
        *late,
    ]


def alternatives(_effort: Effort, run: Path) -> Section:
    """Measure what people would use instead, where their servers are installed."""
    out = run / "alternatives.json"
    done = subprocess.run([sys.executable, "-m", "bench.alternatives", "--out", str(out)], check=False)
    text = (
        "The same job for everybody: plan, claim, compose the email, call a provider that does nothing, settle, retry "
        "what failed (one in twenty, once). PostgreSQL's and Redis's work is done on this machine, DynamoDB's and "
        "SQS's is not: where a figure is not comparable, its note says so."
    )
    if done.returncode == MISSING:
        text = (
            "Not measured: PostgreSQL, Redis or their clients are missing; `python -m bench.alternatives` says which."
        )
        return Section("Against what people would use instead", "python -m bench.alternatives", text, [])
    done.check_returncode()
    told = json.loads(out.read_text(encoding="utf-8"))
    rows = [
        Figure(
            f"{one['name']}: {one['figure']}", one["unit"], [one["min"], one["median"], one["max"]], note=one["note"]
        )
        for one in told["rows"]
    ]
    workers = [row for row in rows if row.name.endswith(": worker")]
    crashes = [
        Figure(
            f"{one['name']}, killed {one['killed']} the provider's call: {what}", f"of {one['deliveries']}", one[key]
        )
        for one in told["crashes"]
        for what, key in (
            ("given to it twice", "given_twice"),
            ("never given", "never_given"),
            ("in doubt", "in_doubt"),
        )
    ]
    return Section(
        "Against what people would use instead",
        "make bench-setup && python -m bench.alternatives",
        text,
        [*rows, *crashes],
        [Bars("CPU of the worker for each delivery", "ms", workers)],
    )


def cost(_effort: Effort, _run: Path) -> Section:
    """Reckon what weeks of many sizes cost, in the first region whose prices are known."""
    settings = next(iter(read_cdk_json(ROOT / "cdk.json").regions.values()))
    measured, prices = Measurements.load(), PriceTable.of(settings.region)
    weeks = [
        a_week(measured, prices, workload_of(settings, customers, (Channel.EMAIL, Channel.SMS))) for customers in SIZES
    ]
    return Section(
        "What a million deliveries cost",
        "digest cost --customers N --channels email,sms",
        f"Counted requests and units times dated list prices of {settings.region}, beside the providers: a week of "
        "digests by email and text. What is left out, and every price with its page and day, says the command.",
        [
            Figure(f"{week.workload.customers:,} customers", "$ a million", [week.for_a_million(week.dollars)])
            for week in weeks
        ],
        [
            Curve(
                "A million deliveries, by how many customers there are",
                "customers",
                "$",
                {"a million": [(week.workload.customers, week.for_a_million(week.dollars)) for week in weeks]},
            )
        ],
    )


SECTIONS: Final[Mapping[str, Callable[[Effort, Path], Section]]] = {
    "planner": planner,
    "consumer": consumer,
    "idle": wake_ups,
    "growth": growth,
    "limits": limits,
    "cold_start": starts,
    "whole": whole,
    "alternatives": alternatives,
    "cost": cost,
}
