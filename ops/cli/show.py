"""`digest show`: one delivery, or one customer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Final

import typer

from functions.adapters.dossiers import Absence, Expected
from functions.adapters.traffic import DynamoTraffic
from functions.core.absences import BEFORE_FIRST_RUN
from functions.core.answers import SKIPPED_BECAUSE, Answer, accepted, enqueued, next_action, receipt_in_words, selected
from functions.core.calendar import UnknownTimeZoneError, zone
from functions.core.delivery import FINISHED, Delivery, Status
from functions.core.identity import DeliveryId, InvalidIdError, Topic, opaque_id
from functions.core.traffic import GatePosition
from functions.core.wording import distance, local, utc
from ops.cli.dossiers import Dossier, FoundDelivery, find_absence, find_customer, look_for_delivery
from ops.cli.endpoints import endpoint_as_json, endpoint_in_words
from ops.cli.output import moment, out, print_json, say, table
from ops.cli.summaries import summary_as_json, summary_in_words
from ops.cli.workplace import JsonOption, RegionOption, monday_named, workplace_of
from ops.deployment import RegionDeployment


def show(
    context: typer.Context,
    delivery_id: Annotated[
        str | None,
        typer.Argument(
            metavar="DELIVERY_ID",
            help="Such as digest:c-10428:2026-11-16:email or reminder:c-10428:invoice-9:sms.",
            show_default=False,
        ),
    ] = None,
    customer: Annotated[
        str | None,
        typer.Option("--customer", metavar="ID", help="Everything about one customer instead.", show_default=False),
    ] = None,
    period: Annotated[
        str | None,
        typer.Option(
            "--period",
            metavar="DATE",
            help="With --customer: only the week that opens on this Monday, on every channel.",
            show_default=False,
        ),
    ] = None,
    region: RegionOption = None,
    as_json: JsonOption = False,
) -> None:
    """Answer for one delivery: was it selected, was it enqueued, did the provider accept it; and what happens next.

    Where it never came to be, say why: no schedule, paused, not due yet, a channel that the schedule does not name.

    Or for one customer: contact and consent, schedules, and every delivery of the last six weeks, also those that never
    came to be.

    For example:

    - `digest show digest:c-10428:2026-11-16:email`
    - `digest show --customer c-10428`
    - `digest show --customer c-10428 --period 2026-11-16`
    """
    if (delivery_id is None) == (customer is None):
        raise typer.BadParameter("name a delivery, or a customer with --customer", param_hint="DELIVERY_ID")
    workplace = workplace_of(context)
    regions = workplace.deployment.only(region)
    now = workplace.clock()
    if delivery_id is not None:
        if period is not None:
            raise typer.BadParameter("goes with --customer; an id names its week", param_hint="--period")
        _show_delivery(regions, delivery_named(delivery_id), now, as_json=as_json)
        return
    monday = None if period is None else monday_named(period).isoformat()
    dossier = find_customer(regions, customer_named(str(customer)), now=now, period=monday)
    if as_json:
        print_json(_customer_as_json(dossier, now))
    else:
        _tell_customer(dossier, now)


def _show_delivery(
    regions: Sequence[RegionDeployment], delivery_id: DeliveryId, now: datetime, *, as_json: bool
) -> None:
    found = look_for_delivery(regions, delivery_id)
    if found is None:
        absence = find_absence(regions, delivery_id, now=now)
        if as_json:
            print_json(_absence_as_json(absence))
        else:
            _tell_absence(absence)
    elif as_json:
        print_json(delivery_as_json(found.data_region, found.delivery))
    else:
        tell_delivery(found.data_region, found.delivery, held=_held(regions, found, now))


def _held(regions: Sequence[RegionDeployment], found: FoundDelivery, now: datetime) -> str | None:
    """That the channel of an open delivery is stopped, and why."""
    if found.delivery.status in FINISHED:
        return None
    channel = found.delivery.delivery_id.channel
    (region,) = (one for one in regions if one.data_region == found.data_region)
    gate = DynamoTraffic(region.dynamodb, region.control_table).gate(channel)
    stopped = gate.position(now) is not GatePosition.OPEN
    return f"{channel} is {gate.in_words(now)}: nothing of it is sent before that ends" if stopped else None


def delivery_named(text: str) -> DeliveryId:
    """The id that an argument DELIVERY_ID gives. Raises typer.BadParameter."""
    try:
        return DeliveryId.parse(text)
    except InvalidIdError as error:
        raise typer.BadParameter(str(error), param_hint="DELIVERY_ID") from None


def customer_named(text: str) -> str:
    """The id that an option `--customer` gives. Raises typer.BadParameter."""
    try:
        return opaque_id(text, field="customer_id")
    except InvalidIdError as error:
        raise typer.BadParameter(str(error), param_hint="--customer") from None


# What a person types next, to be copied whole.
_COMMANDS: Final[Mapping[Status, str]] = {
    Status.DEAD_LETTER: "digest redrive {delivery_id} --region {region} --reason TEXT",
    Status.UNCERTAIN: "digest uncertain resolve {delivery_id} --region {region} --reason TEXT --accepted REF, or "
    "--not-accepted in its place",
}


# --- a delivery -------------------------------------------------------------------------------------------------------


def delivery_as_json(data_region: str, delivery: Delivery) -> dict[str, Any]:
    """A delivery's whole story for machines."""
    return {
        "delivery_id": str(delivery.delivery_id),
        "data_region": data_region,
        "status": str(delivery.status),
        "selected": _answer_as_json(selected(delivery)),
        "enqueued": _answer_as_json(enqueued(delivery)),
        "accepted": _answer_as_json(accepted(delivery)),
        "next_action": next_action(delivery),
        "skip_reason": None if delivery.skip_reason is None else str(delivery.skip_reason),
        "failure": None
        if delivery.failure is None
        else {
            "class": delivery.failure.failure_class,
            "code": delivery.failure.code,
            "at": moment(delivery.failure.at),
        },
        "attempt": delivery.attempt,
        "history": [
            {
                "attempt": one.attempt,
                "at": moment(one.at),
                "outcome": one.outcome,
                "code": one.code,
                "policy_version": one.policy_version,
            }
            for one in delivery.history
        ],
        "provider": delivery.provider,
        "provider_reference": delivery.provider_reference,
        "receipt": None
        if delivery.receipt is None
        else {
            "state": str(delivery.receipt.state),
            "code": delivery.receipt.code,
            "at": moment(delivery.receipt.at),
        },
        "template_id": delivery.template_id,
        "summary": None if delivery.summary is None else summary_as_json(delivery.summary),
        "period": delivery.period,
        "due_at": moment(delivery.due_at),
        "next_attempt_at": moment(delivery.next_attempt_at),
        "expires_at": moment(delivery.expires_at),
        "erased_at": moment(delivery.erased_at),
    }


def _answer_as_json(answer: Answer) -> dict[str, Any]:
    return {"yes": answer.at is not None, "at": moment(answer.at), "why": answer.why}


def tell_delivery(data_region: str, delivery: Delivery, *, held: str | None = None) -> None:
    """A delivery's whole story for people; `held` where its channel is stopped."""
    say(f"{delivery.delivery_id} in {data_region}: {delivery.status.replace('_', ' ')}")
    out().print()
    answers = (("Selected", selected(delivery)), ("Enqueued", enqueued(delivery)), ("Accepted", accepted(delivery)))
    for question, answer in answers:
        say(f"  {question}?  {_answer(answer)}")
    out().print()
    if held is not None:
        say(f"  Channel    {held}")
    for name, fact in _facts(data_region, delivery):
        say(f"  {name:<9}  {fact}")
    if delivery.history:
        out().print()
        shown = table("Attempt", "At (UTC)", "Outcome", "Code", numbers=["Attempt"])
        for one in delivery.history:
            shown.add_row(str(one.attempt), utc(one.at).removesuffix(" UTC"), one.outcome, one.code)
        out().print(shown)


def _facts(data_region: str, delivery: Delivery) -> Iterator[tuple[str, str]]:
    yield "Next", next_action(delivery)
    if delivery.status in _COMMANDS:
        yield "Command", _COMMANDS[delivery.status].format(delivery_id=delivery.delivery_id, region=data_region)
    yield "Due", utc(delivery.due_at)
    yield "Expires", utc(delivery.expires_at)
    yield "Template", delivery.template_id
    if delivery.summary is not None:
        yield "Summary", summary_in_words(delivery.summary)
    if delivery.provider is not None:
        yield "Provider", delivery.provider
    if delivery.provider_reference is not None:
        yield "Reference", delivery.provider_reference
    if delivery.receipt is not None:
        yield "Receipt", receipt_in_words(delivery.receipt)
    if delivery.failure is not None:
        yield "Failure", f"{delivery.failure.failure_class} ({delivery.failure.code})"
    if delivery.erased_at is not None:
        yield "Erased", f"the customer, {utc(delivery.erased_at)}"


def _answer(answer: Answer) -> str:
    if answer.at is None:
        return f"no: {answer.why}"
    return f"yes, {utc(answer.at)}"


# --- one that never came to be ---------------------------------------------------------------------------------------


def _absence_as_json(absence: Absence) -> dict[str, Any]:
    return {
        "delivery_id": str(absence.delivery_id),
        "data_region": absence.data_region,
        "status": None,
        "selected": _answer_as_json(Answer(None, absence.why)),
        "would_skip": None if absence.would_skip is None else str(absence.would_skip),
    }


def _tell_absence(absence: Absence) -> None:
    say(f"{absence.delivery_id} in {absence.data_region}: no such delivery")
    out().print()
    say(f"  Selected?  {_answer(Answer(None, absence.why))}")
    if (reason := absence.would_skip) is not None:
        say(f"  If sent    it would be skipped ({reason}): {SKIPPED_BECAUSE[reason]}")


# --- a customer -------------------------------------------------------------------------------------------------------


def _customer_as_json(dossier: Dossier, now: datetime) -> dict[str, Any]:
    profile = dossier.profile
    return {
        "customer_id": profile.customer_id,
        "data_region": dossier.data_region,
        "active": profile.active,
        "locale": profile.locale,
        "time_zone": profile.time_zone,
        "channels": {
            contact.channel: {
                "address": contact.address,
                "consent": contact.consent,
                "suppressed": contact.suppressed,
            }
            for contact in dossier.contacts
        },
        "webhook_endpoint": None if dossier.endpoint is None else endpoint_as_json(dossier.endpoint, now),
        "schedules": [
            {
                "what": one.what,
                "when": one.when,
                "channels": list(one.channels),
                "next_run_at": moment(one.next_run_at),
                "state": one.state,
            }
            for one in dossier.schedules
        ],
        "deliveries": [
            {
                "delivery_id": str(one.delivery_id),
                "status": None if one.delivery is None else str(one.delivery.status),
                "accepted_at": None if one.delivery is None else moment(one.delivery.accepted_at),
                "why": one.why,
            }
            for one in dossier.deliveries
        ],
    }


def _tell_customer(dossier: Dossier, now: datetime) -> None:
    profile = dossier.profile
    state = "active" if profile.active else "inactive: gets nothing"
    say(f"{profile.customer_id} in {dossier.data_region}: {state}; {profile.locale}, {profile.time_zone}")
    out().print()
    contacts = table("Channel", "Address", "Digest", "Reminder", "Suppressed")
    for contact in dossier.contacts:
        contacts.add_row(
            contact.channel,
            contact.address or "none",
            *(contact.consent[topic] or "never asked" for topic in ("digest", "reminder")),
            contact.suppressed or "no",
        )
    out().print(contacts)
    if dossier.endpoint is not None:
        out().print()
        say(f"Webhook endpoint: {endpoint_in_words(dossier.endpoint, now)}")
    _tell_schedules(dossier, now)
    _tell_deliveries(dossier.deliveries)


def _tell_schedules(dossier: Dossier, now: datetime) -> None:
    out().print()
    if not dossier.schedules:
        say("No schedule: nothing will be sent. Import the customer with digest_weekday and digest_time")
    for one in dossier.schedules:
        say(f"{one.what}: {one.when}, {' and '.join(one.channels) or 'no channel'}; {one.state}")
        if one.next_run_at is not None:
            run = _both_times(one.next_run_at, dossier.profile.time_zone)
            say(f"  next run {run}, {distance(one.next_run_at, now)}")


def _both_times(instant: datetime, time_zone: str) -> str:
    try:
        return f"{local(instant, zone(time_zone))} = {utc(instant)}"
    except UnknownTimeZoneError:
        return utc(instant)


def _tell_deliveries(deliveries: tuple[Expected, ...]) -> None:
    listed = [one for one in deliveries if one.delivery_id.topic is Topic.DIGEST]
    before: list[Expected] = []
    while listed and listed[-1].why == BEFORE_FIRST_RUN:
        before.append(listed.pop())
    listed.extend(one for one in deliveries if one.delivery_id.topic is Topic.REMINDER)
    out().print()
    if listed:
        shown = table("Delivery", "State", "Accepted at (UTC), or why not")
        for one in listed:
            state = "not selected" if one.delivery is None else one.delivery.status.replace("_", " ")
            at = None if one.delivery is None else one.delivery.accepted_at
            shown.add_row(str(one.delivery_id), state, one.why if at is None else utc(at).removesuffix(" UTC"))
        out().print(shown)
    if before:
        oldest, newest = before[0].delivery_id.occasion, before[-1].delivery_id.occasion
        say(f"No digest of the weeks {oldest} to {newest}: {BEFORE_FIRST_RUN}")
