"""Who the check writes to: mailboxes of SES's simulator, and an endpoint of our own.

What is sent to the simulator is billed like any other email, and changes nothing of the account's quota, its rates or
its suppression list: https://docs.aws.amazon.com/ses/latest/DeveloperGuide/mailbox-simulator.html
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from functions import names
from functions.core.delivery import ReceiptState
from functions.core.identity import Channel
from functions.core.receipts import SuppressionCause

SIMULATOR: Final = "simulator.amazonses.com"


@dataclass(frozen=True, slots=True)
class Probe:
    """A customer of the check, and what the provider says afterwards of what was sent to them.

    Args:
        name: as it is told of: `bounce`.
        becomes: the receipt that is to come; None where there is none.
        closes: why the channel is closed to them then.
    """

    name: str
    channel: Channel
    address: str
    becomes: ReceiptState | None = None
    closes: SuppressionCause | None = None

    @property
    def customer_id(self) -> str:
        """Always the same, so that a run finds what one that was killed has left."""
        return names.SMOKE_PREFIX + self.name


DELIVERY: Final = Probe("success", Channel.EMAIL, f"success@{SIMULATOR}", ReceiptState.DELIVERED)
BOUNCE: Final = Probe(
    "bounce", Channel.EMAIL, f"bounce@{SIMULATOR}", ReceiptState.BOUNCED, SuppressionCause.HARD_BOUNCE
)
COMPLAINT: Final = Probe(
    "complaint", Channel.EMAIL, f"complaint@{SIMULATOR}", ReceiptState.COMPLAINED, SuppressionCause.COMPLAINT
)
EMAILS: Final = (DELIVERY, BOUNCE, COMPLAINT)
CUSTOMERS: Final = (*(probe.customer_id for probe in EMAILS), names.SMOKE_WEBHOOK_CUSTOMER)


def webhook(url: str) -> Probe:
    """The probe that calls the endpoint of the stack."""
    return Probe(names.SMOKE_WEBHOOK_CUSTOMER.removeprefix(names.SMOKE_PREFIX), Channel.WEBHOOK, url)
