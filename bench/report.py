"""The report: every figure with its spread, its aim and the command that makes it, and the plots."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import matplotlib as mpl
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from matplotlib.figure import Figure as Canvas

from bench.figures import Bars, Curve, Section, shown

INK, BARS, FAINT = "#24292f", "#3b6ea5", "#8c959f"
_HUES: Final = ("#3b6ea5", "#b4561f", "#3f7d45", "#7a4fa3")
_STYLES: Final = ("-", "--", ":", "-.")

mpl.use("svg")
mpl.rcParams.update({"svg.fonttype": "none", "font.family": "sans-serif", "font.size": 11, "text.color": INK})


def write_report(sections: Sequence[Section], machine: str, out: Path) -> Path:
    """Write `report.html` into a folder; no asset lies outside of it."""
    environment = Environment(loader=PackageLoader("bench"), autoescape=True, undefined=StrictUndefined)
    environment.globals["shown"] = shown
    environment.globals["drawn"] = lambda plot: Markup(_svg(plot))  # noqa: S704 - drawn here, of labels that are escaped
    page = environment.get_template("report.html.j2").render(sections=sections, machine=machine)
    path = out / "report.html"
    path.write_text(page, encoding="utf-8")
    return path


def _svg(plot: Bars | Curve) -> str:
    canvas = _bars(plot) if isinstance(plot, Bars) else _curve(plot)
    held = io.StringIO()
    canvas.savefig(held, format="svg", transparent=True, bbox_inches="tight", metadata={"Date": None})
    drawn = held.getvalue()
    return drawn[drawn.index("<svg") :]


def _bars(plot: Bars) -> Canvas:
    canvas = Canvas(figsize=(7, 0.8 + 0.42 * len(plot.figures)))
    axes = canvas.add_subplot()
    middles = [figure.middle for figure in plot.figures]
    spreads = [
        [figure.middle - min(figure.values) for figure in plot.figures],
        [max(figure.values) - figure.middle for figure in plot.figures],
    ]
    drawn = axes.barh(
        [figure.name for figure in plot.figures], middles, xerr=spreads, color=BARS, ecolor=INK, height=0.6
    )
    axes.bar_label(drawn, labels=[shown(middle) for middle in middles], padding=6)
    axes.margins(x=0.15)
    axes.invert_yaxis()
    axes.set_title(plot.title, loc="left")
    axes.set_xlabel(plot.unit)
    axes.spines[["top", "right"]].set_visible(False)
    return canvas


def _curve(plot: Curve) -> Canvas:
    canvas = Canvas(figsize=(7, 3.4))
    axes = canvas.add_subplot()
    for (label, points), hue, style in zip(plot.lines.items(), _HUES, _STYLES, strict=False):
        axes.plot([x for x, _ in points], [y for _, y in points], style, color=hue, marker="o", label=label)
    axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    axes.set_title(plot.title, loc="left")
    axes.set_xlabel(plot.across)
    axes.set_ylabel(plot.up)
    axes.spines[["top", "right"]].set_visible(False)
    if len(plot.lines) > 1:
        axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    return canvas
