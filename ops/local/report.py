"""What a local run tells: `report.json` for machines, `report.html` for people, and a table on the terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from rich.table import Table

from functions.core.calendar import WEEK
from functions.core.delivery import Delivery, SkipReason, Status
from functions.core.identity import Channel
from ops.local.emulator import Email, Text
from ops.local.faults import Fault
from ops.local.marketplace import EXAMPLE, Marketplace
from ops.local.reckoning import Check, Funnel, Latency, RegionEvidence, RegionReckoning

TEMPLATES: Final = Path(__file__).with_name("templates")
CURVE_POINTS: Final = 120
LONG_MS: Final = 100_000  # from here on tenths of a second say nothing
LATENCY_IS: Final = "milliseconds from selected_at, when the planner wrote the row, to accepted_at; nearest rank"
PLANNER_MS_IS: Final = (
    "milliseconds of Lambda time in which at least one invocation was planning, as its log reports them"
)
CHANNEL_WORDS: Final[Mapping[Channel, str]] = {
    Channel.EMAIL: "email",
    Channel.SMS: "texts",
    Channel.WEBHOOK: "webhooks",
}
PROVIDER_WORDS: Final[Mapping[str, str]] = {
    "ses": "Amazon SES",
    "sns": "Amazon SNS",
    "http": "the HTTP email provider",
}
REGION_WORDS: Final[Mapping[str, str]] = {"us": "US", "eu": "EU"}
REASON_WORDS: Final[Mapping[str, str]] = {
    SkipReason.OPTED_OUT: "the customer does not want it on this channel",
    SkipReason.EMPTY: "nothing happened in the customer's week",
    SkipReason.SUPPRESSED: "the address bounced or complained",
    SkipReason.INACTIVE: "the customer has left",
    SkipReason.NO_ADDRESS: "there is no address for this channel",
    SkipReason.QUIET: "it was night there",
    SkipReason.TOO_LATE: "its time had passed",
    SkipReason.CANCELLED: "it was called off",
    SkipReason.PAID: "the order had been paid",
    SkipReason.NOT_ON_ALLOW_LIST: "the address is not on this deployment's list",
}


@dataclass(frozen=True)
class Run:
    """A run when all is quiet, with everything that is told about it."""

    marketplace: Marketplace
    began_at: datetime
    wall_s: float
    evidence: Sequence[RegionEvidence]
    reckonings: Sequence[RegionReckoning]
    faults: Sequence[Fault]
    settled_from_outbox: int
    emails: Sequence[Email] = field(repr=False)
    texts: Sequence[Text] = field(repr=False)

    @property
    def failed_checks(self) -> list[Check]:
        return [check for one in self.reckonings for check in one.checks if not check.holds]

    @property
    def agrees(self) -> bool:
        """Whether every sum agrees and every fault ended as it should."""
        return not self.failed_checks and all(fault.held for fault in self.faults)

    @cached_property
    def whole(self) -> Funnel:
        """All regions and channels together."""
        return Funnel.of([row for one in self.evidence for row in one.rows])

    @property
    def wanted(self) -> int:
        """Deliveries that somebody wants and that have something to tell."""
        return sum(expectation.accepted for one in self.evidence for expectation in one.expected.values())


# --- for machines -----------------------------------------------------------------------------------------------------


def as_json(run: Run) -> dict[str, Any]:
    """`report.json`: the figures of each region; what goes beyond them stands under names of its own."""
    return {
        "customers": len(run.marketplace.people),
        "wall_s": round(run.wall_s, 1),
        "regions": {one.name: _region_as_json(one) for one in run.reckonings},
        "agrees": run.agrees,
        "about": {
            "source": run.marketplace.source,
            "period": run.marketplace.period_start.isoformat(),
            "due_at": run.marketplace.run_at.isoformat(),
            "latency_ms": LATENCY_IS,
            "planner_ms": PLANNER_MS_IS,
            "settled_from_outbox": run.settled_from_outbox,
        },
        "channels": {
            one.name: {
                str(channel): {**asdict(funnel), "latency_ms": asdict(one.channel_latency[channel])}
                for channel, funnel in one.channels.items()
            }
            for one in run.reckonings
        },
        "faults": [asdict(fault) for fault in run.faults],
        "checks": [{**asdict(check), "holds": check.holds} for one in run.reckonings for check in one.checks],
    }


def _region_as_json(one: RegionReckoning) -> dict[str, Any]:
    return {
        **asdict(one.funnel),
        "provider_received": one.provider_received,
        "duplicates": one.duplicates,
        "dlq": one.dlq,
        "planner_ms": one.planner_ms,
        "latency_ms": asdict(one.latency),
    }


# --- for the terminal -------------------------------------------------------------------------------------------------


def summary_table(run: Run) -> Table:
    """A row for each region and channel, in 80 columns."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column("", no_wrap=True)
    for name in ("planned", "accepted", "skipped", "expired", "dead", "unsure", "open", "p50", "p95", "p99"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in run.reckonings:
        for channel, funnel in one.channels.items():
            counts = (
                *(funnel.planned, funnel.accepted, funnel.skipped_in_all, funnel.expired),
                *(funnel.dead_letter, funnel.uncertain, funnel.open),
            )
            table.add_row(
                f"{one.name} {CHANNEL_WORDS[channel]}",
                *(f"{count:,}" for count in counts),
                *(_seconds(value) for value in _percentiles(one.channel_latency[channel])),
            )
    return table


def _percentiles(latency: Latency) -> tuple[int | None, int | None, int | None]:
    return latency.p50, latency.p95, latency.p99


def _seconds(milliseconds: int | None) -> str:
    if milliseconds is None:
        return "none"
    return f"{milliseconds / 1000:.1f} s" if milliseconds < LONG_MS else f"{milliseconds / 1000:.0f} s"


# --- for people -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """One bar of a funnel: how many, and that as a share of what was planned, from 0 to 100."""

    name: str
    count: int
    share: float
    is_end: bool = False


@dataclass(frozen=True)
class Stream:
    """One region's deliveries on one channel, drawn."""

    name: str
    funnel: Funnel
    steps: Sequence[Step]
    latency: Latency
    curve: str  # an SVG path in a box of 100 by 100, empty where nothing was accepted
    last_ms: int


@dataclass(frozen=True)
class Example:
    """What one customer of a region received, and who brought it."""

    region: str
    customer_id: str
    email_through: str
    subject: str
    html: str = field(repr=False)
    text_through: str | None
    text: str | None = field(repr=False)


def write_report(run: Run, out: Path) -> None:
    """Write both files into a folder."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "report.json").write_text(json.dumps(as_json(run), indent=2) + "\n", encoding="utf-8")
    (out / "report.html").write_text(as_html(run), encoding="utf-8")


def as_html(run: Run) -> str:
    """`report.html`: one page without outside assets."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["seconds"] = _seconds
    environment.filters["number"] = lambda value: f"{value:,}"
    environment.filters["region"] = lambda name: REGION_WORDS.get(name, name)
    streams = list(_streams(run))
    return environment.get_template("report.html.j2").render(
        run=run,
        answer=answer(run),
        streams=streams,
        longest_ms=max((stream.last_ms for stream in streams), default=0),
        reasons=_reasons(run),
        faults=_faults_by_name(run.faults),
        examples=[one for one in (example_of(run, found) for found in run.evidence) if one is not None],
        last_day=run.marketplace.period_start + WEEK - timedelta(days=1),
        checks=[check for one in run.reckonings for check in one.checks],
        latency_is=LATENCY_IS,
    )


def answer(run: Run) -> str:
    """Did everybody get theirs? In one sentence."""
    sent, unsure, wanted = run.whole.accepted, run.whole.uncertain, run.wanted
    if run.failed_checks:
        return f"No: {_counted(len(run.failed_checks), 'sum does', 'sums do')} not agree."
    wrong = [fault for fault in run.faults if not fault.held]
    if wrong:
        return f"Yes, but {_counted(len(wrong), 'fault', 'faults')} did not end as expected."
    if unsure:
        return (
            f"Nearly: {sent:,} of {wanted:,} digests arrived, each once; {unsure:,} may have been sent, and "
            f"{'waits' if unsure == 1 else 'wait'} for a person to decide."
        )
    return f"Yes: all {wanted:,} digests that somebody wanted arrived, each once."


def _counted(count: int, one: str, many: str) -> str:
    return f"{count:,} {one if count == 1 else many}"


def _streams(run: Run) -> Iterator[Stream]:
    spans = {
        (found.name, channel): _waits_ms(found.rows, channel)
        for found, one in zip(run.evidence, run.reckonings, strict=True)
        for channel in one.channels
    }
    longest = max((waits[-1] for waits in spans.values() if waits), default=1)
    for one in run.reckonings:
        for channel, funnel in one.channels.items():
            waits = spans[one.name, channel]
            yield Stream(
                name=f"{REGION_WORDS.get(one.name, one.name)} {CHANNEL_WORDS[channel]}",
                funnel=funnel,
                steps=list(_steps(funnel)),
                latency=one.channel_latency[channel],
                curve=_curve(waits, longest),
                last_ms=waits[-1] if waits else 0,
            )


def _waits_ms(rows: Sequence[Delivery], channel: Channel) -> list[int]:
    return sorted(
        round((row.accepted_at - row.selected_at).total_seconds() * 1000)
        for row in rows
        if row.status is Status.ACCEPTED and row.accepted_at is not None and row.delivery_id.channel is channel
    )


def _steps(funnel: Funnel) -> Iterator[Step]:
    def step(name: str, count: int, *, is_end: bool = False) -> Step:
        return Step(name, count, 100 * count / max(1, funnel.planned), is_end)

    remaining = funnel.planned
    yield step("planned", remaining)
    for reason, words in ((SkipReason.OPTED_OUT, "wanted"), (SkipReason.EMPTY, "something to tell")):
        remaining -= funnel.skipped.get(str(reason), 0)
        yield step(words, remaining)
    yield step("accepted", funnel.accepted, is_end=True)


def _curve(waits: Sequence[int], longest: int) -> str:
    """The share that was accepted by a time, as a path: right is later, up is more."""
    if not waits:
        return ""
    stride = max(1, len(waits) // CURVE_POINTS)
    marks = [*range(stride - 1, len(waits), stride), len(waits) - 1]
    points = [(100 * waits[mark] / max(1, longest), 100 - 100 * (mark + 1) / len(waits)) for mark in marks]
    start = f"M0 100 L{100 * waits[0] / max(1, longest):.2f} 100"
    return start + "".join(f" L{x:.2f} {y:.2f}" for x, y in points) + " L100 0"


def _reasons(run: Run) -> list[tuple[str, str, list[int]]]:
    """Each reason that occurred, in words, and how often in each region and channel."""
    funnels = [funnel for one in run.reckonings for funnel in one.channels.values()]
    found = sorted({reason for funnel in funnels for reason in funnel.skipped})
    return [
        (reason.replace("_", " "), REASON_WORDS.get(reason, ""), [funnel.skipped.get(reason, 0) for funnel in funnels])
        for reason in found
    ]


def _faults_by_name(faults: Sequence[Fault]) -> dict[str, list[Fault]]:
    """Faults of one kind together, whichever regions they were put into."""
    grouped: dict[str, list[Fault]] = {}
    for fault in faults:
        grouped.setdefault(fault.name, []).append(fault)
    return grouped


def example_of(run: Run, found: RegionEvidence) -> Example | None:
    """The email, and the text if there is one, of the example customer, or of somebody who received an email there."""
    emails = {email.message_id: email for email in run.emails}
    texts = {text.message_id: text for text in run.texts}
    by_customer: dict[str, dict[Channel, Delivery]] = {}
    for row in found.rows:
        if row.provider_reference is not None:
            by_customer.setdefault(row.delivery_id.customer_id, {})[row.delivery_id.channel] = row
    both = [customer for customer, rows in by_customer.items() if len(rows) > 1]
    for customer in (str(EXAMPLE), *both, *by_customer):
        rows = by_customer.get(customer, {})
        email = emails.get(_reference(rows, Channel.EMAIL))
        text = texts.get(_reference(rows, Channel.SMS))
        if email is not None:
            return Example(
                region=found.name,
                customer_id=customer,
                email_through=_provider(rows[Channel.EMAIL]),
                subject=email.subject,
                html=email.html,
                text_through=None if text is None else _provider(rows[Channel.SMS]),
                text=None if text is None else text.text,
            )
    return None


def _reference(rows: Mapping[Channel, Delivery], channel: Channel) -> str:
    return rows[channel].provider_reference or "" if channel in rows else ""


def _provider(row: Delivery) -> str:
    name = row.provider or "its provider"
    return PROVIDER_WORDS.get(name, name)
