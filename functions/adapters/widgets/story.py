"""Widget `story`: one delivery from its plan to its receipt, or a customer's week, also where nothing came to be."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any, Final

from functions import names
from functions.adapters.dossiers import customer_rows, erased_at
from functions.adapters.widgets.desk import delivery_asked_for, looks_of
from functions.core.answers import (
    SKIPPED_BECAUSE,
    accepted,
    enqueued,
    next_action,
    on_return,
    receipt_in_words,
    selected,
)
from functions.core.calendar import monday_of
from functions.core.delivery import FINISHED, Delivery, Status
from functions.core.identity import InvalidIdError, opaque_id
from functions.core.settlement import refuted
from functions.core.traffic import GatePosition
from functions.core.widgets.marks import mark_of_row
from functions.core.widgets.page import Notice, Press, render
from functions.core.widgets.request import WidgetFaultError
from functions.core.wording import utc

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from functions.adapters.dossiers import Expected
    from functions.adapters.widgets.desk import WidgetDesk
    from functions.core.identity import DeliveryId
    from functions.core.widgets.request import WidgetRequest

ACTIONS_SHOWN: Final = 5


def draw(desk: WidgetDesk, request: WidgetRequest, notice: Notice | None = None) -> str:
    """Draw the story that was asked for, or the fields to ask with."""
    try:
        if request.text("delivery_id") is not None:
            return _delivery(desk, request, delivery_asked_for(request), notice)
        if request.text("customer_id") is not None:
            return _customer(desk, request, notice)
    except WidgetFaultError as fault:
        said = "" if notice is None else f"{notice.text} "
        return _page(request, Notice(f"{said}{fault}"), desk)
    return _page(request, notice, desk)


def _page(request: WidgetRequest, notice: Notice | None, desk: WidgetDesk, **view: Any) -> str:  # noqa: ANN401 - parts of the page
    blank = dict.fromkeys(("delivery", "absence", "customer"))
    return render(
        "story",
        looks_of(request, notice),
        now=desk.clock(),
        data_region=desk.tables.data_region,
        asked={name: request.text(name) or "" for name in ("delivery_id", "customer_id", "period")},
        find=desk.show(names.WIDGET_STORY, "Show", about="the delivery", style="main"),
        find_week=desk.show(names.WIDGET_STORY, "Show", about="the customer's week", style="main", delivery_id=""),
        attention=desk.show(names.WIDGET_ATTENTION, "What needs attention"),
        **(blank | view),
    )


# --- one delivery -----------------------------------------------------------------------------------------------------


def _delivery(desk: WidgetDesk, request: WidgetRequest, delivery_id: DeliveryId, notice: Notice | None) -> str:
    row = desk.tables.ledger.read([str(delivery_id)]).get(str(delivery_id))
    if row is None:
        return _absence(desk, request, delivery_id, notice)
    now = desk.clock()
    delivery = {
        "id": str(row.delivery_id),
        "status": str(row.status),
        "answers": [("Selected", selected(row)), ("Enqueued", enqueued(row)), ("Accepted", accepted(row))],
        "next": next_action(row),
        "held": _held(desk, row, now),
        "facts": list(_facts(row, now)),
        "history": row.history,
        "presses": list(_presses(desk, row, now)),
        "may_be_accepted": row.status is Status.UNCERTAIN,
        "actions": desk.trail.latest(ACTIONS_SHOWN, about=str(row.delivery_id)),
        "again": desk.show(names.WIDGET_STORY, "Look again", delivery_id=str(row.delivery_id)),
    }
    return _page(request, notice, desk, delivery=delivery)


def _facts(row: Delivery, now: datetime) -> Iterator[tuple[str, str]]:
    yield "Due", utc(row.due_at)
    yield "Expires", utc(row.expires_at)
    yield "Template", row.template_id
    if row.provider is not None:
        yield "Provider", row.provider
    if row.provider_reference is not None:
        yield "Reference", row.provider_reference
    if row.receipt is not None:
        yield "Receipt", receipt_in_words(row.receipt)
    if row.failure is not None:
        yield "Failure", f"{row.failure.failure_class} ({row.failure.code}), {utc(row.failure.at)}"
    if row.summary is not None:
        yield "Summary", f"{row.summary.outcome}, {row.summary.recipe.prompt_version}"
    if row.erased_at is not None:
        yield "Erased", f"the customer, {utc(row.erased_at)}"
    if row.exhausted():
        yield "Message", f"SQS moved it to the dead-letter queue; if moved back: {on_return(row, now)}"


def _held(desk: WidgetDesk, row: Delivery, now: datetime) -> str | None:
    """That its channel is stopped, where that matters."""
    gate = desk.traffic.gate(row.delivery_id.channel)
    if row.status in FINISHED or gate.position(now) is GatePosition.OPEN:
        return None
    return f"{row.delivery_id.channel} is {gate.in_words(now)}: nothing of it is sent before that ends"


def _presses(desk: WidgetDesk, row: Delivery, now: datetime) -> Iterator[Press]:
    about, shown = str(row.delivery_id), mark_of_row(row)
    if row.status is Status.DEAD_LETTER:
        late = now >= row.expires_at
        becomes = "It is too late to be sent: it ends as expired." if late else "It is sent again, under the same id."
        cause = "" if row.exhausted() else " The provider refused it as it was: mend the address or the request first."
        yield desk.act(
            "redrive",
            "Redrive",
            confirmation=f"Redrive {about}? 1 delivery. {becomes}{cause} This cannot be undone.",
            about=about,
            delivery_id=about,
            shown=shown,
        )
    if row.status is Status.UNCERTAIN:
        yield desk.act(
            "confirm",
            "The provider has it",
            confirmation=f"Settle {about} as accepted, under the reference that you typed? 1 delivery. "
            "It is done then, and never sent again.",
            about=about,
            delivery_id=about,
            shown=shown,
        )
        yield desk.act(
            "refute",
            "The provider never had it",
            confirmation=f"Settle {about} as not accepted? 1 delivery. {_if_refuted(row, now)} "
            "If the provider had it after all, the customer gets it twice.",
            about=about,
            style="danger",
            delivery_id=about,
            shown=shown,
        )


def _if_refuted(row: Delivery, now: datetime) -> str:
    after = refuted(row, at=now)
    if after.status is Status.RETRYABLE:
        return "It is sent again within minutes."
    return f"It becomes {str(after.status).replace('_', ' ')}; nothing is sent."


def _absence(desk: WidgetDesk, request: WidgetRequest, delivery_id: DeliveryId, notice: Notice | None) -> str:
    customer = customer_rows(desk.tables, delivery_id.customer_id)
    if customer is None:
        raise WidgetFaultError(_nobody(desk, delivery_id.customer_id))
    absence = customer.absence(delivery_id, now=desk.clock())
    skip = absence.would_skip
    would = None if skip is None else f"it would be skipped ({skip}): {SKIPPED_BECAUSE[skip]}"
    return _page(request, notice, desk, absence={"id": str(delivery_id), "why": absence.why, "would": would})


# --- a customer and a week --------------------------------------------------------------------------------------------


def _customer(desk: WidgetDesk, request: WidgetRequest, notice: Notice | None) -> str:
    customer_id = _customer_id(request)
    monday = _monday(request)
    customer = customer_rows(desk.tables, customer_id)
    if customer is None:
        raise WidgetFaultError(_nobody(desk, customer_id))
    now = desk.clock()
    expected = customer.deliveries(now) if monday is None else customer.week(monday, now=now)
    view = {
        "id": customer_id,
        "active": customer.profile.active,
        "period": monday,
        "schedules": customer.schedules(now),
        "deliveries": [_expected(desk, one) for one in expected],
    }
    return _page(request, notice, desk, customer=view)


def _expected(desk: WidgetDesk, one: Expected) -> dict[str, Any]:
    accepted_at = None if one.delivery is None else one.delivery.accepted_at
    return {
        "press": desk.show(names.WIDGET_STORY, str(one.delivery_id), delivery_id=str(one.delivery_id)),
        "state": "not selected" if one.delivery is None else str(one.delivery.status),
        "why": one.why if accepted_at is None else utc(accepted_at),
    }


def _customer_id(request: WidgetRequest) -> str:
    try:
        return opaque_id(request.needed("customer_id", "give an id such as c-10428"), field="customer_id")
    except InvalidIdError as error:
        raise WidgetFaultError(str(error)) from None


def _monday(request: WidgetRequest) -> date | None:
    text = request.text("period")
    if text is None:
        return None
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise WidgetFaultError("period: must be a date such as 2026-11-16, or nothing for the last weeks") from None
    if day != monday_of(day):
        raise WidgetFaultError(f"period: no week opens on {day}; the one that it lies in opens on {monday_of(day)}")
    return day


def _nobody(desk: WidgetDesk, customer_id: str) -> str:
    at = erased_at([desk.tables], customer_id, desk.clock())
    where = desk.tables.data_region
    if at is not None:
        return f"customer_id: the customer was erased, {utc(at)}"
    return f"customer_id: nobody of that id in {where}: never imported, erased, or in another data region"
