"""What is told of the customers' endpoints: whose is called no more, and why. Never where it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from functions import names
from functions.adapters.counts import Counts, where_raised
from functions.adapters.telemetry import logger
from functions.core.identity import Channel
from functions.core.instants import to_text

if TYPE_CHECKING:
    from functions.core.webhook_endpoint import Health


def endpoint_disabled(customer_id: str, health: Health) -> None:
    """Tell that an endpoint has just been disabled, until somebody enables it or its address changes."""
    counts = Counts()
    cause = "unknown" if health.disabled_because is None else str(health.disabled_because)
    counts.add(names.METRIC_ENDPOINTS_DISABLED, channel=Channel.WEBHOOK, outcome=cause)
    counts.flush()
    about = {
        "customer_id": customer_id,
        "cause": cause,
        "code": health.last_code,
        "failures": health.failures,
        "failing_since": None if health.failing_since is None else to_text(health.failing_since),
    }
    logger.warning("endpoint.disabled", extra=about)


def endpoint_unnoted(customer_id: str, error: Exception) -> None:
    """Tell that how an endpoint answered could not be written down; the delivery itself is settled."""
    about = {"customer_id": customer_id, "error": type(error).__name__, "at": where_raised(error)}
    logger.warning("endpoint.not_noted", extra=about)
