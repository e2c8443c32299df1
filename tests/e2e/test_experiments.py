"""Five experiments on deployed stacks: what people expect of exactly-once delivery, tried instead of believed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from functions import names
from functions.core.delivery import Delivery, Status
from functions.core.identity import Channel
from functions.core.message import DeliveryMessage
from ops.local.provider_faults import FaultKind, ProviderFault
from ops.local.running_region import RunningRegion
from ops.local.simulated_provider import Call, SimulatedProvider
from tests.e2e.people import Mailboxes, Person, eventually, import_people, rows_of

Regions = Mapping[str, RunningRegion]


def _email_row(region: RunningRegion, person: Person) -> Delivery | None:
    return rows_of(region, person).get(Channel.EMAIL)


def _row_once(region: RunningRegion, person: Person, status: Status) -> Delivery | None:
    row = _email_row(region, person)
    return row if row is not None and row.status is status else None


def _calls_for(provider: SimulatedProvider, person: Person) -> list[Call]:
    return [call for call in provider.calls if call.to == person.email]


@pytest.fixture
def us(regions: Regions) -> RunningRegion:
    return regions["us"]


def test_the_same_customer_and_period_twice_is_one_row_and_one_accepted_operation(
    us: RunningRegion, provider: SimulatedProvider, mailboxes: Mailboxes, cloud: Mapping[str, str], tmp_path: Path
) -> None:
    person = Person("experiment-twice", "us", digest_channels="email")
    import_people([person], tmp_path, cloud)
    us.wake(names.OUTPUT_PLANNER_SCHEDULE, times=2)
    row = eventually(
        partial(_row_once, us, person, Status.ACCEPTED), waking=us, within_s=60, what="the delivery accepted"
    )
    us.send(Channel.EMAIL, DeliveryMessage.of(row).to_body())
    us.send(Channel.EMAIL, DeliveryMessage.of(row).to_body())
    eventually(lambda: us.backlog(us.queue(Channel.EMAIL)) == 0, within_s=40, what="the repeated messages worked off")
    assert _email_row(us, person) == row
    assert [mail.reference for mail in mailboxes.of(person)] == [row.provider_reference]
    assert len(_calls_for(provider, person)) == 1


def test_killed_after_the_provider_accepted_is_sent_under_the_same_key_and_comes_to_the_same_result(
    us: RunningRegion, provider: SimulatedProvider, mailboxes: Mailboxes, cloud: Mapping[str, str], tmp_path: Path
) -> None:
    person = Person("experiment-killed", "us", digest_channels="email")
    provider.will(ProviderFault(kind=FaultKind.HANG, to=person.email, accepting=True))
    import_people([person], tmp_path, cloud)
    us.wake(names.OUTPUT_PLANNER_SCHEDULE)
    eventually(lambda: mailboxes.of(person), waking=us, within_s=60, what="the provider's acceptance")
    for worker in us.workers(Channel.EMAIL):
        worker.kill()

    def accepted() -> Delivery | None:
        us.wake(names.OUTPUT_RECONCILER_SCHEDULE)
        return _row_once(us, person, Status.ACCEPTED)

    row = eventually(accepted, within_s=120, what="the delivery accepted after its function was killed")
    assert row.attempt > 1
    assert [mail.reference for mail in mailboxes.of(person)] == [row.provider_reference]
    assert {call.key for call in _calls_for(provider, person)} == {str(row.delivery_id)}
    assert not provider.performed_more_than_once()


def test_after_a_429_with_a_known_retry_after_the_next_attempt_is_not_early_and_has_the_same_id(
    us: RunningRegion, provider: SimulatedProvider, mailboxes: Mailboxes, cloud: Mapping[str, str], tmp_path: Path
) -> None:
    limited, other = (Person(f"experiment-{name}", "us", digest_channels="email") for name in ("limited", "unlimited"))
    provider.will(ProviderFault(kind=FaultKind.RECIPIENT_RATE_LIMITED, to=limited.email, retry_after="12"))
    import_people([limited, other], tmp_path, cloud)
    us.wake(names.OUTPUT_PLANNER_SCHEDULE)
    eventually(
        partial(_row_once, us, other, Status.ACCEPTED),
        waking=us,
        within_s=60,
        what="everybody else's delivery accepted",
    )
    waiting = _email_row(us, limited)
    assert waiting is not None

    def accepted() -> Delivery | None:
        us.wake(names.OUTPUT_RECONCILER_SCHEDULE)
        return _row_once(us, limited, Status.ACCEPTED)

    row = eventually(accepted, within_s=90, what="the limited delivery accepted in the end")
    first, second = _calls_for(provider, limited)
    assert first.key == second.key == str(row.delivery_id)
    assert second.at - first.at >= timedelta(seconds=12)
    assert [attempt.outcome for attempt in row.history] == ["deferred", "accepted"]
    assert len(mailboxes.of(limited)) == 1


def test_an_unsupported_schema_version_is_a_dead_letter_without_a_call_and_without_waiting(
    us: RunningRegion, provider: SimulatedProvider
) -> None:
    before = len(provider.calls)
    body = json.dumps(
        {
            "schema_version": 2,
            "delivery_id": "digest:experiment-version:2026-11-16:email",
            "channel": "email",
            "template_id": "weekly-digest-v1",
        }
    )
    message_id = us.send(Channel.EMAIL, body)
    dead_letters = us.dead_letter_queue(Channel.EMAIL)
    # Its backoff alone would take longer than this, if its receives were waited for.
    (dead,) = eventually(
        lambda: [one for one in us.messages(dead_letters) if one.message_id == message_id],
        within_s=25,
        what="the message in the dead-letter queue",
    )
    assert dead.body == body
    assert len(provider.calls) == before
    assert not us.deployment.ledger.read(["digest:experiment-version:2026-11-16:email"])


def test_a_corrected_item_that_is_redriven_keeps_its_identity_and_its_history(
    us: RunningRegion, provider: SimulatedProvider, mailboxes: Mailboxes, cloud: Mapping[str, str], tmp_path: Path
) -> None:
    person = Person("experiment-redriven", "us", digest_channels="email")
    provider.will(ProviderFault(kind=FaultKind.UNAVAILABLE, to=person.email, times=6))
    import_people([person], tmp_path, cloud)
    us.wake(names.OUTPUT_PLANNER_SCHEDULE)
    dead = eventually(
        partial(_row_once, us, person, Status.DEAD_LETTER), waking=us, within_s=90, what="the row exhausted"
    )
    assert dead.exhausted()
    assert not mailboxes.of(person)
    delivery_id = str(dead.delivery_id)
    eventually(
        lambda: _dead_letter_of(us, delivery_id), within_s=30, what="its message in the dead-letter queue, moved by SQS"
    )

    _redrive(us, delivery_id)  # the provider is well again
    row = eventually(
        partial(_row_once, us, person, Status.ACCEPTED), within_s=60, what="the redriven delivery accepted"
    )
    assert (row.delivery_id, row.selected_at) == (dead.delivery_id, dead.selected_at)
    assert row.history[: len(dead.history)] == dead.history
    assert [attempt.outcome for attempt in row.history] == ["unavailable"] * 6 + ["accepted"]
    assert len(mailboxes.of(person)) == 1

    us.send(Channel.EMAIL, DeliveryMessage.of(row).to_body())  # and redriven once more, by mistake
    eventually(lambda: us.backlog(us.queue(Channel.EMAIL)) == 0, within_s=40, what="the second redrive worked off")
    assert _email_row(us, person) == row
    assert len(mailboxes.of(person)) == 1


def _dead_letter_of(region: RunningRegion, delivery_id: str) -> Any:
    held = region.messages(region.dead_letter_queue(Channel.EMAIL))
    return [one for one in held if delivery_id in one.body]


def _redrive(region: RunningRegion, delivery_id: str) -> None:
    """Move one message back to its source as a redrive does: as a new message, with the same body."""
    sqs = region.emulator.client("sqs", region.aws_region)
    url = region.dead_letter_queue(Channel.EMAIL)
    while True:
        for message in sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=30)["Messages"]:
            if delivery_id in message["Body"]:
                sqs.send_message(QueueUrl=region.queue(Channel.EMAIL), MessageBody=message["Body"])
                sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
                return
