"""Readers of finished messages: what a person sees in each form, without the markup."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html.parser import HTMLParser

_BLOCKS = frozenset({"p", "h1", "h2", "td", "div", "br", "title", "span", "a"})


def squeezed(text: str) -> str:
    """Text without its spaces, of which there are many kinds."""
    return re.sub(r"\s", "", text)


class Page(HTMLParser):
    """An email as a browser shows it: its blocks of text, its links, and its tags."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[tuple[str, str]] = []  # (tag, text)
        self.links: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self._silent = False
        self.feed(html)
        self.close()
        self.blocks = [(tag, " ".join(text.split())) for tag, text in self.blocks]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._silent = tag == "style"
        if tag == "a":
            self.links.append(dict(attrs)["href"] or "")
        if tag in _BLOCKS:
            self.blocks.append(("amount" if ("align", "right") in attrs else tag, ""))

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002 - as HTMLParser calls it
        self._silent = False

    def handle_data(self, data: str) -> None:
        if self.blocks and not self._silent:
            tag, text = self.blocks[-1]
            self.blocks[-1] = tag, text + data

    @property
    def text(self) -> str:
        return "\n".join(text for _, text in self.blocks if text)


@dataclass(frozen=True)
class Told:
    """One line of a digest, without spaces: its day, and `Order:Bluelamp($11.77)`."""

    day: str
    line: str


def told_in_page(html: str) -> list[Told]:
    told: list[Told] = []
    day = title = ""
    for tag, text in Page(html).blocks:
        if tag == "h2":
            day = squeezed(text)
        elif tag == "td":
            title = text
        elif tag == "span":
            told.append(Told(day, squeezed(f"{text}:{title}")))
        elif tag == "amount":
            told[-1] = Told(day, told[-1].line + squeezed(f"({text})"))
    return told


def told_in_text(text: str) -> list[Told]:
    told: list[Told] = []
    day = ""
    for paragraph in text.split("\n\n")[1:]:
        first, *lines = paragraph.split("\n")
        if lines and all(line.startswith("- ") for line in lines):
            day = squeezed(first)
            told.extend(Told(day, squeezed(line[2:])) for line in lines)
    return told
