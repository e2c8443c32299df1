"""Tables that survive a mistake, stay in their region, and never have all their traffic on one key."""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import App, Stack
from aws_cdk import aws_lambda as lambda_
from aws_cdk.assertions import Template as Assertions

from functions import names
from stacks.deployment import Deployment
from stacks.settings import load_settings
from stacks.storage import Storage
from tests.infrastructure.templates import Template, context

TABLE = "AWS::DynamoDB::Table"


def test_a_retained_table_does_not_stand_in_the_way_of_the_next_deployment(template: Template) -> None:
    assert not [table for table in template.properties(TABLE).values() if "TableName" in table]


def test_what_is_stored_survives_the_deletion_of_its_stack(template: Template) -> None:
    for table in template.of_type(TABLE).values():
        assert (table["DeletionPolicy"], table["UpdateReplacePolicy"]) == ("Retain", "Retain")
        assert table["Properties"]["DeletionProtectionEnabled"] is True


def test_what_is_stored_can_be_taken_back_to_any_second(template: Template) -> None:
    for table in template.properties(TABLE).values():
        assert table["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"] is True


def test_what_is_stored_is_encrypted_and_purged_by_its_own_time(template: Template) -> None:
    for table in template.properties(TABLE).values():
        assert table["SSESpecification"] == {"SSEEnabled": True}
        assert table["TimeToLiveSpecification"] == {"AttributeName": names.TTL, "Enabled": True}


def test_a_week_s_rush_needs_no_capacity_to_be_planned(template: Template) -> None:
    assert {table["BillingMode"] for table in template.properties(TABLE).values()} == {"PAY_PER_REQUEST"}


def test_no_customer_is_copied_to_another_region(template: Template) -> None:
    assert not template.of_type("AWS::DynamoDB::GlobalTable")
    assert not [table for table in template.properties(TABLE).values() if "StreamSpecification" in table]


@pytest.mark.parametrize(
    ("output", "index", "keys", "projection"),
    [
        (
            names.OUTPUT_CUSTOMERS_TABLE,
            names.NUMBER_INDEX,
            [names.NUMBER_HASH, names.CUSTOMER_ID],
            {"ProjectionType": "KEYS_ONLY"},
        ),
        (
            names.OUTPUT_CUSTOMERS_TABLE,
            names.DUE_INDEX,
            [names.DUE_SHARD, names.NEXT_RUN_AT],
            {"ProjectionType": "ALL"},
        ),
        (
            names.OUTPUT_DELIVERIES_TABLE,
            names.ATTENTION_INDEX,
            [names.ATTENTION, names.ATTENTION_AT],
            {"ProjectionType": "INCLUDE", "NonKeyAttributes": [names.PERIOD]},
        ),
        (
            names.OUTPUT_DELIVERIES_TABLE,
            names.PERIOD_INDEX,
            [names.PERIOD_SHARD, names.PERIOD_END],
            {"ProjectionType": "INCLUDE", "NonKeyAttributes": [names.ACCEPTED_AT, names.RECEIPT_OUTCOME]},
        ),
    ],
)
def test_the_functions_find_the_indexes_that_they_query(
    template: Template, output: str, index: str, keys: list[str], projection: dict[str, Any]
) -> None:
    table = template.properties(TABLE)[template.referred(output)]
    (found,) = [each for each in table["GlobalSecondaryIndexes"] if each["IndexName"] == index]
    assert [key["AttributeName"] for key in found["KeySchema"]] == keys
    assert found["Projection"] == projection


@pytest.mark.parametrize(
    ("output", "keys"),
    [
        (names.OUTPUT_CUSTOMERS_TABLE, [names.CUSTOMER_ID, names.RECORD]),
        (names.OUTPUT_DELIVERIES_TABLE, [names.DELIVERY_ID]),
        (names.OUTPUT_CONTROL_TABLE, [names.CONTROL_KEY]),
    ],
)
def test_a_table_is_written_by_the_item_and_not_by_a_date_or_a_state(
    template: Template, output: str, keys: list[str]
) -> None:
    schema = template.properties(TABLE)[template.referred(output)]["KeySchema"]
    assert [key["AttributeName"] for key in schema] == keys


def test_a_stack_for_trying_things_leaves_nothing_behind() -> None:
    context_of_a_trial = context()
    for region in context_of_a_trial["regions"].values():
        region["deletion_protection"] = False
    settings = load_settings(context_of_a_trial)
    stack = Stack(App(), "Trial")
    Storage(stack, "Storage", Deployment(settings.target, "us", settings.regions["us"], lambda_.Code.from_inline("-")))

    for table in Assertions.from_stack(stack).find_resources(TABLE).values():
        assert table["DeletionPolicy"] == "Delete"
        assert not table["Properties"]["DeletionProtectionEnabled"]
