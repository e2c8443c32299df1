"""`digest channels list`, `digest channels pause`, `digest channels resume`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final

import typer

from functions import names
from functions.adapters.delivery_rows import attention_partition
from functions.adapters.traffic import DynamoTraffic
from functions.core.delivery import Attention
from functions.core.identity import Channel
from functions.core.traffic import Gate, GatePosition
from ops.audit import Action
from ops.cli.actions import (
    ChannelArgument,
    OneRegionOption,
    ReasonOption,
    SaidReasonOption,
    action_as_json,
    recorded,
    tell_action,
    trail,
)
from ops.cli.output import moment, note, out, print_json, say, table, utc
from ops.cli.workplace import JsonOption, RegionOption, workplace_of
from ops.deployment import RegionDeployment

ACTIONS_SHOWN: Final = 5
_NUMBERS: Final = ("Per second", "On the way", "Waiting")


@dataclass(frozen=True, slots=True)
class Standing:
    """How a channel stands in one data region."""

    channel: Channel
    gate: Gate
    rate_per_second: float
    on_the_way: int  # planned, queued or being sent
    waiting: int  # put off, or to be tried again

    def outlook(self) -> str:
        """`1,204 deliveries wait, 14 a second`."""
        wait = "delivery waits" if self.waiting == 1 else "deliveries wait"
        return f"{self.waiting:,} {wait}, {self.rate_per_second:g} a second"


def add_commands(app: typer.Typer) -> None:
    """Add the group with its three commands."""
    group = typer.Typer(
        help="Channels: whether they send, how fast, what waits; stopping one, and letting it go on.",
        no_args_is_help=True,
        rich_markup_mode="markdown",
    )
    group.command("list")(list_channels)
    group.command("pause")(pause)
    group.command("resume")(resume)
    app.add_typer(group, name="channels")


def list_channels(context: typer.Context, region: RegionOption = None, as_json: JsonOption = False) -> None:
    """Show whether each channel sends, and if not, since or until when and why; its pace, and what waits.

    **On the way** is planned, queued or being sent. **Waiting** is put off by gate or pace, or tried again later. Below
    it stands what operators did last.

    Example: `digest channels list --region eu`
    """
    workplace = workplace_of(context)
    now = workplace.clock()
    told: dict[str, Any] = {}
    for one in workplace.deployment.only(region):
        standings = [_standing(one, channel) for channel in Channel]
        actions = trail(one).latest(ACTIONS_SHOWN)
        if as_json:
            told[one.data_region] = {
                "channels": {str(standing.channel): _as_json(standing, now) for standing in standings},
                "last_actions": [action_as_json(action) for action in actions],
            }
        else:
            _tell(one.data_region, standings, actions, now)
    if as_json:
        print_json({"now": moment(now), "regions": told})


def pause(
    context: typer.Context,
    channel: ChannelArgument,
    region: OneRegionOption,
    reason: ReasonOption,
    as_json: JsonOption = False,
) -> None:
    """Halt a channel until somebody resumes it. Nothing is lost, and no message uses up a receive.

    In force for every batch that a consumer begins from now on. The batches in hand are still sent, which is over
    within the channel's `timeout_s`. What expires while the channel is halted is not sent any more.

    Example: `digest channels pause email --region eu --reason "INC-47: wrong prices"`
    """
    workplace = workplace_of(context)
    where, now = workplace.deployment.region(region), workplace.clock()
    paused = _traffic(where).halt(channel, at=now, cause=reason)
    action = recorded(where, f"pause {channel}", reason, now, done="paused") if paused else None
    if as_json:
        print_json(_done(where, channel, action))
    elif action is None:
        gate = _traffic(where).gate(channel)
        say(f"{channel} in {where.data_region}: {_in_words(gate, now)}; nothing was changed")
    else:
        say(f"{channel} in {where.data_region}: paused. The batches in hand are still sent, and nothing after them")
        tell_action(action)
        say(f"Undo: digest channels resume {channel} --region {where.data_region}")


def resume(
    context: typer.Context,
    channel: ChannelArgument,
    region: OneRegionOption,
    reason: SaidReasonOption = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask; for scripts.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Open a channel's gate again, whatever halted or closed it. What waits goes out at the channel's pace.

    Mend the cause first: if the provider still refuses, the next attempt halts the channel again.

    Example: `digest channels resume email --region eu --reason "sender verified again"`
    """
    workplace = workplace_of(context)
    where, now = workplace.deployment.region(region), workplace.clock()
    standing = _standing(where, channel)
    action = None
    if standing.gate.position(now) is not GatePosition.OPEN:
        state = _in_words(standing.gate, now)
        note(f"{channel} in {where.data_region}: {state}; {standing.outlook()}")
        if not yes:
            typer.confirm("Is the cause mended? Resume it", abort=True, err=True)
        _traffic(where).resume(channel)
        action = recorded(where, f"resume {channel}", reason or f"it was {state}", now, done="resumed")
    if as_json:
        print_json(_done(where, channel, action))
    elif action is None:
        say(f"{channel} in {where.data_region}: is open; nothing was changed")
    else:
        say(f"{channel} in {where.data_region}: resumed. The reconciler brings back what waits, within minutes")
        tell_action(action)


# --- what is read and written -----------------------------------------------------------------------------------------


def _standing(region: RegionDeployment, channel: Channel) -> Standing:
    return Standing(
        channel,
        _traffic(region).gate(channel),
        rate_per_second=float(region.consumer_variables(channel)[names.ENV_RATE_PER_SECOND]),
        on_the_way=_count(region, Attention.OPEN, channel),
        waiting=_count(region, Attention.RETRYABLE, channel),
    )


def _traffic(region: RegionDeployment) -> DynamoTraffic:
    return DynamoTraffic(region.dynamodb, region.control_table)


def _count(region: RegionDeployment, why: Attention, channel: Channel) -> int:
    pages = (
        page
        for shard in range(region.shards)
        for page in region.dynamodb.get_paginator("query").paginate(
            TableName=region.deliveries_table,
            IndexName=names.ATTENTION_INDEX,
            Select="COUNT",
            KeyConditionExpression="#partition = :partition",
            ExpressionAttributeNames={"#partition": names.ATTENTION},
            ExpressionAttributeValues={":partition": {"S": attention_partition(why, channel, shard)}},
        )
    )
    return sum(page["Count"] for page in pages)


# --- for machines -----------------------------------------------------------------------------------------------------


def _as_json(standing: Standing, now: datetime) -> dict[str, Any]:
    return {
        "gate": str(standing.gate.position(now)),
        "halted_at": moment(standing.gate.halted_at),
        "closed_until": moment(standing.gate.closed_until),
        "cause": standing.gate.cause,
        "rate_per_second": standing.rate_per_second,
        "on_the_way": standing.on_the_way,
        "waiting": standing.waiting,
    }


def _done(region: RegionDeployment, channel: Channel, action: Action | None) -> dict[str, Any]:
    about = {"data_region": region.data_region, "channel": str(channel), "changed": action is not None}
    return about | {"action": None if action is None else action_as_json(action)}


# --- for people -------------------------------------------------------------------------------------------------------


def _tell(data_region: str, standings: Sequence[Standing], actions: Sequence[Action], now: datetime) -> None:
    shut = [one for one in standings if one.gate.position(now) is not GatePosition.OPEN]
    say(f"{data_region}: {', '.join(one.channel for one in shut) or 'nothing'} is stopped")
    shown = table("Channel", "Gate", *_NUMBERS, numbers=_NUMBERS)
    for one in standings:
        numbers = (f"{one.rate_per_second:g}", f"{one.on_the_way:,}", f"{one.waiting:,}")
        shown.add_row(str(one.channel), str(one.gate.position(now)), *numbers)
    out().print(shown)
    for one in shut:
        say(f"{one.channel} is {_in_words(one.gate, now)}")
    if actions:
        say("Last actions:")
    for action in actions:
        tell_action(action)


def _in_words(gate: Gate, now: datetime) -> str:
    cause = f" ({gate.cause})" if gate.cause else ""
    if gate.position(now) is GatePosition.HALTED and gate.halted_at is not None:
        return f"halted since {utc(gate.halted_at)}{cause}"
    if gate.position(now) is GatePosition.CLOSED and gate.closed_until is not None:
        return f"closed until {utc(gate.closed_until)}{cause}"
    return "open"
