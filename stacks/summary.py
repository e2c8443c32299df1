"""What those who send emails need to have digests summarised by a model on Amazon Bedrock, where that is set."""

from __future__ import annotations

import json

from aws_cdk import Acknowledgment, Stack, Validations
from aws_cdk import aws_iam as iam
from constructs import Construct

from functions import names
from stacks.deployment import Deployment
from stacks.function import allow
from stacks.settings import Summary
from stacks.storage import Storage


def summary_environment(deployment: Deployment) -> dict[str, str]:
    """How digests are summarised, as the functions find it; nothing where they are not."""
    settings = deployment.region.summary
    return {} if settings is None else {names.ENV_SUMMARY: json.dumps(settings.model_dump())}


def may_summarise(scope: Construct, deployment: Deployment, storage: Storage) -> list[iam.PolicyStatement]:
    """The right to ask the one model, and to keep what it says with a customer who is there; none where none is set."""
    settings = deployment.region.summary
    if settings is None:
        return []
    return [
        *_may_ask(scope, settings),
        allow(["dynamodb:ConditionCheckItem", "dynamodb:PutItem"], storage.customers.table_arn),
    ]


def explain_model_wildcard(scope: Construct, deployment: Deployment) -> None:
    """Say why a profile's model is named in every AWS region of its geography."""
    settings = deployment.region.summary
    if settings is None or settings.geography is None:
        return
    reason = "An inference profile runs its model in whichever region of its geography has room; AWS adds regions."
    finding = f"AwsSolutions-IAM5[Resource::{_model_of_profile(scope, settings)}]"
    Validations.of(scope).acknowledge(Acknowledgment(id=finding, reason=reason))


def _may_ask(scope: Construct, settings: Summary) -> list[iam.PolicyStatement]:
    # Converse asks for the permission of InvokeModel. A profile and the model behind it are both looked at.
    stack = Stack.of(scope)
    action = ["bedrock:InvokeModel"]
    if settings.geography is None:
        model = stack.format_arn(
            service="bedrock", account="", resource="foundation-model", resource_name=settings.model_id
        )
        return [allow(action, model)]
    profile = stack.format_arn(service="bedrock", resource="inference-profile", resource_name=settings.model_id)
    through_profile = allow(action, _model_of_profile(scope, settings))
    through_profile.add_condition("StringEquals", {"bedrock:InferenceProfileArn": profile})
    return [allow(action, profile), through_profile]


def _model_of_profile(scope: Construct, settings: Summary) -> str:
    return Stack.of(scope).format_arn(
        service="bedrock",
        region=f"{settings.geography}-*",
        account="",
        resource="foundation-model",
        resource_name=settings.model_id.partition(".")[2],
    )
