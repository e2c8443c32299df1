"""`digest suppressions list`, `digest suppressions clear`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import typer

from functions import names
from functions.adapters.delivery_rows import period_partition
from functions.adapters.suppressions import DynamoSuppressions
from functions.core.calendar import period_reported
from functions.core.customer import PROFILE
from functions.core.delivery import SkipReason, Status
from functions.core.identity import Channel, DeliveryId
from functions.core.instants import from_text
from functions.core.receipts import SuppressionCause
from functions.core.wording import count_of, utc
from ops.cli.actions import ReasonOption, action_as_json, recorded, tell_action
from ops.cli.dead_letters import ChannelOption
from ops.cli.dossiers import find_profile
from ops.cli.output import moment, out, print_json, say, table, week
from ops.cli.show import customer_named
from ops.cli.workplace import JsonOption, PeriodOption, RegionOption, monday_named, workplace_of
from ops.deployment import DeploymentError, RegionDeployment
from ops.profiles import profile_rows

CustomerOption = Annotated[str, typer.Option("--customer", metavar="ID", help="Whose.", show_default=False)]


@dataclass(frozen=True, slots=True)
class Suppressed:
    """One channel of one customer. `since` and `code` are None where the import brought it along."""

    customer_id: str
    channel: Channel
    cause: str
    since: datetime | None
    code: str | None


def add_commands(app: typer.Typer) -> None:
    """Add the group with its two commands."""
    group = typer.Typer(
        help="Channels that are not written to any more after a bounce, a complaint or a STOP.",
        no_args_is_help=True,
        rich_markup_mode="markdown",
    )
    group.command("list")(list_suppressions)
    group.command("clear")(clear)
    app.add_typer(group, name="suppressions")


def list_suppressions(
    context: typer.Context,
    customer: Annotated[
        str | None, typer.Option("--customer", metavar="ID", help="Only this customer.", show_default=False)
    ] = None,
    period: PeriodOption = None,
    channel: ChannelOption = None,
    region: RegionOption = None,
    as_json: JsonOption = False,
) -> None:
    """List channels that are suppressed: of one customer, or of all whose delivery of a week was skipped for it.

    Since when, why, and with which code of the provider. What has been cleared since is not listed.

    Example: `digest suppressions list --region us --channel email`
    """
    workplace = workplace_of(context)
    regions = workplace.deployment.only(region)
    if customer is not None:
        where, profile = find_profile(regions, customer_named(customer))
        found = {where.data_region: _suppressed(where, [profile.customer_id], channel)}
        about = profile.customer_id
    else:
        now = workplace.clock()
        monday = period_reported(now, ZoneInfo("UTC")) if period is None else monday_named(period)
        found = {
            one.data_region: _suppressed(one, _skipped(one, monday.isoformat(), channel), channel) for one in regions
        }
        about = f"week {week(monday.isoformat())}"
    if as_json:
        print_json({"regions": {name: [_as_json(one) for one in held] for name, held in found.items()}})
        return
    for data_region, held in found.items():
        _tell(data_region, about, held)


def clear(
    context: typer.Context,
    customer: CustomerOption,
    channel: Annotated[Channel, typer.Option("--channel", help="Which channel.", show_default=False)],
    reason: ReasonOption,
    region: RegionOption = None,
    as_json: JsonOption = False,
) -> None:
    """Lift the suppression of a customer's channel, once its cause is mended: from the next delivery on.

    Events about what was sent before now do not bring it back, however late they come; the next bounce does. A STOP is
    the person's own word, which only the person takes back. SES keeps a list of its own: remove the address there, too.

    Example: `digest suppressions clear --customer c-10428 --channel email --reason "INC-47: mailbox mended"`
    """
    workplace = workplace_of(context)
    now = workplace.clock()
    where, profile = find_profile(workplace.deployment.only(region), customer_named(customer))
    customer_id, cause = profile.customer_id, profile.suppressed.get(channel)
    if cause == SuppressionCause.STOP:
        raise DeploymentError(f"{channel}: {customer_id} has said STOP, which nobody takes back for them")
    lifted = DynamoSuppressions(where.dynamodb, where.customers_table).clear(customer_id, channel, at=now)
    what = f"clear suppression {customer_id} {channel}"
    action = recorded(where, what, reason, now, done="lifted") if lifted else None
    if as_json:
        about = {"customer_id": customer_id, "data_region": where.data_region, "channel": str(channel)}
        shown = None if action is None else action_as_json(action)
        print_json({**about, "lifted": lifted, "cause": cause, "action": shown})
    elif action is None:
        say(f"{customer_id} in {where.data_region}: {channel} is not suppressed; nothing was changed")
    else:
        say(f"{customer_id} in {where.data_region}: {channel} is written to again (was suppressed: {cause})")
        tell_action(action)


# --- what is read -----------------------------------------------------------------------------------------------------


def _skipped(region: RegionDeployment, period: str, channel: Channel | None) -> Iterator[str]:
    """Customers whose delivery of a week was skipped as suppressed, from the week's index."""
    for one in Channel if channel is None else (channel,):
        end = f"{Status.SKIPPED}#{one}#{SkipReason.SUPPRESSED}"
        for shard in range(region.shards):
            pages = region.dynamodb.get_paginator("query").paginate(
                TableName=region.deliveries_table,
                IndexName=names.PERIOD_INDEX,
                KeyConditionExpression="#partition = :partition AND #end = :end",
                ExpressionAttributeNames={"#partition": names.PERIOD_SHARD, "#end": names.PERIOD_END},
                ExpressionAttributeValues={":partition": {"S": period_partition(period, shard)}, ":end": {"S": end}},
            )
            for page in pages:
                yield from (DeliveryId.parse(item[names.DELIVERY_ID]["S"]).customer_id for item in page["Items"])


def _suppressed(
    region: RegionDeployment, customer_ids: Iterator[str] | Sequence[str], channel: Channel | None
) -> list[Suppressed]:
    held = (
        one
        for row in profile_rows(region, customer_ids)
        if row[names.RECORD] == PROFILE
        for one in _of_profile(row)
        if channel in {None, one.channel}
    )
    return sorted(held, key=lambda one: (one.customer_id, one.channel))


def _of_profile(row: Mapping[str, Any]) -> Iterator[Suppressed]:
    for channel, held in row.get("suppressed", {}).items():
        since = from_text(held["at"]) if "at" in held else None
        yield Suppressed(row[names.CUSTOMER_ID], Channel(channel), held["cause"], since, held.get("code"))


# --- what is said -----------------------------------------------------------------------------------------------------


def _as_json(one: Suppressed) -> dict[str, Any]:
    return {
        "customer_id": one.customer_id,
        "channel": str(one.channel),
        "cause": one.cause,
        "since": moment(one.since),
        "code": one.code,
    }


def _tell(where: str, about: str, held: Sequence[Suppressed]) -> None:
    say(f"{where}, {about}: {count_of(len(held), 'channel')} suppressed")
    if held:
        shown = table("Customer", "Channel", "Cause", "Since (UTC)", "Code")
        for one in held:
            since = "" if one.since is None else utc(one.since).removesuffix(" UTC")
            shown.add_row(one.customer_id, str(one.channel), one.cause, since, one.code or "")
        out().print(shown)
