"""`digest tables copy-back`."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from functions.adapters.audit import Action
from functions.core.wording import count_of
from ops.cli.actions import CountOption, OneRegionOption, SaidReasonOption, action_as_json, confirm, tell_action, trail
from ops.cli.output import print_json, say
from ops.cli.workplace import JsonOption, workplace_of
from ops.copying_back import CopiedBack, CopyBack, Restorable
from ops.deployment import RegionDeployment


def add_commands(app: typer.Typer) -> None:
    """Add the group with its one command."""
    group = typer.Typer(
        help="Tables that were restored: what the live one has lost, copied back.",
        no_args_is_help=True,
        rich_markup_mode="markdown",
    )
    group.callback()(_group)
    group.command("copy-back")(copy_back)
    app.add_typer(group, name="tables")


def _group() -> None:
    """A group of commands, be it of one."""


def copy_back(
    context: typer.Context,
    which: Annotated[Restorable, typer.Argument(metavar="TABLE", help="customers or deliveries.", show_default=False)],
    region: OneRegionOption,
    source: Annotated[
        str,
        typer.Option("--from", metavar="NAME", help="Table that a restore has made.", show_default=False),
    ],
    reason: SaidReasonOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", metavar="", help="Only count what is missing.")] = False,
    yes: CountOption = None,
    as_json: JsonOption = False,
) -> None:
    """Copy rows that are missing in a live table back from a restored one. What is there stays as it is.

    A delivery that had not ended at the time of the restore comes back as uncertain: it may have been sent since, and
    is not sent again before somebody says that it was not. May be interrupted, and run again.

    Read docs/runbooks/restoring-a-table.md first: who left, or was erased, since then comes back as they were then.

    Example: `digest tables copy-back deliveries --from digest-restored --region us --dry-run`
    """
    workplace = workplace_of(context)
    where, now = workplace.deployment.region(region), workplace.clock()
    copy = CopyBack(where, which, source, workplace.clock)
    found = copy.look()
    missing = found.missing.total()
    if dry_run or not missing:
        _tell(where, which, found, None, as_json=as_json)
        return
    if reason is None:
        raise typer.BadParameter("say what was lost, for whoever asks", param_hint="--reason")
    confirm(missing, yes, f"Copy {count_of(missing, 'row')} back into {which} of {where.data_region}?")
    action = Action(now, where.caller, f"copy back {which}", reason, missing)
    trail(where).record(action)
    done = CopiedBack()
    try:
        copy.run(done)
    finally:
        action = replace(action, how_many=done.copied)
        trail(where).record(action)
        _tell(where, which, done, action, as_json=as_json)


def _tell(
    region: RegionDeployment, which: Restorable, found: CopiedBack, action: Action | None, *, as_json: bool
) -> None:
    if as_json:
        counts = {"looked_at": found.looked_at, "missing": dict(found.missing), "copied": found.copied}
        acted = None if action is None else action_as_json(action)
        print_json({"data_region": region.data_region, "table": str(which), **counts, "action": acted})
        return
    rows = count_of(found.looked_at, "row")
    say(f"{which} in {region.data_region}: {found.missing.total():,} missing of {rows} in the restored table")
    for kind, number in found.missing.most_common():
        say(f"  {number:,} {kind}")
    if action is None:
        say("nothing was changed")
    else:
        say(f"{count_of(found.copied, 'row')} copied back")
        tell_action(action)
