"""Alarms and dashboards of one region: what is measured, when it alarms, how it is drawn, each in its own place.

Everything lies in the region it watches: an alarm sees no other region's metrics and would stay green for ever.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from functions import names
from stacks.deployment import Deployment
from stacks.monitoring import machinery, service
from stacks.monitoring.alarms import AlarmTopics, alarm, page
from stacks.monitoring.graphs import draw
from stacks.monitoring.guard import Urgency
from stacks.monitoring.parts import Parts

__all__ = ["Monitoring", "Parts"]


class Monitoring(Construct):
    """Two dashboards, for two readers; each alarm is drawn on one graph of one of them.

    `custom_widgets` are drawn at the top of the dashboard that they are listed under, `names.SERVICE_DASHBOARD` or
    `names.MACHINERY_DASHBOARD`: from left to right, and in a new row where 24 columns are full.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        deployment: Deployment,
        *,
        parts: Parts,
        custom_widgets: Mapping[str, Sequence[cloudwatch.IWidget]] | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        self.topics = AlarmTopics(self, "Alarms", deployment)
        sections = {
            names.SERVICE_DASHBOARD: service.sections(deployment),
            names.MACHINERY_DASHBOARD: machinery.sections(parts, deployment),
        }
        guards = [guard for drawn in sections.values() for section in drawn for guard in section.guards]
        combines = deployment.target.combines_metrics
        alarms = {
            guard.alarm_id: alarm(self, guard, deployment, self.topics.mail)
            for guard in guards
            if combines or not guard.reckons
        }
        if combines:
            urgent = [alarms[guard.alarm_id] for guard in guards if guard.urgency is Urgency.NOW]
            page(self, deployment, urgent, self.topics.paging)
        self.dashboards = {
            board: draw(
                self,
                f"{board.capitalize()}Dashboard",
                name=f"{names.stack_name(deployment.data_region)}-{board}",
                title=f"Alarms of the {board} in data region {deployment.data_region}",
                sections=drawn,
                alarms=alarms,
                custom=(custom_widgets or {}).get(board, ()),
            )
            for board, drawn in sections.items()
        }

    def outputs(self) -> dict[str, str]:
        """What operators need to find their way."""
        return {
            names.OUTPUT_SERVICE_DASHBOARD: self.dashboards[names.SERVICE_DASHBOARD].dashboard_name,
            names.OUTPUT_MACHINERY_DASHBOARD: self.dashboards[names.MACHINERY_DASHBOARD].dashboard_name,
            names.OUTPUT_ALARM_TOPIC: self.topics.mail.topic_arn,
            names.OUTPUT_PAGING_TOPIC: self.topics.paging.topic_arn,
        }
