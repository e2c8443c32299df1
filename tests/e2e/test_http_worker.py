"""Jobs pushed to a function URL, on deployed stacks whose roles are enforced: US by the HTTP provider, EU by SES."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import urllib3

from functions import names
from functions.adapters.delivery_rows import to_row
from functions.adapters.items import to_item
from functions.core.delivery import Delivery, Status
from functions.core.identity import Channel, DeliveryId
from functions.core.message import DeliveryMessage
from functions.core.planning import DIGEST_TEMPLATE
from ops.in_memory.worker import signed_request
from ops.local.emulator import Emulator
from ops.local.running_region import RunningRegion
from tests.e2e.conftest import JOBS_SIGNING_SECRET
from tests.e2e.people import Mailboxes, Person, import_people, rows_of

Regions = Mapping[str, RunningRegion]
FOREIGN_SECRET = "whsec_" + "bm9ib2R5" * 4


def planned(region: RunningRegion, person: Person) -> str:
    """Plan an email that is on no queue, and return its job."""
    now = datetime.now(UTC)
    delivery = Delivery(
        DeliveryId.parse(person.delivery_id(Channel.EMAIL)),
        template_id=DIGEST_TEMPLATE,
        period=person.period,
        status=Status.PLANNED,
        due_at=now,
        selected_at=now,
        expires_at=now + timedelta(hours=72),
        attention_at=now + timedelta(minutes=30),
    )
    deployment = region.deployment
    item = to_item(to_row(delivery, shards=deployment.shards))
    deployment.dynamodb.put_item(TableName=deployment.deliveries_table, Item=item)
    return DeliveryMessage.of(delivery).to_body()


def push(emulator: Emulator, url: str, body: str, *, secret: str, method: str = "POST") -> tuple[int, Any]:
    """Push a signed job, at the address under which the emulator serves the function's URL."""
    url_id = (urlsplit(url).hostname or "").partition(".")[0]
    address = f"{emulator.endpoint_url}/_aws/lambda-url/{url_id}/"
    headers = signed_request(body, secret)["headers"]
    answer = urllib3.request(method, address, body=body.encode(), headers=headers, retries=False, timeout=30)
    return answer.status, json.loads(answer.data)


@pytest.mark.parametrize("data_region", ["us", "eu"])
def test_a_job_that_is_pushed_is_one_email_however_often_it_comes(
    regions: Regions,
    emulator: Emulator,
    mailboxes: Mailboxes,
    cloud: Mapping[str, str],
    tmp_path: Path,
    data_region: str,
) -> None:
    region, person = regions[data_region], Person(f"pushed-{data_region}", data_region, digest_channels="sms")
    import_people([person], tmp_path, cloud)
    job = planned(region, person)
    url = region.deployment.output(names.worker_url_output("email"))

    assert push(emulator, url, job, secret=FOREIGN_SECRET) == (401, {"result": "refused", "reason": "signature"})
    assert push(emulator, url, job, secret=JOBS_SIGNING_SECRET, method="PUT")[0] == 405
    assert mailboxes.of(person) == []

    complete = {"result": "complete", "reason": "accepted", "delivery_id": person.delivery_id(Channel.EMAIL)}
    assert push(emulator, url, job, secret=JOBS_SIGNING_SECRET) == (200, complete)
    again = push(emulator, url, job, secret=JOBS_SIGNING_SECRET)
    assert again == (200, {**complete, "result": "already_complete"})
    assert len(mailboxes.of(person)) == 1
    row = rows_of(region, person)[Channel.EMAIL]
    assert (row.status, row.attempt) == (Status.ACCEPTED, 1)


def test_an_invalid_job_is_told_what_is_wrong_with_it(regions: Regions, emulator: Emulator) -> None:
    url = regions["eu"].deployment.output(names.worker_url_output("email"))
    status, told = push(emulator, url, '{"schema_version": 7}', secret=JOBS_SIGNING_SECRET)
    assert (status, told["result"]) == (400, "invalid")
    assert "schema_version" in told["reason"]


def test_a_url_of_iam_lets_in_nobody_who_does_not_sign_as_aws_has_it(regions: Regions, emulator: Emulator) -> None:
    for region in regions.values():
        url = region.deployment.output(names.worker_url_output("sms"))
        assert push(emulator, url, "{}", secret=JOBS_SIGNING_SECRET)[0] == 403
