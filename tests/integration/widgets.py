"""Custom widgets as CloudWatch calls them: an event in, HTML out, and presses that call what they name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from tests.fakes.environment import OPERATE_FUNCTION, WIDGETS_FUNCTION
from tests.fakes.lambda_context import FakeLambdaContext
from tests.fakes.widget_page import Page, Pressable
from tests.integration.region import Clock


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

    def module(self, endpoint: str) -> ModuleType:
        return {WIDGETS_FUNCTION: self.widgets, OPERATE_FUNCTION: self.operate}[endpoint]

    def _call(self, endpoint: str, params: Mapping[str, Any], forms: Mapping[str, Any]) -> Page:
        context = self._context_of(endpoint)
        module = self.module(endpoint)
        html = module.handler(dict(params) | {"widgetContext": self._context(forms)}, context)
        self.seen.append(html)
        return Page(html)

    def _context_of(self, endpoint: str) -> FakeLambdaContext:
        context = FakeLambdaContext(self.clock, request_id=f"request-{self.pressed}")
        context._invoked_function_arn = endpoint
        context._function_name = endpoint.rpartition(":")[2]
        return context

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
