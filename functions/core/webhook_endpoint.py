"""A customer's webhook endpoint: the secrets that its messages are signed with, and how it has been answering.

```
fine ──failure──> failing ──more of them──> rests between calls ──days of nothing else──> disabled
  ^                  │                            │                                          ^
  └────any success───┴────────────────────────────┘                          410 Gone ───────┘
```
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from functions.core.outcome import Dedupe, Guarantee, OutcomeClass
from functions.names import WEBHOOK_ID_KNOWN_FOR_S

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from functions.core.outcome import Outcome

# Standard Webhooks has receivers know a `webhook-id` again, without saying for how long; our documentation does. It is
# a promise that each customer's own server has to keep.
GUARANTEE: Final = Guarantee(Dedupe.WINDOW, window=timedelta(seconds=WEBHOOK_ID_KNOWN_FOR_S))
OVERLAP: Final = timedelta(days=1)  # how long a secret still signs after its successor was made
DISABLE_AFTER: Final = timedelta(days=5)
GONE: Final = "gone"
# Three failures in a row may be one delivery's own retries. From then on, whatever else is due for the endpoint waits,
# without a call, so that a dead host costs its customers time and nobody else a consumer.
RESTS_FROM: Final = 3
FIRST_REST: Final = timedelta(minutes=1)
LONGEST_REST: Final = timedelta(hours=1)


class DisabledBecause(StrEnum):
    """Why an endpoint is called no more, until it is enabled or another address takes its place."""

    GONE = "gone"  # it answered 410
    FAILING = "failing"  # for days, without one success


@dataclass(frozen=True, slots=True)
class SigningSecret:
    """A secret as Standard Webhooks writes it, `whsec_...`; `ends_at` once there is a newer one."""

    text: str = field(repr=False)
    ends_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Health:
    """How the endpoint at one address has been answering. It ends with the address: a new one starts well."""

    address_mark: str = ""
    failures: int = 0  # in a row
    failing_since: datetime | None = None
    last_failure_at: datetime | None = None
    last_code: str | None = None
    disabled_at: datetime | None = None
    disabled_because: DisabledBecause | None = None

    def after(self, outcome: Outcome, *, at: datetime, disable_after: timedelta) -> Health:
        """Return the health after an attempt."""
        if outcome.outcome is OutcomeClass.ACCEPTED:
            return Health(self.address_mark)
        failing = replace(
            self,
            failures=self.failures + 1,
            failing_since=self.failing_since or at,
            last_failure_at=at,
            last_code=outcome.code,
        )
        return _disabled(failing, at=at, disable_after=disable_after)

    def rests_until(self, now: datetime) -> datetime | None:
        """Until when the endpoint is not to be called, or None if it may be."""
        if self.failures < RESTS_FROM or self.last_failure_at is None:
            return None
        doublings = min(self.failures - RESTS_FROM, 16)
        until = self.last_failure_at + min(FIRST_REST * 2**doublings, LONGEST_REST)
        return until if until > now else None


def _disabled(failing: Health, *, at: datetime, disable_after: timedelta) -> Health:
    if failing.disabled_at is not None:
        return failing
    if failing.last_code == GONE:
        return replace(failing, disabled_at=at, disabled_because=DisabledBecause.GONE)
    if failing.failing_since is not None and at - failing.failing_since > disable_after:
        return replace(failing, disabled_at=at, disabled_because=DisabledBecause.FAILING)
    return failing


@dataclass(frozen=True, slots=True)
class WebhookEndpoint:
    """What is on record of a customer's endpoint beside its address. `version` fences what is noted of its health."""

    secrets: tuple[SigningSecret, ...] = field(default=(), repr=False)  # newest first
    health: Health = Health()
    version: int = 0

    def health_at(self, url: str) -> Health:
        """Return how the endpoint at that address has been answering."""
        mark = address_mark(url)
        return self.health if self.health.address_mark == mark else Health(mark)

    def signing(self, now: datetime) -> tuple[str, ...]:
        """Return the secrets that sign at this moment, newest first: two of them while one follows another."""
        return tuple(one.text for one in self.secrets if one.ends_at is None or one.ends_at > now)


def rotated(secrets: Iterable[SigningSecret], new: str, *, at: datetime) -> tuple[SigningSecret, ...]:
    """Return the secrets with a new one; the last one signs beside it for a day more."""
    kept = (one if one.ends_at is not None else replace(one, ends_at=at + OVERLAP) for one in secrets)
    return (SigningSecret(new), *(one for one in kept if one.ends_at is not None and one.ends_at > at))


def address_mark(url: str) -> str:
    """Return a mark by which an address is known again, and from which it cannot be read."""
    return hashlib.sha256(url.encode()).hexdigest()[:16]
