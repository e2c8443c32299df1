"""One Lambda function with what belongs to it alone: a role that names each thing it may do, and a log group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from aws_cdk import Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from functions import names
from stacks.deployment import Deployment
from stacks.settings import LOG_RETENTIONS_DAYS


@dataclass(frozen=True)
class Limits:
    """What an invocation may take. Lambda gives CPU with memory: a whole one at 1769 MB.

    `concurrency` is how many there may be at once, where nothing but Lambda can say so; it is taken from the account's.
    """

    timeout_s: int
    memory_mb: int
    concurrency: int | None = None


class Function(Construct):
    """A handler of `functions/` on arm64 and the newest Python of Lambda.

    The role holds the statements given, and the right to write its own log: no managed policy, and nothing that a
    construct adds by itself later.
    """

    def __init__(  # noqa: PLR0913 - one for each thing that differs
        self,
        scope: Construct,
        construct_id: str,
        deployment: Deployment,
        *,
        package: str,
        description: str,
        limits: Limits,
        environment: Mapping[str, str],
        statements: Sequence[iam.PolicyStatement],
        function_name: str | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        # Stated, because a group that Lambda makes by itself keeps its logs for ever.
        log_group = logs.LogGroup(
            self,
            "Logs",
            retention=_retention(deployment.region.retention.logs_days),
            removal_policy=deployment.removal_policy,
        )
        self.role = iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
            inline_policies={"Allowed": iam.PolicyDocument(statements=[_may_log(log_group), *statements])},
        )
        self.function = lambda_.Function(
            self,
            "Function",
            function_name=function_name,
            description=description,
            runtime=lambda_.Runtime.PYTHON_3_14,
            architecture=lambda_.Architecture.ARM_64,
            code=deployment.code,
            handler=f"functions.{package}.handler.handler",
            timeout=Duration.seconds(limits.timeout_s),
            memory_size=limits.memory_mb,
            reserved_concurrent_executions=limits.concurrency,
            log_group=log_group,
            role=self.role.without_policy_updates(),
            environment={
                names.ENV_DATA_REGION: deployment.data_region,
                names.ENV_SHARDS: str(deployment.region.planner.shards),
                names.ENV_KEEP_DELIVERIES_DAYS: str(deployment.region.retention.deliveries_days),
                "PYDANTIC_DISABLE_PLUGINS": "__all__",  # each cold start would look through every package for some
                "POWERTOOLS_SERVICE_NAME": names.SERVICE,
                "POWERTOOLS_METRICS_NAMESPACE": names.METRICS_NAMESPACE,
                "POWERTOOLS_LOG_LEVEL": "INFO",
                **environment,
            },
        )
        # The function names its role, which is dependency enough; stated twice it is a finding of cfn-lint.
        cast("lambda_.CfnFunction", self.function.node.default_child).add_deletion_override("DependsOn")


def _may_log(log_group: logs.LogGroup) -> iam.PolicyStatement:
    return allow(["logs:CreateLogStream", "logs:PutLogEvents"], log_group.log_group_arn)


def _retention(days: int) -> logs.RetentionDays:
    # CDK names them in this order, without numbers, and ends with one for ever.
    return dict(zip(LOG_RETENTIONS_DAYS, logs.RetentionDays, strict=False))[days]


def allow(actions: Sequence[str], *resources: str) -> iam.PolicyStatement:
    """A statement that allows just these actions on just these resources."""
    return iam.PolicyStatement(actions=list(actions), resources=list(resources))
