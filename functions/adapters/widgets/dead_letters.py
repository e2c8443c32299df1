"""Widget `dead-letters`: the dead-letter queues, and their messages beside their rows.

Looking into a queue receives its messages, which nobody else sees for those seconds, and gives them back. So it is done
only when somebody asks for it, never because a dashboard refreshes. A dead-letter queue moves nothing on by counting
receives: looking costs a few requests, and no message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from functions import names
from functions.adapters.widgets.desk import channel_asked_for, looks_of
from functions.core.answers import on_return
from functions.core.widgets.page import Notice, render
from functions.core.wording import count_of, distance

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from functions.adapters.dead_letter_queue import DeadMessage
    from functions.adapters.widgets.desk import WidgetDesk
    from functions.core.delivery import Delivery
    from functions.core.widgets.request import WidgetRequest

LOOKED_AT: Final = 20


def draw(desk: WidgetDesk, request: WidgetRequest, notice: Notice | None = None) -> str:
    """Draw how many messages there are; of the channel that was asked for, the messages themselves."""
    now = desk.clock()
    channel = channel_asked_for(request) if "channel" in request.params else None
    counts = {one: queue.counts() for one, queue in desk.dead_letter_queues.items()}
    messages: Sequence[DeadMessage] = ()
    if channel is not None:
        messages = desk.dead_letter_queues[channel].look(LOOKED_AT)
    rows = desk.tables.ledger.read(str(one.delivery_id) for one in messages if one.delivery_id is not None)
    held = sum(waiting + away for waiting, away in counts.values())
    return render(
        "dead-letters",
        looks_of(request, notice),
        now=now,
        data_region=desk.tables.data_region,
        headline=f"{count_of(held, 'message')} in the dead-letter queues"
        if held
        else "The dead-letter queues are empty",
        queues=[
            {
                "channel": one,
                "waiting": f"{waiting:,}",
                "away": f"{away:,}",
                "press": desk.show(
                    names.WIDGET_DEAD_LETTERS, "Look into it", about=one, style="button", channel=str(one)
                ),
                "rows": desk.show(
                    names.WIDGET_ATTENTION, "Its dead letters", about=one, channel=str(one), why="dead_letter"
                ),
            }
            for one, (waiting, away) in counts.items()
        ],
        channel=channel,
        most=LOOKED_AT,
        messages=[_message(desk, one, rows, now) for one in messages],
    )


def _message(desk: WidgetDesk, message: DeadMessage, rows: Mapping[str, Delivery], now: datetime) -> dict[str, Any]:
    if message.delivery_id is None:
        return {
            "press": None,
            "about": f"no message of ours: {message.shape}",
            "state": message.fault,
            "sent": distance(message.sent_at, now),
            "if_moved": "back within seconds: nobody can work on it",
        }
    delivery_id = str(message.delivery_id)
    row = rows.get(delivery_id)
    return {
        "press": desk.show(names.WIDGET_STORY, delivery_id, delivery_id=delivery_id),
        "about": None,
        "state": "no row" if row is None else str(row.status).replace("_", " "),
        "sent": distance(message.sent_at, now),
        "if_moved": on_return(row, now),
    }
