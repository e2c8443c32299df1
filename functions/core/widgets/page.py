"""A widget's HTML: one fragment with its own small stylesheet, every value escaped, no script and no outside asset."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from functions.core.widgets.request import Theme
from functions.core.wording import distance, utc

if TYPE_CHECKING:
    from collections.abc import Mapping

_HERE: Final = "functions.core.widgets"
_CODE: Final = re.compile(r"`([^`]*)`")
_LONGEST_SHOWN: Final = 200  # characters of any value: a code may be a provider's


@dataclass(frozen=True, slots=True)
class Press:
    """Something to press: `<cwdb-action>` has CloudWatch call a function with these parameters and show what it says.

    `confirmation` is asked first, and says what will happen.
    """

    label: str
    endpoint: str  # ARN of the function
    params: Mapping[str, str]
    confirmation: str | None = None
    about: str | None = None  # told to screen readers where the label alone, read in a list, does not say of what
    style: str = "link"  # or `button`, `danger`


@dataclass(frozen=True, slots=True)
class Notice:
    """What has come of an action, or why there is nothing else to show."""

    text: str
    good: bool = False


@dataclass(frozen=True, slots=True)
class Looks:
    """How a page looks, whatever is on it."""

    theme: Theme = Theme.AUTO
    notice: Notice | None = None
    typed: Mapping[str, str] = field(default_factory=dict, repr=False)  # what stays in the fields


def render(template: str, looks: Looks, **view: Any) -> str:  # noqa: ANN401 - what the template shows
    """Draw `templates/<template>.html.j2`."""
    return _environment().get_template(f"{template}.html.j2").render(looks=looks, style=_style(), **view)


def code(text: object) -> Markup:
    """Escape a text; what stands between backticks becomes code."""
    # What the pattern's group matched stands at every second place.
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if number % 2 else escape(part)
        for number, part in enumerate(_CODE.split(cut(text)))
    )


def cut(value: object) -> str:
    """The value as text, as much of it as anybody reads."""
    text = str(value)
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "\N{HORIZONTAL ELLIPSIS}"


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(_HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: value if isinstance(value, Markup) else cut(value),
    )
    environment.filters |= {"code": code, "utc": utc, "distance": distance, "words": _words}
    return environment


def _words(name: object) -> str:
    """`dead_letter` as people read it."""
    return str(name).replace("_", " ")


@lru_cache(maxsize=1)
def _style() -> Markup:
    text = resources.files(_HERE).joinpath("templates", "widget.css").read_text(encoding="utf-8")
    return Markup(text)  # noqa: S704 - our own file
