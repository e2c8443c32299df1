"""Schedules that invoke a function, and two queues for the invocations that came to nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from aws_cdk import Acknowledgment, Aws, Duration, Stack, TimeZone, Validations
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_scheduler_targets as targets
from constructs import Construct

from stacks.deployment import Deployment
from stacks.function import Function, allow
from stacks.queue import PrivateQueue

# Both the scheduler and Lambda would go on for a day; after one interval the next wake-up does the same work.
_RETRIES = 2


class Wakeup(Construct):
    """Invokes a function every so many minutes, once with each event, and hands it the time it was scheduled for.

    Work is derived from that time and never from the clock, so a late, repeated or hand-made invocation does the same.
    Scheduler hands over asynchronously, so an invocation can be lost in two places: before Lambda took it
    (`undelivered`) and after the function failed (`failed`). Neither queue is a delivery's DLQ: what no queue sent,
    SQS cannot send back.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        deployment: Deployment,
        *,
        function: Function,
        interval_minutes: int,
        description: str,
        events: Sequence[Mapping[str, Any]] = ({},),
    ) -> None:
        super().__init__(scope, construct_id)
        interval = Duration.minutes(interval_minutes)
        self.undelivered = _last_stop(self, "Undelivered", deployment, "Scheduler's own dead-letter queue")
        self.failed = _last_stop(self, "Failed", deployment, "the on-failure destination of asynchronous invocations")
        role = self._role(function.function).without_policy_updates()
        self.schedules = [
            self._schedule(f"Schedule{number or ''}", function, role, interval_minutes, description, event)
            for number, event in enumerate(events)
        ]
        self._limit_retries_of(function, interval)

    @property
    def schedule_names(self) -> str:
        """Names of the schedules, with a comma between them."""
        return ",".join(schedule.schedule_name for schedule in self.schedules)

    def _schedule(
        self,
        construct_id: str,
        function: Function,
        role: iam.IRole,
        interval_minutes: int,
        description: str,
        event: Mapping[str, Any],
    ) -> scheduler.Schedule:
        return scheduler.Schedule(
            self,
            construct_id,
            description=description,
            schedule=_every(interval_minutes),
            time_window=scheduler.TimeWindow.off(),
            target=targets.LambdaInvoke(
                function.function,
                role=role,
                input=scheduler.ScheduleTargetInput.from_object(
                    {"scheduled_time": scheduler.ContextAttribute.scheduled_time, **event}
                ),
                retry_attempts=_RETRIES,
                max_event_age=Duration.minutes(interval_minutes),
                dead_letter_queue=self.undelivered,
            ),
        )

    def _role(self, function: lambda_.Function) -> iam.Role:
        """What Scheduler acts as; only for schedules of this account's default group."""
        group = Stack.of(self).format_arn(service="scheduler", resource="schedule-group", resource_name="default")
        return iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal(
                "scheduler.amazonaws.com",
                conditions={"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID, "aws:SourceArn": group}},
            ),
            inline_policies={
                "Allowed": iam.PolicyDocument(
                    statements=[
                        allow(["lambda:InvokeFunction"], function.function_arn),
                        allow(["sqs:SendMessage"], self.undelivered.queue_arn),
                    ]
                )
            },
        )

    def _limit_retries_of(self, function: Function, interval: Duration) -> None:
        may_report = iam.Policy(
            self,
            "MayReportFailures",
            roles=[function.role],
            statements=[allow(["sqs:SendMessage"], self.failed.queue_arn)],
        )
        config = lambda_.CfnEventInvokeConfig(
            self,
            "Asynchronous",
            function_name=function.function.function_name,
            qualifier="$LATEST",
            maximum_retry_attempts=_RETRIES,
            maximum_event_age_in_seconds=interval.to_seconds(),
            destination_config=lambda_.CfnEventInvokeConfig.DestinationConfigProperty(
                on_failure=lambda_.CfnEventInvokeConfig.OnFailureProperty(destination=self.failed.queue_arn)
            ),
        )
        # Lambda refuses a destination that the role may not send to yet.
        config.node.add_dependency(may_report)


def _every(minutes: int) -> scheduler.ScheduleExpression:
    """A cron expression rather than a rate: wake-ups at even minutes, and a time zone that is stated, not assumed."""
    in_an_hour = {1: "*", 60: "0"}.get(minutes, f"0/{minutes}")
    return scheduler.ScheduleExpression.expression(f"cron({in_an_hour} * * * ? *)", TimeZone.ETC_UTC)


def _last_stop(scope: Construct, construct_id: str, deployment: Deployment, why: str) -> PrivateQueue:
    queue = PrivateQueue(scope, construct_id, deployment)
    Validations.of(queue).acknowledge(
        Acknowledgment(id="AwsSolutions-SQS3", reason=f"It is {why}: what arrives here waits for a person.")
    )
    return queue
