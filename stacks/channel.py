"""One channel: its queue, its dead-letter queue and the consumer between them and the provider; a worker if wanted."""

from __future__ import annotations

import json

from aws_cdk import Acknowledgment, ArnFormat, Stack, Validations
from aws_cdk import aws_iam as iam
from constructs import Construct

from functions import names
from stacks.deployment import Deployment
from stacks.function import Function, Limits, allow
from stacks.queue import consume, may_consume, queue_and_dead_letters
from stacks.settings import Channel as ChannelSettings
from stacks.settings import (
    EmailChannel,
    EumProviderOptions,
    HttpProviderOptions,
    HttpWorker,
    SmsChannel,
    WebhookChannel,
)
from stacks.storage import Storage
from stacks.summary import explain_model_wildcard, may_summarise, summary_environment
from stacks.unsubscribe import Unsubscribe
from stacks.worker import Worker


class Channel(Construct):
    """Queue and dead-letter queue of a channel, and the function that hands its deliveries to the provider.

    `configuration_set` is what SES sends with, so that its events come back; other providers have none. `unsubscribe`
    is where the links in its messages lead; a text has none.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        deployment: Deployment,
        *,
        name: str,
        storage: Storage,
        configuration_set: str | None = None,
        unsubscribe: Unsubscribe | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        self._name = name
        settings = deployment.region.channels.by_name()[name]
        # How each customer's own server answers; who has said STOP to the number that texts come from.
        self._notes_customers = isinstance(settings, WebhookChannel | SmsChannel)
        self._configuration_set = configuration_set
        self.queue, self.dead_letters = queue_and_dead_letters(
            self,
            deployment,
            name=name,
            visibility_timeout_s=settings.visibility_timeout_s,
            max_receive_count=settings.max_receive_count,
        )
        environment = {
            **storage.environment(),
            **_environment(deployment, name, settings),
            **self._provider_options(deployment, settings),
            **(unsubscribe.environment() if unsubscribe else {}),
            **(summary_environment(deployment) if isinstance(settings, EmailChannel) else {}),
        }
        statements = [
            *self._statements(storage),
            *self._may_send(deployment, settings),
            *([unsubscribe.keys.may_be_read()] if unsubscribe else []),
            *(may_summarise(self, deployment, storage) if isinstance(settings, EmailChannel) else []),
        ]
        explain_model_wildcard(self, deployment)
        self.consumer = Function(
            self,
            "Consumer",
            deployment,
            package=name,
            description=f"Hands the {name} deliveries of data region {deployment.data_region} to {settings.provider}",
            limits=Limits(settings.timeout_s, settings.memory_mb),
            environment={names.ENV_QUEUE_URL: self.queue.queue_url, **environment},
            statements=[*statements, may_consume(self.queue)],
        )
        _explain_wildcards(self.consumer, _why_any_resource(deployment, settings))
        consume(
            self,
            self.consumer,
            self.queue,
            batch_size=settings.batch_size,
            window_s=settings.batching_window_s,
            concurrency=settings.concurrency,
            enabled=settings.http_worker is None or not settings.http_worker.instead_of_queue,
        )
        self.worker = None
        if settings.http_worker is not None:
            self.worker = Worker(
                self,
                "Worker",
                deployment,
                name=name,
                channel=settings,
                settings=settings.http_worker,
                environment=environment,
                statements=[*statements, *_may_read_signing_secret(self, settings.http_worker)],
            )
            _explain_wildcards(self.worker.function, _why_any_resource(deployment, settings))

    def outputs(self) -> dict[str, str]:
        """What the command line, and whoever pushes jobs, need to find their way."""
        return {
            names.queue_output(self._name): self.queue.queue_url,
            names.dead_letter_queue_output(self._name): self.dead_letters.queue_url,
            names.consumer_output(self._name): self.consumer.function.function_name,
            **(self.worker.outputs() if self.worker is not None else {}),
        }

    def _statements(self, storage: Storage) -> list[iam.PolicyStatement]:
        return [
            allow(["dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:UpdateItem"], storage.deliveries.table_arn),
            allow(["dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query"], storage.customers.table_arn),
            allow(["dynamodb:GetItem", "dynamodb:UpdateItem"], storage.control.table_arn),
            *([allow(["dynamodb:UpdateItem"], storage.customers.table_arn)] if self._notes_customers else []),
        ]

    def _provider_options(self, deployment: Deployment, settings: ChannelSettings) -> dict[str, str]:
        """The provider's options as the consumer gets them: what a person decides, and what follows from the stack."""
        if isinstance(settings.provider_options, EumProviderOptions):
            options = {
                **settings.provider_options.model_dump(),
                "origination_identity": _origination_identity(self, settings.provider_options),
                "origin": names.stack_name(deployment.data_region),
            }
            return {names.ENV_PROVIDER_OPTIONS: Stack.of(self).to_json_string(options)}
        if self._configuration_set is not None:
            options = {"configuration_set": self._configuration_set}
            return {names.ENV_PROVIDER_OPTIONS: Stack.of(self).to_json_string(options)}
        return options_environment(names.ENV_PROVIDER_OPTIONS, settings)

    def _may_send(self, deployment: Deployment, settings: ChannelSettings) -> list[iam.PolicyStatement]:
        """What the consumer needs of its provider, and no more."""
        if isinstance(settings.provider_options, EumProviderOptions):
            return [allow(["sms-voice:SendTextMessage"], _origination_identity(self, settings.provider_options))]
        if isinstance(settings, SmsChannel):
            return _may_send_texts(self)
        if settings.provider == "ses":
            return [self._may_send_email(deployment, settings)]
        return may_read_api_key(self, settings)

    def _may_send_email(self, deployment: Deployment, settings: EmailChannel) -> iam.PolicyStatement:
        if not deployment.target.judges_emails_by_sender:
            return allow(["ses:SendEmail"], "*")
        # SES checks whichever identity is verified, the address or its domain, and the configuration set.
        stack = Stack.of(self)
        resources = [
            stack.format_arn(service="ses", resource="identity", resource_name=identity)
            for identity in settings.sender_identities
        ]
        if self._configuration_set is not None:
            named = stack.format_arn(service="ses", resource="configuration-set", resource_name=self._configuration_set)
            resources.append(named)
        statement = allow(["ses:SendEmail"], *resources)
        statement.add_condition("StringEquals", {"ses:FromAddress": settings.sender})
        return statement


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
        **({names.ENV_SMS_SEGMENTS: str(settings.max_segments)} if isinstance(settings, SmsChannel) else {}),
        **({names.ENV_DISABLE_AFTER_S: str(settings.disable_after_s)} if isinstance(settings, WebhookChannel) else {}),
    }


def options_environment(name: str, settings: ChannelSettings) -> dict[str, str]:
    """Options of a provider that is reached over HTTP, as JSON in the variable of that name; nothing for others."""
    options = settings.provider_options
    return {name: json.dumps(options.model_dump())} if isinstance(options, HttpProviderOptions) else {}


def may_read_api_key(scope: Construct, settings: ChannelSettings) -> list[iam.PolicyStatement]:
    """The right to read the API key of the channel's provider, where it has one."""
    if not isinstance(settings.provider_options, HttpProviderOptions):
        return []
    return [may_read_secret(scope, settings.provider_options.api_key_secret)]


def _may_read_signing_secret(scope: Construct, worker: HttpWorker) -> list[iam.PolicyStatement]:
    return [] if worker.signing_secret is None else [may_read_secret(scope, worker.signing_secret)]


def may_read_secret(scope: Construct, name: str) -> iam.PolicyStatement:
    """The right to read the secret of this name."""
    # Secrets Manager ends a secret's ARN with six characters of its own. A wildcard * would be the right to read every
    # secret whose name only begins like this one.
    secret = Stack.of(scope).format_arn(
        service="secretsmanager",
        resource="secret",
        resource_name=f"{name}-??????",
        arn_format=ArnFormat.COLON_RESOURCE_NAME,
    )
    return allow(["secretsmanager:GetSecretValue"], secret)


def _origination_identity(scope: Construct, options: EumProviderOptions) -> str:
    """ARN of who texts come from."""
    kind, _, name = options.origination_identity.partition("/")
    return Stack.of(scope).format_arn(service="sms-voice", resource=kind, resource_name=name)


def _may_send_texts(channel: Channel) -> list[iam.PolicyStatement]:
    every_topic = Stack.of(channel).format_arn(service="sns", region="*", account="*", resource="*")
    return [
        allow(["sns:Publish"], "*"),
        iam.PolicyStatement(effect=iam.Effect.DENY, actions=["sns:Publish"], resources=[every_topic]),
    ]


def _why_any_resource(deployment: Deployment, settings: ChannelSettings) -> str | None:
    """Reason for a permission on every resource, or None where there is no such permission."""
    if isinstance(settings, SmsChannel) and settings.provider == "sns":
        return "A text goes to a phone number, which has no ARN, so the resource is *. Topics are denied."
    if settings.provider == "ses" and not deployment.target.judges_emails_by_sender:
        return "The local emulator judges every email as sent on resource *. On AWS it is the sender's identity."
    return None


def _explain_wildcards(consumer: Function, reason: str | None) -> None:
    if reason:
        Validations.of(consumer.role).acknowledge(Acknowledgment(id="AwsSolutions-IAM5[Resource::*]", reason=reason))
