"""`digest unsuppress`: a channel that bounces or complaints had closed is written to again."""

from __future__ import annotations

from typing import Annotated

import typer

from functions.adapters.suppressions import DynamoSuppressions
from functions.core.identity import Channel, InvalidIdError, opaque_id
from functions.core.receipts import SuppressionCause
from ops.cli.dossiers import find_profile
from ops.cli.output import print_json, say
from ops.cli.workplace import JsonOption, RegionOption, workplace_of
from ops.deployment import DeploymentError


def unsuppress(
    context: typer.Context,
    customer: Annotated[str, typer.Option("--customer", metavar="ID", help="Whose.", show_default=False)],
    channel: Annotated[Channel, typer.Option("--channel", help="Which channel.", show_default=False)],
    region: RegionOption = None,
    as_json: JsonOption = False,
) -> None:
    """Lift the suppression of a customer's channel, once its cause is mended: from the next delivery on.

    Events about what was sent before now do not bring it back, however late they come; the next bounce does. A STOP is
    the person's own word, which only the person takes back. SES keeps a list of its own: remove the address there, too.

    Example: `digest unsuppress --customer c-10428 --channel email`
    """
    try:
        customer_id = opaque_id(customer, field="customer_id")
    except InvalidIdError as error:
        raise typer.BadParameter(str(error), param_hint="--customer") from None
    workplace = workplace_of(context)
    where, profile = find_profile(workplace.deployment.only(region), customer_id)
    cause = profile.suppressed.get(channel)
    if cause == SuppressionCause.STOP:
        raise DeploymentError(f"{channel}: {customer_id} has said STOP, which nobody takes back for them")
    suppressions = DynamoSuppressions(where.dynamodb, where.customers_table)
    lifted = suppressions.clear(customer_id, channel, at=workplace.clock())
    if as_json:
        about = {"customer_id": customer_id, "data_region": where.data_region, "channel": str(channel)}
        print_json({**about, "lifted": lifted, "cause": cause})
    elif lifted:
        say(f"{customer_id} in {where.data_region}: {channel} is written to again (was suppressed: {cause})")
    else:
        say(f"{customer_id} in {where.data_region}: {channel} is not suppressed; nothing was changed")
