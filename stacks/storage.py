"""The tables of one region: customers, deliveries, control."""

from __future__ import annotations

from aws_cdk import aws_dynamodb as dynamodb
from constructs import Construct

from functions import names
from stacks.deployment import Deployment

_STRING = dynamodb.AttributeType.STRING


class Storage(Construct):
    """Names are left to CloudFormation: a retained table must not stand in the way of the next deployment.

    `AWS::DynamoDB::Table`, not a global table: a region's customers are never copied to another one.
    """

    def __init__(self, scope: Construct, construct_id: str, deployment: Deployment) -> None:
        super().__init__(scope, construct_id)
        self.customers = _table(self, "Customers", deployment, names.CUSTOMER_ID, sort_key=names.RECORD)
        _add_index(self.customers, names.DUE_INDEX, names.DUE_SHARD, names.NEXT_RUN_AT, dynamodb.ProjectionType.ALL)
        keys_only = dynamodb.ProjectionType.KEYS_ONLY
        _add_index(self.customers, names.NUMBER_INDEX, names.NUMBER_HASH, names.CUSTOMER_ID, keys_only)

        self.deliveries = _table(self, "Deliveries", deployment, names.DELIVERY_ID)
        # What an index says is a hint, checked on the row itself: keys are enough, and cost the least to write. The
        # week stands in `attention` as well, by which open deliveries are counted; it never changes, so costs no write.
        self.deliveries.add_global_secondary_index(
            index_name=names.ATTENTION_INDEX,
            partition_key=dynamodb.Attribute(name=names.ATTENTION, type=_STRING),
            sort_key=dynamodb.Attribute(name=names.ATTENTION_AT, type=_STRING),
            projection_type=dynamodb.ProjectionType.INCLUDE,
            non_key_attributes=[names.PERIOD],
        )
        # When a row was accepted never changes either; what became of it is written once, mostly: one index write more.
        self.deliveries.add_global_secondary_index(
            index_name=names.PERIOD_INDEX,
            partition_key=dynamodb.Attribute(name=names.PERIOD_SHARD, type=_STRING),
            sort_key=dynamodb.Attribute(name=names.PERIOD_END, type=_STRING),
            projection_type=dynamodb.ProjectionType.INCLUDE,
            non_key_attributes=[names.ACCEPTED_AT, names.RECEIPT_OUTCOME],
        )

        self.control = _table(self, "Control", deployment, names.CONTROL_KEY)

    def environment(self) -> dict[str, str]:
        """Table names, as every function finds them."""
        return {
            names.ENV_CUSTOMERS_TABLE: self.customers.table_name,
            names.ENV_DELIVERIES_TABLE: self.deliveries.table_name,
            names.ENV_CONTROL_TABLE: self.control.table_name,
        }

    def due_index_arn(self) -> str:
        return f"{self.customers.table_arn}/index/{names.DUE_INDEX}"

    def number_index_arn(self) -> str:
        return f"{self.customers.table_arn}/index/{names.NUMBER_INDEX}"

    def attention_index_arn(self) -> str:
        return f"{self.deliveries.table_arn}/index/{names.ATTENTION_INDEX}"

    def period_index_arn(self) -> str:
        return f"{self.deliveries.table_arn}/index/{names.PERIOD_INDEX}"


def _table(
    scope: Construct, construct_id: str, deployment: Deployment, partition_key: str, sort_key: str | None = None
) -> dynamodb.Table:
    return dynamodb.Table(
        scope,
        construct_id,
        partition_key=dynamodb.Attribute(name=partition_key, type=_STRING),
        sort_key=dynamodb.Attribute(name=sort_key, type=_STRING) if sort_key else None,
        billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
        encryption=dynamodb.TableEncryption.AWS_MANAGED,
        point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
            point_in_time_recovery_enabled=True
        ),
        time_to_live_attribute=names.TTL,
        deletion_protection=deployment.region.deletion_protection,
        removal_policy=deployment.removal_policy,
    )


def _add_index(
    table: dynamodb.Table, name: str, partition_key: str, sort_key: str, projection: dynamodb.ProjectionType
) -> None:
    table.add_global_secondary_index(
        index_name=name,
        partition_key=dynamodb.Attribute(name=partition_key, type=_STRING),
        sort_key=dynamodb.Attribute(name=sort_key, type=_STRING),
        projection_type=projection,
    )
