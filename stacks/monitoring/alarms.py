"""The alarms themselves, and where they go: every one is mailed, and some of them call a person."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import Aws, RemovalPolicy
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from functions import names
from stacks.deployment import Deployment
from stacks.monitoring.guard import Guard


def alarm(scope: Construct, guard: Guard, deployment: Deployment, topic: sns.ITopic) -> cloudwatch.Alarm:
    """Have the topic told when it fires and when it is over."""
    made = guard.metric.create_alarm(
        scope,
        guard.alarm_id,
        alarm_name=names.alarm_name(deployment.data_region, guard.alarm_id),
        alarm_description=_described(guard.description, guard.runbook),
        comparison_operator=guard.comparison,
        threshold=guard.threshold,
        evaluation_periods=guard.periods,
        datapoints_to_alarm=guard.datapoints,
        treat_missing_data=guard.missing,
    )
    made.add_alarm_action(actions.SnsAction(topic))
    made.add_ok_action(actions.SnsAction(topic))
    return made


def page(scope: Construct, deployment: Deployment, urgent: Sequence[cloudwatch.Alarm], topic: sns.ITopic) -> None:
    """Call a person while any of these alarms is up: once, however many there are."""
    where = f"data region {deployment.data_region}"
    paging = cloudwatch.CompositeAlarm(
        scope,
        names.PAGING_ALARM,
        composite_alarm_name=names.alarm_name(deployment.data_region, names.PAGING_ALARM),
        alarm_description=_described(f"Something in {where} cannot wait for the morning.", "paging"),
        alarm_rule=cloudwatch.AlarmRule.any_of(
            *(cloudwatch.AlarmRule.from_alarm(one, cloudwatch.AlarmState.ALARM) for one in urgent)
        ),
    )
    paging.add_alarm_action(actions.SnsAction(topic))
    paging.add_ok_action(actions.SnsAction(topic))


def _described(what: str, runbook: str) -> str:
    return f"{what} Runbook: docs/runbooks/{runbook}.md"


class AlarmTopics(Construct):
    """Where the region's alarms go: encrypted, TLS only, open to this account's alarms. `paging` is for urgent ones.

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
        # As AWS documents it for alarms: the key takes no condition on the caller's account, the topic does.
        self.key.add_to_resource_policy(
            iam.PolicyStatement(
                principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
                actions=["kms:Decrypt", "kms:GenerateDataKey*"],
                resources=["*"],
            )
        )
        self.mail = self._topic("Topic", deployment, deployment.region.alarm_email)
        self.paging = self._topic("Paging", deployment, deployment.region.paging_email)

    def _topic(self, construct_id: str, deployment: Deployment, email: str | None) -> sns.Topic:
        topic = sns.Topic(self, construct_id, master_key=self.key, enforce_ssl=deployment.target.speaks_tls)
        # A topic's default policy lets the account's alarms in, and is gone as soon as the topic has one of its own.
        topic.add_to_resource_policy(
            iam.PolicyStatement(
                principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
                actions=["sns:Publish"],
                resources=[topic.topic_arn],
                conditions={"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID}},
            )
        )
        if email:
            topic.add_subscription(subscriptions.EmailSubscription(email))
        return topic
