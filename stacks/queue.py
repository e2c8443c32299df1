"""Queues that only speak TLS and keep their messages encrypted."""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from stacks.settings import DEAD_LETTER_RETENTION_DAYS


class PrivateQueue(sqs.Queue):
    """SSE-SQS rather than KMS: no service that delivers here needs a right to a key, so none can lack it."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
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
            enforce_ssl=True,
        )
