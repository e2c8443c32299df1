"""`digest uncertain list`, `digest uncertain resolve`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any, Final

import typer

from functions.adapters.audit import Action
from functions.adapters.dead_letters import waiting
from functions.core.delivery import Attention, Delivery, Status
from functions.core.provider_reference import ReferenceRefusedError, checked_reference
from functions.core.settlement import confirmed, refuted
from functions.core.wording import count_of, distance, utc
from ops.cli.actions import OneRegionOption, ReasonOption, action_as_json, recorded, tell_action
from ops.cli.dead_letters import ChannelOption
from ops.cli.dossiers import find_delivery
from ops.cli.output import moment, note, out, print_json, say, table
from ops.cli.show import delivery_named
from ops.cli.workplace import JsonOption, RegionOption, YesOption, workplace_of
from ops.deployment import DeploymentError, RegionDeployment

# Rows that only a person or an event can settle are looked at again in a day; nothing is ever put off for a year.
_EVER: Final = timedelta(days=365)


def _reference(text: str | None) -> str | None:
    try:
        return None if text is None else checked_reference(text)
    except ReferenceRefusedError as error:
        raise typer.BadParameter(str(error)) from None


def add_commands(app: typer.Typer) -> None:
    """Add the group with its two commands."""
    group = typer.Typer(
        help="Deliveries that may have been sent: which, and settling one by what was found out.",
        no_args_is_help=True,
        rich_markup_mode="markdown",
    )
    group.command("list")(list_uncertain)
    group.command("resolve")(resolve)
    app.add_typer(group, name="uncertain")


def list_uncertain(
    context: typer.Context,
    region: RegionOption = None,
    channel: ChannelOption = None,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=0, max=1000, help="Deliveries to list in each region.")
    ] = 20,
    as_json: JsonOption = False,
) -> None:
    """List deliveries that may have been sent while nobody knows: since when, by whom, and what was heard last.

    They are never sent again by themselves. The provider's event settles them, or a look-up where the provider offers
    one; what stays is for a person.

    Example: `digest uncertain list --region us`
    """
    workplace = workplace_of(context)
    now = workplace.clock()
    found = {
        one.data_region: sorted(waiting(one, Attention.UNCERTAIN, channel, until=now + _EVER), key=_since)
        for one in workplace.deployment.only(region)
    }
    if as_json:
        shown = {
            where: {"total": len(rows), "uncertain": [_as_json(row, now) for row in rows[:limit]]}
            for where, rows in found.items()
        }
        print_json({"now": moment(now), "regions": shown})
        return
    for where, rows in found.items():
        _tell(where, rows, limit, now)


def resolve(
    context: typer.Context,
    delivery_id: Annotated[
        str,
        typer.Argument(metavar="DELIVERY_ID", help="Such as digest:c-10428:2026-11-16:sms.", show_default=False),
    ],
    region: OneRegionOption,
    reason: ReasonOption,
    accepted: Annotated[
        str | None,
        typer.Option(
            "--accepted",
            metavar="REF",
            help="The provider has it: its id for the message.",
            callback=_reference,
            show_default=False,
        ),
    ] = None,
    not_accepted: Annotated[
        bool,
        typer.Option("--not-accepted", metavar="", help="The provider has never had it: it is sent if there is time."),
    ] = False,
    yes: YesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Settle a delivery by what was found out at the provider's. An event that comes at the same time wins.

    Accepted, it is done. Not accepted, it is out of doubt: sent again if there is time, else what it would have been.

    For example:

    - `digest uncertain resolve digest:c-10428:2026-11-16:sms --region us --accepted 3f6c --reason "in its log"`
    - `digest uncertain resolve digest:c-10428:2026-11-16:sms --region us --not-accepted --reason "not there"`
    """
    if (accepted is None) is not not_accepted:
        raise typer.BadParameter("say either --accepted REF or --not-accepted", param_hint="--accepted")
    workplace = workplace_of(context)
    where, now = workplace.deployment.region(region), workplace.clock()
    row = find_delivery([where], delivery_named(delivery_id)).delivery
    if row.status is not Status.UNCERTAIN:
        raise DeploymentError(f"{delivery_id} is not in doubt: it is {_in_words(row)}; nothing was changed")
    after = refuted(row, at=now) if not_accepted else confirmed(row, accepted, at=now)
    if not_accepted and not yes:
        note(f"{delivery_id} in {where.data_region}: {_consequence(after)}")
        typer.confirm("If the provider had it after all, the customer gets it twice. Go on", abort=True, err=True)
    if not (where.ledger.write(row, after) or where.ledger.took_effect(row, after)):
        raise _overtaken(where, delivery_id)
    what = f"resolve {delivery_id} as {'not accepted' if not_accepted else 'accepted'}"
    action = recorded(where, what, reason, now, done="settled")
    _tell_settled(where, after, action, as_json=as_json)


def _overtaken(region: RegionDeployment, delivery_id: str) -> DeploymentError:
    row = find_delivery([region], delivery_named(delivery_id)).delivery
    return DeploymentError(f"{delivery_id} was settled meanwhile: it is {_in_words(row)}; nothing was changed")


# --- what is known of one ---------------------------------------------------------------------------------------------


def _since(row: Delivery) -> datetime:
    return row.in_doubt_since or row.claimed_at or row.selected_at


def _why(row: Delivery) -> str:
    """What was heard last: `unknown (ReadTimeoutError)`."""
    if not row.history:
        return "no answer on record"
    last = row.history[-1]
    return f"{last.outcome} ({last.code})"


def _consequence(after: Delivery) -> str:
    if after.status is Status.RETRYABLE:
        return "will be sent again by the reconciler, within minutes"
    if after.status is Status.DEAD_LETTER:
        return "becomes the dead letter that it would have been; `digest redrive` opens it"
    return f"ends as {_in_words(after)}; nothing is sent"


def _in_words(row: Delivery) -> str:
    reason = "" if row.skip_reason is None or row.status is not Status.SKIPPED else f" ({row.skip_reason})"
    return str(row.status).replace("_", " ") + reason


# --- for machines -----------------------------------------------------------------------------------------------------


def _as_json(row: Delivery, now: datetime) -> dict[str, Any]:
    return {
        "delivery_id": str(row.delivery_id),
        "since": moment(_since(row)),
        "age_s": int((now - _since(row)).total_seconds()),
        "provider": row.provider,
        "why": _why(row),
        "attempt": row.attempt,
        "expires_at": moment(row.expires_at),
        "too_late": now >= row.expires_at,
        "erased": row.erased_at is not None,
    }


# --- for people -------------------------------------------------------------------------------------------------------


def _tell(where: str, rows: Sequence[Delivery], limit: int, now: datetime) -> None:
    oldest = f", the oldest since {utc(_since(rows[0]))}" if rows else ""
    say(f"{where}: {count_of(len(rows), 'delivery', 'deliveries')} in doubt{oldest}")
    if rows[:limit]:
        shown = table("Delivery", "Since", "Provider", "Why", "Time left")
        for row in rows[:limit]:
            left = "none" if now >= row.expires_at else distance(row.expires_at, now).removeprefix("in ")
            shown.add_row(str(row.delivery_id), distance(_since(row), now), row.provider or "", _why(row), left)
        out().print(shown)
    if len(rows) > limit:
        note(f"{len(rows) - limit:,} more; --limit shows them")


def _tell_settled(region: RegionDeployment, after: Delivery, action: Action, *, as_json: bool) -> None:
    if as_json:
        about = {"delivery_id": str(after.delivery_id), "data_region": region.data_region, "status": str(after.status)}
        print_json({**about, "action": action_as_json(action)})
        return
    outcome = "accepted" if after.status is Status.ACCEPTED else _consequence(after)
    say(f"{after.delivery_id} in {region.data_region}: {outcome}")
    tell_action(action)
