"""What providers say afterwards: how it comes in, and the function that takes it in.

Events hold addresses and phone numbers, and the queue must not: EventBridge's input transformers pick out what is
needed, and the intake function does so for webhooks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from aws_cdk import Aws
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_ses as ses
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from functions import names
from stacks.channel import may_read_secret
from stacks.deployment import Deployment
from stacks.function import Function, Limits, allow
from stacks.queue import consume, may_consume, may_send_messages, queue_and_dead_letters
from stacks.settings import VISIBILITY_PER_TIMEOUT
from stacks.storage import Storage

# An event that cannot be matched is tried again for three hours and a half, and then parked.
BACKOFF_S: Final = (5, 30, 120, 600, 1800, 3600, 7200)
TIMEOUT_S: Final = 30
BATCH_SIZE: Final = 10
CONCURRENCY: Final = 5
INTAKE_TIMEOUT_S: Final = 10

_INGESTED_AT: Final = "<aws.events.event.ingestion-time>"  # EventBridge's own, which no event can set


class EmailEvents(Construct):
    """The configuration set that emails are sent with: SES then tells the default bus what becomes of them.

    Not of each send, which its answer tells; nor of opens and clicks, which nobody here follows.
    """

    def __init__(self, scope: Construct, construct_id: str, deployment: Deployment) -> None:
        super().__init__(scope, construct_id)
        bus = events.EventBus.from_event_bus_name(self, "Bus", "default")  # SES supports no other
        configuration_set = ses.ConfigurationSet(
            self,
            "ConfigurationSet",
            configuration_set_name=names.stack_name(deployment.data_region),
            reputation_metrics=True,
            suppression_reasons=ses.SuppressionReasons.BOUNCES_AND_COMPLAINTS,
        )
        configuration_set.add_event_destination(
            "Events",
            destination=ses.EventDestination.event_bus(bus),
            events=[
                ses.EmailSendingEvent.BOUNCE,
                ses.EmailSendingEvent.COMPLAINT,
                ses.EmailSendingEvent.DELIVERY,
                ses.EmailSendingEvent.DELIVERY_DELAY,
                ses.EmailSendingEvent.REJECT,
            ],
        )
        self.configuration_set: str = configuration_set.configuration_set_name


class Receipts(Construct):
    """Queue, dead-letter queue and function of the receipts, and the ways in that the region's providers need."""

    def __init__(self, scope: Construct, construct_id: str, deployment: Deployment, *, storage: Storage) -> None:
        super().__init__(scope, construct_id)
        settings, channels = deployment.region.receipts, deployment.region.channels
        self.queue, self.dead_letters = queue_and_dead_letters(
            self,
            deployment,
            name="receipts",
            visibility_timeout_s=VISIBILITY_PER_TIMEOUT * TIMEOUT_S,
            max_receive_count=len(BACKOFF_S) + 1,
        )
        self.function = Function(
            self,
            "Receipts",
            deployment,
            package="receipts",
            description=f"Takes in what providers say of deliveries of data region {deployment.data_region}",
            limits=Limits(TIMEOUT_S, memory_mb=512),
            environment={
                **storage.environment(),
                names.ENV_QUEUE_URL: self.queue.queue_url,
                names.ENV_BACKOFF_S: ",".join(str(wait) for wait in BACKOFF_S),
                names.ENV_SOFT_BOUNCES: str(settings.soft_bounces),
                names.ENV_SOFT_BOUNCE_WINDOW_S: str(settings.soft_bounce_window_s),
                names.ENV_BRAKE_AFTER: str(settings.brake_after),
                names.ENV_BRAKE_BOUNCES_PERCENT: f"{settings.brake_bounces_percent:g}",
                names.ENV_BRAKE_COMPLAINTS_PERCENT: f"{settings.brake_complaints_percent:g}",
            },
            statements=[
                allow(["dynamodb:BatchGetItem", "dynamodb:UpdateItem"], storage.deliveries.table_arn),
                allow(["dynamodb:GetItem", "dynamodb:UpdateItem"], storage.customers.table_arn),
                allow(["dynamodb:UpdateItem"], storage.control.table_arn),
                may_consume(self.queue),
            ],
        )
        consume(self, self.function, self.queue, batch_size=BATCH_SIZE, window_s=0, concurrency=CONCURRENCY)
        if channels.email.provider == "ses":
            _email_rule(self, deployment, self.queue)
        if channels.sms.provider == "eum":
            _text_rule(self, deployment, self.queue)
        self.intake = None
        if settings.webhook_secret is not None:
            self.intake = Intake(self, "Intake", deployment, queue=self.queue, secret=settings.webhook_secret)

    def outputs(self) -> dict[str, str]:
        """What the command line needs to find its way."""
        found = {
            names.OUTPUT_RECEIPTS_QUEUE: self.queue.queue_url,
            names.OUTPUT_RECEIPTS_DEAD_LETTER_QUEUE: self.dead_letters.queue_url,
            names.OUTPUT_RECEIPTS_FUNCTION: self.function.function.function_name,
        }
        if self.intake is not None:
            found[names.OUTPUT_RECEIPT_INTAKE_FUNCTION] = self.intake.function.function.function_name
            found[names.OUTPUT_RECEIPT_INTAKE_URL] = self.intake.url.url
        return found


class Intake(Construct):
    """A function URL for an email provider's webhooks: open to everybody, and answering only to signatures."""

    def __init__(
        self, scope: Construct, construct_id: str, deployment: Deployment, *, queue: sqs.IQueue, secret: str
    ) -> None:
        super().__init__(scope, construct_id)
        self.function = Function(
            self,
            "Intake",
            deployment,
            package="receipt_intake",
            description=f"Takes in the email provider's webhooks of data region {deployment.data_region}",
            limits=Limits(INTAKE_TIMEOUT_S, memory_mb=512),
            environment={names.ENV_RECEIPTS_QUEUE_URL: queue.queue_url, names.ENV_WEBHOOK_SECRET: secret},
            statements=[may_send_messages(deployment, queue), may_read_secret(self, secret)],
        )
        # A provider signs in its own way and has no AWS credentials; the function refuses what is not signed.
        self.url = self.function.function.add_function_url(auth_type=lambda_.FunctionUrlAuthType.NONE)


def _email_rule(scope: Construct, deployment: Deployment, queue: sqs.Queue) -> None:
    """SES's events, of our configuration set only. A path that an event does not have leaves its place empty."""
    _rule(
        scope,
        "Emails",
        queue,
        description=f"What became of the emails of data region {deployment.data_region}, without addresses",
        pattern={
            "source": ["aws.ses"],
            "account": [Aws.ACCOUNT_ID],
            "detail": {"mail": {"tags": {"ses:configuration-set": [names.stack_name(deployment.data_region)]}}},
        },
        paths={
            "id": "$.id",
            "kind": "$.detail-type",
            "time": "$.time",
            "reference": "$.detail.mail.messageId",
            "tags": "$.detail.mail.tags",
            "bounce": "$.detail.bounce.bounceType",
            "bounce_detail": "$.detail.bounce.bounceSubType",
            "complaint_detail": "$.detail.complaint.complaintFeedbackType",
            "delay_detail": "$.detail.deliveryDelay.delayType",
            "status": "$.detail.bounce.bouncedRecipients[0].status",
            "bounced_at": "$.detail.bounce.timestamp",
            "complained_at": "$.detail.complaint.timestamp",
            "delivered_at": "$.detail.delivery.timestamp",
            "delayed_at": "$.detail.deliveryDelay.timestamp",
        },
        message={
            "provider": "ses",
            "event_id": "<id>",
            "kind": "<kind>",
            "reference": "<reference>",
            "bounce": "<bounce>",
            "detail": "<bounce_detail><complaint_detail><delay_detail>",
            "status": "<status>",
            "at": "<bounced_at><complained_at><delivered_at><delayed_at>",
            "time": "<time>",
        },
    )


def _text_rule(scope: Construct, deployment: Deployment, queue: sqs.Queue) -> None:
    """End User Messaging's events, of texts that were sent with our own origin in their context."""
    _rule(
        scope,
        "Texts",
        queue,
        description=f"What became of the texts of data region {deployment.data_region}, without phone numbers",
        pattern={
            "source": ["aws.sms-voice"],
            "account": [Aws.ACCOUNT_ID],
            "detail-type": ["Text Message Delivery Status Updated"],
            "detail": {"context": {"origin": [names.stack_name(deployment.data_region)]}},
        },
        paths={
            "id": "$.id",
            "kind": "$.detail.eventType",
            "time": "$.time",
            "reference": "$.detail.messageId",
            "tags": "$.detail.context",
            "detail": "$.detail.messageStatus",
            "at": "$.detail.eventTimestamp",
        },
        message={
            "provider": "eum",
            "event_id": "<id>",
            "kind": "<kind>",
            "reference": "<reference>",
            "detail": "<detail>",
            "at": "<at>",
            "time": "<time>",
        },
    )


def _rule(
    scope: Construct,
    construct_id: str,
    queue: sqs.Queue,
    *,
    description: str,
    pattern: Mapping[str, Any],
    paths: Mapping[str, str],
    message: Mapping[str, str],
) -> None:
    """A rule on the default bus that puts what it picks out of an event on the queue.

    It has no dead-letter queue, which would keep the events whole, addresses and all: EventBridge tries for a day.
    """
    rule = events.CfnRule(
        scope,
        construct_id,
        description=description,
        event_pattern=pattern,
        targets=[
            events.CfnRule.TargetProperty(
                id="Receipts",
                arn=queue.queue_arn,
                input_transformer=events.CfnRule.InputTransformerProperty(
                    input_paths_map=paths, input_template=_template(message)
                ),
            )
        ],
    )
    queue.add_to_resource_policy(
        iam.PolicyStatement(
            principals=[iam.ServicePrincipal("events.amazonaws.com")],
            actions=["sqs:SendMessage"],
            resources=[queue.queue_arn],
            conditions={"ArnEquals": {"aws:SourceArn": rule.attr_arn}},
        )
    )


def _template(message: Mapping[str, str]) -> str:
    """Text stands in quotation marks, where a missing value leaves none; the tags are an object, and stand without."""
    text = json.dumps({"schema_version": 1, **message, "arrived_at": _INGESTED_AT}, separators=(",", ":"))
    return f'{text[:-1]},"tags":<tags>}}'
