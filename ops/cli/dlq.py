"""`digest dlq peek`, `digest dlq move`, `digest dlq status`, `digest dlq cancel`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any

import typer

from functions.adapters.audit import Action
from functions.adapters.dead_letter_queue import (
    FASTEST_TASK,
    Carried,
    DeadLetterQueue,
    DeadMessage,
    MoveTask,
    NoMoveTasksError,
)
from functions.core.answers import on_return
from functions.core.delivery import Delivery
from functions.core.wording import count_of, distance, utc
from ops.cli.actions import (
    ChannelArgument,
    CountOption,
    OneRegionOption,
    ReasonOption,
    action_as_json,
    confirm,
    recorded,
    tell_action,
    trail,
)
from ops.cli.output import moment, note, out, print_json, say, table
from ops.cli.workplace import JsonOption, Workplace, workplace_of
from ops.deployment import DeploymentError, RegionDeployment

SLOW = 10  # messages a second, unless somebody asks for more: a move at full speed floods the queue


def add_commands(app: typer.Typer) -> None:
    """Add the group with its four commands."""
    group = typer.Typer(
        help="Dead-letter queues: what lies in them beside its rows, and moving it back to where it came from.",
        no_args_is_help=True,
        rich_markup_mode="markdown",
    )
    group.command("peek")(peek)
    group.command("move")(move)
    group.command("status")(status)
    group.command("cancel")(cancel)
    app.add_typer(group, name="dlq")


def peek(
    context: typer.Context,
    channel: ChannelArgument,
    region: OneRegionOption,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, max=1000, help="Messages to look at.")] = 10,
    as_json: JsonOption = False,
) -> None:
    """Show messages of a channel's dead-letter queue, each beside its row, and what it would do if it were moved.

    Takes nothing away: what is looked at is hidden for some seconds and given back. What is no message of ours is shown
    by its size, its form and its hash only: it may hold anything.

    Example: `digest dlq peek email --region us --limit 50`
    """
    workplace = workplace_of(context)
    where = workplace.deployment.region(region)
    queue = where.dead_letter_queue(channel)
    waiting, in_flight = queue.counts()
    messages = queue.look(limit)
    rows = where.ledger.read(str(one.delivery_id) for one in messages if one.delivery_id is not None)
    now = workplace.clock()
    if as_json:
        counts = {"messages": waiting, "in_flight": in_flight}
        shown = [_message_as_json(one, rows, now) for one in messages]
        print_json({"data_region": where.data_region, "channel": str(channel), **counts, "shown": shown})
        return
    flying = f", {in_flight:,} more being looked at or moved" if in_flight else ""
    say(f"{channel} dead-letter queue in {where.data_region}: {count_of(waiting, 'message')}{flying}")
    _tell_messages(messages, rows, now)


def move(
    context: typer.Context,
    channel: ChannelArgument,
    region: OneRegionOption,
    reason: ReasonOption,
    rate: Annotated[
        int, typer.Option("--rate", metavar="N", help="Messages a second, at most.", min=1, max=FASTEST_TASK)
    ] = SLOW,
    yes: CountOption = None,
    as_json: JsonOption = False,
) -> None:
    """Move every message of a channel's dead-letter queue back to the channel's queue, as the console's redrive does.

    The rows decide what becomes of each: look with `digest dlq peek` first. What nobody can work on is back within
    seconds. Only exhausted deliveries are sent; for some of them, use `digest redrive`.

    Example: `digest dlq move email --region us --reason "INC-47: provider is back"`
    """
    workplace = workplace_of(context)
    where, now = workplace.deployment.region(region), workplace.clock()
    queue = where.dead_letter_queue(channel)
    waiting, _ = queue.counts()
    if not waiting:
        _tell_nothing(where, queue, as_json=as_json)
        return
    confirm(waiting, yes, f"Move {count_of(waiting, 'message')} of {channel} in {where.data_region}?")
    by_task = _moves_by_task(queue, where)
    action = Action(now, where.caller, f"move dead letters {channel}", reason, waiting)
    trail(where).record(action)
    if by_task:
        queue.move(rate)
    else:
        note("this endpoint has no StartMessageMoveTask: the messages are carried one by one; Ctrl-C stops it")
        action = _carry(workplace, where, queue, action, rate=rate)
    _tell_moved(where, queue, action, by_task=by_task, as_json=as_json)


def status(
    context: typer.Context, channel: ChannelArgument, region: OneRegionOption, as_json: JsonOption = False
) -> None:
    """Show how far the last moves of a channel's dead-letter queue are.

    Example: `digest dlq status email --region us`
    """
    workplace = workplace_of(context)
    where, now = workplace.deployment.region(region), workplace.clock()
    tasks = _tasks(where.dead_letter_queue(channel))
    if as_json:
        shown = [_task_as_json(one) for one in tasks]
        print_json({"data_region": where.data_region, "channel": str(channel), "tasks": shown})
        return
    running = next((one for one in tasks if one.running), None)
    say(f"{channel} in {where.data_region}: {'no move runs' if running is None else _in_words(running)}")
    if tasks:
        shown_tasks = table("Started (UTC)", "State", "Moved", "Of", "Why it failed", numbers=["Moved", "Of"])
        for one in tasks:
            of = "" if one.to_move is None else f"{one.to_move:,}"
            began = f"{utc(one.started_at).removesuffix(' UTC')}, {distance(one.started_at, now)}"
            shown_tasks.add_row(began, one.status.lower(), f"{one.moved:,}", of, one.failure or "")
        out().print(shown_tasks)


def cancel(
    context: typer.Context,
    channel: ChannelArgument,
    region: OneRegionOption,
    reason: ReasonOption,
    as_json: JsonOption = False,
) -> None:
    """Stop a move that runs. What was moved is moved; the rest stays in the dead-letter queue.

    Example: `digest dlq cancel email --region us --reason "INC-47: not mended after all"`
    """
    workplace = workplace_of(context)
    where, now = workplace.deployment.region(region), workplace.clock()
    queue = where.dead_letter_queue(channel)
    running = next((one for one in _tasks(queue) if one.running), None)
    action, moved = None, 0
    if running is not None:
        moved = queue.cancel(running)
        action = recorded(where, f"cancel move of dead letters {channel}", reason, now, done="cancelled")
    if as_json:
        shown = None if action is None else action_as_json(action)
        print_json({"data_region": where.data_region, "channel": str(channel), "action": shown})
    elif action is None:
        say(f"{channel} in {where.data_region}: no move runs; nothing was changed")
    else:
        say(f"{channel} in {where.data_region}: cancelled, after about {count_of(moved, 'message')}")
        tell_action(action)


# --- what is asked and done -------------------------------------------------------------------------------------------


def _tasks(queue: DeadLetterQueue) -> list[MoveTask]:
    try:
        return queue.tasks()
    except NoMoveTasksError:
        raise DeploymentError(
            "this endpoint has no StartMessageMoveTask: `digest dlq move` carries messages itself, and Ctrl-C stops it"
        ) from None


def _moves_by_task(queue: DeadLetterQueue, region: RegionDeployment) -> bool:
    """Whether the service moves by itself. Raises DeploymentError while it does."""
    try:
        running = any(task.running for task in queue.tasks())
    except NoMoveTasksError:
        return False
    if running:
        look = f"digest dlq status {queue.channel} --region {region.data_region}"
        raise DeploymentError(f"a move is running already; see `{look}`")
    return True


def _carry(
    workplace: Workplace, region: RegionDeployment, queue: DeadLetterQueue, action: Action, *, rate: int
) -> Action:
    carried = Carried()
    try:
        queue.carry(action.how_many or 0, rate_per_second=rate, sleep=workplace.sleep, carried=carried)
    finally:
        action = replace(action, how_many=carried.count)
        note(f"{count_of(carried.count, 'message')} carried back")
        trail(region).record(action)
    return action


# --- for machines -----------------------------------------------------------------------------------------------------


def _message_as_json(message: DeadMessage, rows: Mapping[str, Delivery], now: datetime) -> dict[str, Any]:
    row = rows.get(str(message.delivery_id))
    known = message.delivery_id is not None
    return {
        "delivery_id": str(message.delivery_id) if known else None,
        "sent_at": moment(message.sent_at),
        "row": None if row is None else str(row.status),
        "fault": message.fault,
        "shape": None if known else message.shape,
        "if_moved": _if_moved(message, row, now),
    }


def _task_as_json(task: MoveTask) -> dict[str, Any]:
    return {
        "status": task.status,
        "started_at": moment(task.started_at),
        "moved": task.moved,
        "to_move": task.to_move,
        "failure": task.failure,
    }


# --- for people -------------------------------------------------------------------------------------------------------


def _tell_messages(messages: Sequence[DeadMessage], rows: Mapping[str, Delivery], now: datetime) -> None:
    for one in messages:
        row = rows.get(str(one.delivery_id))
        state = "no row" if row is None else str(row.status).replace("_", " ")
        about = f"{one.delivery_id}: {state}" if one.delivery_id is not None else f"no message of ours: {one.shape}"
        say(f"  {about}")
        say(f"      sent {distance(one.sent_at, now)}; {one.fault or ''}".removesuffix("; "))
        say(f"      if moved: {_if_moved(one, row, now)}")


def _if_moved(message: DeadMessage, row: Delivery | None, now: datetime) -> str:
    return "back within seconds: nobody can work on it" if message.delivery_id is None else on_return(row, now)


def _in_words(task: MoveTask) -> str:
    of = "" if task.to_move is None else f" of {task.to_move:,}"
    return f"{task.status.lower()}, {task.moved:,}{of} moved"


def _tell_nothing(region: RegionDeployment, queue: DeadLetterQueue, *, as_json: bool) -> None:
    if as_json:
        print_json({"data_region": region.data_region, "channel": str(queue.channel), "action": None})
    else:
        say(f"{queue.channel} dead-letter queue in {region.data_region}: nothing to move")


def _tell_moved(
    region: RegionDeployment, queue: DeadLetterQueue, action: Action, *, by_task: bool, as_json: bool
) -> None:
    if as_json:
        about = {"data_region": region.data_region, "channel": str(queue.channel)}
        print_json({**about, "action": action_as_json(action)})
        return
    say(f"{queue.channel} in {region.data_region}: {'on their way to' if by_task else 'back in'} the queue")
    tell_action(action)
    if by_task:
        say(f"See how far it is: digest dlq status {queue.channel} --region {region.data_region}")
