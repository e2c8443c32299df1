"""`digest customers import`, `digest activity import`, `digest reminders import`."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final, Protocol, TypeAlias

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from functions.core.wording import count_of
from ops.cli.erasing import erase
from ops.cli.output import FAILED, complain, print_json, say
from ops.cli.workplace import JsonOption, Workplace, workplace_of
from ops.imports.activity import import_activity
from ops.imports.customers import import_customers
from ops.imports.lines import Form, form_of
from ops.imports.reminders import import_reminders
from ops.imports.report import FileFaultError, ImportReport
from ops.imports.writing import Destinations
from ops.imports.writing import Progress as Tell

STANDARD_INPUT: Final = Path("-")
INTERRUPTED: Final = 130  # as shells report a command that was ended with Ctrl-C

FileArgument: TypeAlias = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="CSV with a header row (.csv), or JSON lines (.jsonl, .ndjson); - reads standard input.",
        show_default=False,
    ),
]


class Importer(Protocol):
    """One of the three imports."""

    def __call__(
        self, lines: Iterator[str], deployment: Destinations, *, form: Form | None, progress: Tell
    ) -> ImportReport: ...


def add_commands(app: typer.Typer) -> None:
    """Add the three groups with their commands."""
    for name, described, command in (
        ("customers", "Customers: where they are reached, when their digest comes; and erasing them.", customers),
        ("activity", "What happened to customers in the marketplace: orders, price drops, messages.", activity),
        ("reminders", "Reminders that fall due once.", reminders),
    ):
        group = typer.Typer(help=described, no_args_is_help=True, rich_markup_mode="markdown")
        group.callback()(_group)
        group.command("import")(command)
        if command is customers:
            group.command("erase")(erase)
        app.add_typer(group, name=name)


def _group() -> None:
    """A group of commands, be it of one."""


def customers(context: typer.Context, file: FileArgument, as_json: JsonOption = False) -> None:
    """Import customers, each into the data region that their line names.

    Columns: **customer_id, data_region, time_zone**; and, if you have them, locale, email, phone, webhook_url,
    email_consent, sms_consent, webhook_consent (opted_in or opted_out), digest_weekday (mon), digest_time (09:30,
    local), digest_channels (email,sms), active (true), first_run_on (2026-11-30).

    Good lines are kept and bad ones listed, with exit status 1. Importing again is safe: addresses, zone and times are
    updated, consent and suppression on record never change, nobody gets a week twice.

    Example: `digest customers import customers.csv`
    """
    _import("customer", file, import_customers, workplace_of(context), as_json=as_json)


def activity(context: typer.Context, file: FileArgument, as_json: JsonOption = False) -> None:
    """Import what happened to customers; a digest tells of the week that it reports.

    Columns: **customer_id, data_region, activity_id, occurred_at** (2026-11-25T18:30:00Z), **kind** (order,
    price_drop, message), **title**; and amount (11.77), currency (USD), quantity (1).

    Importing a line again changes nothing. What is older than 60 days is not kept.

    Example: `digest activity import orders.jsonl`
    """
    _import("activity", file, import_activity, workplace_of(context), as_json=as_json, many="activities")


def reminders(context: typer.Context, file: FileArgument, as_json: JsonOption = False) -> None:
    """Import reminders, each sent once at its time.

    Columns: **customer_id, data_region, event_id, due_at** (2026-12-01T09:00:00+01:00) **or due_local**
    (2026-12-01T09:00, in the customer's zone), **channels** (email,sms), **subject**; and expires_at or
    expires_after_hours (24 when left out), obsolete (cancelled or paid takes it back).

    Example: `digest reminders import reminders.csv`
    """
    _import("reminder", file, import_reminders, workplace_of(context), as_json=as_json)


def _import(
    noun: str, file: Path, importer: Importer, workplace: Workplace, *, as_json: bool, many: str | None = None
) -> None:
    try:
        with _opened(file) as lines, _progress(total=_length(file)) as tell:
            report = importer(lines, workplace.deployment, form=form_of(file), progress=tell)
    except FileFaultError as error:
        raise FileFaultError(f"{file}: {error}") from None
    except KeyboardInterrupt:
        complain("stopped. What was written stays; importing the file again goes on from there")
        raise typer.Exit(INTERRUPTED) from None
    if as_json:
        print_json(_as_json(report))
    else:
        _tell(report, noun, many, file)
    if report.bad:
        raise typer.Exit(FAILED)


def _opened(file: Path) -> io.TextIOWrapper:
    """A file's lines. Bytes that are no UTF-8 become what no text has, so that their line alone is found bad."""
    try:
        held = sys.stdin.buffer if file == STANDARD_INPUT else file.open("rb")
    except OSError as error:
        raise FileFaultError(f"cannot be read: {error.strerror}") from None
    return io.TextIOWrapper(held, encoding="utf-8", errors="surrogateescape")


def _length(file: Path) -> int | None:
    """Lines of a file, header row included; None where it can be read only once."""
    if not file.is_file():
        return None
    with file.open("rb") as held:
        return sum(chunk.count(b"\n") for chunk in iter(lambda: held.read(1 << 20), b""))


@contextmanager
def _progress(*, total: int | None) -> Iterator[Tell]:
    """A bar on a terminal, nothing elsewhere."""
    console = Console(stderr=True)
    with Progress(
        TextColumn("importing"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as bar:
        task = bar.add_task("importing", total=total)
        yield lambda lines: bar.advance(task, lines)


def _as_json(report: ImportReport) -> dict[str, object]:
    return {
        "kept": report.kept,
        "unchanged": report.unchanged,
        "remembered": report.remembered,
        "kept_by_region": dict(sorted(report.kept_by_region.items())),
        "bad": [{"line": line.number, "reason": line.reason} for line in report.bad],
    }


def _tell(report: ImportReport, noun: str, many: str | None, file: Path) -> None:
    parts = [f"{count:,} in {region}" for region, count in sorted(report.kept_by_region.items()) if count]
    if report.unchanged:
        parts.append(f"{report.unchanged:,} as they were")
    say(f"{count_of(report.kept, noun, many)} kept" + (f": {', '.join(parts)}" if parts else ""))
    if report.remembered:
        say(f"{count_of(report.remembered, noun, many)} had left before being erased: what was not wanted stays so")
    if report.bad:
        say(f"{count_of(len(report.bad), 'bad line')}, not kept; mend and import them again:")
        for line in report.bad:
            complain_of_line(file, line.number, line.reason)


def complain_of_line(file: Path, number: int, reason: str) -> None:
    """`customers.csv:17: email: ...`, as editors and `grep` know it."""
    sys.stdout.flush()
    sys.stderr.write(f"{file}:{number}: {reason}\n")
