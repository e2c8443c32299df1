"""HTML of the console's pages."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, Final

import nh3
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup
from werkzeug.security import safe_join

from ops.console.graph import BOTTOM, HEIGHT, LEFT, TOP, WIDTH, number_in_words
from ops.console.widget_html import as_form_content

TEMPLATES: Final = Path(__file__).with_name("templates")
DOCS: Final = Path(__file__).resolve().parents[2] / "docs"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "markdown": markdown,
        "number": number_in_words,
        "moment": lambda at: f"{at:%Y-%m-%d %H:%M:%S} UTC",
        "ago": ago,
    }
    environment.globals |= {
        "plot": {"width": WIDTH, "height": HEIGHT, "left": LEFT, "top": TOP, "bottom": BOTTOM},
        "form_content": lambda html, form, nonce: Markup(as_form_content(html, form=form, nonce=nonce)),  # noqa: S704 - cleaned by it
    }
    return environment


def render(template: str, **values: Any) -> str:  # noqa: ANN401 - what a template is given
    """A page by its template's name."""
    return _environment().get_template(f"{template}.html.j2").render(**values)


def stylesheet() -> str:
    """The one stylesheet of all pages."""
    return (TEMPLATES / "console.css").read_text(encoding="utf-8")


def manual(path: str) -> str | None:
    """The Markdown of a page of the documentation; None where there is none at that path below docs/."""
    place = safe_join(str(DOCS), path)
    page = None if place is None else Path(place)
    return page.read_text(encoding="utf-8") if page is not None and page.suffix == ".md" and page.is_file() else None


def markdown(text: str) -> Markup:
    """Markdown as HTML in which nothing runs."""
    rendered = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    return Markup(nh3.clean(rendered, url_schemes={"https"}, attributes={"a": {"href"}}))  # noqa: S704 - just cleaned


def ago(at: datetime, now: datetime) -> str:
    """`3 min`, `2 h`: how long something has been so."""
    passed = max(timedelta(0), now - at)
    for unit, length in (("d", timedelta(days=1)), ("h", timedelta(hours=1)), ("min", timedelta(minutes=1))):
        if passed >= length:
            return f"{passed // length} {unit}"
    return "less than a minute"
