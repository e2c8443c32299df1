"""One data region, whole: everything it needs, and no word of any other region."""

from __future__ import annotations

from aws_cdk import CfnOutput, CliCredentialsStackSynthesizer, DefaultStackSynthesizer, Environment, Stack
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from functions import names
from stacks.bundling import bundle
from stacks.channel import Channel
from stacks.deployment import Deployment
from stacks.inbound import Inbound
from stacks.key_ring import KeyRing
from stacks.monitoring import Monitoring, Parts
from stacks.planner import Planner
from stacks.receipts import EmailEvents, Receipts
from stacks.recovery import Recovery
from stacks.settings import Region, Target
from stacks.smoke import SmokeEndpoint
from stacks.storage import Storage
from stacks.unsubscribe import Unsubscribe
from stacks.widgets import Widgets


class DigestStack(Stack):
    """Stack `DigestDelivery-<data region>`; synthesised without an account, credentials or a network."""

    def __init__(self, scope: Construct, *, target: Target, data_region: str, region: Region) -> None:
        name = names.stack_name(data_region)
        super().__init__(
            scope,
            name,
            description=f"Weekly digests and reminders of data region {data_region}",
            env=Environment(region=region.region),
            synthesizer=DefaultStackSynthesizer()
            if target.assumes_bootstrap_roles
            else CliCredentialsStackSynthesizer(),
            tags={"service": names.SERVICE, "data-region": data_region},
            termination_protection=region.deletion_protection,
        )
        deployment = Deployment(target, data_region, region, lambda_.Code.from_asset(str(bundle(target))))
        self.storage = Storage(self, "Storage", deployment)
        left = f"Opt-outs of data region {data_region} that outlive their customer are filed under these"
        self.opt_out_keys = KeyRing(self, "OptOutMemory", deployment, description=left)
        self.unsubscribe = Unsubscribe(
            self, "Unsubscribe", deployment, storage=self.storage, opt_out_keys=self.opt_out_keys
        )
        self.inbound = Inbound(self, "Inbound", deployment, storage=self.storage, opt_out_keys=self.opt_out_keys)
        # Before the channels: an email that is sent with a configuration set that is not there yet would halt its own.
        email_events = EmailEvents(self, "EmailEvents", deployment) if region.channels.email.provider == "ses" else None
        self.channels = {
            channel: Channel(
                self,
                channel.capitalize(),
                deployment,
                name=channel,
                storage=self.storage,
                configuration_set=email_events.configuration_set if email_events and channel == "email" else None,
                unsubscribe=self.unsubscribe if channel == "email" else None,
            )
            for channel in region.channels.by_name()
        }
        self.receipts = Receipts(self, "Receipts", deployment, storage=self.storage)
        self.smoke = SmokeEndpoint(self, "Smoke", deployment, storage=self.storage) if region.smoke_endpoint else None
        self.planner = Planner(self, "Planner", deployment, storage=self.storage, channels=self.channels)
        self.recovery = Recovery(self, "Recovery", deployment, storage=self.storage, channels=self.channels)
        self.widgets = Widgets(self, "Widgets", deployment, storage=self.storage, channels=self.channels)
        self.monitoring = Monitoring(
            self,
            "Monitoring",
            deployment,
            custom_widgets=self.widgets.on_dashboards(),
            parts=Parts(
                storage=self.storage,
                channels=self.channels,
                planner=self.planner,
                recovery=self.recovery,
                receipts=self.receipts,
                unsubscribe=self.unsubscribe,
                inbound=self.inbound,
                widgets=self.widgets,
            ),
        )
        for output, value in self._outputs(region).items():
            CfnOutput(self, output, value=value)

    def _outputs(self, region: Region) -> dict[str, str]:
        """All that the command line needs to find its way."""
        outputs = {
            names.OUTPUT_CUSTOMERS_TABLE: self.storage.customers.table_name,
            names.OUTPUT_DELIVERIES_TABLE: self.storage.deliveries.table_name,
            names.OUTPUT_CONTROL_TABLE: self.storage.control.table_name,
            names.OUTPUT_PLANNER_FUNCTION: self.planner.planner.function.function_name,
            names.OUTPUT_RECONCILER_FUNCTION: self.recovery.reconciler.function.function_name,
            names.OUTPUT_PLANNER_SCHEDULE: self.planner.wakeup.schedule_names,
            names.OUTPUT_RECONCILER_SCHEDULE: self.recovery.wakeup.schedule_names,
            names.OUTPUT_SHARDS: str(region.planner.shards),
            names.OUTPUT_OPT_OUT_KEYS: self.opt_out_keys.secret_arn,
            **self.receipts.outputs(),
            **self.unsubscribe.outputs(),
            **self.inbound.outputs(),
            **self.widgets.outputs(),
            **self.monitoring.outputs(),
            **(self.smoke.outputs() if self.smoke else {}),
        }
        for channel in self.channels.values():
            outputs |= channel.outputs()
        return outputs
