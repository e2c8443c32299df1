"""`digest customers erase`."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Annotated, Any, Final

import typer

from functions.core.delivery import Status
from functions.core.identity import InvalidIdError, opaque_id
from functions.core.wording import count_of, utc
from ops.cli.output import note, print_json, say
from ops.cli.workplace import JsonOption, RegionOption, Workplace, YesOption, workplace_of
from ops.erasure import Eraser, Erasure, Holding

_LOOK_AGAIN_S: Final = 1.0
_MANY: Final = {"activity": "activities", "summary": "summaries"}


def erase(
    context: typer.Context,
    customer: Annotated[str, typer.Argument(metavar="ID", help="Such as c-10428.", show_default=False)],
    region: RegionOption = None,
    yes: YesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Erase a customer: everything of theirs goes, deliveries are scrubbed, and nothing more is sent. No way back.

    Opt-outs and suppressions are remembered under keyed hashes, so that a later import with the same id or address does
    not bring them back. A message that is being sent at this very moment is waited for. Erasing may be interrupted and
    started again; erasing somebody who is not there changes nothing.

    Take the customer out of whatever is imported first: an import would bring back all but the consent.

    Example: `digest customers erase c-10428`
    """
    try:
        customer_id = opaque_id(customer, field="customer_id")
    except InvalidIdError as error:
        raise typer.BadParameter(str(error), param_hint="ID") from None
    workplace = workplace_of(context)
    regions = workplace.deployment.only(region)
    erasers = [Eraser(one, customer_id, workplace.clock, _Patience(workplace)) for one in regions]
    found = [(eraser, holding) for eraser in erasers if (holding := eraser.holding())]
    if found and not yes:
        for eraser, holding in found:
            note(f"{customer_id} in {eraser.region.data_region}: {_in_words(holding)}")
        typer.confirm("Erase all of it, for good?", abort=True, err=True)
    done = [(eraser.region.data_region, eraser.erase()) for eraser, _ in found]
    if as_json:
        print_json({"customer_id": customer_id, "erased": [_as_json(where, erasure) for where, erasure in done]})
    elif not done:
        named = " or ".join(one.data_region for one in regions)
        say(f"{customer_id} in {named}: nothing on record, never imported or erased before; nothing was changed")
    for where, erasure in [] if as_json else done:
        _tell(customer_id, where, erasure)


class _Patience:
    """Waits for a message that is on its way, and says so once."""

    def __init__(self, workplace: Workplace) -> None:
        self._workplace = workplace
        self._told = False

    def __call__(self, until: datetime) -> None:
        if not self._told:
            note(f"a message is being sent to them right now; waiting for it, until {utc(until)} at the latest")
        self._told = True
        self._workplace.sleep(_LOOK_AGAIN_S)


def _in_words(holding: Holding) -> str:
    deliveries = [count_of(holding.deliveries, "delivery", "deliveries")] if holding.deliveries else []
    return ", ".join([*_rows(holding.rows), *deliveries])


def _rows(rows: Counter[str]) -> list[str]:
    return [count_of(count, kind, _MANY.get(kind)) for kind, count in sorted(rows.items())]


def _tell(customer_id: str, where: str, erasure: Erasure) -> None:
    say(f"{customer_id} in {where}: erased")
    say(f"  Removed     {', '.join(_rows(erasure.rows)) or 'nothing, it was gone already'}")
    ended = f", {erasure.not_sent:,} of them never to be sent" if erasure.not_sent else ""
    say(f"  Scrubbed    {count_of(erasure.deliveries.total(), 'delivery', 'deliveries')}{ended}")
    if uncertain := erasure.deliveries[Status.UNCERTAIN]:
        say(f"  Uncertain   {uncertain:,} of them may have been sent; the provider's event or a person settles that")
    hashes = count_of(erasure.remembered, "keyed hash", "keyed hashes")
    say(f"  Stays       ids, times and states of deliveries until they are purged; {hashes} of opt-outs")


def _as_json(where: str, erasure: Erasure) -> dict[str, Any]:
    return {
        "data_region": where,
        "rows": dict(sorted(erasure.rows.items())),
        "deliveries": {str(status): count for status, count in sorted(erasure.deliveries.items())},
        "not_sent": erasure.not_sent,
        "remembered": erasure.remembered,
    }
