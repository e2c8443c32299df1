"""Widget `attention`: deliveries that are stuck, in doubt or failed for good; why, and what to do next."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from functions import names
from functions.adapters.attention import attention_page
from functions.adapters.widgets.desk import looks_of
from functions.core.answers import next_action, why_not
from functions.core.delivery import Attention, Delivery
from functions.core.identity import Channel
from functions.core.traffic import GatePosition
from functions.core.widgets.page import Notice, render
from functions.core.wording import distance

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from functions.adapters.widgets.desk import WidgetDesk
    from functions.core.widgets.request import WidgetRequest

SHOWN: Final = 20
LAST_PAGE: Final = 49  # of those counted from 0: a thousand rows; whoever wants more narrows them down
OVERDUE: Final = timedelta(minutes=5)  # the reconciler looks every minute: what is later than that is stuck
ALL: Final = "all"
# What may be chosen, as the field has it and as people read it.
WHYS: Final[Sequence[tuple[str, str]]] = (
    (ALL, "everything"),
    ("dead_letter", "failed for good"),
    ("uncertain", "in doubt"),
    ("overdue", "stuck, or held back"),
)
CHANNELS: Final[Sequence[tuple[str, str]]] = ((ALL, "all channels"), *((str(one), str(one)) for one in Channel))
AGES: Final[Mapping[str, tuple[str, timedelta]]] = {
    ALL: ("any time", timedelta()),
    "15min": ("more than 15 minutes", timedelta(minutes=15)),
    "1h": ("more than 1 hour", timedelta(hours=1)),
    "1d": ("more than 1 day", timedelta(days=1)),
}


def draw(desk: WidgetDesk, request: WidgetRequest, notice: Notice | None = None) -> str:
    """Draw a page of what waits."""
    now = desk.clock()
    why = _chosen(request, "why", [name for name, _ in WHYS])
    channel = _chosen(request, "channel", [name for name, _ in CHANNELS])
    age = _chosen(request, "age", list(AGES))
    number = _page_number(request)
    page = attention_page(
        desk.tables,
        _until(why, now - AGES[age][1]),
        tuple(Channel) if channel == ALL else (Channel(channel),),
        number=number,
        limit=SHOWN,
    )
    asked = {"why": why, "channel": channel, "age": age}
    return render(
        "attention",
        looks_of(request, notice),
        now=now,
        data_region=desk.tables.data_region,
        rows=[_row(desk, row, now) for row in page.rows],
        number=number + 1,
        narrowed=set(asked.values()) != {ALL},
        asked=asked,
        whys=WHYS,
        channels=CHANNELS,
        ages=[(name, words) for name, (words, _) in AGES.items()],
        stopped=_stopped(desk, now),
        narrow=desk.show(names.WIDGET_ATTENTION, "Show", style="main"),
        resume=desk.show(names.WIDGET_CHANNELS, "Channels"),
        previous=desk.show(names.WIDGET_ATTENTION, "Previous page", page=str(number - 1), **asked) if number else None,
        following=desk.show(names.WIDGET_ATTENTION, "Next page", page=str(number + 1), **asked)
        if page.more and number < LAST_PAGE
        else None,
        last=page.more and number == LAST_PAGE,
    )


def _until(why: str, by: datetime) -> Mapping[Attention, datetime | None]:
    """By when rows of each kind were to be looked at. One in doubt is looked at again and again: at any time."""
    kinds: dict[str, Mapping[Attention, datetime | None]] = {
        "dead_letter": {Attention.DEAD_LETTER: by},
        "uncertain": {Attention.UNCERTAIN: None},
        "overdue": {Attention.OPEN: by - OVERDUE, Attention.RETRYABLE: by - OVERDUE},
    }
    return kinds[why] if why in kinds else {one: at for kind in kinds.values() for one, at in kind.items()}


def _row(desk: WidgetDesk, row: Delivery, now: datetime) -> dict[str, Any]:
    delivery_id = str(row.delivery_id)
    return {
        "press": desk.show(names.WIDGET_STORY, delivery_id, delivery_id=delivery_id),
        "state": row.status,
        "since": distance(_since(row), now),
        "why": why_not(row),
        "next": next_action(row),
        "left": "none" if now >= row.expires_at else distance(row.expires_at, now).removeprefix("in "),
    }


def _since(row: Delivery) -> datetime:
    """Since when it is as it is, as well as the row says."""
    if row.in_doubt_since is not None:
        return row.in_doubt_since
    return row.due_at if row.failure is None else row.failure.at


def _stopped(desk: WidgetDesk, now: datetime) -> list[str]:
    gates = {channel: desk.traffic.gate(channel) for channel in Channel}
    return [
        f"{channel} is {gate.in_words(now)}: its rows wait for that"
        for channel, gate in gates.items()
        if gate.position(now) is not GatePosition.OPEN
    ]


def _chosen(request: WidgetRequest, name: str, options: Sequence[str]) -> str:
    """What was chosen; everything where it is none of the options."""
    text = request.text(name)
    return ALL if text is None or text not in options else text


def _page_number(request: WidgetRequest) -> int:
    text = request.params.get("page", "")
    return min(int(text), LAST_PAGE) if text.isascii() and text.isdigit() else 0
