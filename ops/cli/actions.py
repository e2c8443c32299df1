"""What commands that change something share: where, why, how many, and the record of it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, TypeAlias

import typer
from botocore.exceptions import BotoCoreError, ClientError

from functions.adapters.audit import Action, AuditTrail
from functions.core.identity import Channel
from functions.core.reasons import ReasonRefusedError, checked_reason
from functions.core.wording import utc
from ops.cli.output import moment, say
from ops.deployment import DeploymentError, RegionDeployment, in_words


def _reason(text: str | None) -> str | None:
    try:
        return None if text is None else checked_reason(text)
    except ReasonRefusedError as error:
        raise typer.BadParameter(str(error)) from None


ChannelArgument: TypeAlias = Annotated[
    Channel, typer.Argument(metavar="CHANNEL", help="email, sms or webhook.", show_default=False)
]
# One at a time: what is done, and how to undo it, is one thing.
OneRegionOption: TypeAlias = Annotated[
    str, typer.Option("--region", metavar="REGION", help="Data region, such as us.", show_default=False)
]
ReasonOption: TypeAlias = Annotated[
    str,
    typer.Option("--reason", metavar="TEXT", help="Why, for whoever asks.", callback=_reason, show_default=False),
]
# Where what was found, or what is done, says enough by itself.
SaidReasonOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--reason", metavar="TEXT", help="Why, or what was mended.", callback=_reason, show_default=False),
]
CountOption: TypeAlias = Annotated[
    int | None,
    typer.Option("--yes", metavar="N", help="How many it will be, in place of typing it.", min=0, show_default=False),
]


def confirm(number: int, typed: int | None, question: str) -> None:
    """Have somebody say how many it will be. Raises DeploymentError for another number than there are."""
    if typed is None:
        typed = typer.prompt(f"{question} Type the number to go on", type=int, err=True)
    if typed != number:
        raise DeploymentError(f"{typed:,} confirmed, but the number is {number:,} now: look again; nothing was changed")


def trail(region: RegionDeployment) -> AuditTrail:
    """The record of what operators did in a region."""
    return AuditTrail(region.dynamodb, region.control_table)


def recorded(region: RegionDeployment, what: str, why: str, at: datetime, *, done: str) -> Action:
    """Put on record what has been done. Raises DeploymentError, which says that it was done all the same."""
    # Done first, recorded second: neither the record nor who it is may stand in the way of stopping a channel.
    try:
        action = Action(at, region.caller, what, why)
        trail(region).record(action)
    except (BotoCoreError, ClientError) as error:
        raise DeploymentError(f"{done}, but nothing of it is on record: {in_words(error)}") from None
    return action


def action_as_json(action: Action) -> dict[str, Any]:
    """A record for machines."""
    return {
        "at": moment(action.at),
        "who": action.who,
        "what": action.what,
        "why": action.why,
        "how_many": action.how_many,
    }


def tell_action(action: Action) -> None:
    """A record for people."""
    how_many = "" if action.how_many is None else f" ({action.how_many:,})"
    say(f"  {utc(action.at)}  {action.what}{how_many}, by {action.who}: {action.why}")
