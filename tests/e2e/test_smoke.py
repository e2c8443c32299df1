"""`digest smoke` against deployed stacks: what an emulator can show is shown, and the rest is named."""

from __future__ import annotations

import json
from collections.abc import Mapping

from functions import names
from functions.core.identity import Channel
from ops.local.running_region import RunningRegion
from tests.e2e.people import digest

Regions = Mapping[str, RunningRegion]


def test_a_deployment_on_the_emulator_proves_what_it_can_and_is_left_as_it_was(
    regions: Regions, cloud: Mapping[str, str]
) -> None:
    region = regions["eu"].deployment
    region.sqs.purge_queue(QueueUrl=region.dead_letter_queue_url(Channel.EMAIL))  # another test's
    told = digest(["smoke", "--region", "eu", "--yes", "--json"], cloud)  # its emails go through SES
    verdicts = {one["step"]: one["verdict"] for one in json.loads(told.stdout)["findings"]}
    assert verdicts == {
        "machinery": "proved",
        "alarms": "failed",  # nobody has subscribed to them here, and the check says so
        "webhook": "not proved",
        "planning": "proved",
        "email to success": "proved",
        "email to bounce": "proved",
        "email to complaint": "proved",
        "receipts": "not proved",
        "dead letters": "proved",
        "redrive": "not proved",
        "clearing away": "proved",
    }
    assert told.returncode == 1
    left = region.dynamodb.query(
        TableName=region.customers_table,
        KeyConditionExpression="#id = :id",
        ExpressionAttributeNames={"#id": names.CUSTOMER_ID},
        ExpressionAttributeValues={":id": {"S": "smoke-bounce"}},
    )
    assert left["Items"] == []
    assert region.dead_letter_queue(Channel.EMAIL).counts() == (0, 0)
