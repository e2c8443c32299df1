"""The planner: one wake-up a region, whatever number of customers it has."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import aws_iam as iam
from constructs import Construct

from functions import names
from stacks.channel import Channel
from stacks.deployment import Deployment
from stacks.function import Function, Limits, allow
from stacks.queue import may_send_messages
from stacks.storage import Storage
from stacks.wakeup import Wakeup


class Planner(Construct):
    """Writes what is due as deliveries and sends their ids to the channels' queues."""

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
        region, planner = deployment.region, deployment.region.planner
        self.planner = Function(
            self,
            "Planner",
            deployment,
            package="planner",
            description=f"Plans the digests and reminders that are due in data region {deployment.data_region}",
            limits=Limits(planner.timeout_s, memory_mb=1769),  # a whole CPU: planning is serialising
            environment={
                **storage.environment(),
                **{names.queue_url_env(name): channel.queue.queue_url for name, channel in channels.items()},
                names.ENV_ATTENTION_AFTER_S: str(region.attention_after_s),
                names.ENV_EXPIRES_AFTER_S: str(region.expires_after_s),
                names.ENV_MAX_LATENESS_S: str(region.max_lateness_s),
                names.ENV_SURGE_FACTOR: f"{planner.surge_factor:g}",
                names.ENV_SURGE_FLOOR: str(planner.surge_floor),
            },
            statements=_statements(deployment, storage, channels),
        )
        self.wakeup = Wakeup(
            self,
            "Wakeup",
            deployment,
            function=self.planner,
            interval_minutes=planner.interval_minutes,
            description=f"Plans data region {deployment.data_region} every {planner.interval_minutes} min",
            # More throughput is more schedules with fewer shards each, not more code.
            events=[{"shards": shards} for shards in planner.shares],
        )


def _statements(deployment: Deployment, storage: Storage, channels: Mapping[str, Channel]) -> list[iam.PolicyStatement]:
    return [
        allow(["dynamodb:Query"], storage.due_index_arn()),
        allow(["dynamodb:UpdateItem", "dynamodb:ConditionCheckItem"], storage.customers.table_arn),
        allow(["dynamodb:PutItem", "dynamodb:UpdateItem"], storage.deliveries.table_arn),
        allow(["dynamodb:GetItem", "dynamodb:UpdateItem"], storage.control.table_arn),
        may_send_messages(deployment, *(channel.queue for channel in channels.values())),
    ]
