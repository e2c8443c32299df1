"""The alarms themselves, and where they go."""

from __future__ import annotations

from aws_cdk import Aws, RemovalPolicy
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from stacks.deployment import Deployment
from stacks.monitoring.guard import Guard


def alarm(scope: Construct, guard: Guard, topic: sns.ITopic) -> cloudwatch.Alarm:
    """Have the topic told when it fires and when it is over."""
    made = guard.metric.create_alarm(
        scope,
        guard.alarm_id,
        alarm_description=f"{guard.description} Runbook: docs/runbooks/{guard.runbook}.md",
        comparison_operator=guard.comparison,
        threshold=guard.threshold,
        evaluation_periods=guard.periods,
        treat_missing_data=guard.missing,
    )
    made.add_alarm_action(actions.SnsAction(topic))
    made.add_ok_action(actions.SnsAction(topic))
    return made


class AlarmTopic(Construct):
    """Where every alarm of the region goes: encrypted, TLS only, open to this account's alarms.

    The key is our own because CloudWatch may not use the one that AWS manages for SNS: alarms would fire unheard.
    """

    def __init__(self, scope: Construct, construct_id: str, deployment: Deployment) -> None:
        super().__init__(scope, construct_id)
        self.key = kms.Key(
            self,
            "Key",
            description=f"Alarms of data region {deployment.data_region}",
            enable_key_rotation=True,
            removal_policy=RemovalPolicy.DESTROY,  # it protects messages on their way, and nothing that is kept
        )
        self.topic = sns.Topic(self, "Topic", master_key=self.key, enforce_ssl=deployment.target.speaks_tls)
        # As AWS documents it for alarms: the key takes no condition on the caller's account, the topic does.
        self.key.add_to_resource_policy(
            iam.PolicyStatement(
                principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
                actions=["kms:Decrypt", "kms:GenerateDataKey*"],
                resources=["*"],
            )
        )
        # A topic's default policy lets the account's alarms in, and is gone as soon as the topic has one of its own.
        self.topic.add_to_resource_policy(
            iam.PolicyStatement(
                principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
                actions=["sns:Publish"],
                resources=[self.topic.topic_arn],
                conditions={"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID}},
            )
        )
        if deployment.region.alarm_email:
            self.topic.add_subscription(subscriptions.EmailSubscription(deployment.region.alarm_email))
