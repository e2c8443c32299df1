"""Alarms and dashboard of one region: what is measured, when it alarms, how it is drawn, each in its own place.

Everything lies in the region it watches: an alarm sees no other region's metrics and would stay green for ever. Alarms
stand on single metrics, never on arithmetic. What missing data means is decided for each: a queue that idles sends none
and is well; a planner that sends none has not run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aws_cdk import Aws, Duration, RemovalPolicy
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from functions import names
from stacks.channel import Channel
from stacks.deployment import Deployment
from stacks.inbound import Inbound
from stacks.planner import Planner
from stacks.receipts import Receipts
from stacks.recovery import Recovery
from stacks.settings import Summary
from stacks.unsubscribe import Unsubscribe
from stacks.wakeup import Wakeup

_MINUTE = Duration.minutes(1)
_FIVE_MINUTES = Duration.minutes(5)
_WIDE, _HALF, _THIRD = 24, 12, 8  # of the dashboard's 24 columns

_QUIET_IS_WELL = cloudwatch.TreatMissingData.NOT_BREACHING
_QUIET_IS_AN_ALARM = cloudwatch.TreatMissingData.BREACHING


@dataclass(frozen=True)
class Parts:
    """What there is to watch in a region."""

    channels: Mapping[str, Channel]
    planner: Planner
    recovery: Recovery
    receipts: Receipts
    unsubscribe: Unsubscribe
    inbound: Inbound


class Monitoring(Construct):
    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        deployment: Deployment,
        *,
        parts: Parts,
    ) -> None:
        super().__init__(scope, construct_id)
        self.topic = AlarmTopic(self, "Alarms", deployment).topic
        guards = {
            **{f"{name} channel": _channel_guards(name, one, deployment) for name, one in parts.channels.items()},
            "planner": _planner_guards(parts.planner, deployment),
            "reconciler": _reconciler_guards(parts.recovery, deployment),
            "receipts": _receipt_guards(parts.receipts, deployment),
            "unsubscribing": _unsubscribe_guards(parts.unsubscribe, deployment),
            "texts from customers": _inbound_guards(parts.inbound, deployment),
            "deliveries": _delivery_guards(deployment),
        }
        alarms = {part: [self._alarm(guard) for guard in part_guards] for part, part_guards in guards.items()}
        self.dashboard = _draw(self, deployment, guards, alarms)

    def _alarm(self, guard: Guard) -> cloudwatch.Alarm:
        alarm = guard.metric.create_alarm(
            self,
            guard.alarm_id,
            alarm_description=f"{guard.description} Runbook: docs/runbooks/{guard.runbook}.md",
            comparison_operator=guard.comparison,
            threshold=guard.threshold,
            evaluation_periods=guard.periods,
            treat_missing_data=guard.missing,
        )
        alarm.add_alarm_action(actions.SnsAction(self.topic))
        alarm.add_ok_action(actions.SnsAction(self.topic))
        return alarm


class AlarmTopic(Construct):
    """Where every alarm of the region goes: encrypted, TLS only, open to this account's alarms.

    The key is our own because CloudWatch may not use the one that AWS manages for SNS: alarms would fire unheard.
    """

    def __init__(self, scope: Construct, construct_id: str, deployment: Deployment) -> None:
        super().__init__(scope, construct_id)
        self.key = kms.Key(
            self,
            "Key",
            description=f"Alarms of data region {deployment.data_region}",
            enable_key_rotation=True,
            removal_policy=RemovalPolicy.DESTROY,  # it protects messages on their way, and nothing that is kept
        )
        self.topic = sns.Topic(self, "Topic", master_key=self.key, enforce_ssl=deployment.target.speaks_tls)
        # As AWS documents it for alarms: the key takes no condition on the caller's account, the topic does.
        self.key.add_to_resource_policy(
            iam.PolicyStatement(
                principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
                actions=["kms:Decrypt", "kms:GenerateDataKey*"],
                resources=["*"],
            )
        )
        # A topic's default policy lets the account's alarms in, and is gone as soon as the topic has one of its own.
        self.topic.add_to_resource_policy(
            iam.PolicyStatement(
                principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
                actions=["sns:Publish"],
                resources=[self.topic.topic_arn],
                conditions={"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID}},
            )
        )
        if deployment.region.alarm_email:
            self.topic.add_subscription(subscriptions.EmailSubscription(deployment.region.alarm_email))


# --- what is measured ------------------------------------------------------------------------------------------------


def _waiting(queue: sqs.IQueue) -> cloudwatch.Metric:
    """Messages that wait, at most. SQS counts those in flight apart, and no sending that was its own redrive."""
    return queue.metric_approximate_number_of_messages_visible(period=_MINUTE, statistic="Maximum")


def _oldest(queue: sqs.IQueue) -> cloudwatch.Metric:
    return queue.metric_approximate_age_of_oldest_message(period=_FIVE_MINUTES, statistic="Maximum")


def _errors(function: lambda_.IFunction) -> cloudwatch.Metric:
    return function.metric_errors(period=_FIVE_MINUTES)


def _throttles(function: lambda_.IFunction) -> cloudwatch.Metric:
    return function.metric_throttles(period=_FIVE_MINUTES)


def _faults_at_url(function: lambda_.Function) -> cloudwatch.Metric:
    """Requests to the function's URL that were answered with 5xx, by the function or for want of an answer of it."""
    return function.metric("Url5xxCount", period=_FIVE_MINUTES, statistic="Sum")


def _planner_runs(deployment: Deployment) -> cloudwatch.Metric:
    """Runs that the planner itself says it finished, in its own interval."""
    return _own_metric(names.METRIC_PLANNER_RUNS, deployment, deployment.region.planner.interval_s)


def _own_metric(
    name: str, deployment: Deployment, period_s: int, statistic: str = "Sum", **dimensions: str
) -> cloudwatch.Metric:
    return cloudwatch.Metric(
        namespace=names.METRICS_NAMESPACE,
        metric_name=name,
        dimensions_map={"service": names.SERVICE, "region": deployment.data_region, **dimensions},
        period=Duration.seconds(period_s),
        statistic=statistic,
    )


# --- when it alarms --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Guard:
    """A metric, and when it is a person's business."""

    alarm_id: str
    what: str
    description: str
    runbook: str  # page in docs/runbooks: what to look at, what to do, what not to do
    metric: cloudwatch.Metric
    threshold: float = 1
    periods: int = 1
    missing: cloudwatch.TreatMissingData = _QUIET_IS_WELL
    comparison: cloudwatch.ComparisonOperator = cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD


def _channel_guards(name: str, channel: Channel, deployment: Deployment) -> list[Guard]:
    title, where = name.capitalize(), f"of the {name} channel in data region {deployment.data_region}"
    consumer = channel.consumer.function
    late_s = deployment.region.backlog_alarm_s
    return [
        Guard(
            f"{title}DeadLetters",
            "dead letters",
            f"Messages wait in the dead-letter queue {where}: see why, mend it, redrive them.",
            "dead-letters",
            _waiting(channel.dead_letters),
        ),
        Guard(
            f"{title}OldestMessage",
            "age of the oldest message, s",
            f"The oldest message {where} has waited for {late_s} s, a quarter of the time until its delivery expires.",
            "behind",
            _oldest(channel.queue),
            threshold=late_s,
        ),
        Guard(
            f"{title}Errors",
            "errors",
            f"The consumer {where} fails as a whole, in two periods running: whole batches come back.",
            "functions",
            _errors(consumer),
            periods=2,
        ),
        Guard(
            f"{title}Throttles",
            "throttles",
            f"Lambda throttles the consumer {where}: messages nobody looked at use up their receives.",
            "functions",
            _throttles(consumer),
        ),
        *([] if channel.worker is None else _worker_guards(title, where, channel.worker.function.function)),
    ]


def _worker_guards(title: str, where: str, worker: lambda_.Function) -> list[Guard]:
    """Its queue is somebody else's, and so are that queue's dead letters: here is what can be seen from inside."""
    return [
        Guard(
            f"{title}WorkerFaults",
            "jobs answered with 5xx",
            f"The worker {where} has answered jobs with 5xx for 15 minutes: its log says whether the provider is to "
            "blame (delivery.attempted) or we are (message.failed, job.failed, job.no_secret).",
            "functions",
            _faults_at_url(worker),
            periods=3,
        ),
        Guard(
            f"{title}WorkerErrors",
            "worker errors",
            f"The worker {where} dies in its requests, in two periods running.",
            "functions",
            _errors(worker),
            periods=2,
        ),
        Guard(
            f"{title}WorkerThrottles",
            "worker throttles",
            f"Jobs come faster to the worker {where} than its concurrency allows, for 15 minutes: have the HTTP queue "
            "push fewer at once.",
            "functions",
            _throttles(worker),
            periods=3,
        ),
    ]


def _planner_guards(planner: Planner, deployment: Deployment) -> list[Guard]:
    where = f"of data region {deployment.data_region}"
    return [
        Guard(
            "PlannerSilent",
            "runs in an interval",
            f"The planner {where} has not finished a run for three of its intervals: nothing that is due gets planned.",
            "wake-ups",
            _planner_runs(deployment),
            periods=3,
            missing=_QUIET_IS_AN_ALARM,
            comparison=cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD,
        ),
        Guard(
            "PlanningHeld",
            "shards held",
            f"Far more is due {where} than on this day last week: planning waits until somebody has looked and agrees.",
            "planning-held",
            _own_metric(names.METRIC_SHARDS_HELD, deployment, deployment.region.planner.interval_s, "Maximum"),
        ),
        *_wakeup_guards("Planner", where, planner.planner.function, planner.wakeup),
    ]


def _reconciler_guards(recovery: Recovery, deployment: Deployment) -> list[Guard]:
    where = f"of data region {deployment.data_region}"
    interval = Duration.seconds(deployment.region.reconciler.interval_s)
    function = recovery.reconciler.function
    return [
        Guard(
            "ReconcilerSilent",
            "invocations in an interval",
            f"The reconciler {where} was not invoked for five of its intervals: what was left behind stays behind.",
            "wake-ups",
            function.metric_invocations(period=interval),
            periods=5,
            missing=_QUIET_IS_AN_ALARM,
            comparison=cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD,
        ),
        *_wakeup_guards("Reconciler", where, function, recovery.wakeup),
    ]


def _receipt_guards(receipts: Receipts, deployment: Deployment) -> list[Guard]:
    where = f"of data region {deployment.data_region}"
    guards = [
        Guard(
            "ReceiptsParked",
            "parked events",
            f"Events {where} belong to no delivery that is known, or cannot be read: see which, then redrive or purge.",
            "receipts-parked",
            _waiting(receipts.dead_letters),
        ),
        *_function_guards("Receipts", f"The receipts function {where}", receipts.function.function),
    ]
    if receipts.intake is not None:
        who = f"The intake of the email provider's webhooks {where}"
        guards += _function_guards("ReceiptIntake", who, receipts.intake.function.function)
    return guards


def _unsubscribe_guards(unsubscribe: Unsubscribe, deployment: Deployment) -> list[Guard]:
    where = f"of data region {deployment.data_region}"
    page = unsubscribe.function.function
    return [
        Guard(
            "UnsubscribeFaults",
            "requests answered with 5xx",
            f"The unsubscribe page {where} fails: people cannot leave, which the law gives them the right to.",
            "functions",
            _faults_at_url(page),
        ),
        *_function_guards("Unsubscribe", f"The unsubscribe page {where}", page),
    ]


def _inbound_guards(inbound: Inbound, deployment: Deployment) -> list[Guard]:
    where = f"of data region {deployment.data_region}"
    return [
        Guard(
            "InboundDeadLetters",
            "dead letters",
            f"Texts from customers {where} could not be worked on. There may be a STOP among them: act on it today.",
            "texts",
            _waiting(inbound.dead_letters),
        ),
        Guard(
            "InboundOldestMessage",
            "age of the oldest text, s",
            f"A text from a customer {where} has waited for an hour. If it says STOP, texts still go out.",
            "texts",
            _oldest(inbound.queue),
            threshold=3600,
        ),
        *_function_guards("Inbound", f"The listener to texts {where}", inbound.function.function),
    ]


def _delivery_guards(deployment: Deployment) -> list[Guard]:
    """What the reconciler says of all deliveries at each sweep; that it says nothing has an alarm of its own."""
    where = f"in data region {deployment.data_region}"
    sweep_s = deployment.region.reconciler.interval_s
    return [
        Guard(
            "ChannelHalted",
            "channels halted",
            f"A channel {where} is halted: nothing of it is sent, nothing is lost. Mend the cause, then resume it.",
            "channel-halted",
            _own_metric(names.METRIC_CHANNELS_HALTED, deployment, sweep_s, "Maximum"),
        ),
        Guard(
            "Uncertain",
            "uncertain deliveries",
            f"Deliveries {where} may have been sent; nobody knows. They wait for the provider's word or a person's.",
            "uncertain",
            _own_metric(names.METRIC_UNCERTAIN_ROWS, deployment, sweep_s, "Maximum"),
            periods=max(3, 900 // sweep_s),  # those that a look-up settles are settled by then
        ),
        Guard(
            "OldestDue",
            "age of the oldest due delivery, s",
            f"A delivery {where} has been due for longer than a quarter of the time until it expires.",
            "behind",
            _own_metric(names.METRIC_OLDEST_DUE_AGE, deployment, sweep_s, "Maximum"),
            threshold=deployment.region.backlog_alarm_s,
        ),
        Guard(
            "NotEnqueued",
            "ids that SQS did not take",
            f"SQS takes nothing from the reconciler {where}, in three sweeps running: deliveries stay planned.",
            "behind",
            _own_metric(names.METRIC_NOT_ENQUEUED, deployment, sweep_s),
            periods=3,
        ),
    ]


def _wakeup_guards(title: str, where: str, function: lambda_.Function, wakeup: Wakeup) -> list[Guard]:
    who = f"The {title.lower()} {where}"
    return [
        *_function_guards(title, who, function),
        Guard(
            f"{title}Undelivered",
            "not handed over",
            f"{who}: its schedule could not hand over an invocation; the message in the queue says why.",
            "wake-ups",
            _waiting(wakeup.undelivered),
        ),
        Guard(
            f"{title}Failed",
            "failed for good",
            f"{who}: an invocation failed each time it was tried; the message in the queue says why.",
            "wake-ups",
            _waiting(wakeup.failed),
        ),
    ]


def _function_guards(title: str, who: str, function: lambda_.Function) -> list[Guard]:
    return [
        Guard(
            f"{title}Errors",
            "errors",
            f"{who} fails, in two periods running.",
            "functions",
            _errors(function),
            periods=2,
        ),
        Guard(f"{title}Throttles", "throttles", f"{who} is throttled by Lambda.", "functions", _throttles(function)),
    ]


# --- how it is drawn -------------------------------------------------------------------------------------------------


def _draw(
    scope: Construct,
    deployment: Deployment,
    guards: Mapping[str, Sequence[Guard]],
    alarms: Mapping[str, Sequence[cloudwatch.Alarm]],
) -> cloudwatch.Dashboard:
    """First whether anything is wrong, then each part with its alarms on the graphs they guard."""
    stack = names.stack_name(deployment.data_region)
    dashboard = cloudwatch.Dashboard(
        scope,
        "Dashboard",
        dashboard_name=stack,
        default_interval=Duration.hours(12),
        period_override=cloudwatch.PeriodOverride.INHERIT,
    )
    every_alarm = [alarm for part in alarms.values() for alarm in part]
    dashboard.add_widgets(
        cloudwatch.AlarmStatusWidget(title=f"{stack}: what needs a person", width=_WIDE, height=4, alarms=every_alarm)
    )
    dashboard.add_widgets(*_planning_graphs(deployment))
    if deployment.region.summary is not None:
        dashboard.add_widgets(*_summary_graphs(deployment, deployment.region.summary))
    for part, part_guards in guards.items():
        drawn = zip(part_guards, alarms[part], strict=True)
        dashboard.add_widgets(*(_guarded_graph(part, guard, alarm) for guard, alarm in drawn))
    return dashboard


def _planning_graphs(deployment: Deployment) -> list[cloudwatch.GraphWidget]:
    planned = _own_metric(names.METRIC_PLANNED, deployment, 300)
    lag = _own_metric(names.METRIC_PLANNER_LAG, deployment, 300, "Maximum")
    return [
        cloudwatch.GraphWidget(title="Deliveries planned, in 5 min", width=_HALF, left=[planned]),
        cloudwatch.GraphWidget(title="Planner lag, at most", width=_HALF, left=[lag]),
    ]


def _summary_graphs(deployment: Deployment, settings: Summary) -> list[cloudwatch.GraphWidget]:
    tokens = [
        _own_metric(name, deployment, 300, prompt_version=settings.prompt_version).with_(label=label)
        for name, label in (
            (names.METRIC_SUMMARY_INPUT_TOKENS, "in"),
            (names.METRIC_SUMMARY_OUTPUT_TOKENS, "out"),
        )
    ]
    # Why a digest has none is a stop reason or an error code, and nobody knows all of those beforehand.
    where = f'region="{deployment.data_region}" MetricName="{names.METRIC_SUMMARIES}"'
    by_outcome = cloudwatch.MathExpression(
        expression=f"SEARCH('{{{names.METRICS_NAMESPACE},channel,outcome,region,service}} {where}', 'Sum', 300)",
        label="${PROP('Dim.outcome')}",
        period=_FIVE_MINUTES,
    )
    title = f"Tokens of {settings.prompt_version}, in 5 min"
    return [
        cloudwatch.GraphWidget(title="Digests by what became of their summary", width=_HALF, left=[by_outcome]),
        cloudwatch.GraphWidget(title=title, width=_HALF, left=tokens),
    ]


def _guarded_graph(part: str, guard: Guard, alarm: cloudwatch.Alarm) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(
        title=f"{part}: {guard.what}",
        width=_THIRD,
        left=[guard.metric.with_(label=guard.what)],
        left_annotations=[alarm.to_annotation()],
        left_y_axis=cloudwatch.YAxisProps(min=0),
    )
