"""The messages on the receipts queue: one event each, with our tags and the provider's codes, and nobody's address.

Whoever puts events there picks these fields out of them: an EventBridge rule for SES and End User Messaging
(`stacks/receipts.py`), the intake function for webhooks. All are text, and a field that an event does not have is
empty: that is all that EventBridge's input transformer can promise.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from functions.core.identity import ID_TAGS, DeliveryId, InvalidIdError
from functions.core.instants import from_text
from functions.core.message import PoisonError
from functions.core.receipt_codes import meaning
from functions.core.receipts import ReceiptEvent

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMA_VERSION: Final = 1
# What codes and ids look like. Anything else may be words, and words may quote an address.
_CODE: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_ID: Final = re.compile(r"[A-Za-z0-9_.:-]{1,128}")
_STATUS: Final = re.compile(r"[245]\.[0-9]{1,3}\.[0-9]{1,3}")


def _text(value: object) -> object:
    return "" if value is None else value


def _tags(value: object) -> dict[str, str]:
    """Of all tags, the parts of our id. SES has a list of values for each, Resend may list pairs of name and value."""
    if isinstance(value, list):
        value = {one.get("name"): one.get("value") for one in value if isinstance(one, dict)}
    if not isinstance(value, dict):
        return {}
    found = {part: value[part] for part in ID_TAGS if part in value}
    return {part: str(held[0]) if isinstance(held, list) and held else str(held) for part, held in found.items()}


_Text = Annotated[str, BeforeValidator(_text), Field(max_length=256)]


class ReceiptMessage(BaseModel):
    """Body of a message on the receipts queue."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    schema_version: Literal[1] = SCHEMA_VERSION
    provider: Literal["ses", "eum", "http"]
    event_id: _Text = Field(min_length=1)
    kind: _Text = Field(min_length=1)
    reference: _Text = ""
    tags: Annotated[dict[str, str], BeforeValidator(_tags)] = Field(default_factory=dict, repr=False)
    bounce: _Text = ""  # Permanent, Transient
    detail: _Text = ""  # MailboxFull, abuse, UNREACHABLE
    status: _Text = ""  # 5.1.1
    at: _Text = ""  # when it happened, as the provider says: ISO 8601, or milliseconds since the epoch
    time: _Text = ""  # when the event was made, as a stand-in for `at`
    arrived_at: _Text = ""  # when it reached us; the queue's own time stands in for it

    def to_body(self) -> str:
        """Return the JSON text to send."""
        return self.model_dump_json(exclude_defaults=True)

    def as_event(self, *, queued_at: datetime) -> ReceiptEvent:
        """Return the event. `queued_at` is when the message was put on the queue."""
        arrived_at = _instant(self.arrived_at) or queued_at
        said = _instant(self.at) or _instant(self.time) or arrived_at
        return ReceiptEvent(
            provider=self.provider,
            event_id=self.event_id,
            reference=self.reference or None,
            delivery_id=_delivery_id(self.tags),
            kind=self.kind,
            state=meaning(self.provider, self.kind, bounce=self.bounce, status=self.status),
            # Nothing happens after we hear of it: a clock that is ahead must not outdo what a person decides later.
            at=min(said, arrived_at),
            arrived_at=arrived_at,
            code=self._code(),
        )

    def _code(self) -> str:
        status = self.status if _STATUS.fullmatch(self.status) else ""
        said = [one for one in (self.bounce, self.detail, status) if _CODE.fullmatch(one)]
        return "/".join(said) or self.kind


def read_receipt(body: str, *, queued_at: datetime) -> ReceiptEvent:
    """Read a body that arrived on the receipts queue.

    Raises PoisonError for what does not parse; its text names fields but never a value.
    """
    try:
        return ReceiptMessage.model_validate_json(body).as_event(queued_at=queued_at)
    except ValidationError as error:
        fields = sorted({str(detail["loc"][0]) if detail["loc"] else "body" for detail in error.errors()})
        known = [field for field in fields if field in {*ReceiptMessage.model_fields, "body"}]
        msg = f"not a receipt message of version {SCHEMA_VERSION}: {', '.join(known)}"
        raise PoisonError(msg) from None


def webhook_message(event: Any, *, event_id: str, arrived_at: str) -> ReceiptMessage | None:  # noqa: ANN401 - any JSON
    """Return what we keep of an email provider's webhook (Resend's is the pattern); None if it tells us nothing.

    Whatever in it does not look like an id, a code or a time is left out: it might be an address.

    https://resend.com/docs/webhooks/event-types
    """
    if not isinstance(event, dict) or not isinstance(event.get("data"), dict):
        return None
    data: Mapping[str, Any] = event["data"]
    bounce: Mapping[str, Any] = data["bounce"] if isinstance(data.get("bounce"), dict) else {}
    delivery_id = _delivery_id(_tags(data.get("tags")))
    kept = {
        "provider": "http",
        "event_id": _matching(_ID, event_id),
        "kind": _matching(_CODE, event.get("type")),
        "reference": _matching(_ID, data.get("email_id")),
        "tags": None if delivery_id is None else delivery_id.as_tags(),
        "bounce": _matching(_CODE, bounce.get("type")),
        "detail": _matching(_CODE, bounce.get("subType")),
        "at": None if _instant(event.get("created_at")) is None else event["created_at"],
        "arrived_at": arrived_at,
    }
    try:
        message = ReceiptMessage.model_validate(kept)
    except ValidationError:
        return None
    return None if meaning("http", message.kind) is None else message


def _matching(form: re.Pattern[str], value: object) -> str:
    return value if isinstance(value, str) and form.fullmatch(value) else ""


def _delivery_id(tags: Mapping[str, str]) -> DeliveryId | None:
    try:
        return DeliveryId.from_tags(tags)
    except InvalidIdError:
        return None


def _instant(text: object) -> datetime | None:
    if not isinstance(text, str):
        return None
    try:
        if text.isdecimal():
            return datetime.fromtimestamp(int(text) / 1000, UTC)
        return from_text(text)
    except (ValueError, OverflowError, OSError):
        return None
