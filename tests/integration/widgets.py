"""Custom widgets as CloudWatch calls them: an event in, HTML out, and presses that call what they name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from types import ModuleType
from typing import Any

from tests.fakes.environment import OPERATE_FUNCTION, WIDGETS_FUNCTION
from tests.fakes.lambda_context import FakeLambdaContext
from tests.integration.region import Clock


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


@dataclass
class Dashboard:
    """Somebody who looks and presses; the functions run here."""

    widgets: ModuleType
    operate: ModuleType
    clock: Clock
    theme: str = "light"
    pressed: int = 0
    seen: list[str] = field(default_factory=list)  # every page

    def open(self, widget: str, **params: Any) -> Page:
        """The widget as the dashboard draws it at first."""
        return self._call(WIDGETS_FUNCTION, {"widget": widget, **params}, {})

    def press(self, page: Page, label: str, about: str = "", **typed: str) -> Page:
        """Press something, with this typed into the page's fields, and confirm."""
        return self.send(page.press(label, about), page.fields | typed)

    def send(self, press: Pressable, forms: Mapping[str, Any]) -> Page:
        """Call what a press calls."""
        self.pressed += 1
        return self._call(press.endpoint, press.params, forms)

    def _call(self, endpoint: str, params: Mapping[str, Any], forms: Mapping[str, Any]) -> Page:
        context = FakeLambdaContext(self.clock, request_id=f"request-{self.pressed}")
        context._invoked_function_arn = endpoint
        context._function_name = endpoint.rpartition(":")[2]
        module = {WIDGETS_FUNCTION: self.widgets, OPERATE_FUNCTION: self.operate}[endpoint]
        html = module.handler(dict(params) | {"widgetContext": self._context(forms)}, context)
        self.seen.append(html)
        return Page(html)

    def _context(self, forms: Mapping[str, Any]) -> dict[str, Any]:
        """As AWS documents it."""
        return {
            "dashboardName": "DigestDelivery-us-service",
            "widgetId": "widget-16",
            "accountId": "123456789012",
            "locale": "en",
            "timezone": {"label": "UTC", "offsetISO": "+00:00", "offsetInMinutes": 0},
            "period": 300,
            "isAutoPeriod": True,
            "timeRange": {"mode": "relative", "start": 1627236199729, "end": 1627322599729, "relativeStart": 86400012},
            "theme": self.theme,
            "linkCharts": True,
            "title": "What needs attention",
            "forms": {"all": dict(forms)},
            "params": {},
            "width": 588,
            "height": 369,
        }
