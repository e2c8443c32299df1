"""What is measured: AWS's own numbers, and those that the functions tell of themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs

from functions import names
from stacks.deployment import Deployment

MINUTE_S = 60
FIVE_MINUTES_S = 300
HOUR_S = 3600
MINUTE = Duration.seconds(MINUTE_S)
FIVE_MINUTES = Duration.seconds(FIVE_MINUTES_S)

# --- queues -----------------------------------------------------------------------------------------------------------


def waiting(queue: sqs.IQueue) -> cloudwatch.Metric:
    """Messages that wait, at most. SQS counts those in flight apart, and no sending that was its own redrive."""
    return queue.metric_approximate_number_of_messages_visible(period=MINUTE, statistic="Maximum")


def oldest_message(queue: sqs.IQueue) -> cloudwatch.Metric:
    """Age of the oldest message in seconds; in a dead-letter queue, since it was moved there."""
    return queue.metric_approximate_age_of_oldest_message(period=FIVE_MINUTES, statistic="Maximum")


# --- functions --------------------------------------------------------------------------------------------------------


def invocations(function: lambda_.IFunction) -> cloudwatch.Metric:
    return function.metric_invocations(period=FIVE_MINUTES)


def errors(function: lambda_.IFunction) -> cloudwatch.Metric:
    return function.metric_errors(period=FIVE_MINUTES)


def throttles(function: lambda_.IFunction) -> cloudwatch.Metric:
    return function.metric_throttles(period=FIVE_MINUTES)


def duration(function: lambda_.IFunction, statistic: str) -> cloudwatch.Metric:
    return function.metric_duration(period=FIVE_MINUTES, statistic=statistic)


def concurrency(function: lambda_.Function) -> cloudwatch.Metric:
    """Invocations that ran at once, at most."""
    return function.metric("ConcurrentExecutions", period=FIVE_MINUTES, statistic="Maximum")


def dropped_as_loops(function: lambda_.Function) -> cloudwatch.Metric:
    """Messages that Lambda did not hand over because they had gone round too often."""
    return function.metric("RecursiveInvocationsDropped", period=FIVE_MINUTES, statistic="Sum")


def faults_at_url(function: lambda_.Function) -> cloudwatch.Metric:
    """Requests to the function's URL that were answered with 5xx, by the function or for want of an answer of it."""
    return function.metric("Url5xxCount", period=FIVE_MINUTES, statistic="Sum")


# --- our own ----------------------------------------------------------------------------------------------------------


def own(
    name: str, deployment: Deployment, period_s: int = FIVE_MINUTES_S, statistic: str = "Sum", **dimensions: str
) -> cloudwatch.Metric:
    """A metric that the functions of this region write into their logs, in its own namespace."""
    return cloudwatch.Metric(
        namespace=names.METRICS_NAMESPACE,
        metric_name=name,
        dimensions_map={"service": names.SERVICE, "region": deployment.data_region, **dimensions},
        period=Duration.seconds(period_s),
        statistic=statistic,
    )


def own_by(name: str, deployment: Deployment, label: str, statistic: str = "Sum") -> cloudwatch.MathExpression:
    """All metrics of this name by channel and outcome: nobody knows every code that a provider may answer with."""
    where = f'region="{deployment.data_region}" MetricName="{name}"'
    schema = f"{{{names.METRICS_NAMESPACE},channel,outcome,region,service}}"
    return cloudwatch.MathExpression(
        expression=f"SEARCH('{schema} {where}', '{statistic}', {FIVE_MINUTES_S})", label=label, period=FIVE_MINUTES
    )


# --- shares, where a share is what matters ----------------------------------------------------------------------------

SHARES_S = 900  # a quarter of an hour: long enough for a share to mean something, short enough to act on
FEWEST = 50  # of fewer, a share says nothing: one throttled attempt of two is no trend


def retry_rate(channel: str, deployment: Deployment) -> cloudwatch.MathExpression:
    """Attempts that come again, in percent of all attempts of a channel."""
    retried = _attempts(names.OUTCOMES_RETRIED, channel, deployment)
    return _share(f"{channel}_retried", retried, _attempts(names.OUTCOMES_FINAL, channel, deployment))


def dead_letter_rate(failure_class: str, channel: str, deployment: Deployment) -> cloudwatch.MathExpression:
    """Dead letters of a class, in percent of them and of the accepted deliveries of a channel."""
    dead = own(names.METRIC_DEAD_LETTERS, deployment, SHARES_S, channel=channel, outcome=failure_class)
    share_id = f"{channel}_{failure_class}"
    return _share(share_id, {f"{share_id}_dead": dead}, _attempts(("accepted",), channel, deployment))


def told_of(channel: str, deployment: Deployment) -> cloudwatch.MathExpression:
    """Deliveries that are said to have arrived, in percent of those accepted in the same hour; 100 if they are few."""
    accepted, delivered = f"{channel}_accepted", f"{channel}_delivered"
    return cloudwatch.MathExpression(
        expression=f"IF(FILL({accepted}, 0) >= {FEWEST}, 100 * FILL({delivered}, 0) / {accepted}, 100)",
        using_metrics={
            accepted: own(names.METRIC_ATTEMPTS, deployment, HOUR_S, channel=channel, outcome="accepted"),
            delivered: own(names.METRIC_RECEIPTS, deployment, HOUR_S, channel=channel, outcome="delivered"),
        },
        period=Duration.seconds(HOUR_S),
    )


def _attempts(outcomes: Sequence[str], channel: str, deployment: Deployment) -> dict[str, cloudwatch.Metric]:
    return {
        f"{channel}_{outcome}": own(names.METRIC_ATTEMPTS, deployment, SHARES_S, channel=channel, outcome=outcome)
        for outcome in outcomes
    }


def _share(
    share_id: str, part: Mapping[str, cloudwatch.Metric], others: Mapping[str, cloudwatch.Metric]
) -> cloudwatch.MathExpression:
    """Return a part in percent of itself and the others; 0 while there are too few of both.

    Several may be drawn on one graph, where each id may stand for one thing only.
    """
    period = Duration.seconds(SHARES_S)
    some, rest = share_id, f"{share_id}_beside"
    return cloudwatch.MathExpression(
        expression=f"IF({some} + {rest} >= {FEWEST}, 100 * {some} / ({some} + {rest}), 0)",
        using_metrics={
            some: cloudwatch.MathExpression(expression=_sum(part), using_metrics=part, period=period),
            rest: cloudwatch.MathExpression(expression=_sum(others), using_metrics=others, period=period),
        },
        period=period,
    )


# --- tables -----------------------------------------------------------------------------------------------------------


def throttled(table: dynamodb.Table, indexes: Sequence[str]) -> cloudwatch.MathExpression:
    """Reads and writes that a table or one of its indexes throttled.

    The table's own metric leaves its indexes out. Nothing is sent where nothing was throttled, and alarms on AWS's
    metrics of DynamoDB ignore what is missing, whatever they are told, and would never end: hence the zeros. See
    https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricAlarm.html
    """
    events = {
        f"{kind}s{number}": cloudwatch.Metric(
            namespace="AWS/DynamoDB",
            metric_name=f"{kind.capitalize()}ThrottleEvents",
            dimensions_map={"TableName": table.table_name, **index},
            period=FIVE_MINUTES,
            statistic="Sum",
        )
        for kind in ("read", "write")
        for number, index in enumerate([{}, *({"GlobalSecondaryIndexName": name} for name in indexes)])
    }
    return cloudwatch.MathExpression(expression=_sum(events), using_metrics=events, period=FIVE_MINUTES)


def consumed(table: dynamodb.Table, kind: str) -> cloudwatch.Metric:
    """Units that were read or written in five minutes; `kind` is `Read` or `Write`."""
    return table.metric(f"Consumed{kind}CapacityUnits", period=FIVE_MINUTES, statistic="Sum")


def _sum(metrics: Mapping[str, cloudwatch.Metric]) -> str:
    """Add metrics up, of which most have no data in most periods.

    Where a period's data is late, it looks like zeros for a moment. So whatever stands on this lets one period of
    several go, as https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html advises.
    """
    return " + ".join(f"FILL({metric_id}, 0)" for metric_id in metrics)
