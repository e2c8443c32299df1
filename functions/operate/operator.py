"""Pausing and resuming a channel, redriving a delivery, settling one in doubt: each as it was shown, or not at all.

```
button: what, on which row, as shown ── the row is read ── still as shown? ── conditional write ── record ── page anew
                                                            │ no: nothing is done, the page says so and shows the row
```
A redrive is on record before it happens, as the command line does it. Everything else is done first: no record may
stand in the way of stopping a channel.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from botocore.exceptions import BotoCoreError, ClientError

from functions import names
from functions.adapters.audit import Action
from functions.adapters.telemetry import logger
from functions.adapters.widgets import channels, story
from functions.adapters.widgets.desk import answered, aws_fault, channel_asked_for, delivery_asked_for
from functions.core.delivery import Delivery, Status
from functions.core.provider_reference import ReferenceRefusedError, checked_reference
from functions.core.reasons import ReasonRefusedError, checked_reason
from functions.core.redrive import Redrive, Redriven
from functions.core.settlement import confirmed, refuted
from functions.core.traffic import GatePosition
from functions.core.widgets.marks import mark_of_gate, mark_of_row
from functions.core.widgets.page import Notice
from functions.core.widgets.request import WidgetFaultError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from functions.adapters.widgets.desk import WidgetDesk
    from functions.core.ports import DeliveryQueues
    from functions.core.widgets.request import WidgetRequest

ACTION: Final = "action"


class RefusedError(Exception):
    """Nothing was done; the text says why, and the page that shows it is drawn anew."""


@dataclass(frozen=True, slots=True)
class Operator:
    """Does one action for each request, and shows what it came to."""

    desk: WidgetDesk
    queues: DeliveryQueues
    who: str

    def act(self, request: WidgetRequest) -> str:
        """Do what was asked; return the page. Raises WidgetFaultError for what makes no sense at all."""
        channel_actions: Mapping[str, Callable[[WidgetRequest], str]] = {
            "pause": self._pause,
            "resume": self._resume,
        }
        row_actions: Mapping[str, Callable[[WidgetRequest], str]] = {
            "redrive": self._redrive,
            "confirm": self._confirm,
            "refute": self._refute,
        }
        asked = request.params.get(ACTION, "")
        if asked in channel_actions:
            notice = self._noted(channel_actions[asked], request)
            page = request.turned_to(names.WIDGET_CHANNELS) if notice.good else request
            return answered(page, partial(channels.draw, self.desk, notice=notice), notice)
        if asked in row_actions:
            about = str(delivery_asked_for(request))
            notice = self._noted(row_actions[asked], request)
            page = request.turned_to(names.WIDGET_STORY, delivery_id=about) if notice.good else request
            return answered(page, partial(story.draw, self.desk, notice=notice), notice)
        raise WidgetFaultError(f"{ACTION}: must be one of {', '.join((*channel_actions, *row_actions))}")

    def _noted(self, action: Callable[[WidgetRequest], str], request: WidgetRequest) -> Notice:
        try:
            return Notice(action(request), good=True)
        except (RefusedError, WidgetFaultError) as refusal:
            return Notice(f"Nothing was changed. {refusal}")

    # --- channels ---

    def _pause(self, request: WidgetRequest) -> str:
        channel, reason, now = channel_asked_for(request), _reason(request), self.desk.clock()
        if not self.desk.traffic.halt(channel, at=now, cause=reason):
            raise RefusedError(f"{channel} is halted already.")
        kept = self._record(Action(now, self.who, f"pause {channel}", reason))
        return f"{channel} is paused. Batches in hand are still sent, and nothing after them.{kept}"

    def _resume(self, request: WidgetRequest) -> str:
        channel, now = channel_asked_for(request), self.desk.clock()
        gate = self.desk.traffic.gate(channel)
        if gate.position(now) is GatePosition.OPEN:
            raise RefusedError(f"{channel} is open.")
        reason = _reason(request) if request.text("reason") else f"it was {gate.in_words(now)}"
        if mark_of_gate(gate) != request.text("shown") or not self.desk.traffic.resume(channel, seen=gate):
            raise RefusedError(f"{channel} has changed since this page was drawn: look at it as it is now.")
        kept = self._record(Action(now, self.who, f"resume {channel}", reason))
        return f"{channel} is resumed. The reconciler brings back what waits, within minutes.{kept}"

    # --- a delivery ---

    def _redrive(self, request: WidgetRequest) -> str:
        row, reason = self._row_as_shown(request, Status.DEAD_LETTER), _reason(request)
        action = Action(self.desk.clock(), self.who, f"redrive {row.delivery_id}", reason, 1)
        self.desk.trail.record(action)
        done = Redriven()
        redrive = Redrive(self.desk.tables.ledger, self.queues, self.desk.clock, sleep=_never, rate_per_second=1)
        try:
            redrive.run([row], done)
        finally:
            if not done.opened:
                self._record(replace(action, how_many=0))
        if done.moved_on:
            raise RefusedError("It was no dead letter any more when its turn came.")
        if done.too_late:
            return "It was too late to be sent: ended as expired."
        if done.not_taken:
            return "Redriven. Its queue did not take it just now; the reconciler brings it within minutes."
        return "Redriven: on its way to its consumer. A message of it in the dead-letter queue stays there."

    def _confirm(self, request: WidgetRequest) -> str:
        row, reason = self._row_as_shown(request, Status.UNCERTAIN), _reason(request)
        reference, now = _reference(request), self.desk.clock()
        self._settle(row, confirmed(row, reference, at=now))
        kept = self._record(Action(now, self.who, f"resolve {row.delivery_id} as accepted", reason))
        return f"Settled as accepted.{kept}"

    def _refute(self, request: WidgetRequest) -> str:
        row, reason = self._row_as_shown(request, Status.UNCERTAIN), _reason(request)
        now = self.desk.clock()
        self._settle(row, refuted(row, at=now))
        kept = self._record(Action(now, self.who, f"resolve {row.delivery_id} as not accepted", reason))
        return f"Settled as not accepted.{kept}"

    def _row_as_shown(self, request: WidgetRequest, status: Status) -> Delivery:
        delivery_id = str(delivery_asked_for(request))
        row = self.desk.tables.ledger.read([delivery_id]).get(delivery_id)
        if row is None or row.status is not status or mark_of_row(row) != request.text("shown"):
            raise RefusedError("It has changed since this page was drawn: look at it as it is now.")
        return row

    def _settle(self, row: Delivery, after: Delivery) -> None:
        ledger = self.desk.tables.ledger
        if not (ledger.write(row, after) or ledger.took_effect(row, after)):
            raise RefusedError("It was settled meanwhile.")

    def _record(self, action: Action) -> str:
        """Put on record what has been done; return what is to be said where that fails."""
        try:
            self.desk.trail.record(action)
        except (ClientError, BotoCoreError) as error:
            logger.error("action.not_recorded", extra={"what": action.what, "error": aws_fault(error)})
            return " It was done, but nothing of it is on record: note it yourself."
        return ""


def _reason(request: WidgetRequest) -> str:
    try:
        return checked_reason(request.needed("reason", "say why, for whoever asks; then press again"))
    except ReasonRefusedError as error:
        raise WidgetFaultError(f"reason: {error}") from None


def _reference(request: WidgetRequest) -> str:
    try:
        return checked_reference(request.needed("reference", "give the provider's id for the message"))
    except ReferenceRefusedError as error:
        raise WidgetFaultError(f"reference: {error}") from None


def _never(seconds: float) -> None:
    """One delivery keeps nobody waiting."""
