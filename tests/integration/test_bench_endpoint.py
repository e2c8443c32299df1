"""The loopback endpoint of the measurements answers in the shapes that the services answer in."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from bench import cast
from bench.endpoint import Answers
from functions.adapters.delivery_rows import to_row
from functions.adapters.items import from_item
from functions.adapters.schedule_rows import schedule_from_row
from functions.core.identity import Channel
from functions.core.instants import to_text
from functions.core.message import DeliveryMessage
from tests.fakes.environment import CUSTOMERS, DELIVERIES, SHARDS, queue_url
from tests.integration.region import Region

DUE_AT = cast.moment()


@pytest.fixture
def answers() -> Answers:
    return Answers(customers=10, shards=SHARDS, due_at=DUE_AT)


def ask(answers: Answers, operation: str, **request: Any) -> Any:
    return json.loads(answers.answer("/", f"Service.{operation}", json.dumps(request).encode()))


def without_metadata(answer: Any) -> Any:
    return {
        name: value
        for name, value in answer.items()
        if name not in {"ResponseMetadata", "ScannedCount", "ConsumedCapacity"}
    }


def test_a_page_of_what_is_due_reads_as_dynamodb_s(answers: Answers, region: Region) -> None:
    region.schedule(*(cast.a_schedule(number, due_at=DUE_AT) for number in range(20)))
    query: dict[str, Any] = {
        "TableName": CUSTOMERS,
        "IndexName": "due",
        "KeyConditionExpression": "#shard = :shard AND #at <= :until",
        "ExpressionAttributeNames": {"#shard": "due_shard", "#at": "next_run_at"},
        "ExpressionAttributeValues": {":shard": {"S": "due#0"}, ":until": {"S": to_text(DUE_AT)}},
        "Limit": 1,
    }
    ours, theirs = ask(answers, "Query", **query), without_metadata(region.dynamodb.query(**query))
    assert ours.keys() == theirs.keys()
    assert ours["Items"][0].keys() == theirs["Items"][0].keys()
    assert schedule_from_row(from_item(ours["Items"][0])) == cast.a_schedule(0, due_at=DUE_AT)


def test_every_page_goes_on_where_the_last_one_ended(answers: Answers) -> None:
    query: dict[str, Any] = {
        "IndexName": "due",
        "Limit": 2,
        "ExpressionAttributeValues": {":shard": {"S": "due#1"}},
    }
    seen: list[str] = []
    while True:
        answer = ask(answers, "Query", **query)
        seen += [item["customer_id"]["S"] for item in answer["Items"]]
        if "LastEvaluatedKey" not in answer:
            break
        query["ExclusiveStartKey"] = answer["LastEvaluatedKey"]
    assert seen == [cast.customer_id(number) for number in range(5, 10)]


def test_rows_that_are_asked_for_read_as_dynamodb_s(answers: Answers, region: Region) -> None:
    row, _ = cast.deliveries_of(7, due_at=DUE_AT)
    region.put_deliveries(row)
    request: Any = {DELIVERIES: {"Keys": [{"delivery_id": {"S": str(row.delivery_id)}}]}}
    ours = ask(answers, "BatchGetItem", RequestItems=request)
    theirs = without_metadata(region.dynamodb.batch_get_item(RequestItems=request))
    assert ours == {**theirs, "Responses": {DELIVERIES: ours["Responses"][DELIVERIES]}}
    held = from_item(ours["Responses"][DELIVERIES][0])
    assert held == {name: value for name, value in to_row(row, shards=1).items() if value is not None}


def test_a_batch_of_messages_is_taken_as_sqs_takes_it(answers: Answers, region: Region) -> None:
    row, _ = cast.deliveries_of(7, due_at=DUE_AT)
    request: Any = {"Entries": [{"Id": "0", "MessageBody": DeliveryMessage.of(row).to_body()}]}
    ours = ask(answers, "SendMessageBatch", **request)
    theirs = region.sqs.send_message_batch(QueueUrl=queue_url(Channel.EMAIL), **request)
    assert ours["Successful"][0].keys() == theirs["Successful"][0].keys()
    assert ours["Successful"][0]["MD5OfMessageBody"] == theirs["Successful"][0]["MD5OfMessageBody"]


def test_it_counts_what_was_asked_and_begins_anew(answers: Answers) -> None:
    ask(answers, "UpdateItem")
    ask(answers, "UpdateItem")
    assert json.loads(answers.answer("/counts", "", b"")) == {"UpdateItem": 2}
    assert json.loads(answers.answer("/counts", "", b"")) == {}


def test_its_customers_are_due_when_it_is_told() -> None:
    later = DUE_AT + timedelta(days=1)
    answers = Answers(customers=2, shards=1, due_at=later)
    answer = ask(answers, "Query", IndexName="due", Limit=1, ExpressionAttributeValues={":shard": {"S": "due#0"}})
    assert from_item(answer["Items"][0])["next_run_at"] == to_text(later)
