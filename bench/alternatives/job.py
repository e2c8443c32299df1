"""The job that every contestant does for a delivery: compose the customer's email, hand it to a provider.

The provider does nothing but note what it accepted, one line for each, in a folder that outlives a worker. Where a
worker is to die, it dies in there: right before a send is taken, or right after, before anybody could settle it.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from enum import StrEnum
from pathlib import Path
from typing import Final, Never, Self

from bench import cast
from functions.core.composition import Composer, Moment
from functions.core.customer import Activity, Profile, ReminderSchedule
from functions.core.delivery import Delivery
from functions.core.envelope import EmailEnvelope
from functions.core.identity import Channel, DeliveryId
from functions.core.instants import from_text, to_text
from functions.core.keyring import KeyRing
from functions.core.unsubscribe_token import UnsubscribeLinks

RETRY_AFTER_S: Final = 1
FOLDER, FAILS_EVERY, DIES, DUE_AT = "BENCH_FOLDER", "BENCH_FAILS_EVERY", "BENCH_DIES", "BENCH_DUE_AT"
DELIVERIES: Final = "BENCH_DELIVERIES"
_SENT: Final = "sent"


class Death(StrEnum):
    """Where a worker dies."""

    BEFORE = "before"  # the provider took it
    AFTER = "after"


@dataclass(frozen=True)
class Task:
    """What is to be done, as a contestant's processes are told by their environment."""

    folder: Path
    deliveries: int
    due_at: datetime
    fails_every: int  # of so many deliveries one fails the first time; 0: none does
    dies: Death | None = None

    @classmethod
    def from_environment(cls) -> Self:
        """Read what `environment` says."""
        dies = os.environ[DIES]
        return cls(
            Path(os.environ[FOLDER]),
            int(os.environ[DELIVERIES]),
            from_text(os.environ[DUE_AT]),
            int(os.environ[FAILS_EVERY]),
            Death(dies) if dies else None,
        )

    @property
    def environment(self) -> dict[str, str]:
        """The variables that a contestant's processes read."""
        return {
            FOLDER: str(self.folder),
            DELIVERIES: str(self.deliveries),
            DUE_AT: to_text(self.due_at),
            FAILS_EVERY: str(self.fails_every),
            DIES: "" if self.dies is None else str(self.dies),
        }

    @property
    def delivery_ids(self) -> Iterator[str]:
        """Every delivery's id."""
        return (email_of(number, due_at=self.due_at) for number in range(self.deliveries))

    @property
    def marked(self) -> int:
        """The number at which a worker dies: in the middle, and none that fails."""
        return self.deliveries // 2 + 1


def email_of(number: int, *, due_at: datetime) -> str:
    """Return the id of a customer's email, which has the same length for everybody."""
    return str(_email(cast.deliveries_of(number, due_at=due_at)).delivery_id)


def _email(deliveries: Sequence[Delivery]) -> Delivery:
    (email,) = (one for one in deliveries if one.delivery_id.channel is Channel.EMAIL)
    return email


class NullProvider:
    """Accepts at once, but for those that fail the first time; `send` says whether it did."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._log = os.open(task.folder / _SENT, os.O_CREAT | os.O_WRONLY | os.O_APPEND)

    def send(self, delivery_id: str) -> bool:
        """Take one delivery, as often as it is sent."""
        number = cast.number_of(DeliveryId.parse(delivery_id).customer_id)
        fails = self._task.fails_every and number % self._task.fails_every == 0
        if fails and self._first(f"failed-{number}"):
            return False
        dies = self._task.dies if number == self._task.marked and self._first("died") else None
        if dies is Death.BEFORE:
            _die()
        os.write(self._log, f"{delivery_id}\n".encode())
        if dies is Death.AFTER:
            _die()
        return True

    def _first(self, mark: str) -> bool:
        """Whether nobody was here before, in any process: what is made once is told apart by the file system."""
        try:
            os.close(os.open(self._task.folder / mark, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True


def _die() -> Never:
    """End this worker as a machine ends that loses its power: every process of it, in the middle of a line."""
    os.killpg(os.getpgrp(), signal.SIGKILL)
    signal.pause()
    raise AssertionError


def sends(folder: Path) -> Counter[str]:
    """Return how often each delivery was accepted."""
    log = folder / _SENT
    return Counter(log.read_text().splitlines()) if log.exists() else Counter()


def how_many(task: Task) -> int:
    """Return how many sends were accepted, duplicates included, without reading them."""
    log = task.folder / _SENT
    return log.stat().st_size // (len(email_of(0, due_at=task.due_at)) + 1) if log.exists() else 0


def composing(task: Task) -> Callable[[str], EmailEnvelope]:
    """Return what writes a delivery's email, all that it takes being in memory already."""
    delivery = _email(cast.deliveries_of(0, due_at=task.due_at))
    customers = _InMemory(cast.a_profile(0), cast.activities(date.fromisoformat(delivery.period)))
    keys = KeyRing.parse('{"0": "a key that signs links in a benchmark and nothing else"}')
    links = UnsubscribeLinks("https://leave.example.com/", lambda: keys)
    composer = Composer(customers, "digest@example.com", "https://shop.example.com", unsubscribe=links)
    moment = Moment(task.due_at, task.due_at)

    def compose(delivery_id: str) -> EmailEnvelope:
        composed = composer.compose(replace(delivery, delivery_id=DeliveryId.parse(delivery_id)), moment)
        if not isinstance(composed, EmailEnvelope):
            raise TypeError(f"an email was to be composed, not {composed}")
        return composed

    return compose


@dataclass(frozen=True)
class _InMemory:
    """`Customers`: everybody is alike but for the id."""

    profile: Profile
    activities: Sequence[Activity]

    def digest_material(self, customer_id: str, since: date) -> tuple[Profile, Sequence[Activity]]:  # noqa: ARG002
        return replace(self.profile, customer_id=customer_id), self.activities

    def reminder_material(self, customer_id: str, event_id: str) -> tuple[Profile | None, ReminderSchedule | None]:
        raise NotImplementedError
