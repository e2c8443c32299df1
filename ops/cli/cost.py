"""`digest cost`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.table import Table

from functions.core.identity import Channel
from functions.core.wording import count_of
from ops.cli.output import out, print_json, say, table
from ops.cli.workplace import JsonOption, RegionOption, workplace_of
from ops.costs.measurements import Measurements
from ops.costs.prices import Price, PriceTable
from ops.costs.reckoning import (
    Comparison,
    Line,
    Week,
    Workload,
    a_week,
    one_schedule_each,
    polling_a_relational_table,
)
from ops.deployment import CDK_JSON, DeploymentError
from stacks.settings import Region, SettingsError, read_cdk_json

STANDING: Final = ("alarm", "dashboard", "metric")  # prices of what is paid by the month, however little is sent
NOT_IN_IT: Final = (
    "alarms, dashboards, custom metrics, secrets and keys: a fixed sum a month for each region",
    "the customers table's storage, its imports, point-in-time recovery, and what operators read",
    "attempts that fail, deliveries that are skipped, retries and redrives: each is a part of a delivery more",
    "SQS requests of Lambda's pollers while a queue is empty; data sent out of the region to providers",
    "free allowances, volume tiers, savings plans, tax",
)
FUNCTION_TIME: Final = "the functions' time, which only a deployed region can tell: --function-ms says it"


def cost(
    context: typer.Context,
    customers: Annotated[
        int, typer.Option("--customers", metavar="N", min=1, help="Who get a digest every week.", show_default=False)
    ],
    channels: Annotated[
        str, typer.Option("--channels", metavar="LIST", help="On which each of them gets it, such as email,sms.")
    ] = "email,sms",
    region: RegionOption = None,
    per_email: Annotated[
        float | None,
        typer.Option("--per-email", metavar="DOLLARS", min=0, help="What an email costs you; else SES's list price."),
    ] = None,
    per_segment: Annotated[
        float | None,
        typer.Option(
            "--per-segment", metavar="DOLLARS", min=0, help="What a segment of a text costs you: it is by country."
        ),
    ] = None,
    function_ms: Annotated[
        float | None,
        typer.Option(
            "--function-ms", metavar="N", min=0, help="Time of Lambda for each delivery, as your dashboard has it."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Reckon what a week costs: requests, units and dollars, from measured counts and dated list prices.

    Asks nothing of AWS. What has no price is counted and left out of the sum, and said so.

    For example:

    - `digest cost --customers 100000 --channels email`
    - `digest cost --customers 100000 --channels email,sms --region us --per-segment 0.0098`
    """
    wanted = _channels(channels)
    measured = Measurements.load()
    regions = {one.data_region: one.aws_region for one in workplace_of(context).deployment.only(region)}
    told: list[dict[str, Any]] = []
    for name, settings in _settings(context).items():
        if name in regions:
            prices = PriceTable.of(regions[name])
            week = a_week(measured, prices, workload_of(settings, customers, wanted, function_ms))
            week = _with_providers(week, prices, settings, per_email, per_segment)
            compared = [
                made
                for compare in (one_schedule_each, polling_a_relational_table)
                if (made := compare(measured, prices, week.workload)) is not None
            ]
            if as_json:
                told.append(_as_json(name, prices, week, compared))
            else:
                _tell(name, prices, week, compared)
    if as_json:
        basis = {"measured_on": measured.measured_on.isoformat(), "not_in_it": _left_out(function_ms)}
        print_json(basis | {"regions": told})
    else:
        _tell_basis(measured, function_ms)


# --- what is asked ----------------------------------------------------------------------------------------------------


def _channels(text: str) -> list[Channel]:
    try:
        named = [Channel(one.strip()) for one in text.split(",")]
    except ValueError:
        named = []
    if not named or len(set(named)) < len(named):
        kinds = ", ".join(Channel)
        raise typer.BadParameter(f"must name each once, with a comma between them: {kinds}", param_hint="--channels")
    return named


def _settings(context: typer.Context) -> dict[str, Region]:
    overrides: Path | None = context.find_root().params.get("overrides")
    try:
        return dict(read_cdk_json(CDK_JSON, overrides).regions)
    except SettingsError as error:
        raise DeploymentError(f"the settings do not fit:\n{error}") from None


def workload_of(
    settings: Region, customers: int, channels: Sequence[Channel], function_ms: float | None = None
) -> Workload:
    """Return what a region as it is set is asked to do in a week."""
    heard = settings.receipt_channels
    return Workload(
        customers=customers,
        channels=channels,
        receipts=frozenset(channel for channel in channels if channel in heard),
        planner_minutes=settings.planner.interval_minutes,
        reconciler_minutes=settings.reconciler.interval_minutes,
        shards=settings.planner.shards,
        kept_days=settings.retention.deliveries_days,
        memory_mb=max(settings.channels.by_name()[channel].memory_mb for channel in channels),
        function_ms=function_ms,
    )


def _with_providers(
    week: Week, prices: PriceTable, settings: Region, per_email: float | None, per_segment: float | None
) -> Week:
    """The week with what providers take: an email each, a text's segments at most."""
    lines = []
    customers = week.workload.customers
    if Channel.EMAIL in week.workload.channels:
        listed = prices.get("ses") if settings.channels.email.provider == "ses" else None
        lines.append(Line("emails", customers, listed if per_email is None else _said(per_email, "email")))
    if Channel.SMS in week.workload.channels:
        most = settings.channels.sms.max_segments
        price = None if per_segment is None else _said(per_segment, "segment")
        lines.append(Line(f"segments of texts, {most} each at most", customers * most, price))
    return replace(week, provider=lines)


def _said(dollars: float, of: str) -> Price:
    return Price(dollars, 1, of, page="", read_on="", via="you said")


def _left_out(function_ms: float | None) -> list[str]:
    return [*NOT_IN_IT] if function_ms is not None else [FUNCTION_TIME, *NOT_IN_IT]


# --- for machines -----------------------------------------------------------------------------------------------------


def _as_json(name: str, prices: PriceTable, week: Week, compared: Sequence[Comparison]) -> dict[str, Any]:
    return {
        "data_region": name,
        "aws_region": prices.aws_region,
        "customers": week.workload.customers,
        "deliveries": week.workload.deliveries,
        "table_requests": week.table_requests,
        "lines": [_line_as_json(line) for line in week.lines],
        "dollars": week.dollars,
        "dollars_idle": week.idle_dollars,
        "dollars_for_a_million": week.for_a_million(week.dollars),
        "provider": [_line_as_json(line) for line in week.provider],
        "without_a_price": week.unpriced,
        "compared": [
            {
                "with": one.other,
                "dollars_here": one.dollars(week.workload.customers)[0],
                "dollars_there": one.dollars(week.workload.customers)[1],
                "crossover_customers": one.crossover,
            }
            for one in compared
        ],
    }


def _line_as_json(line: Line) -> dict[str, Any]:
    price = line.price
    told = None if price is None else {"dollars": price.dollars, "per": price.per, "page": price.page}
    return {
        "what": line.what,
        "amount": line.amount,
        "idle": line.idle,
        "dollars": line.dollars,
        "price": None if told is None or price is None else told | {"read_on": price.read_on, "via": price.via},
    }


# --- for people -------------------------------------------------------------------------------------------------------


def _tell(name: str, prices: PriceTable, week: Week, compared: Sequence[Comparison]) -> None:
    work = week.workload
    what = f"{count_of(work.customers, 'customer')}, {count_of(work.deliveries, 'delivery', 'deliveries')} a week"
    say(f"{name} ({prices.aws_region}): {what}")
    each = week.for_a_million(week.dollars)
    say(f"  ${week.dollars:,.2f} a week beside the providers, ${each:,.2f} for a million deliveries")
    say(f"  ${week.idle_dollars:,.2f} of it stand whatever is sent: the wake-ups")
    say(f"  {week.table_requests:,.0f} requests to DynamoDB, which bills their units")
    shown = _lines_table(week)
    out().print(shown)
    if week.unpriced:
        say(f"No price is known here, and so nothing is in the sum, for: {'; '.join(week.unpriced)}")
    for one in compared:
        _tell_comparison(one, work.customers)
    if standing := [str(price) for name in STANDING if (price := prices.get(name)) is not None]:
        say(f"Beside it: {', '.join(standing)}")
    say()


def _lines_table(week: Week) -> Table:
    numbers = ["A week", "Idle", "$ a week", "$ a million"]
    shown = table("What", *numbers, "List price", "Read on", numbers=numbers)
    for line in week.lines:
        shown.add_row(*_row(line, week))
    shown.add_section()
    for line in week.provider:
        shown.add_row(*_row(line, week, by_the_million=False))
    return shown


def _row(line: Line, week: Week, *, by_the_million: bool = True) -> tuple[str, ...]:
    idle = _amount(line.idle) if line.idle else ""
    if line.price is None or line.dollars is None:
        return line.what, _amount(line.amount), idle, "", "", "not known", ""
    each = _amount(week.for_a_million(line.dollars), cents=True) if by_the_million else ""
    dollars = _amount(line.dollars, cents=True)
    return line.what, _amount(line.amount), idle, dollars, each, str(line.price), line.price.read_on or line.price.via


def _amount(number: float, *, cents: bool = False) -> str:
    return f"{number:,.2f}" if cents or number < 100 else f"{number:,.0f}"  # noqa: PLR2004 - as much as says something


def _tell_comparison(one: Comparison, customers: int) -> None:
    here, there = one.dollars(customers)
    if one.crossover is not None:
        where = f"the same at {one.crossover:,} customers"
    else:
        where = f"cheaper {'here' if one.cheaper_here(customers) else 'there'} whatever their number"
    say(f"Against {one.other}: ${there:,.2f} a week there, ${here:,.2f} here; {where}")


def _tell_basis(measured: Measurements, function_ms: float | None) -> None:
    of = f"{measured.customers} customers with {measured.activities} activities each"
    say(f"Counts: measured on {measured.measured_on}, of {of}")
    say("Prices: list prices; pages and days are in ops/costs/prices.toml, and with --json")
    say("Not in it:")
    for one in _left_out(function_ms):
        say(f"  - {one}")
