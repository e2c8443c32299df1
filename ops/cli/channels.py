"""`digest channels list`, `digest channels pause`, `digest channels resume`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import typer

from functions import names
from functions.adapters.audit import Action
from functions.adapters.standings import Standing
from functions.adapters.traffic import DynamoTraffic
from functions.core.identity import Channel
from functions.core.traffic import GatePosition
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
from ops.cli.output import moment, note, out, print_json, say, table
from ops.cli.workplace import JsonOption, RegionOption, YesOption, workplace_of
from ops.deployment import DeploymentError, RegionDeployment

ACTIONS_SHOWN: Final = 5
_NUMBERS: Final = ("Per second", "On the way", "Waiting")


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
        say(f"{channel} in {where.data_region}: {gate.in_words(now)}; nothing was changed")
    else:
        say(f"{channel} in {where.data_region}: paused. The batches in hand are still sent, and nothing after them")
        tell_action(action)
        say(f"Undo: digest channels resume {channel} --region {where.data_region}")


def resume(
    context: typer.Context,
    channel: ChannelArgument,
    region: OneRegionOption,
    reason: SaidReasonOption = None,
    yes: YesOption = False,
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
        state = standing.gate.in_words(now)
        note(f"{channel} in {where.data_region}: {state}; {standing.outlook()}")
        if not yes:
            typer.confirm("Is the cause mended? Resume it", abort=True, err=True)
        if not _traffic(where).resume(channel, seen=standing.gate):
            raise DeploymentError(f"{channel} in {where.data_region} has changed meanwhile; nothing was changed")
        action = recorded(where, f"resume {channel}", reason or f"it was {state}", now, done="resumed")
    if as_json:
        print_json(_done(where, channel, action))
    elif action is None:
        say(f"{channel} in {where.data_region}: open; nothing was changed")
    else:
        say(f"{channel} in {where.data_region}: resumed. The reconciler brings back what waits, within minutes")
        tell_action(action)


# --- what is read and written -----------------------------------------------------------------------------------------


def _standing(region: RegionDeployment, channel: Channel) -> Standing:
    rate = float(region.consumer_variables(channel)[names.ENV_RATE_PER_SECOND])
    return Standing.of(region, channel, rate_per_second=rate)


def _traffic(region: RegionDeployment) -> DynamoTraffic:
    return DynamoTraffic(region.dynamodb, region.control_table)


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
        say(f"{one.channel} is {one.gate.in_words(now)}")
    if actions:
        say("Last actions:")
    for action in actions:
        tell_action(action)
