"""Which widgets there are, by the name that a dashboard gives in `widget`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from functions import names
from functions.adapters.widgets import attention, channels, dead_letters, due, story
from functions.core.widgets.request import WidgetFaultError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from functions.adapters.widgets.desk import WidgetDesk
    from functions.core.widgets.page import Notice
    from functions.core.widgets.request import WidgetRequest

GALLERY: Final[Mapping[str, Callable[[WidgetDesk, WidgetRequest, Notice | None], str]]] = {
    names.WIDGET_DUE: due.draw,
    names.WIDGET_ATTENTION: attention.draw,
    names.WIDGET_STORY: story.draw,
    names.WIDGET_DEAD_LETTERS: dead_letters.draw,
    names.WIDGET_CHANNELS: channels.draw,
}


def draw(desk: WidgetDesk, request: WidgetRequest, notice: Notice | None = None) -> str:
    """Draw the widget that a request names. Raises WidgetFaultError."""
    widget = GALLERY.get(request.params.get(names.WIDGET, ""))
    if widget is None:
        raise WidgetFaultError(f"{names.WIDGET}: must be one of {', '.join(GALLERY)}")
    return widget(desk, request, notice)
