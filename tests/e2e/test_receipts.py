"""What becomes of an email, on stacks whose roles are enforced: by EventBridge in the EU, by webhook in the US.

The emulator's SES tells nobody anything and its bus takes no events of AWS's own services from us, so the rule is told
to listen to ours while its test runs. Everything behind its pattern is as deployed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import urllib3
from standardwebhooks import Webhook

from functions import names
from functions.core.customer import PROFILE
from functions.core.delivery import Delivery, ReceiptState, Status
from functions.core.identity import Channel
from ops.local.emulator import Emulator
from ops.local.running_region import RunningRegion
from tests.e2e.conftest import SIGNING_SECRET
from tests.e2e.people import Person, eventually, import_people, rows_of

Regions = Mapping[str, RunningRegion]
STAND_IN = "tests.ses"


def accepted(region: RunningRegion, person: Person) -> Delivery | None:
    held = rows_of(region, person).get(Channel.EMAIL)
    return held if held is not None and held.status is Status.ACCEPTED else None


def receipt(region: RunningRegion, person: Person, state: ReceiptState) -> Delivery | None:
    held = rows_of(region, person)[Channel.EMAIL]
    return held if held.receipt is not None and held.receipt.state is state else None


def suppressed(region: RunningRegion, person: Person) -> Any:
    key = (person.customer_id, PROFILE)
    return region.deployment.rows.read([key])[key].get("suppressed")


def send_to(region: RunningRegion, person: Person, folder: Path, cloud: Mapping[str, str]) -> Delivery:
    import_people([person], folder, cloud)
    region.wake(names.OUTPUT_PLANNER_SCHEDULE)
    return eventually(partial(accepted, region, person), waking=region, within_s=60, what="the email accepted")


@contextmanager
def listening_to_us(events: Any, data_region: str) -> Iterator[None]:
    """The rule for emails, with the one change that tests need: who its events come from."""
    (rule,) = [one for one in events.list_rules()["Rules"] if "aws.ses" in one.get("EventPattern", "")]
    pattern = json.loads(rule["EventPattern"])
    assert pattern["detail"]["mail"]["tags"] == {"ses:configuration-set": [names.stack_name(data_region)]}
    events.put_rule(Name=rule["Name"], EventPattern=json.dumps({**pattern, "source": [STAND_IN]}))
    try:
        yield
    finally:
        events.put_rule(Name=rule["Name"], EventPattern=rule["EventPattern"])


def tell(events: Any, row: Delivery, detail_type: str, person: Person, **what: Any) -> None:
    """Put on the bus what SES would, with all that it says of a person."""
    tags = {"ses:configuration-set": [names.stack_name(person.data_region)]}
    detail = {
        "mail": {
            "messageId": row.provider_reference,
            "destination": [person.email],
            "headers": [{"name": "To", "value": person.email}],
            "tags": {**tags, **{part: [text] for part, text in row.delivery_id.as_tags().items()}},
        },
        **what,
    }
    entry = {"Source": STAND_IN, "DetailType": detail_type, "Detail": json.dumps(detail)}
    assert events.put_events(Entries=[entry])["FailedEntryCount"] == 0


def test_an_email_that_ses_delivers_and_then_brings_back_suppresses_its_address(
    regions: Regions, emulator: Emulator, cloud: Mapping[str, str], tmp_path: Path
) -> None:
    region, person = regions["eu"], Person("receipts-berta", "eu", digest_channels="email")
    row = send_to(region, person, tmp_path, cloud)
    events = emulator.client("events", region.aws_region)
    now = datetime.now(UTC).isoformat()
    bounce = {
        "bounceType": "Permanent",
        "bounceSubType": "General",
        "bouncedRecipients": [{"emailAddress": person.email}],
    }
    with listening_to_us(events, "eu"):
        tell(events, row, "Email Delivered", person, delivery={"timestamp": now, "recipients": [person.email]})
        eventually(partial(receipt, region, person, ReceiptState.DELIVERED), within_s=30, what="the email delivered")
        assert suppressed(region, person) is None
        tell(events, row, "Email Bounced", person, bounce={**bounce, "timestamp": now})
        eventually(partial(receipt, region, person, ReceiptState.BOUNCED), within_s=30, what="the email brought back")
    assert suppressed(region, person)["email"]["cause"] == "hard_bounce"
    assert not region.messages(region.deployment.output(names.OUTPUT_RECEIPTS_DEAD_LETTER_QUEUE))


def post(emulator: Emulator, url: str, body: bytes, *, secret: str = SIGNING_SECRET) -> int:
    """Post a signed webhook, at the address under which the emulator serves the function's URL."""
    now = datetime.now(UTC)
    headers = {
        "svix-id": f"msg_{now.timestamp()}",
        "svix-timestamp": str(int(now.timestamp())),
        "content-type": "application/json",
    }
    headers["svix-signature"] = Webhook(secret).sign(headers["svix-id"], now, body.decode())
    url_id = (urlsplit(url).hostname or "").partition(".")[0]
    address = f"{emulator.endpoint_url}/_aws/lambda-url/{url_id}/"
    answer = urllib3.request("POST", address, body=body, headers=headers, retries=False, timeout=30)
    return answer.status


def test_a_complaint_by_webhook_suppresses_the_address_and_a_forged_one_does_not(
    regions: Regions, emulator: Emulator, cloud: Mapping[str, str], tmp_path: Path
) -> None:
    region, person = regions["us"], Person("receipts-carl", "us", digest_channels="email")
    row = send_to(region, person, tmp_path, cloud)
    url = region.deployment.output(names.OUTPUT_RECEIPT_INTAKE_URL)
    event = {
        "type": "email.complained",
        "created_at": datetime.now(UTC).isoformat(),
        "data": {
            "email_id": row.provider_reference,
            "to": [person.email],
            "tags": row.delivery_id.as_tags(),
        },
    }
    body = json.dumps(event).encode()
    assert post(emulator, url, body, secret="whsec_" + "bm9ib2R5" * 4) == 401
    assert suppressed(region, person) is None
    assert post(emulator, url, body) == 204
    eventually(partial(receipt, region, person, ReceiptState.COMPLAINED), within_s=30, what="the complaint known")
    assert suppressed(region, person)["email"]["cause"] == "complaint"


@pytest.mark.parametrize("data_region", ["us", "eu"])
def test_receipts_are_told_of_without_anybody_s_address(regions: Regions, data_region: str) -> None:
    lines = [
        line.text for line in regions[data_region].log_lines() if "receipt." in line.text or "webhook." in line.text
    ]
    assert lines
    assert not [line for line in lines if "@example.com" in line]
