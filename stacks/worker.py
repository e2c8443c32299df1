"""The HTTP worker of one channel: a function URL at which a managed HTTP queue pushes jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from functions import names
from stacks.deployment import Deployment
from stacks.function import Function, Limits
from stacks.settings import Channel as ChannelSettings
from stacks.settings import HttpWorker

_AUTH_TYPES = {"iam": lambda_.FunctionUrlAuthType.AWS_IAM, "signature": lambda_.FunctionUrlAuthType.NONE}


class Worker(Construct):
    """One function a channel, so that whoever comes in by its URL reaches one provider and no other.

    A URL without IAM is open to everybody until the function has looked at the signature: as many at once as the
    channel's queue would have consumers, so that a flood takes nothing from the account's other functions.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        deployment: Deployment,
        *,
        name: str,
        channel: ChannelSettings,
        settings: HttpWorker,
        environment: Mapping[str, str],
        statements: Sequence[iam.PolicyStatement],
    ) -> None:
        """`environment` and `statements` are what sending takes, as the channel's consumer has them."""
        super().__init__(scope, construct_id)
        self._name = name
        signed_with = {} if settings.signing_secret is None else {names.ENV_SIGNING_SECRET: settings.signing_secret}
        self.function = Function(
            self,
            "Worker",
            deployment,
            package="worker",
            description=f"Takes {name} jobs of data region {deployment.data_region} over HTTP, to {channel.provider}",
            limits=Limits(channel.timeout_s, channel.memory_mb, channel.concurrency),
            environment={**environment, **signed_with},
            statements=statements,
        )
        self.url = self.function.function.add_function_url(auth_type=_AUTH_TYPES[settings.auth])

    def outputs(self) -> dict[str, str]:
        """What whoever pushes jobs needs to know."""
        return {
            names.worker_output(self._name): self.function.function.function_name,
            names.worker_url_output(self._name): self.url.url,
        }
