"""`digest dead-letters list`, `digest dead-letters show`; and which dead letters are meant."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, TypeAlias

import typer

from functions.adapters.dead_letter_queue import DeadMessage
from functions.adapters.dead_letters import Selection, class_of, dead_letters
from functions.core.answers import on_return
from functions.core.delivery import Delivery, FailureClass
from functions.core.identity import Channel
from functions.core.wording import count_of, distance, utc
from ops.cli.dossiers import FoundDelivery, find_delivery
from ops.cli.output import moment, note, out, print_json, say, table
from ops.cli.show import delivery_as_json, delivery_named, tell_delivery
from ops.cli.workplace import JsonOption, RegionOption, monday_named, workplace_of
from ops.deployment import RegionDeployment

LOOKED_THROUGH: Final = 1000  # messages of a dead-letter queue, for the one of a delivery
_AGE: Final = re.compile(r"([1-9][0-9]{0,4})(min|h|d)")
_UNITS: Final = {"min": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}

ChannelOption: TypeAlias = Annotated[
    Channel | None, typer.Option("--channel", help="Only this channel.", show_default=False)
]
ClassOption: TypeAlias = Annotated[
    FailureClass | None,
    typer.Option("--class", help="Only these: refused as they are, or failed once too often.", show_default=False),
]
WeekOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--period", metavar="DATE", help="Only the week that opens on this Monday.", show_default=False),
]
OlderOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--older-than", metavar="AGE", help="Dead for longer: 30min, 2h, 3d.", show_default=False),
]
NewerOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--newer-than", metavar="AGE", help="Dead for less: 30min, 2h, 3d.", show_default=False),
]


@dataclass(frozen=True, slots=True)
class Lot:
    """The dead letters of a region that were asked for, and how many messages its dead-letter queues hold."""

    data_region: str
    rows: Sequence[Delivery]  # those that died first at the top
    messages: dict[Channel, int]

    def classes(self) -> Counter[FailureClass]:
        """How many of each class."""
        return Counter(class_of(row) for row in self.rows)

    def groups(self) -> list[tuple[FailureClass, Channel, str, list[Delivery]]]:
        """By class, channel and the provider's code; the largest first."""
        groups: dict[tuple[FailureClass, Channel, str], list[Delivery]] = {}
        for row in self.rows:
            groups.setdefault((class_of(row), row.delivery_id.channel, code_of(row)), []).append(row)
        return sorted(((*key, rows) for key, rows in groups.items()), key=lambda group: -len(group[3]))


def add_commands(app: typer.Typer) -> None:
    """Add the group with its two commands."""
    group = typer.Typer(
        help="Deliveries that failed for good: how many, why, and the story of one.",
        no_args_is_help=True,
        rich_markup_mode="markdown",
    )
    group.command("list")(list_dead_letters)
    group.command("show")(show)
    app.add_typer(group, name="dead-letters")


def list_dead_letters(  # noqa: PLR0913, PLR0917 - one for each option
    context: typer.Context,
    region: RegionOption = None,
    channel: ChannelOption = None,
    failure_class: ClassOption = None,
    period: WeekOption = None,
    older_than: OlderOption = None,
    newer_than: NewerOption = None,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=0, max=1000, help="Deliveries to list in each region.")
    ] = 20,
    as_json: JsonOption = False,
) -> None:
    """Count what failed for good, by class and code, then list it, oldest first.

    **exhausted** failed on its last allowed receive: it is tried again once the cause is mended (`digest redrive`).
    **rejected** was refused as it is: mend the address or the request first.

    Example: `digest dead-letters list --region us --class exhausted --newer-than 2h`
    """
    workplace = workplace_of(context)
    now = workplace.clock()
    meant = selection(channel, failure_class, period, older_than, newer_than, now)
    lots = [_lot(one, meant, now) for one in workplace.deployment.only(region)]
    if as_json:
        print_json({"now": moment(now), "regions": {lot.data_region: _as_json(lot, limit, now) for lot in lots}})
        return
    for lot in lots:
        _tell(lot, limit, now)


def show(
    context: typer.Context,
    delivery_id: Annotated[
        str,
        typer.Argument(metavar="DELIVERY_ID", help="Such as digest:c-10428:2026-11-16:email.", show_default=False),
    ],
    region: RegionOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a delivery's whole story, whether its message lies in the dead-letter queue, and what moving it would do.

    The queue's messages are hidden for the seconds that looking through them takes.

    Example: `digest dead-letters show digest:c-10428:2026-11-16:email`
    """
    workplace = workplace_of(context)
    regions = workplace.deployment.only(region)
    found = find_delivery(regions, delivery_named(delivery_id))
    where = next(one for one in regions if one.data_region == found.data_region)
    looked = where.dead_letter_queue(found.delivery.delivery_id.channel).look(
        LOOKED_THROUGH, until=lambda message: message.delivery_id == found.delivery.delivery_id
    )
    message = next((one for one in looked if one.delivery_id == found.delivery.delivery_id), None)
    now = workplace.clock()
    if as_json:
        print_json(_story_as_json(found, message, len(looked), now))
    else:
        tell_delivery(found.data_region, found.delivery)
        out().print()
        _tell_message(found.delivery, message, len(looked), now)


# --- which are meant --------------------------------------------------------------------------------------------------


def selection(
    channel: Channel | None,
    failure_class: FailureClass | None,
    period: str | None,
    older_than: str | None,
    newer_than: str | None,
    now: datetime,
) -> Selection:
    """What the options name. Raises typer.BadParameter."""
    since = None if newer_than is None else now - _age(newer_than, "--newer-than")
    until = None if older_than is None else now - _age(older_than, "--older-than")
    if since is not None and until is not None and since >= until:
        raise typer.BadParameter("must be more than --older-than, or nothing is meant", param_hint="--newer-than")
    return Selection(
        channel=channel,
        failure_class=failure_class,
        period=None if period is None else monday_named(period).isoformat(),
        since=since,
        until=until,
    )


def _age(text: str, option: str) -> timedelta:
    parts = _AGE.fullmatch(text)
    if parts is None:
        raise typer.BadParameter("must be a number and a unit: 30min, 2h or 3d", param_hint=option)
    return int(parts[1]) * _UNITS[parts[2]]


def _lot(region: RegionDeployment, meant: Selection, now: datetime) -> Lot:
    channels = tuple(Channel) if meant.channel is None else (meant.channel,)
    messages = {channel: sum(region.dead_letter_queue(channel).counts()) for channel in channels}
    return Lot(region.data_region, dead_letters(region, meant, now=now), messages)


def code_of(row: Delivery) -> str:
    """The provider's code for what a dead letter died of."""
    return "unknown" if row.failure is None else row.failure.code


# --- for machines -----------------------------------------------------------------------------------------------------


def _as_json(lot: Lot, limit: int, now: datetime) -> dict[str, Any]:
    classes = lot.classes()
    return {
        "total": len(lot.rows),
        "classes": {str(one): classes[one] for one in FailureClass},
        "groups": [
            {
                "class": str(failure_class),
                "channel": str(channel),
                "code": code,
                "number": len(rows),
                "too_late": sum(now >= row.expires_at for row in rows),
                "oldest": moment(rows[0].attention_at),
            }
            for failure_class, channel, code, rows in lot.groups()
        ],
        "dead_letters": [_row_as_json(row, now) for row in lot.rows[:limit]],
        "messages": {str(channel): number for channel, number in lot.messages.items()},
    }


def _row_as_json(row: Delivery, now: datetime) -> dict[str, Any]:
    return {
        "delivery_id": str(row.delivery_id),
        "class": str(class_of(row)),
        "code": code_of(row),
        "since": moment(row.attention_at),
        "period": row.period,
        "attempt": row.attempt,
        "expires_at": moment(row.expires_at),
        "too_late": now >= row.expires_at,
    }


def _story_as_json(found: FoundDelivery, message: DeadMessage | None, looked_at: int, now: datetime) -> dict[str, Any]:
    return delivery_as_json(found.data_region, found.delivery) | {
        "message": None
        if message is None
        else {"sent_at": moment(message.sent_at), "if_moved": on_return(found.delivery, now)},
        "messages_looked_at": looked_at,
    }


# --- for people -------------------------------------------------------------------------------------------------------


def _tell(lot: Lot, limit: int, now: datetime) -> None:
    classes = lot.classes()
    each = ", ".join(f"{classes[one]:,} {one}" for one in FailureClass if classes[one])
    say(f"{lot.data_region}: {count_of(len(lot.rows), 'dead letter')}{f': {each}' if each else ''}")
    if lot.rows:
        shown = table("Class", "Channel", "Code", "Number", "Too late", "Oldest", numbers=["Number", "Too late"])
        for failure_class, channel, code, rows in lot.groups():
            too_late = sum(now >= row.expires_at for row in rows)
            oldest = distance(rows[0].attention_at or now, now)
            shown.add_row(str(failure_class), str(channel), code, f"{len(rows):,}", f"{too_late:,}", oldest)
        out().print(shown)
    if lot.rows[:limit]:
        out().print()
        each_row = table("Delivery", "Class", "Since (UTC)")
        for row in lot.rows[:limit]:
            since = utc(row.attention_at or row.selected_at).removesuffix(" UTC")
            each_row.add_row(str(row.delivery_id), str(class_of(row)), since)
        out().print(each_row)
    if len(lot.rows) > limit:
        note(f"{len(lot.rows) - limit:,} more; --limit shows them")
    for channel, number in lot.messages.items():
        if number:
            look = f"digest dlq peek {channel} --region {lot.data_region}"
            say(f"{channel} dead-letter queue: {count_of(number, 'message')}; see `{look}`")


def _tell_message(row: Delivery, message: DeadMessage | None, looked_at: int, now: datetime) -> None:
    if message is None:
        say(f"  Message    not in the dead-letter queue, of which {count_of(looked_at, 'message')} could be looked at")
    else:
        say(f"  Message    in the dead-letter queue, first sent {utc(message.sent_at)}")
        say(f"  If moved   {on_return(row, now)}")
