"""What CloudWatch hands over when it draws a widget, or when somebody presses something in one.

```json
{"widget": "story", "delivery_id": "...", "widgetContext": {"theme": "dark", "forms": {"all": {"reason": "..."}}, ...}}
```
What stands beside `widgetContext` is the widget's own parameters, or those of the button; `forms` is what was typed.
Whoever may invoke the function may put anything there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final, Self

LONGEST: Final = 500  # characters of a value that are looked at
MOST: Final = 40  # values that are
CONTEXT: Final = "widgetContext"
DESCRIBE: Final = "describe"


class Theme(StrEnum):
    """How the dashboard around the widget looks; `auto` where nobody said: as the reader's own system does."""

    LIGHT = "light"
    DARK = "dark"
    AUTO = "auto"


class WidgetFaultError(Exception):
    """What was asked cannot be shown or done; the text names the field and the way out, and never repeats a value."""


@dataclass(frozen=True, slots=True)
class WidgetRequest:
    """One call of a widget's function. Values are text, as long as they may be and no longer."""

    params: Mapping[str, str]
    forms: Mapping[str, str] = field(default_factory=dict, repr=False)
    theme: Theme = Theme.AUTO
    describes: bool = False

    @classmethod
    def of(cls, event: object) -> Self:
        """Read an event. What makes no sense is left out, never an error: the page says what is missing."""
        held = event if isinstance(event, Mapping) else {}
        context = _mapping(held.get(CONTEXT))
        return cls(
            params=_texts({name: value for name, value in held.items() if name not in {CONTEXT, DESCRIBE}}),
            forms=_texts(_mapping(_mapping(context.get("forms")).get("all"))),
            theme=_theme(context.get("theme")),
            describes=bool(held.get(DESCRIBE)),
        )

    def text(self, name: str) -> str | None:
        """A parameter, or what was typed into the field of that name; None for nothing or blanks."""
        return self.params.get(name, self.forms.get(name, "")).strip() or None

    def needed(self, name: str, what: str) -> str:
        """The same, where it is needed. Raises WidgetFaultError."""
        text = self.text(name)
        if text is None:
            raise WidgetFaultError(f"{name}: {what}")
        return text

    def turned_to(self, widget: str, **params: str) -> Self:
        """The request for another widget of the same looks, without what was typed."""
        return replace(self, params={"widget": widget, **params}, forms={})


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _theme(said: object) -> Theme:
    return Theme(said) if isinstance(said, str) and said in set(Theme) else Theme.AUTO


def _texts(held: Mapping[str, Any]) -> dict[str, str]:
    kept = [(name, value) for name, value in held.items() if isinstance(value, str | int) and isinstance(name, str)]
    return {name: str(value)[:LONGEST] for name, value in kept[:MOST]}
