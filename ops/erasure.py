"""Erasing one customer from one data region, while messages are in flight.

```
remember opt-outs + drop the profile ── stop schedules ── end and scrub deliveries ── drop the rest of the partition
  one transaction: from here on        the planner that    the index by which they
  nothing is composed for them, and    has read them       are found, the reminders,
  no late write finds a profile        commits nothing     is dropped last
```
Each step finds what the one before has left, so it may die anywhere and be started again.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from functions import names
from functions.adapters.conditional_write import CONDITION_FAILED
from functions.adapters.customers import customer_records
from functions.adapters.items import to_value
from functions.adapters.ledger import TRANSACTION_LIMIT
from functions.adapters.opt_out_memory import remembering
from functions.adapters.schedule_rows import consent_attribute, profile_from_row
from functions.adapters.transactions import cancellation_codes, transact
from functions.core.calendar import WEEK, monday_of
from functions.core.customer import PROFILE, REMINDER_SCHEDULE
from functions.core.delivery import Delivery, Status
from functions.core.identity import Channel, DeliveryId, Topic
from functions.core.opt_out_memory import memories_of
from functions.core.settlement import erased
from ops.customer_partition import key_of, stop_schedule
from ops.deployment import DeploymentError, RegionDeployment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from datetime import datetime

    from functions.core.ports import Clock

LONGEST_KEPT: Final = timedelta(days=3650)  # a delivery's row, as far as the settings go
TRIES: Final = 5  # at a profile that is changed each time between being read and being dropped
_FIRST, _LAST = " ", "~"  # every record of a partition lies between them
# What is remembered is made from these: it must not have changed when the profile goes.
_REMEMBERED: Final = (
    "addresses",
    "suppressed",
    *(consent_attribute(topic, channel) for topic in Topic for channel in Channel),
)


@dataclass(frozen=True, slots=True)
class Holding:
    """What is on record of a customer in one data region."""

    rows: Counter[str]  # by kind: profile, schedule, activity, ...
    deliveries: int  # not scrubbed yet

    def __bool__(self) -> bool:
        """Whether there is anything to erase."""
        return bool(self.rows or self.deliveries)


@dataclass(slots=True)
class Erasure:
    """What was done: marks under which opt-outs are remembered, deliveries by the state that they ended in, rows."""

    remembered: int = 0
    deliveries: Counter[Status] = field(default_factory=Counter)
    not_sent: int = 0  # deliveries of those that were still open
    rows: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Eraser:
    """Erases one customer. `wait` lets time pass while a message is being sent, which lasts until then at most."""

    region: RegionDeployment
    customer_id: str
    clock: Clock
    wait: Callable[[datetime], None]

    def holding(self) -> Holding:
        """Count what there is to erase."""
        rows = list(self._rows())
        return Holding(Counter(_kind(row) for row in rows), len(self._unscrubbed(self._delivery_ids(rows))))

    def erase(self) -> Erasure:
        """Erase, or go on with an erasure that was interrupted. Raises DeploymentError."""
        done = Erasure()
        self._let_go_of_profile(done)
        self._stop_schedules()
        self._end_deliveries(done)
        self._drop_the_rest(done)
        return done

    # --- opt-outs and profile ---

    def _let_go_of_profile(self, done: Erasure) -> None:
        for _ in range(TRIES):
            profile = next(self._rows(first=PROFILE, last=PROFILE), None)
            if profile is None:
                return
            now = self.clock()
            memories = memories_of(profile_from_row(profile), self.region.opt_out_keys.of(now))
            table = {"TableName": self.region.customers_table}
            actions: list[Any] = [
                {"Update": table | remembering(mark, memory, at=now)} for mark, memory in memories.items()
            ]
            try:
                transact(self.region.dynamodb, [*actions, {"Delete": table | _unless_changed(profile)}])
            except ClientError as error:
                if CONDITION_FAILED not in cancellation_codes(error):
                    raise
            else:
                done.remembered = len(memories)
                done.rows[_kind(profile)] += 1
                return
        raise DeploymentError(f"{self.customer_id}: somebody else keeps changing this profile; erase it again")

    # --- schedules ---

    def _stop_schedules(self) -> None:
        for row in self._rows():
            stop_schedule(self.region, row)

    # --- deliveries ---

    def _end_deliveries(self, done: Erasure) -> None:
        ids = self._delivery_ids(self._rows())
        while rows := self._unscrubbed(ids):
            now = self.clock()
            in_flight = [row for row in rows if row.status is Status.SENDING and not row.lease_ran_out(now)]
            for row in rows:
                # A claim that comes between, or that is under way, wins: its own write knows what became of the send.
                if row not in in_flight and self.region.ledger.write(row, after := erased(row, at=now)):
                    done.deliveries[after.status] += 1
                    done.not_sent += row.status is not after.status is Status.SKIPPED
            ids = [str(row.delivery_id) for row in rows]
            if leases := [row.lease_until for row in in_flight if row.lease_until is not None]:
                self.wait(max(leases))

    def _unscrubbed(self, delivery_ids: Iterable[str]) -> list[Delivery]:
        return [row for row in self.region.ledger.read(delivery_ids).values() if row.erased_at is None]

    def _delivery_ids(self, rows: Iterable[Mapping[str, Any]]) -> list[str]:
        """Ids that the customer's deliveries may have: they follow from what they are about, so nothing is searched."""
        reminders = [row["event_id"] for row in rows if row[names.RECORD].startswith(REMINDER_SCHEDULE)]
        occasions = [
            *((Topic.DIGEST, week) for week in _weeks(self.clock())),
            *((Topic.REMINDER, event_id) for event_id in reminders),
        ]
        return [
            str(DeliveryId(topic, self.customer_id, occasion, channel))
            for topic, occasion in occasions
            for channel in Channel
        ]

    # --- the rest ---

    def _drop_the_rest(self, done: Erasure) -> None:
        while page := list(islice(self._rows(), TRANSACTION_LIMIT)):
            table = {"TableName": self.region.customers_table}
            transact(self.region.dynamodb, [{"Delete": table | {"Key": key_of(row)}} for row in page])
            done.rows.update(_kind(row) for row in page)

    def _rows(self, *, first: str = _FIRST, last: str = _LAST) -> Iterator[Mapping[str, Any]]:
        return customer_records(
            self.region.dynamodb, self.region.customers_table, self.customer_id, first=first, last=last
        )


def _weeks(now: datetime) -> Iterator[str]:
    """Mondays of the weeks that a digest on record may be about."""
    monday = monday_of(now.date()) + WEEK
    while monday >= (now - LONGEST_KEPT).date() - WEEK:
        yield monday.isoformat()
        monday -= WEEK


def _kind(row: Mapping[str, Any]) -> str:
    return str(row[names.RECORD]).partition("#")[0].lower()


def _unless_changed(profile: Mapping[str, Any]) -> dict[str, Any]:
    """DeleteItem arguments for a profile that is still as it was read, as far as it is remembered."""
    held = [name for name in _REMEMBERED if name in profile]
    gone = [name for name in _REMEMBERED if name not in profile]
    conditions = [*(f"#{name} = :{name}" for name in held), *(f"attribute_not_exists(#{name})" for name in gone)]
    values = {f":{name}": to_value(profile[name]) for name in held}
    return {
        "Key": key_of(profile),
        "ConditionExpression": " AND ".join(conditions),
        "ExpressionAttributeNames": {f"#{name}": name for name in _REMEMBERED},
        **({"ExpressionAttributeValues": values} if values else {}),
    }
