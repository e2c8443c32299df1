"""The check's customers and their deliveries: put there, looked at, cleared away.

```
set: profile, endpoint, a reminder that is due ── planned, sent, told of like everybody's ── clear: schedules, rows, ...
```
All of it has a TTL of a day, whoever dies in between. A row that a provider has accepted is left to it: events may
still come, and one that finds no row is an alarm.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from functions import names
from functions.adapters.conditional_write import CONDITION_FAILED, updated
from functions.adapters.customers import customer_records
from functions.adapters.items import to_item
from functions.adapters.schedule_rows import endpoint_to_row, profile_from_row, profile_to_row, schedule_to_row
from functions.adapters.webhook_secrets import new_secret
from functions.core.customer import PROFILE, REMINDER_SCHEDULE, Consent, Profile, ReminderSchedule
from functions.core.delivery import Status
from functions.core.identity import Channel, DeliveryId, Topic
from functions.core.webhook_endpoint import SigningSecret, WebhookEndpoint
from ops.customer_partition import key_of, stop_schedule
from ops.smoke.probes import CUSTOMERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime

    from functions.core.delivery import Delivery
    from functions.core.ports import Clock
    from ops.deployment import RegionDeployment
    from ops.smoke.probes import Probe

KEPT_FOR: Final = timedelta(days=1)
GOOD_FOR: Final = timedelta(hours=1)  # then what was not sent is not sent any more
_FIRST, _LAST = " ", "~"  # every record of a partition lies between them


class Stage:
    """One run in one region. `run` is part of its delivery ids, so that each is sent anew."""

    def __init__(self, region: RegionDeployment, clock: Clock, *, run: str) -> None:
        self._region = region
        self._clock = clock
        self.run = run

    def delivery_id(self, probe: Probe) -> DeliveryId:
        """The id of a probe's delivery."""
        return DeliveryId(Topic.REMINDER, probe.customer_id, self.run, probe.channel)

    def set(self, probe: Probe) -> None:
        """Put a probe's customer there, with a reminder that is due now."""
        now = self._clock()
        endpoint = WebhookEndpoint(secrets=(SigningSecret(new_secret()),)) if probe.channel is Channel.WEBHOOK else None
        profile = Profile(
            probe.customer_id,
            locale="en",
            time_zone="UTC",
            addresses={probe.channel: probe.address},
            consent={(Topic.REMINDER, probe.channel): Consent.OPTED_IN},
        )
        reminder = ReminderSchedule(
            probe.customer_id,
            self.run,
            channels=(probe.channel,),
            next_run_at=now,
            expires_at=now + GOOD_FOR,
            subject="Check after a deployment",
        )
        # The reminder last: what is due has all that it needs.
        self._put(profile_to_row(profile))
        if endpoint is not None:
            self._put(endpoint_to_row(probe.customer_id, endpoint))
        self._put(schedule_to_row(reminder, shards=self._region.shards))

    def rows(self, probes: Sequence[Probe]) -> Mapping[Probe, Delivery]:
        """The probes' deliveries, as far as they are planned."""
        ids = {str(self.delivery_id(probe)): probe for probe in probes}
        return {ids[delivery_id]: row for delivery_id, row in self._region.ledger.read(ids).items()}

    def suppressed(self, probe: Probe) -> str | None:
        """Why a probe's channel is closed, if it is."""
        held = next(self._records(probe.customer_id, first=PROFILE, last=PROFILE), None)
        return None if held is None else profile_from_row(held).suppressed.get(probe.channel)

    def _put(self, row: Mapping[str, Any]) -> None:
        mortal = {**row, names.TTL: self._purge_at()}
        self._region.dynamodb.put_item(TableName=self._region.customers_table, Item=to_item(mortal))

    def _purge_at(self) -> int:
        return int((self._clock() + KEPT_FOR).timestamp())

    # --- clearing away ---

    def clear(self, wait: Callable[[datetime], None]) -> int:
        """Take away what this run, and any before it, has left; return how many rows it was. May be run again."""
        cleared = 0
        for customer_id in CUSTOMERS:
            records = list(self._records(customer_id))
            for record in records:
                stop_schedule(self._region, record)
            for delivery_id in _deliveries_of(customer_id, records):
                cleared += self._let_go(delivery_id, wait)
            for record in records:
                self._region.dynamodb.delete_item(TableName=self._region.customers_table, Key=key_of(record))
            cleared += len(records)
        return cleared

    def _let_go(self, delivery_id: DeliveryId, wait: Callable[[datetime], None]) -> int:
        """Delete a row, or leave it to its TTL; 0 where there is none."""
        table: Any = {"TableName": self._region.deliveries_table, "Key": {names.DELIVERY_ID: {"S": str(delivery_id)}}}
        while (row := self._region.ledger.read([str(delivery_id)]).get(str(delivery_id))) is not None:
            now = self._clock()
            if row.status is Status.ACCEPTED:
                updated(
                    self._region.dynamodb,
                    **table,
                    UpdateExpression="SET #purge_at = :purge_at",
                    ConditionExpression="attribute_exists(#id)",
                    ExpressionAttributeNames={"#purge_at": names.TTL, "#id": names.DELIVERY_ID},
                    ExpressionAttributeValues={":purge_at": {"N": str(self._purge_at())}},
                )
                return 1
            if row.status is Status.SENDING and row.lease_until is not None and not row.lease_ran_out(now):
                wait(row.lease_until)  # its own write says what became of it
            elif self._deleted(table, row):
                return 1
        return 0

    def _deleted(self, table: Any, row: Delivery) -> bool:  # noqa: ANN401 - arguments of delete_item
        """Delete a row that is still as it was read."""
        try:
            self._region.dynamodb.delete_item(
                **table,
                ConditionExpression="#status = :status AND #attempt = :attempt",
                ExpressionAttributeNames={"#status": "status", "#attempt": "attempt"},
                ExpressionAttributeValues={":status": {"S": str(row.status)}, ":attempt": {"N": str(row.attempt)}},
            )
        except ClientError as error:
            if error.response["Error"]["Code"] != CONDITION_FAILED:
                raise
            return False
        return True

    def _records(self, customer_id: str, *, first: str = _FIRST, last: str = _LAST) -> Iterator[Mapping[str, Any]]:
        return customer_records(
            self._region.dynamodb, self._region.customers_table, customer_id, first=first, last=last
        )


def _deliveries_of(customer_id: str, records: Sequence[Mapping[str, Any]]) -> Iterator[DeliveryId]:
    for record in records:
        if record[names.RECORD].startswith(REMINDER_SCHEDULE):
            for channel in Channel:
                yield DeliveryId(Topic.REMINDER, customer_id, record["event_id"], channel)
