"""The reconciler: brings back what a queue lost, what is due again, and ends what expired."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import aws_iam as iam
from constructs import Construct

from functions import names
from stacks.channel import Channel, may_read_api_key, options_environment
from stacks.deployment import Deployment
from stacks.function import Function, Limits, allow
from stacks.queue import may_send_messages
from stacks.settings import HttpProviderOptions, Region
from stacks.storage import Storage
from stacks.wakeup import Wakeup


class Recovery(Construct):
    """Looks, every minute or so, at the deliveries that should have moved on by now."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        deployment: Deployment,
        *,
        storage: Storage,
        channels: Mapping[str, Channel],
    ) -> None:
        super().__init__(scope, construct_id)
        region, reconciler = deployment.region, deployment.region.reconciler
        providers = {name: channel.provider for name, channel in region.channels.by_name().items()}
        self.reconciler = Function(
            self,
            "Reconciler",
            deployment,
            package="reconciler",
            description=f"Brings back the deliveries of data region {deployment.data_region} that were left behind",
            limits=Limits(reconciler.timeout_s, memory_mb=512),
            environment={
                **storage.environment(),
                **{names.queue_url_env(name): channel.queue.queue_url for name, channel in channels.items()},
                **{names.provider_env(name): provider for name, provider in providers.items()},
                **{names.rate_env(name): str(one.rate_per_second) for name, one in region.channels.by_name().items()},
                **_provider_options(region),
                names.ENV_INTERVAL_S: str(reconciler.interval_minutes * 60),
                names.ENV_SILENCE_AFTER_S: str(region.silence_after_s),
                names.ENV_EXPIRES_AFTER_S: str(region.expires_after_s),
                names.ENV_RECEIPT_CHANNELS: ",".join(region.receipt_channels),
                names.ENV_RECEIPT_SILENCE_S: str(region.receipts.silence_after_s),
            },
            statements=[*_statements(deployment, storage, channels), *_may_ask_providers(self, region)],
        )
        self.wakeup = Wakeup(
            self,
            "Wakeup",
            deployment,
            function=self.reconciler,
            interval_minutes=reconciler.interval_minutes,
            description=f"Reconciles data region {deployment.data_region} every {reconciler.interval_minutes} min",
        )


def _provider_options(region: Region) -> dict[str, str]:
    variables: dict[str, str] = {}
    for name, channel in region.channels.by_name().items():
        variables |= options_environment(names.provider_options_env(name), channel)
    return variables


def _may_ask_providers(scope: Construct, region: Region) -> list[iam.PolicyStatement]:
    """What it takes to ask a provider what became of a key, where that can be asked: the provider's API key."""
    askable = [
        channel
        for channel in region.channels.by_name().values()
        if isinstance(channel.provider_options, HttpProviderOptions) and channel.provider_options.can_be_asked
    ]
    return [statement for channel in askable for statement in may_read_api_key(scope, channel)]


def _statements(deployment: Deployment, storage: Storage, channels: Mapping[str, Channel]) -> list[iam.PolicyStatement]:
    return [
        allow(["dynamodb:Query"], storage.attention_index_arn(), storage.period_index_arn()),
        allow(["dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:UpdateItem"], storage.deliveries.table_arn),
        allow(["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"], storage.control.table_arn),
        allow(["sqs:GetQueueAttributes"], *(channel.queue.queue_arn for channel in channels.values())),
        may_send_messages(deployment, *(channel.queue for channel in channels.values())),
    ]
