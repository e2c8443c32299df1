"""What `digest cost` reckons with is what the functions ask for: measured here, and held to the file that it reads.

`make measure` writes the file anew after a change of what the functions read and write.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, timedelta
from importlib import import_module
from typing import Any, Final
from unittest.mock import patch

import pytest
import time_machine

from functions import names
from functions.core.delivery import Status
from functions.core.identity import Channel
from functions.core.instants import to_text
from ops.costs.measurements import Measurements, Use
from tests.fakes.environment import DELIVERIES, PROVIDERS, channel_environment, queue_url
from tests.fakes.examples import a_digest_schedule, a_profile, an_activity
from tests.fakes.lambda_context import FakeLambdaContext
from tests.fakes.providers import FakeProvider
from tests.integration.capacity import item_bytes, metered
from tests.integration.lambda_poller import LambdaPoller
from tests.integration.region import Clock, Functions, Region
from tests.integration.test_receipts_function import ENVIRONMENT as RECEIPTS

CUSTOMERS: Final = 20  # whole batches, of one page: pages are fuller at work, so what each takes by itself weighs less
ACTIVITIES: Final = 5
DEPLOYED_SHARDS: Final = 8  # as delivered in cdk.json
BATCH: Final = 10
POLLED: Final = 2  # requests of Lambda's own for a batch: it receives, it deletes
AGAIN: Final = "the functions ask for something else than before: see whether that is meant, then `make measure`"
FREE: Final = {"table_requests", "log_bytes"}
WRITE: Final = "WRITE_MEASURED" in os.environ


@dataclass
class Scales:
    """Weighs what the functions of a region do."""

    region: Region
    clock: Clock
    functions: Functions
    log: io.StringIO
    capsys: pytest.CaptureFixture[str]
    weighed: Use = field(default_factory=Use)

    @contextmanager
    def weighing(self) -> Iterator[None]:
        """Weigh what happens meanwhile, polling and Lambda's own part aside."""
        self.capsys.readouterr()
        logged = len(self.log.getvalue())
        with metered(self.region.dynamodb, self.region.sqs) as meter:
            yield
        emf = len(self.capsys.readouterr().out.encode())
        ours = {
            name: number for name, number in meter.requests.items() if name not in {"ReceiveMessage", "DeleteMessage"}
        }
        queue = sum(number for name, number in ours.items() if "Message" in name or "Queue" in name)
        self.weighed = Use(
            table_requests=sum(ours.values()) - queue,
            read_units=meter.read_units,
            write_units=meter.write_units,
            queue_requests=queue,
            log_bytes=len(self.log.getvalue()) - logged + emf,
        )

    def an_idle_planner(self, shards: int) -> Use:
        with self.weighing():
            self.wake_planner(shards)
        return self.weighed + Use(invocations=1)

    def an_idle_reconciler(self) -> Use:
        """Of as many shards as are deployed, at a minute that counts no receipts."""
        module = self.functions.reconciler
        deployed = replace(module.reconciler, shards=DEPLOYED_SHARDS)
        with patch.object(module, "reconciler", deployed), self.weighing():
            module.handler(
                {"scheduled_time": to_text(self.clock() + timedelta(minutes=7))},
                FakeLambdaContext(self.clock, timeout=timedelta(seconds=50)),
            )
        return self.weighed + Use(invocations=1)

    def wake_planner(self, shards: int) -> None:
        context = FakeLambdaContext(self.clock, timeout=timedelta(minutes=4))
        self.functions.planner.handler(
            {"scheduled_time": to_text(self.clock()), "shards": list(range(shards))}, context
        )

    def planned(self, *channels: Channel) -> Use:
        """Planning a digest of each of CUSTOMERS on these channels, without what a wake-up takes in any case."""
        lot = "-".join(channels)
        for number in range(CUSTOMERS):
            customer = f"{lot}-{number}"
            self.region.add(a_profile(customer), *(an_activity(f"a-{one}") for one in range(ACTIVITIES)))
            self.region.schedule(a_digest_schedule(customer, channels=channels))
        with self.weighing():
            self.wake_planner(1)
        planned = self.weighed
        return (planned + Use(invocations=1) - self.an_idle_planner(1)) * (1 / CUSTOMERS)

    def sent(self, channel: Channel, consumer: LambdaPoller) -> Use:
        """Sending what waits on a channel's queue, in whole batches."""
        before = consumer.invocations
        with self.weighing():
            while consumer.poll():
                pass
        batches = consumer.invocations - before
        polled = Use(invocations=batches, queue_requests=batches * POLLED)
        accepted = [row for row in self.region.deliveries().values() if row.delivery_id.channel is channel]
        assert {row.status for row in accepted} == {Status.ACCEPTED}
        return (self.weighed + polled) * (1 / len(accepted))


@pytest.fixture
def scales(
    region: Region, clock: Clock, functions: Functions, log: io.StringIO, capsys: pytest.CaptureFixture[str]
) -> Scales:
    return Scales(replace(region, shards=1), clock, functions, log, capsys)


def consumer_of(channel: Channel, scales: Scales, monkeypatch: pytest.MonkeyPatch) -> LambdaPoller:
    for name, value in channel_environment(channel).items():
        monkeypatch.setenv(name, value)
    consumer = getattr(scales.functions, channel).ChannelConsumer.from_environment(
        FakeProvider(name=PROVIDERS[channel])
    )
    return LambdaPoller(scales.region.sqs, queue_url(channel), consumer.handle, scales.clock, BATCH)


def a_receipt_of_each(scales: Scales, monkeypatch: pytest.MonkeyPatch) -> Use:
    """ "It arrived", said of every email."""
    for name, value in RECEIPTS.items():
        monkeypatch.setenv(name, value)
    handler = import_module("functions.receipts.handler").handler
    rows = [row for row in scales.region.deliveries().values() if row.delivery_id.channel is Channel.EMAIL]
    scales.region.sqs.create_queue(QueueName="receipts")
    poller = LambdaPoller(scales.region.sqs, RECEIPTS[names.ENV_QUEUE_URL], handler, scales.clock, BATCH)
    for number, row in enumerate(rows):
        event = {
            "schema_version": 1,
            "provider": "ses",
            "event_id": f"event-{number}",
            "kind": "Email Delivered",
            "reference": row.provider_reference,
            "tags": {part: [text] for part, text in row.delivery_id.as_tags().items()},
            "at": to_text(scales.clock()),
        }
        scales.region.sqs.send_message(QueueUrl=poller.queue_url, MessageBody=json.dumps(event))
    with scales.weighing():
        while poller.poll():
            pass
    told = [row for row in scales.region.deliveries().values() if row.receipt is not None]
    assert len(told) == len(rows)
    polled = Use(invocations=poller.invocations, queue_requests=poller.invocations * POLLED)
    return (scales.weighed + polled) * (1 / len(rows))


def test_what_cost_reckons_with_is_what_the_functions_ask_for(scales: Scales, monkeypatch: pytest.MonkeyPatch) -> None:
    idle = scales.an_idle_planner(DEPLOYED_SHARDS), scales.an_idle_reconciler()
    on_one = scales.planned(Channel.EMAIL)
    on_two = scales.planned(Channel.SMS, Channel.WEBHOOK)
    sent = {channel: scales.sent(channel, consumer_of(channel, scales, monkeypatch)) for channel in Channel}
    measured = Measurements(
        measured_on=time_machine.escape_hatch.datetime.datetime.now(UTC).date(),
        customers=CUSTOMERS,
        activities=ACTIVITIES,
        shards=DEPLOYED_SHARDS,
        a_customer=on_one * 2 - on_two,
        a_planned_delivery=on_two - on_one,
        a_sent_delivery=sent,
        a_receipt=a_receipt_of_each(scales, monkeypatch),
        an_idle_planner=idle[0],
        an_idle_reconciler=idle[1],
        a_row_bytes=bytes_of_a_row(scales.region),
    )
    if WRITE:
        measured.write()
    written, now = Measurements.load().as_json(), measured.as_json()
    assert billed(now) == billed(written), AGAIN
    assert told(now) == pytest.approx(told(written), rel=0.3), AGAIN


def billed(held: dict[str, Any]) -> dict[str, Any]:
    """All that has a price, and what it was measured with."""
    return {
        name: billed(value) if isinstance(value, dict) else value
        for name, value in held.items()
        if name not in {"measured_on", *FREE}
    }


def told(held: dict[str, Any]) -> list[float]:
    """What has none, wherever it is told, and the bytes of log, which every new word in a line changes."""
    return [
        one
        for name, value in held.items()
        for one in (told(value) if isinstance(value, dict) else [value] if name in FREE and value > 1 else [])
    ]


def bytes_of_a_row(region: Region) -> int:
    """Of rows that have ended, with what the indexes keep of them; the mean, in whole bytes."""
    sizes = [item_bytes(DELIVERIES, {names.DELIVERY_ID: {"S": one}}) for one in region.deliveries()]
    return round(sum(sizes) / len(sizes))
