"""The page behind the links to leave, at an address that anybody may open."""

from __future__ import annotations

from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from functions import names
from stacks.deployment import Deployment
from stacks.function import Function, Limits, allow
from stacks.key_ring import KeyRing
from stacks.storage import Storage


class Unsubscribe(Construct):
    """A function URL without IAM: who leaves has no account, and a mail program that leaves for them has none either.

    The token in the address is what is checked. The function may read its keys and change consent; it can neither read
    a customer nor change anything else of one.
    """

    def __init__(
        self, scope: Construct, construct_id: str, deployment: Deployment, *, storage: Storage, opt_out_keys: KeyRing
    ) -> None:
        super().__init__(scope, construct_id)
        where = f"of data region {deployment.data_region}"
        self.keys = KeyRing(self, "Keys", deployment, description=f"Signs the unsubscribe links {where}")
        self.function = Function(
            self,
            "Page",
            deployment,
            package="unsubscribe",
            description=f"Shows and carries out the unsubscribe links {where}",
            limits=Limits(timeout_s=10, memory_mb=512),
            environment={
                names.ENV_CUSTOMERS_TABLE: storage.customers.table_name,
                names.ENV_UNSUBSCRIBE_KEYS: self.keys.arn,
                names.ENV_OPT_OUT_KEYS: opt_out_keys.arn,
                names.ENV_SITE_URL: deployment.region.site_url,
            },
            statements=[
                _may_withdraw_consent(storage),
                self.keys.may_be_read(),
                opt_out_keys.may_be_read(),
            ],
        )
        self.url = self.function.function.add_function_url(auth_type=lambda_.FunctionUrlAuthType.NONE)

    def environment(self) -> dict[str, str]:
        """What whoever writes links needs to know."""
        return {names.ENV_UNSUBSCRIBE_URL: self.url.url, names.ENV_UNSUBSCRIBE_KEYS: self.keys.arn}

    def outputs(self) -> dict[str, str]:
        return {
            names.OUTPUT_UNSUBSCRIBE_FUNCTION: self.function.function.function_name,
            names.OUTPUT_UNSUBSCRIBE_URL: self.url.url,
            names.OUTPUT_UNSUBSCRIBE_KEYS: self.keys.secret_arn,
        }


def _may_withdraw_consent(storage: Storage) -> iam.PolicyStatement:
    statement = allow(["dynamodb:UpdateItem"], storage.customers.table_arn)
    # Reading what was there before an update would be reading the customer.
    statement.add_condition("StringEqualsIfExists", {"dynamodb:ReturnValues": ["NONE"]})
    statement.add_condition(
        "ForAllValues:StringEquals",
        {"dynamodb:Attributes": [names.CUSTOMER_ID, names.RECORD, *names.CONSENT_ATTRIBUTES, *names.LEFT_ATTRIBUTES]},
    )
    return statement
