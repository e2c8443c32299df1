"""The page, in the reader's language: what a link is for, and what has come of it. It says nothing about anybody."""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from enum import StrEnum
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined

from functions import names
from functions.core.unsubscribe_token import ONE_CLICK

if TYPE_CHECKING:
    from collections.abc import Mapping

    from functions.core.unsubscribe_token import Subscription

_HERE: Final = "functions.unsubscribe"
_MOST_LANGUAGES: Final = 20  # of a header; nobody has asked for more in earnest


class Kind(StrEnum):
    """What there is to say."""

    ASK = "ask"
    DONE = "done"
    UNKNOWN_LINK = "unknown_link"
    NOT_UNDERSTOOD = "not_understood"
    NOT_NOW = "not_now"


_WITH_BUTTON: Final = frozenset({Kind.ASK, Kind.NOT_NOW})


def render(kind: Kind, *, language: str, subscription: Subscription | None, site_url: str) -> str:
    """Return the page. `subscription` says which topic and channel it is about, and nothing of whose it is."""
    words = _words(language)
    what = "" if subscription is None else words[f"{subscription.topic}_{subscription.channel}"]
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            kind=str(kind),
            language=language,
            style=_style(),
            title=words[f"{kind}_title"],
            text=words[f"{kind}_text"].format(what=what),
            button=words["button"] if kind in _WITH_BUTTON else None,
            field=ONE_CLICK,
            site_url=site_url,
            site=words["site"].format(site=urlsplit(site_url).netloc),
        )
    )


def security_headers() -> dict[str, str]:
    """What a browser may do with the page: show it, submit its form, and nothing else; keep nothing, tell nobody."""
    style = b64encode(hashlib.sha256(_style().encode()).digest()).decode()
    return {
        "content-security-policy": (
            f"default-src 'none'; style-src 'sha256-{style}'; form-action 'self'; "
            "base-uri 'none'; frame-ancestors 'none'"
        ),
        "cache-control": "no-store",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
        "x-robots-tag": "noindex, nofollow",
    }


def language_wanted(accept_language: str) -> str:
    """Return the language of ours that an Accept-Language header likes best, the first one where it likes none."""
    liked: list[tuple[float, int, str]] = []
    for position, part in enumerate(accept_language.split(",")[:_MOST_LANGUAGES]):
        tag, _, quality = part.strip().partition(";q=")
        code = tag.strip().partition("-")[0].lower()
        weight = _weight(quality)
        if code in names.LANGUAGES and weight > 0:
            liked.append((-weight, position, code))
    return min(liked)[2] if liked else names.LANGUAGES[0]


def _weight(quality: str) -> float:
    try:
        return float(quality) if quality else 1.0
    except ValueError:
        return 0.0


@lru_cache(maxsize=1)
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader(_HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )


@lru_cache(maxsize=1)
def _style() -> str:
    return _read("page.css")


@lru_cache(maxsize=len(names.LANGUAGES))
def _words(language: str) -> Mapping[str, str]:
    words: Mapping[str, str] = json.loads(_read(f"{language}.json"))
    return words


def _read(name: str) -> str:
    return resources.files(_HERE).joinpath("templates", name).read_text(encoding="utf-8")
