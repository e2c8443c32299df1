"""Customers whose digest is due now, as files that the command line imports."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, TypeVar

from functions import names
from functions.core.calendar import period_reported, zone
from functions.core.delivery import Delivery
from functions.core.identity import Channel, DeliveryId, Topic
from ops.local.emulator import Emulator
from ops.local.running_region import RunningRegion
from ops.local.simulated_provider import SimulatedProvider

WAKE_EVERY_S: Final = 15.0
Found = TypeVar("Found")
ZONE = "Etc/UTC"


@dataclass(frozen=True)
class Person:
    """One customer with a single order in the week that is reported. Everything personal in it can be searched for."""

    customer_id: str
    data_region: str
    digest_channels: str = "email,sms"
    email_consent: str = "opted_in"
    orders: int = 1
    webhook_url: str = ""
    due_at: datetime = field(default_factory=lambda: datetime.now(UTC).replace(second=0, microsecond=0))

    @property
    def email(self) -> str:
        return f"{self.customer_id}@example.com"

    @property
    def phone(self) -> str:
        return "+12025550143"

    @property
    def title(self) -> str:
        return f"Something for {self.customer_id} alone"

    @property
    def period(self) -> str:
        return period_reported(self.due_at, zone(ZONE)).isoformat()

    def delivery_id(self, channel: Channel) -> str:
        return str(DeliveryId(Topic.DIGEST, self.customer_id, self.period, channel))


@dataclass(frozen=True)
class Mail:
    """An email as it lies in a mailbox, and the reference that its provider gave it."""

    reference: str
    html: str = field(repr=False)
    text: str = field(repr=False)


@dataclass(frozen=True)
class Mailboxes:
    """Mail of both providers: SES in the emulator, and the simulated one."""

    emulator: Emulator
    provider: SimulatedProvider

    def of(self, person: Person) -> list[Mail]:
        """Everything that was accepted for a person's address, in whatever region."""
        from_ses = [
            Mail(one.message_id, one.html, one.text) for one in self.emulator.emails() if person.email in one.to
        ]
        operations = [one for one in self.provider.operations if one.to == person.email]
        return [*from_ses, *(Mail(one.operation_id, one.email.html, one.email.text) for one in operations)]

    def count(self) -> int:
        return len(self.emulator.emails()) + len(self.provider.operations)


def import_people(people: list[Person], folder: Path, cloud: Mapping[str, str]) -> None:
    """Import customers and their orders with the command line, as an operator would."""
    customers, activity = folder / "customers.csv", folder / "activity.csv"
    _write(customers, [_customer(one) for one in people])
    _write(activity, [_order(one, number) for one in people for number in range(one.orders)])
    for what, file_of in (("customers", customers), ("activity", activity)):
        done = digest([what, "import", str(file_of)], cloud)
        assert done.returncode == 0, done.stdout + done.stderr


def _customer(person: Person) -> dict[str, str]:
    return {
        "customer_id": person.customer_id,
        "data_region": person.data_region,
        "time_zone": ZONE,
        "email": person.email,
        "phone": person.phone,
        "email_consent": person.email_consent,
        "sms_consent": "opted_in",
        "webhook_url": person.webhook_url,
        "webhook_consent": "opted_in",
        "digest_weekday": f"{person.due_at:%A}".lower(),
        "digest_time": f"{person.due_at:%H:%M}",
        "digest_channels": person.digest_channels,
        "first_run_on": person.due_at.date().isoformat(),
    }


def _order(person: Person, number: int) -> dict[str, str]:
    occurred = datetime.fromisoformat(person.period).replace(tzinfo=UTC) + timedelta(days=2)
    return {
        "customer_id": person.customer_id,
        "data_region": person.data_region,
        "activity_id": f"order-{number}",
        "occurred_at": occurred.isoformat(),
        "kind": "order",
        "title": person.title,
        "amount": "11.77",
        "currency": "USD",
    }


def _write(path: Path, lines: Sequence[Mapping[str, str]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)


def digest(arguments: list[str], cloud: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own."""
    program = Path(sys.executable).with_name("digest")
    environment = {**cloud, "PATH": os.environ["PATH"], "COLUMNS": "80"}
    return subprocess.run(
        [str(program), *arguments], env=environment, capture_output=True, text=True, timeout=60, check=False
    )


def eventually(
    look: Callable[[], Found | None], *, within_s: float, what: str, waking: RunningRegion | None = None
) -> Found:
    """Look until something is there, and wake a region's planner meanwhile.

    A planner that finds another one at work leaves its shards to it, and that one may have looked already.
    """
    deadline = time.monotonic() + within_s
    wakes_at = time.monotonic() + WAKE_EVERY_S
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within_s:g} s: {what}")
        if waking is not None and time.monotonic() > wakes_at:
            waking.wake(names.OUTPUT_PLANNER_SCHEDULE)
            wakes_at += WAKE_EVERY_S
        time.sleep(0.3)


def rows_of(region: RunningRegion, person: Person) -> dict[Channel, Delivery]:
    """A person's deliveries of the week, by channel."""
    ids = {channel: person.delivery_id(channel) for channel in Channel}
    held = region.deployment.ledger.read(ids.values())
    return {channel: held[one] for channel, one in ids.items() if one in held}
