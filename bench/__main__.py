"""Measure, and write the report: `make bench`.

python -m bench [--only SECTION ...] [--full] [--out FOLDER]
"""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from bench.figures import Section, shown
from bench.report import write_report
from bench.sections import FULL, QUICK, SECTIONS


def main(
    *,
    only: Annotated[list[str] | None, typer.Option(help=f"One of {', '.join(SECTIONS)}; may be repeated.")] = None,
    full: Annotated[bool, typer.Option(help="More rounds, and up to a million customers: an hour.")] = False,
    orders: Annotated[Path | None, typer.Option(help="A shop's order log: its week is a whole run, too.")] = None,
    week: Annotated[str | None, typer.Option(help="The week of the order log, such as 1997-W11.")] = None,
    out: Annotated[Path, typer.Option(help="Where the report goes.")] = Path("out/bench"),
) -> None:
    """Measure what planning, sending, waking and starting cost, and write a table, a report and a JSON file."""
    unknown = set(only or ()) - SECTIONS.keys()
    if unknown:
        raise typer.BadParameter(f"{', '.join(sorted(unknown))}: known are {', '.join(SECTIONS)}", param_hint="--only")
    effort = FULL if full else QUICK
    if orders is not None and week is not None:
        effort = replace(effort, weeks=[*effort.weeks, ("--orders", str(orders), "--week", week)])
    out.mkdir(parents=True, exist_ok=True)
    console = Console()
    sections = []
    for name in only or SECTIONS:
        console.print(f"measuring: {name}")
        section = SECTIONS[name](effort, out)
        console.print(_table(section))
        sections.append(section)
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    kept = {
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine,
        "sections": [asdict(section) for section in sections],
    }
    (out / "bench.json").write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")
    console.print(f"The report: {write_report(sections, machine, out)}")


def _table(section: Section) -> Table:
    table = Table("", "median", "", "least to most", "aim", "", title=section.title)
    for figure in section.figures:
        aim = figure.aim.in_words() if figure.aim else ""
        table.add_row(figure.name, shown(figure.middle), figure.unit, figure.spread, aim, figure.verdict or figure.note)
    return table


if __name__ == "__main__":
    typer.run(main)
