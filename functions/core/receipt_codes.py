"""What each provider's documented event types mean. One row a type; a type that nobody has seen has a rule too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from functions.core.delivery import ReceiptState

if TYPE_CHECKING:
    from collections.abc import Mapping

# Named, and telling nothing of what became of a message.
SAYS_NOTHING: Final = None

# As EventBridge names them: https://docs.aws.amazon.com/eventbridge/latest/ref/events-ref-ses.html
# A bounce is told apart further below.
SES: Final[Mapping[str, ReceiptState | None]] = {
    "Email Bounced": ReceiptState.BOUNCED,
    "Email Clicked": SAYS_NOTHING,
    "Email Complaint Received": ReceiptState.COMPLAINED,
    "Email Delivered": ReceiptState.DELIVERED,
    "Email Delivery Delayed": ReceiptState.DELAYED,
    "Email Opened": SAYS_NOTHING,
    "Email Rejected": ReceiptState.FAILED,  # taken, found to hold a virus, and not sent
    "Email Rendering Failed": ReceiptState.FAILED,
    "Email Sent": ReceiptState.SENT,
    "Email Subscribed": SAYS_NOTHING,
}

# https://docs.aws.amazon.com/sms-voice/latest/userguide/configuration-sets-event-types.html
# SUCCESSFUL (the carrier took it) and DELIVERED (the phone did) "may be used interchangeably", by country. Failures
# that lie with the phone pass or repeat, so they are soft bounces; those that lie with our text or route are not.
# UNKNOWN is what comes after 72 hours without news: no news is no receipt.
EUM: Final[Mapping[str, ReceiptState | None]] = {
    "TEXT_BLOCKED": ReceiptState.SOFT_BOUNCED,
    "TEXT_CARRIER_BLOCKED": ReceiptState.FAILED,
    "TEXT_CARRIER_UNREACHABLE": ReceiptState.SOFT_BOUNCED,
    "TEXT_DELIVERED": ReceiptState.DELIVERED,
    "TEXT_INVALID": ReceiptState.BOUNCED,
    "TEXT_INVALID_MESSAGE": ReceiptState.FAILED,
    "TEXT_PENDING": ReceiptState.SENT,
    "TEXT_PROTECT_BLOCKED": ReceiptState.FAILED,
    "TEXT_QUEUED": ReceiptState.SENT,
    "TEXT_SENT": ReceiptState.SENT,
    "TEXT_SPAM": ReceiptState.FAILED,
    "TEXT_SUCCESSFUL": ReceiptState.DELIVERED,
    "TEXT_TTL_EXPIRED": ReceiptState.SOFT_BOUNCED,
    "TEXT_UNKNOWN": ReceiptState.SENT,
    "TEXT_UNREACHABLE": ReceiptState.SOFT_BOUNCED,
}

# https://resend.com/docs/webhooks/event-types
HTTP: Final[Mapping[str, ReceiptState | None]] = {
    "email.bounced": ReceiptState.BOUNCED,
    "email.clicked": SAYS_NOTHING,
    "email.complained": ReceiptState.COMPLAINED,
    "email.delivered": ReceiptState.DELIVERED,
    "email.delivery_delayed": ReceiptState.DELAYED,
    "email.failed": ReceiptState.FAILED,
    "email.opened": SAYS_NOTHING,
    "email.received": SAYS_NOTHING,  # somebody wrote to us
    "email.scheduled": ReceiptState.SENT,
    "email.sent": ReceiptState.SENT,
    "email.suppressed": ReceiptState.BOUNCED,  # on the provider's own list: it bounced there before
}

BY_PROVIDER: Final[Mapping[str, Mapping[str, ReceiptState | None]]] = {"ses": SES, "eum": EUM, "http": HTTP}

# What a bounce is called that may pass by itself.
# https://docs.aws.amazon.com/ses/latest/dg/event-publishing-retrieving-sns-contents.html#event-publishing-retrieving-sns-contents-bounce-types
_PASSING: Final = frozenset({"transient", "undetermined", "temporary"})
# Enhanced status codes that never pass although SES calls such bounces transient: the domain takes no mail, or is none.
# https://www.rfc-editor.org/rfc/rfc3463: 5.1.2 bad destination system, 5.1.10 null MX, 5.4.4 unable to route.
_NEVER_PASS: Final = frozenset({"5.1.1", "5.1.2", "5.1.10", "5.4.4"})


def meaning(provider: str, kind: str, *, bounce: str = "", status: str = "") -> ReceiptState | None:
    """Return what an event says, None if nothing.

    `bounce` is what the provider calls the bounce (Permanent, Transient), `status` its enhanced status code (5.1.1). A
    type that nobody has seen before still says one thing, having our tag: the provider took the message.
    """
    state = BY_PROVIDER.get(provider, {}).get(kind, ReceiptState.SENT)
    passes = bounce.lower() in _PASSING and status not in _NEVER_PASS
    return ReceiptState.SOFT_BOUNCED if state is ReceiptState.BOUNCED and passes else state
