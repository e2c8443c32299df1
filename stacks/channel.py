"""One channel: its queue, its dead-letter queue and the consumer between them and the provider."""

from __future__ import annotations

import json

from aws_cdk import Acknowledgment, ArnFormat, Duration, Stack, Validations
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from functions import names
from stacks.deployment import Deployment
from stacks.function import Function, Limits, allow
from stacks.queue import PrivateQueue
from stacks.settings import QUEUE_RETENTION_DAYS, EmailChannel, SmsChannel
from stacks.settings import Channel as ChannelSettings
from stacks.storage import Storage


class Channel(Construct):
    """Queue and dead-letter queue of a channel, and the function that hands its deliveries to the provider.

    SQS alone moves messages to the dead-letter queue, and only from this queue: the console's "redrive to source" then
    works for every one of them.
    """

    def __init__(
        self, scope: Construct, construct_id: str, deployment: Deployment, *, name: str, storage: Storage
    ) -> None:
        super().__init__(scope, construct_id)
        settings = deployment.region.channels.by_name()[name]
        # The dead-letter queue names its source and the source its dead-letter queue; a chosen name breaks that circle.
        queue_name = f"{names.stack_name(deployment.data_region)}-{name}"
        self.dead_letters = PrivateQueue(
            self,
            "DeadLetters",
            deployment,
            redrive_allow_policy=sqs.RedriveAllowPolicy(
                redrive_permission=sqs.RedrivePermission.BY_QUEUE, source_queues=[self._queue_named(queue_name)]
            ),
        )
        self.queue = PrivateQueue(
            self,
            "Queue",
            deployment,
            queue_name=queue_name,
            retention_days=QUEUE_RETENTION_DAYS,
            visibility_timeout=Duration.seconds(settings.visibility_timeout_s),
            dead_letter_queue=sqs.DeadLetterQueue(
                queue=self.dead_letters, max_receive_count=settings.max_receive_count
            ),
        )
        self.consumer = Function(
            self,
            "Consumer",
            deployment,
            package=name,
            description=f"Hands the {name} deliveries of data region {deployment.data_region} to {settings.provider}",
            limits=Limits(settings.timeout_s, settings.memory_mb),
            environment={
                **storage.environment(),
                names.ENV_QUEUE_URL: self.queue.queue_url,
                **_environment(deployment, name, settings),
            },
            statements=[*self._statements(storage), *_may_send(self, deployment, settings)],
        )
        _explain_wildcards(self.consumer, _why_any_resource(deployment, settings))
        self._consume(settings)

    def _queue_named(self, queue_name: str) -> sqs.IQueue:
        arn = Stack.of(self).format_arn(service="sqs", resource=queue_name)
        return sqs.Queue.from_queue_arn(self, "QueueByName", arn)

    def _consume(self, settings: ChannelSettings) -> None:
        # The maximum concurrency holds the queue back without loss. Reserved concurrency would throttle the poller, and
        # every throttled batch uses up a receive: messages nobody looked at end in the dead-letter queue, with no log.
        # Filters would delete what they do not match.
        lambda_.EventSourceMapping(
            self,
            "Mapping",
            target=self.consumer.function,
            event_source_arn=self.queue.queue_arn,
            batch_size=settings.batch_size,
            max_batching_window=Duration.seconds(settings.batching_window_s),
            max_concurrency=settings.concurrency,
            report_batch_item_failures=True,
        )

    def _statements(self, storage: Storage) -> list[iam.PolicyStatement]:
        return [
            allow(["dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:UpdateItem"], storage.deliveries.table_arn),
            allow(["dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query"], storage.customers.table_arn),
            allow(["dynamodb:GetItem", "dynamodb:UpdateItem"], storage.control.table_arn),
            allow(
                [
                    "sqs:ReceiveMessage",
                    "sqs:DeleteMessage",
                    "sqs:GetQueueAttributes",
                    "sqs:ChangeMessageVisibility",
                ],
                self.queue.queue_arn,
            ),
        ]


def _environment(deployment: Deployment, name: str, settings: ChannelSettings) -> dict[str, str]:
    return {
        names.ENV_CHANNEL: name,
        names.ENV_PROVIDER: settings.provider,
        names.ENV_SENDER: settings.sender,
        names.ENV_BACKOFF_S: ",".join(str(wait) for wait in settings.backoff_s),
        names.ENV_RATE_PER_SECOND: str(settings.rate_per_second),
        names.ENV_SEND_TIMEOUT_S: str(settings.send_timeout_s),
        names.ENV_SITE_URL: deployment.region.site_url,
        names.ENV_QUIET_HOURS: settings.quiet_hours_text,
        names.ENV_RECIPIENTS: json.dumps(deployment.region.recipients),
        **options_environment(names.ENV_PROVIDER_OPTIONS, settings),
        **({names.ENV_SMS_SEGMENTS: str(settings.max_segments)} if isinstance(settings, SmsChannel) else {}),
    }


def options_environment(name: str, settings: ChannelSettings) -> dict[str, str]:
    """The provider's options as JSON, in the variable of that name; nothing for a provider that has none."""
    options = settings.provider_options
    return {} if options is None else {name: json.dumps(options.model_dump())}


def may_read_api_key(scope: Construct, settings: ChannelSettings) -> list[iam.PolicyStatement]:
    """The right to read the API key of the channel's provider, where it has one."""
    if settings.provider_options is None:
        return []
    # Secrets Manager ends a secret's ARN with six characters of its own. A wildcard * would be the right to read every
    # secret whose name only begins like this one.
    secret = Stack.of(scope).format_arn(
        service="secretsmanager",
        resource="secret",
        resource_name=f"{settings.provider_options.api_key_secret}-??????",
        arn_format=ArnFormat.COLON_RESOURCE_NAME,
    )
    return [allow(["secretsmanager:GetSecretValue"], secret)]


def _may_send(channel: Channel, deployment: Deployment, settings: ChannelSettings) -> list[iam.PolicyStatement]:
    """What the consumer needs of its provider, and no more."""
    if isinstance(settings, SmsChannel):
        return _may_send_texts(channel)
    if settings.provider == "ses":
        return [_may_send_email(channel, deployment, settings)]
    return may_read_api_key(channel, settings)


def _may_send_email(channel: Channel, deployment: Deployment, settings: EmailChannel) -> iam.PolicyStatement:
    if not deployment.target.judges_emails_by_sender:
        return allow(["ses:SendEmail"], "*")
    # SES checks whichever identity is verified, the address or its domain.
    identities = [
        Stack.of(channel).format_arn(service="ses", resource="identity", resource_name=identity)
        for identity in settings.sender_identities
    ]
    statement = allow(["ses:SendEmail"], *identities)
    statement.add_condition("StringEquals", {"ses:FromAddress": settings.sender})
    return statement


def _may_send_texts(channel: Channel) -> list[iam.PolicyStatement]:
    every_topic = Stack.of(channel).format_arn(service="sns", region="*", account="*", resource="*")
    return [
        allow(["sns:Publish"], "*"),
        iam.PolicyStatement(effect=iam.Effect.DENY, actions=["sns:Publish"], resources=[every_topic]),
    ]


def _why_any_resource(deployment: Deployment, settings: ChannelSettings) -> str | None:
    """Reason for a permission on every resource, or None where there is no such permission."""
    if isinstance(settings, SmsChannel):
        return "A text goes to a phone number, which has no ARN, so the resource is *. Topics are denied."
    if settings.provider == "ses" and not deployment.target.judges_emails_by_sender:
        return "The local emulator judges every email as sent on resource *. On AWS it is the sender's identity."
    return None


def _explain_wildcards(consumer: Function, reason: str | None) -> None:
    if reason:
        Validations.of(consumer.role).acknowledge(Acknowledgment(id="AwsSolutions-IAM5[Resource::*]", reason=reason))
