"""`digest redrive`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Final

import typer

from functions.adapters.audit import Action
from functions.adapters.dead_letters import class_of, dead_letters
from functions.adapters.sqs import SqsDeliveryQueues
from functions.adapters.traffic import DynamoTraffic
from functions.core.delivery import FINISHED, Delivery, FailureClass, Status
from functions.core.identity import Channel
from functions.core.redrive import Redrive, Redriven
from functions.core.traffic import GatePosition
from functions.core.wording import count_of
from ops.cli.actions import CountOption, OneRegionOption, SaidReasonOption, action_as_json, confirm, tell_action, trail
from ops.cli.dead_letters import ChannelOption, ClassOption, NewerOption, OlderOption, WeekOption, selection
from ops.cli.dossiers import find_delivery
from ops.cli.output import note, print_json, say
from ops.cli.show import delivery_named
from ops.cli.workplace import JsonOption, Workplace, workplace_of
from ops.deployment import DeploymentError, RegionDeployment

SLOW: Final = 10.0  # deliveries a second, unless somebody asks for more: a redrive at full speed floods the queue


def redrive(  # noqa: PLR0913, PLR0917 - one for each option
    context: typer.Context,
    region: OneRegionOption,
    delivery_id: Annotated[
        str | None,
        typer.Argument(metavar="DELIVERY_ID", help="One delivery; else all that the options name.", show_default=False),
    ] = None,
    channel: ChannelOption = None,
    failure_class: ClassOption = None,
    period: WeekOption = None,
    older_than: OlderOption = None,
    newer_than: NewerOption = None,
    rate: Annotated[
        float, typer.Option("--rate", metavar="N", help="Deliveries a second, at most.", min=0.1, max=500)
    ] = SLOW,
    reason: SaidReasonOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", metavar="", help="Only say what would be redriven.")] = False,
    yes: CountOption = None,
    as_json: JsonOption = False,
) -> None:
    """Open dead letters again, once their cause is mended: same id, same history, sent at most once.

    Exhausted ones, unless `--class rejected` or a single id says otherwise. What is too late ends as expired,
    and what is finished stays so. May be interrupted, and run again.

    A message that lies in the dead-letter queue stays there. Moving it later (`digest dlq move`) does nothing more.

    For example:

    - `digest redrive --region us --channel email --newer-than 2h --dry-run`
    - `digest redrive --region us --channel email --newer-than 2h --rate 5 --reason "INC-47: provider is back"`
    - `digest redrive digest:c-10428:2026-11-16:email --region us --reason "INC-48: address mended"`
    """
    workplace = workplace_of(context)
    where, now = workplace.deployment.region(region), workplace.clock()
    if delivery_id is None:
        what = failure_class or FailureClass.EXHAUSTED
        rows = dead_letters(where, selection(channel, what, period, older_than, newer_than, now), now=now)
        about = " ".join(["redrive", str(what), *([] if channel is None else [str(channel)])])
    else:
        if {channel, failure_class, period, older_than, newer_than} != {None}:
            raise typer.BadParameter("names one delivery; leave the other options out", param_hint="DELIVERY_ID")
        rows = _one(where, delivery_id, as_json=as_json)
        about = f"redrive {delivery_id}"
    late = sum(now >= row.expires_at for row in rows)
    if dry_run or not rows:
        _tell_plan(where, rows, late, as_json=as_json)
        return
    if reason is None:
        raise typer.BadParameter("say what was mended, for whoever asks", param_hint="--reason")
    note(_plan(where, rows, late))
    _warn_of_gates(where, rows, now)
    confirm(len(rows), yes, f"Redrive {count_of(len(rows), 'delivery', 'deliveries')}?")
    done = _run(workplace, where, rows, Action(now, where.caller, about, reason, len(rows)), rate=rate, as_json=as_json)
    if done.not_taken:
        raise DeploymentError(
            f"{done.not_taken:,} of them were not taken by their queue; the reconciler brings them within minutes"
        )


def _one(region: RegionDeployment, delivery_id: str, *, as_json: bool) -> list[Delivery]:
    row = find_delivery([region], delivery_named(delivery_id)).delivery
    if row.status is Status.DEAD_LETTER:
        return [row]
    if row.status is Status.UNCERTAIN:
        raise DeploymentError(
            f"{delivery_id} may have been sent: find out, then settle it with `digest uncertain resolve`; "
            "nothing was changed"
        )
    if not as_json:
        state = str(row.status).replace("_", " ")
        rest = "it is done" if row.status in FINISHED else "it comes by itself"
        say(f"{delivery_id} in {region.data_region}: {state}, {rest}")
    return []


def _run(
    workplace: Workplace,
    region: RegionDeployment,
    rows: Sequence[Delivery],
    action: Action,
    *,
    rate: float,
    as_json: bool,
) -> Redriven:
    """Redrive, and tell of it however it ends: what was done is done."""
    # On record before anything happens, and again with the number that it came to.
    trail(region).record(action)
    queues = SqsDeliveryQueues(region.sqs, {channel: region.queue_url(channel) for channel in Channel})
    done = Redriven()
    try:
        Redrive(region.ledger, queues, workplace.clock, workplace.sleep, rate).run(rows, done)
    finally:
        action = replace(action, how_many=done.opened)
        _tell_done(region, done, len(rows), action, as_json=as_json)
        trail(region).record(action)
    return done


# --- what is said -----------------------------------------------------------------------------------------------------


def _plan(region: RegionDeployment, rows: Sequence[Delivery], late: int) -> str:
    kinds = ", ".join(
        f"{number:,} {one}" for one in FailureClass if (number := sum(class_of(row) is one for row in rows))
    )
    ends = f"; {late:,} of them too late, which end as expired" if late else ""
    return f"{count_of(len(rows), 'dead letter')} in {region.data_region}{f' ({kinds})' if kinds else ''}{ends}"


def _tell_plan(region: RegionDeployment, rows: Sequence[Delivery], late: int, *, as_json: bool) -> None:
    if as_json:
        counts = {"would_redrive": len(rows) - late, "too_late": late}
        print_json({"data_region": region.data_region, **counts, "changed": False})
    else:
        say(f"{_plan(region, rows, late)}; nothing was changed")


def _warn_of_gates(region: RegionDeployment, rows: Sequence[Delivery], now: datetime) -> None:
    traffic = DynamoTraffic(region.dynamodb, region.control_table)
    for channel in sorted({row.delivery_id.channel for row in rows}):
        gate = traffic.gate(channel)
        if gate.position(now) is not GatePosition.OPEN:
            note(f"{channel} is {gate.position(now)}: what is redriven waits until it sends again")


def _tell_done(region: RegionDeployment, done: Redriven, asked: int, action: Action, *, as_json: bool) -> None:
    left = asked - done.opened - done.too_late - done.moved_on
    if as_json:
        print_json(
            {
                "data_region": region.data_region,
                "redriven": done.opened,
                "too_late": done.too_late,
                "moved_on": done.moved_on,
                "left": left,
                "changed": bool(done.opened or done.too_late),
                "action": action_as_json(action),
            }
        )
        return
    say(f"{count_of(done.opened, 'delivery', 'deliveries')} redriven in {region.data_region}")
    if done.too_late:
        say(f"{done.too_late:,} too late: ended as expired")
    if done.moved_on:
        say(f"{done.moved_on:,} no dead letter any more when its turn came: left alone")
    if left:
        say(f"{left:,} left as before: run it again")
    tell_action(action)
    say("Messages of theirs in the dead-letter queue stay there; moving them does nothing more (`digest dlq move`)")
