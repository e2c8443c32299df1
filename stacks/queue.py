"""Queues that only speak TLS and keep their messages encrypted."""

from __future__ import annotations

from aws_cdk import Acknowledgment, Duration, Stack, Validations
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from functions import names
from stacks.deployment import Deployment
from stacks.function import Function, allow
from stacks.settings import DEAD_LETTER_RETENTION_DAYS, QUEUE_RETENTION_DAYS


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


def queue_and_dead_letters(
    scope: Construct, deployment: Deployment, *, name: str, visibility_timeout_s: int, max_receive_count: int
) -> tuple[PrivateQueue, PrivateQueue]:
    """A queue and its dead-letter queue.

    SQS alone moves messages to the dead-letter queue, and only from this queue: the console's "redrive to source" then
    works for every one of them.
    """
    # The dead-letter queue names its source and the source its dead-letter queue; a chosen name breaks that circle.
    queue_name = f"{names.stack_name(deployment.data_region)}-{name}"
    arn = Stack.of(scope).format_arn(service="sqs", resource=queue_name)
    dead_letters = PrivateQueue(
        scope,
        "DeadLetters",
        deployment,
        redrive_allow_policy=sqs.RedriveAllowPolicy(
            redrive_permission=sqs.RedrivePermission.BY_QUEUE,
            source_queues=[sqs.Queue.from_queue_arn(scope, "QueueByName", arn)],
        ),
    )
    queue = PrivateQueue(
        scope,
        "Queue",
        deployment,
        queue_name=queue_name,
        retention_days=QUEUE_RETENTION_DAYS,
        visibility_timeout=Duration.seconds(visibility_timeout_s),
        dead_letter_queue=sqs.DeadLetterQueue(queue=dead_letters, max_receive_count=max_receive_count),
    )
    return queue, dead_letters


def consume(
    scope: Construct,
    function: Function,
    queue: sqs.IQueue,
    *,
    batch_size: int,
    window_s: int,
    concurrency: int,
    enabled: bool = True,
) -> None:
    """Have a function work a queue off, or be ready to."""
    # The maximum concurrency holds the queue back without loss. Reserved concurrency would throttle the poller, and
    # every throttled batch uses up a receive: messages nobody looked at end in the dead-letter queue, with no log.
    # Filters would delete what they do not match.
    lambda_.EventSourceMapping(
        scope,
        "Mapping",
        target=function.function,
        event_source_arn=queue.queue_arn,
        batch_size=batch_size,
        max_batching_window=Duration.seconds(window_s),
        max_concurrency=concurrency,
        report_batch_item_failures=True,
        enabled=enabled,
    )


def may_consume(queue: sqs.IQueue) -> iam.PolicyStatement:
    """The right to receive this queue's messages, to delete those that are done and to put off the others."""
    return allow(
        ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ChangeMessageVisibility"],
        queue.queue_arn,
    )


def may_send_messages(deployment: Deployment, *queues: sqs.IQueue) -> iam.PolicyStatement:
    """The right to put messages on these queues, one by one and in batches."""
    batches = ["sqs:SendMessageBatch"] if deployment.target.names_batches_apart else []
    return iam.PolicyStatement(actions=["sqs:SendMessage", *batches], resources=[queue.queue_arn for queue in queues])
