"""Widget `channels`: which channels send, how fast, what waits; stopping one, and letting it go on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from functions import names
from functions.adapters.standings import Standing
from functions.adapters.widgets.desk import looks_of
from functions.core.identity import Channel
from functions.core.traffic import GatePosition
from functions.core.widgets.marks import mark_of_gate
from functions.core.widgets.page import Notice, Press, render

if TYPE_CHECKING:
    from functions.adapters.widgets.desk import WidgetDesk
    from functions.core.widgets.request import WidgetRequest

COUNTED_TO: Final = 5000  # rows of one kind; a week's are not counted each time that somebody looks
ACTIONS_SHOWN: Final = 5


def draw(desk: WidgetDesk, request: WidgetRequest, notice: Notice | None = None) -> str:
    """Draw the channels as they stand."""
    now = desk.clock()
    standings = [
        Standing.of(desk.tables, channel, rate_per_second=desk.rates[channel], counted_to=COUNTED_TO)
        for channel in Channel
    ]
    return render(
        "channels",
        looks_of(request, notice),
        now=now,
        data_region=desk.tables.data_region,
        stopped=[one.channel for one in standings if one.gate.position(now) is not GatePosition.OPEN],
        channels=[
            {
                "name": one.channel,
                "gate": one.gate.in_words(now),
                "open": one.gate.position(now) is GatePosition.OPEN,
                "rate": f"{one.rate_per_second:g}",
                "on_the_way": _number(one.on_the_way),
                "waiting": _number(one.waiting),
                "press": _press(desk, one),
                "waits": desk.show(
                    names.WIDGET_ATTENTION, "What waits", about=one.channel, channel=one.channel, why="overdue"
                ),
            }
            for one in standings
        ],
        actions=desk.trail.latest(ACTIONS_SHOWN),
        again=desk.show(names.WIDGET_CHANNELS, "Look again"),
    )


def _number(counted: int) -> str:
    return f"{COUNTED_TO:,} or more" if counted >= COUNTED_TO else f"{counted:,}"


def _press(desk: WidgetDesk, one: Standing) -> Press:
    channel, where = one.channel, desk.tables.data_region
    if one.gate.halted_at is None and one.gate.position(desk.clock()) is GatePosition.OPEN:
        return desk.act(
            "pause",
            "Pause",
            confirmation=f"Pause {channel} in {where}? Batches in hand are still sent, and nothing after them. "
            "Nothing is lost; what expires meanwhile is not sent any more. To undo it: Resume.",
            about=channel,
            style="danger",
            channel=channel,
        )
    return desk.act(
        "resume",
        "Resume",
        confirmation=f"Resume {channel} in {where}? Is the cause mended? {one.outlook()}. "
        "If the provider still refuses, the next attempt halts the channel again.",
        about=channel,
        channel=channel,
        shown=mark_of_gate(one.gate),
    )
