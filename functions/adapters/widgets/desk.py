"""What every widget works with, and the way from a request to a page, whatever goes wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from botocore.exceptions import BotoCoreError, ClientError

from functions.adapters.audit import AuditTrail
from functions.adapters.counts import where_raised
from functions.adapters.telemetry import logger
from functions.adapters.traffic import DynamoTraffic
from functions.core.identity import Channel, DeliveryId, InvalidIdError
from functions.core.widgets.page import Looks, Notice, Press, render
from functions.core.widgets.request import WidgetFaultError, WidgetRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from functions.adapters.dead_letter_queue import DeadLetterQueue
    from functions.adapters.region_tables import RegionTables
    from functions.core.ports import Clock

_MISSING: Final = frozenset(
    {"ResourceNotFoundException", "AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist"}
)
_DENIED: Final = frozenset({"AccessDenied", "AccessDeniedException", "AuthorizationError"})


@dataclass(frozen=True, slots=True)
class Endpoints:
    """ARNs of the function that draws widgets, and of the one that does what their buttons say."""

    widgets: str
    operate: str


@dataclass(frozen=True, slots=True)
class WidgetDesk:
    """A region as its widgets see it. `rates` are sends a second."""

    tables: RegionTables
    dead_letter_queues: Mapping[Channel, DeadLetterQueue]
    rates: Mapping[Channel, float]
    clock: Clock
    endpoints: Endpoints

    @property
    def traffic(self) -> DynamoTraffic:
        """The channels' gates."""
        return DynamoTraffic(self.tables.dynamodb, self.tables.control_table)

    @property
    def trail(self) -> AuditTrail:
        """The record of what operators did."""
        return AuditTrail(self.tables.dynamodb, self.tables.control_table)

    def show(self, widget: str, label: str, *, about: str | None = None, style: str = "link", **params: str) -> Press:
        """Something to press that shows another page in this widget's place."""
        return Press(label, self.endpoints.widgets, {"widget": widget, **params}, about=about, style=style)

    def act(
        self, action: str, label: str, *, confirmation: str, about: str, style: str = "button", **params: str
    ) -> Press:
        """Something to press that changes something, once its confirmation was given."""
        return Press(label, self.endpoints.operate, {"action": action, **params}, confirmation, about, style)


def looks_of(request: WidgetRequest, notice: Notice | None = None) -> Looks:
    """How the page looks that answers a request."""
    return Looks(request.theme, notice, request.forms)


def delivery_asked_for(request: WidgetRequest, name: str = "delivery_id") -> DeliveryId:
    """The delivery that a request is about. Raises WidgetFaultError."""
    text = request.needed(name, "give an id such as digest:c-10428:2026-11-16:email")
    try:
        return DeliveryId.parse(text)
    except InvalidIdError as error:
        raise WidgetFaultError(str(error)) from None


def channel_asked_for(request: WidgetRequest) -> Channel:
    """The channel that a request is about. Raises WidgetFaultError."""
    named = request.params.get("channel", "")
    if named not in set(Channel):
        raise WidgetFaultError(f"channel: must be one of {', '.join(Channel)}")
    return Channel(named)


def answered(request: WidgetRequest, draw: Callable[[WidgetRequest], str], done: Notice | None = None) -> str:
    """Draw a page; where that cannot be done, one that says why and names the way out, never how the code got there.

    `done` is what has come of an action before, and is told in any case.
    """
    try:
        return draw(request)
    except WidgetFaultError as fault:
        text = str(fault)
    except (ClientError, BotoCoreError) as error:
        text = aws_fault(error)
        logger.error("widget.refused", extra={"error": text, "at": where_raised(error)})
    except Exception as error:  # noqa: BLE001 - whoever looks gets a page, whatever broke
        text = "This page could not be drawn. The function's log says where: `widget.failed`."
        logger.error("widget.failed", extra={"error": type(error).__name__, "at": where_raised(error)})
    if done is not None:
        text = f"{done.text} What is there now could not be shown: {text}"
    return render("fault", looks_of(request, Notice(text)))


def aws_fault(error: ClientError | BotoCoreError) -> str:
    """What AWS refused, and the way out. Never AWS's own message, which may quote what it was sent."""
    if isinstance(error, BotoCoreError):
        return f"AWS did not answer ({type(error).__name__}): look again; if it stays, look into AWS Health."
    code, operation = error.response["Error"]["Code"], error.operation_name
    if code in _MISSING:
        return f"{operation} found nothing to ask ({code}): the stack is being deployed, or a table or queue is gone."
    if code in _DENIED:
        return f"The function may not do {operation} ({code}): its role is another release's; deploy the stack again."
    return f"AWS answered {operation} with {code}: look again; if it stays, look into AWS Health."
