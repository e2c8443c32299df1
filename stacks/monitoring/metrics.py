"""What is measured: AWS's own numbers, and those that the functions tell of themselves."""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs

from functions import names
from stacks.deployment import Deployment

MINUTE_S = 60
FIVE_MINUTES_S = 300
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


def invocations(function: lambda_.IFunction, period_s: int = FIVE_MINUTES_S) -> cloudwatch.Metric:
    return function.metric_invocations(period=Duration.seconds(period_s))


def errors(function: lambda_.IFunction) -> cloudwatch.Metric:
    return function.metric_errors(period=FIVE_MINUTES)


def throttles(function: lambda_.IFunction) -> cloudwatch.Metric:
    return function.metric_throttles(period=FIVE_MINUTES)


def duration(function: lambda_.IFunction, statistic: str) -> cloudwatch.Metric:
    return function.metric_duration(period=FIVE_MINUTES, statistic=statistic)


def concurrency(function: lambda_.Function) -> cloudwatch.Metric:
    """Invocations that ran at once, at most."""
    return function.metric("ConcurrentExecutions", period=FIVE_MINUTES, statistic="Maximum")


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


def own_by(name: str, deployment: Deployment, label: str, period_s: int = FIVE_MINUTES_S) -> cloudwatch.MathExpression:
    """All metrics of this name by channel and outcome: nobody knows every code that a provider may answer with."""
    where = f'region="{deployment.data_region}" MetricName="{name}"'
    schema = f"{{{names.METRICS_NAMESPACE},channel,outcome,region,service}}"
    return cloudwatch.MathExpression(
        expression=f"SEARCH('{schema} {where}', 'Sum', {period_s})",
        using_metrics={},
        label=label,
        period=Duration.seconds(period_s),
    )
