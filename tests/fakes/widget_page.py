"""A custom widget's HTML as a browser reads it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any


@dataclass
class Pressable:
    """What stands right before a `<cwdb-action>`, and what pressing it does."""

    label: str
    endpoint: str
    params: dict[str, Any]
    confirmation: str | None
    attributes: Mapping[str, str | None]


class Page(HTMLParser):
    """A fragment as a browser reads it: its elements, its text, what can be pressed and what can be typed into."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.html = html
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.presses: list[Pressable] = []
        self.fields: dict[str, str] = {}
        self.chosen: dict[str, str] = {}
        self._select = ""
        self._open: list[str] = []
        self._button: tuple[str, dict[str, str | None]] | None = None
        self._action: tuple[dict[str, str | None], str] | None = None
        self.feed(html)

    def press(self, label: str, about: str = "") -> Pressable:
        """The one thing to press with this label."""
        (found,) = [
            one
            for one in self.presses
            if one.label == label and about in (one.attributes.get("aria-label") or one.label)
        ]
        return found

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.elements.append((tag, attributes))
        self._open.append(tag)
        if tag == "button":
            self._button = ("", attributes)
        if tag == "cwdb-action":
            self._action = (attributes, "")
        if tag == "input":
            self.fields[attributes.get("name") or ""] = attributes.get("value") or ""
        if tag == "select":
            self._select = attributes.get("name") or ""
        if tag == "option" and "selected" in attributes:
            self.fields[self._select] = self.chosen[self._select] = attributes.get("value") or ""
        if tag in {"input", "br"}:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if self._action is not None:
            self._action = (self._action[0], self._action[1] + data)
            return
        if self._button is not None:
            self._button = (self._button[0] + data, self._button[1])
        if "style" not in self._open:
            self.text += " " + " ".join(data.split())

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag, f"</{tag}> closes nothing: {self.html}"
        if tag == "cwdb-action":
            assert self._action is not None
            assert self._button is not None, "an action that belongs to nothing"
            attributes, content = self._action
            self.presses.append(
                Pressable(
                    label=self._button[0],
                    endpoint=attributes["endpoint"] or "",
                    params=json.loads(content),
                    confirmation=attributes.get("confirmation"),
                    attributes=self._button[1],
                )
            )
            self._action = self._button = None
