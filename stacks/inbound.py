"""Texts that customers send back: a topic for the numbers they answer to, a queue, and the function that listens."""

from __future__ import annotations

from aws_cdk import Aws, RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from functions import names
from stacks.deployment import Deployment
from stacks.function import Function, Limits, allow
from stacks.key_ring import KeyRing
from stacks.queue import consume, may_consume, queue_and_dead_letters
from stacks.settings import VISIBILITY_PER_TIMEOUT
from stacks.storage import Storage

_SENDER = "sms-voice.amazonaws.com"
_TIMEOUT_S = 30
_BATCH = 10
_CONCURRENCY = 2
_BACKOFF_S = (30, 120, 600, 1800, 3600)


class Inbound(Construct):
    """The topic is for two-way SMS of AWS End User Messaging: give its ARN to each number that customers can answer.

    The queue's policy, which the subscription writes, admits this topic and nobody else.
    """

    def __init__(
        self, scope: Construct, construct_id: str, deployment: Deployment, *, storage: Storage, opt_out_keys: KeyRing
    ) -> None:
        super().__init__(scope, construct_id)
        where = f"of data region {deployment.data_region}"
        self.keys = KeyRing(self, "NumberKeys", deployment, description=f"Hashes the phone numbers {where}")
        self.topic = InboundTopic(self, "Texts", deployment).topic
        self.queue, self.dead_letters = queue_and_dead_letters(
            self,
            deployment,
            name="inbound",
            visibility_timeout_s=VISIBILITY_PER_TIMEOUT * _TIMEOUT_S,
            max_receive_count=len(_BACKOFF_S) + 1,
        )
        self.topic.add_subscription(subscriptions.SqsSubscription(self.queue, raw_message_delivery=True))
        self.function = Function(
            self,
            "Listener",
            deployment,
            package="inbound",
            description=f"Takes the customers {where} at their word who text STOP",
            limits=Limits(_TIMEOUT_S, memory_mb=512),
            environment={
                names.ENV_CUSTOMERS_TABLE: storage.customers.table_name,
                names.ENV_NUMBER_KEYS: self.keys.arn,
                names.ENV_OPT_OUT_KEYS: opt_out_keys.arn,
                names.ENV_QUEUE_URL: self.queue.queue_url,
                names.ENV_BACKOFF_S: ",".join(str(wait) for wait in _BACKOFF_S),
            },
            statements=[
                allow(["dynamodb:Query"], storage.number_index_arn()),
                allow(["dynamodb:UpdateItem"], storage.customers.table_arn),
                self.keys.may_be_read(),
                opt_out_keys.may_be_read(),
                may_consume(self.queue),
            ],
        )
        consume(self, self.function, self.queue, batch_size=_BATCH, window_s=0, concurrency=_CONCURRENCY)

    def outputs(self) -> dict[str, str]:
        return {
            names.OUTPUT_NUMBER_KEYS: self.keys.secret_arn,
            names.OUTPUT_INBOUND_TOPIC: self.topic.topic_arn,
            names.OUTPUT_INBOUND_FUNCTION: self.function.function.function_name,
            names.OUTPUT_INBOUND_QUEUE: self.queue.queue_url,
            names.OUTPUT_INBOUND_DEAD_LETTER_QUEUE: self.dead_letters.queue_url,
        }


class InboundTopic(Construct):
    """Encrypted with a key of our own, which End User Messaging may use: with the one of AWS it could not publish.

    https://docs.aws.amazon.com/sms-voice/latest/userguide/two-way-sms-iam-policy-auto.html
    """

    def __init__(self, scope: Construct, construct_id: str, deployment: Deployment) -> None:
        super().__init__(scope, construct_id)
        self.key = kms.Key(
            self,
            "Key",
            description=f"Texts from customers of data region {deployment.data_region}, on their way",
            enable_key_rotation=True,
            removal_policy=RemovalPolicy.DESTROY,  # it protects messages on their way, and nothing that is kept
        )
        self.topic = sns.Topic(self, "Topic", master_key=self.key, enforce_ssl=deployment.target.speaks_tls)
        self.key.add_to_resource_policy(self._from_our_numbers(["kms:Decrypt", "kms:GenerateDataKey*"], "*"))
        self.topic.add_to_resource_policy(self._from_our_numbers(["sns:Publish"], self.topic.topic_arn))

    def _from_our_numbers(self, actions: list[str], resource: str) -> iam.PolicyStatement:
        numbers = Stack.of(self).format_arn(service="sms-voice", resource="*")
        return iam.PolicyStatement(
            principals=[iam.ServicePrincipal(_SENDER)],
            actions=actions,
            resources=[resource],
            conditions={
                "StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID},
                "ArnLike": {"aws:SourceArn": numbers},
            },
        )
