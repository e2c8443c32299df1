"""What can never be worked on goes to the dead-letter queue by SQS alone, within seconds, and never near a provider."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from functions.core.identity import Channel
from ops.local.running_region import RunningRegion
from tests.e2e.people import Mailboxes, eventually

Regions = Mapping[str, RunningRegion]

UNSUPPORTED = {
    "schema_version": 99,
    "delivery_id": "digest:poison-1:2026-11-16:email",
    "channel": "email",
    "template_id": "weekly-digest-v1",
}


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("{not json", id="does not parse"),
        pytest.param(json.dumps(UNSUPPORTED), id="unsupported schema version"),
        pytest.param(json.dumps({**UNSUPPORTED, "schema_version": 1, "channel": "sms"}), id="another channel's"),
    ],
)
def test_a_message_that_nobody_can_work_on_is_in_the_dead_letter_queue_within_seconds(
    regions: Regions, mailboxes: Mailboxes, body: str
) -> None:
    region = regions["us"]
    before = mailboxes.count()
    message_id = region.send(Channel.EMAIL, body)
    dead = eventually(
        lambda: [
            one for one in region.messages(region.dead_letter_queue(Channel.EMAIL)) if one.message_id == message_id
        ],
        within_s=25,
        what="the message in the dead-letter queue",
    )
    assert [one.body for one in dead] == [body]
    assert not [one for one in region.messages(region.queue(Channel.EMAIL)) if one.message_id == message_id]
    assert mailboxes.count() == before
