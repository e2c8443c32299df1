"""The dashboards' custom widgets: a function that reads and draws, and another that does what the buttons say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from aws_cdk import ArnFormat, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from constructs import Construct

from functions import names
from stacks.channel import Channel
from stacks.deployment import Deployment
from stacks.function import Function, Limits, allow
from stacks.queue import may_send_messages
from stacks.storage import Storage

_WIDE, _HALF = 24, 12  # of the dashboard's 24 columns
_LIMITS = Limits(timeout_s=20, memory_mb=1024)  # somebody waits: CPU comes with memory


class Widgets(Construct):
    """CloudWatch calls a widget's function with the rights of whoever looks at the dashboard.

    So who may invoke `viewing` only can look, and who may invoke `operating`, too, can act. The policies say which.
    """

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
        where = f"of data region {deployment.data_region}"
        # Each page names the functions that its buttons call, in both directions; a chosen name breaks that circle.
        viewing_name = f"{names.stack_name(deployment.data_region)}-widgets"
        viewing_arn = Stack.of(self).format_arn(
            service="lambda",
            resource="function",
            resource_name=viewing_name,
            arn_format=ArnFormat.COLON_RESOURCE_NAME,
        )
        environment = _environment(deployment, storage, channels)
        self.operating = Function(
            self,
            "Operating",
            deployment,
            package="operate",
            description=f"Does what the buttons on the dashboards {where} say",
            limits=_LIMITS,
            environment={**environment, names.ENV_WIDGETS_FUNCTION: viewing_arn},
            statements=[*_may_look(storage, channels), *_may_act(deployment, storage, channels)],
        )
        self.viewing = Function(
            self,
            "Viewing",
            deployment,
            package="widgets",
            description=f"Draws what graphs cannot show on the dashboards {where}; only reads",
            limits=_LIMITS,
            environment={**environment, names.ENV_OPERATE_FUNCTION: self.operating.function.function_arn},
            statements=_may_look(storage, channels),
            function_name=viewing_name,
        )
        self.readers = _policy(self, "Readers", f"May look at the widgets {where}, and change nothing", self.viewing)
        self.operators = _policy(
            self, "Operators", f"May look at the widgets {where}, and press their buttons", self.viewing, self.operating
        )

    def outputs(self) -> dict[str, str]:
        return {
            names.OUTPUT_WIDGETS_FUNCTION: self.viewing.function.function_name,
            names.OUTPUT_OPERATE_FUNCTION: self.operating.function.function_name,
            names.OUTPUT_READERS_POLICY: self.readers.managed_policy_arn,
            names.OUTPUT_OPERATORS_POLICY: self.operators.managed_policy_arn,
        }

    def on_dashboards(self) -> dict[str, Sequence[cloudwatch.IWidget]]:
        """The widgets, by the dashboard that they stand on."""
        return {
            names.SERVICE_DASHBOARD: [
                self._widget(names.WIDGET_ATTENTION, "What needs attention", width=_WIDE, height=10),
                _beside(
                    self._widget(names.WIDGET_DUE, "What is due next", width=_HALF, height=8, refreshed=True),
                    self._widget(names.WIDGET_CHANNELS, "Channels", width=_HALF, height=8),
                ),
                _beside(
                    self._widget(names.WIDGET_STORY, "The story of a delivery", width=_HALF, height=8),
                    self._widget(names.WIDGET_DEAD_LETTERS, "Dead letters", width=_HALF, height=8),
                ),
            ]
        }

    def _widget(
        self, widget: str, title: str, *, width: int, height: int, refreshed: bool = False
    ) -> cloudwatch.CustomWidget:
        return cloudwatch.CustomWidget(
            function_arn=self.viewing.function.function_arn,
            title=title,
            width=width,
            height=height,
            params={names.WIDGET: widget},
            # A page that somebody reads, or types a reason into, is not taken from under them.
            update_on_refresh=refreshed,
            update_on_resize=False,
            update_on_time_range_change=False,
        )


def _beside(*widgets: cloudwatch.IWidget) -> cloudwatch.IWidget:
    return cast("cloudwatch.IWidget", cloudwatch.Row(*widgets))  # it is one, as the CDK takes it


def _environment(deployment: Deployment, storage: Storage, channels: Mapping[str, Channel]) -> dict[str, str]:
    return {
        **storage.environment(),
        **{names.queue_url_env(name): one.queue.queue_url for name, one in channels.items()},
        **{names.dead_letter_queue_url_env(name): one.dead_letters.queue_url for name, one in channels.items()},
        **{
            names.rate_env(name): str(one.rate_per_second) for name, one in deployment.region.channels.by_name().items()
        },
    }


def _may_look(storage: Storage, channels: Mapping[str, Channel]) -> list[iam.PolicyStatement]:
    return [
        allow(["dynamodb:Query"], storage.due_index_arn(), storage.attention_index_arn(), storage.customers.table_arn),
        allow(["dynamodb:BatchGetItem"], storage.deliveries.table_arn),
        allow(["dynamodb:GetItem", "dynamodb:Scan"], storage.control.table_arn),  # gates; the record of actions
        # Looking into a queue is receiving, and giving back at once what was received. Nothing is deleted.
        allow(
            ["sqs:GetQueueAttributes", "sqs:ReceiveMessage", "sqs:ChangeMessageVisibility"],
            *(channel.dead_letters.queue_arn for channel in channels.values()),
        ),
    ]


def _may_act(deployment: Deployment, storage: Storage, channels: Mapping[str, Channel]) -> list[iam.PolicyStatement]:
    return [
        allow(["dynamodb:UpdateItem"], storage.deliveries.table_arn),
        allow(["dynamodb:UpdateItem", "dynamodb:PutItem"], storage.control.table_arn),  # gates; the record of actions
        may_send_messages(deployment, *(channel.queue for channel in channels.values())),
    ]


def _policy(scope: Construct, construct_id: str, description: str, *functions: Function) -> iam.ManagedPolicy:
    return iam.ManagedPolicy(
        scope,
        construct_id,
        description=description,
        statements=[allow(["lambda:InvokeFunction"], *(each.function.function_arn for each in functions))],
    )
