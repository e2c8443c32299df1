"""How a customer's webhook endpoint has been doing, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from functions.core.webhook_endpoint import DisabledBecause, Health
from functions.core.wording import count_of, utc
from ops.cli.output import moment

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

_BECAUSE: Final[Mapping[DisabledBecause | None, str]] = {
    DisabledBecause.GONE: "it answered 410 Gone",
    DisabledBecause.FAILING: "nothing but failures for days",
    None: "for a reason that this release does not know",
}


def endpoint_state(health: Health, now: datetime) -> str:
    """`called`, `disabled`, `resting` or `failing`."""
    if health.disabled_at is not None:
        return "disabled"
    if health.rests_until(now) is not None:
        return "resting"
    return "failing" if health.failures else "called"


def endpoint_in_words(health: Health, now: datetime) -> str:
    """One line: what is done with the endpoint, and since when."""
    if health.disabled_at is not None:
        return f"disabled since {utc(health.disabled_at)}: {_BECAUSE[health.disabled_because]}"
    if not health.failures or health.failing_since is None:
        return "called; no failure since its last success"
    failing = f"{count_of(health.failures, 'failure')} in a row since {utc(health.failing_since)} ({health.last_code})"
    until = health.rests_until(now)
    return f"called; {failing}" if until is None else f"left alone until {utc(until)}; {failing}"


def endpoint_as_json(health: Health, now: datetime) -> dict[str, Any]:
    """The same for machines."""
    return {
        "state": endpoint_state(health, now),
        "failures": health.failures,
        "failing_since": moment(health.failing_since),
        "last_failure_at": moment(health.last_failure_at),
        "last_code": health.last_code,
        "rests_until": moment(health.rests_until(now)),
        "disabled_at": moment(health.disabled_at),
        "disabled_because": None if health.disabled_because is None else str(health.disabled_because),
    }
