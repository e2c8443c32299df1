"""`digest webhooks show`, `digest webhooks enable`, `digest webhooks secret`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, TypeAlias

import typer

from functions.adapters.endpoints import DynamoEndpoints
from functions.adapters.webhook_secrets import new_secret
from functions.core.identity import Channel, InvalidIdError, opaque_id
from functions.core.webhook_endpoint import Health, SigningSecret, WebhookEndpoint, address_mark, rotated
from functions.core.wording import count_of, utc
from ops.cli.actions import SaidReasonOption, recorded
from ops.cli.dossiers import find_profile
from ops.cli.endpoints import endpoint_as_json, endpoint_in_words, endpoint_state
from ops.cli.output import masked, moment, note, print_json, say
from ops.cli.workplace import JsonOption, RegionOption, Workplace, workplace_of
from ops.deployment import DeploymentError, RegionDeployment

CustomerOption: TypeAlias = Annotated[
    str, typer.Option("--customer", metavar="ID", help="Whose endpoint.", show_default=False)
]
OVERTAKEN = "the endpoint was changed by somebody else just now; look at it with `digest webhooks show`, and try again"


@dataclass(frozen=True, slots=True)
class FoundEndpoint:
    """A customer's endpoint, and where it is."""

    region: RegionDeployment
    customer_id: str
    url: str = field(repr=False)
    endpoint: WebhookEndpoint = field(repr=False)

    @property
    def health(self) -> Health:
        """How the present address has been answering."""
        return self.endpoint.health_at(self.url)

    @property
    def store(self) -> DynamoEndpoints:
        """Where it is kept."""
        return DynamoEndpoints(self.region.dynamodb, self.region.customers_table)


def add_commands(app: typer.Typer) -> None:
    """Add the group with its three commands."""
    group = typer.Typer(
        help="Customers' own endpoints: how they answer, and what their messages are signed with.",
        no_args_is_help=True,
        rich_markup_mode="markdown",
    )
    group.command("show")(show)
    group.command("enable")(enable)
    group.command("secret")(secret)
    app.add_typer(group, name="webhooks")


def show(
    context: typer.Context, customer: CustomerOption, region: RegionOption = None, as_json: JsonOption = False
) -> None:
    """Show whether a customer's endpoint is called, how it has been answering, and how many secrets sign.

    Example: `digest webhooks show --customer c-10428`
    """
    workplace = workplace_of(context)
    now = workplace.clock()
    found = _find(workplace, customer, region)
    signing = len(found.endpoint.signing(now))
    if as_json:
        about: dict[str, Any] = {"customer_id": found.customer_id, "data_region": found.region.data_region}
        print_json(
            about
            | {"address": masked(Channel.WEBHOOK, found.url), "signing_secrets": signing}
            | endpoint_as_json(found.health, now)
        )
        return
    say(f"{found.customer_id} in {found.region.data_region}: {masked(Channel.WEBHOOK, found.url)}")
    say(f"  Endpoint  {endpoint_in_words(found.health, now)}")
    say(f"  Signed    with {count_of(signing, 'secret')}{_until(found.endpoint.secrets)}")
    if endpoint_state(found.health, now) == "disabled":
        say(f"  Once it works: digest webhooks enable --customer {found.customer_id}")


def enable(
    context: typer.Context,
    customer: CustomerOption,
    region: RegionOption = None,
    reason: SaidReasonOption = None,
    as_json: JsonOption = False,
) -> None:
    """Call a customer's endpoint again, from the next delivery on, and forget its failures.

    What was skipped meanwhile stays skipped. An endpoint that has not been mended is disabled again.

    Example: `digest webhooks enable --customer c-10428`
    """
    workplace = workplace_of(context)
    now, found = workplace.clock(), _find(workplace, customer, region)
    changed = found.health.failures > 0 or found.health.disabled_at is not None
    if changed:
        well = Health(address_mark(found.url))
        if not found.store.note(found.customer_id, well, version=found.endpoint.version):
            raise DeploymentError(OVERTAKEN)
        why = reason or f"it was {endpoint_in_words(found.health, now)}"
        recorded(found.region, f"enable endpoint {found.customer_id}", why, now, done="enabled")
    if as_json:
        print_json({"customer_id": found.customer_id, "data_region": found.region.data_region, "changed": changed})
    elif changed:
        say(f"{found.customer_id} in {found.region.data_region}: called again, from the next delivery on")
    else:
        say(f"{found.customer_id} in {found.region.data_region}: is called already; nothing was changed")


def secret(
    context: typer.Context,
    customer: CustomerOption,
    rotate: Annotated[
        bool,
        typer.Option("--rotate", metavar="", help="Make a new one. The last one signs beside it for 24 hours more."),
    ] = False,
    region: RegionOption = None,
    reason: SaidReasonOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print the secret that a customer's webhooks are signed with. Hand it over on a safe way.

    Example: `digest webhooks secret --customer c-10428 --rotate`
    """
    workplace = workplace_of(context)
    found = _find(workplace, customer, region)
    secrets = found.endpoint.secrets
    if rotate or not secrets:
        now = workplace.clock()
        secrets = rotated(secrets, new_secret(), at=now)
        if not found.store.keep_secrets(found.customer_id, secrets, version=found.endpoint.version):
            raise DeploymentError(OVERTAKEN)
        recorded(found.region, f"rotate secret {found.customer_id}", reason or "not said", now, done="rotated")
    until = secrets[1].ends_at if len(secrets) > 1 else None
    if as_json:
        print_json({"customer_id": found.customer_id, "secret": secrets[0].text, "last_one_signs_until": moment(until)})
        return
    say(secrets[0].text)
    if rotate and until is not None:
        note(f"the last one signs too until {utc(until)}; by then the receiver has to know this one")


def _until(secrets: tuple[SigningSecret, ...]) -> str:
    ends = [one.ends_at for one in secrets if one.ends_at is not None]
    return f"; the older one until {utc(max(ends))}" if ends else ""


def _find(workplace: Workplace, customer: str, region: str | None) -> FoundEndpoint:
    try:
        customer_id = opaque_id(customer, field="customer_id")
    except InvalidIdError as error:
        raise typer.BadParameter(str(error), param_hint="--customer") from None
    where, profile = find_profile(workplace.deployment.only(region), customer_id)
    url = profile.addresses.get(Channel.WEBHOOK)
    if url is None or profile.webhook is None:
        raise DeploymentError(
            f"{customer_id} in {where.data_region} has no webhook endpoint: import the customer with a webhook_url"
        )
    return FoundEndpoint(where, customer_id, url, profile.webhook)
