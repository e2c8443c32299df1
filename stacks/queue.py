"""Queues that only speak TLS and keep their messages encrypted."""

from __future__ import annotations

from aws_cdk import Acknowledgment, Duration, Validations
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from stacks.deployment import Deployment
from stacks.settings import DEAD_LETTER_RETENTION_DAYS


class PrivateQueue(sqs.Queue):
    """SSE-SQS rather than KMS: no service that delivers here needs a right to a key, so none can lack it."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        deployment: Deployment,
        *,
        retention_days: int = DEAD_LETTER_RETENTION_DAYS,
        queue_name: str | None = None,
        visibility_timeout: Duration | None = None,
        dead_letter_queue: sqs.DeadLetterQueue | None = None,
        redrive_allow_policy: sqs.RedriveAllowPolicy | None = None,
    ) -> None:
        super().__init__(
            scope,
            construct_id,
            queue_name=queue_name,
            retention_period=Duration.days(retention_days),
            visibility_timeout=visibility_timeout,
            dead_letter_queue=dead_letter_queue,
            redrive_allow_policy=redrive_allow_policy,
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=deployment.target.speaks_tls,
        )
        if not deployment.target.speaks_tls:
            Validations.of(self).acknowledge(
                Acknowledgment(id="AwsSolutions-SQS4", reason="The local emulator speaks plain HTTP, on loopback only.")
            )


def may_send_messages(deployment: Deployment, *queues: sqs.IQueue) -> iam.PolicyStatement:
    """The right to put messages on these queues, one by one and in batches."""
    batches = ["sqs:SendMessageBatch"] if deployment.target.names_batches_apart else []
    return iam.PolicyStatement(actions=["sqs:SendMessage", *batches], resources=[queue.queue_arn for queue in queues])
