"""An endpoint of our own, for the check after a deployment; only where the settings ask for it."""

from __future__ import annotations

from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from functions import names
from stacks.deployment import Deployment
from stacks.function import Function, Limits, allow
from stacks.storage import Storage


class SmokeEndpoint(Construct):
    """Open to everybody, as a customer's endpoint is, and answering only to our own signatures.

    It may read the secret of the check's one customer, and note what arrived: no other item of either table.
    """

    def __init__(self, scope: Construct, construct_id: str, deployment: Deployment, *, storage: Storage) -> None:
        super().__init__(scope, construct_id)
        self.function = Function(
            self,
            "Endpoint",
            deployment,
            package="smoke_endpoint",
            description=f"Takes the webhook that `digest smoke` has sent in data region {deployment.data_region}",
            limits=Limits(timeout_s=10, memory_mb=512),
            environment={
                names.ENV_CUSTOMERS_TABLE: storage.customers.table_name,
                names.ENV_CONTROL_TABLE: storage.control.table_name,
            },
            statements=[
                _of_items("dynamodb:GetItem", storage.customers.table_arn, names.SMOKE_WEBHOOK_CUSTOMER),
                _of_items("dynamodb:UpdateItem", storage.control.table_arn, "smoke#*"),
            ],
        )
        self.url = self.function.function.add_function_url(auth_type=lambda_.FunctionUrlAuthType.NONE)

    def outputs(self) -> dict[str, str]:
        return {
            names.OUTPUT_SMOKE_ENDPOINT_FUNCTION: self.function.function.function_name,
            names.OUTPUT_SMOKE_ENDPOINT_URL: self.url.url,
        }


def _of_items(action: str, table_arn: str, keys: str) -> iam.PolicyStatement:
    statement = allow([action], table_arn)
    statement.add_condition("ForAllValues:StringLike", {"dynamodb:LeadingKeys": [keys]})
    return statement
