"""Metrics and alarms that ministack lacks, so that what operators see in CloudWatch can be seen in a local run.

Each is written for the version pinned in requirements/dev.in and refused on any other shape:

- Metrics that functions write into their logs (embedded metric format) become metrics, each line once.
- AWS/Lambda: ministack counts what is invoked by a call; here what an event source mapping or a schedule invokes, too.
- AWS/SQS: how many messages a queue holds and how old the oldest is, looked up every few seconds. What SQS counts
  beyond that (sent, received, deleted) nobody counts here: such a graph stays without data.
- GetMetricData reckons with expressions, as far as `ops.local.metric_math` goes.
- Alarms stand on their own metric's dimensions and statistic, over their own periods, with missing data treated as they
  say. Ministack takes every metric of the same name, and lets an alarm be when there is no data.
"""

from __future__ import annotations

import functools
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from ops.local import embedded_metrics
from ops.local.alarm_evaluation import Rule, state_of
from ops.local.metric_math import UnknownMathError, reckon

LOOK_EVERY_S: Final = 3
QUEUE_METRICS: Final = {
    "ApproximateNumberOfMessages": "ApproximateNumberOfMessagesVisible",
    "ApproximateNumberOfMessagesNotVisible": "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed": "ApproximateNumberOfMessagesDelayed",
}

Require = Callable[[Any, str], None]


def keep_metrics(require: Require) -> None:
    """Let ministack have the metrics and alarm states that AWS would, from now on.

    Args:
        require: called with a module and a name that it must have; raises where it has not.
    """
    from ministack.core.responses import request_scope  # noqa: PLC0415 - only in the emulator's own process
    from ministack.services import cloudwatch, cloudwatch_logs, lambda_svc, sqs  # noqa: PLC0415

    for module, name in (
        (cloudwatch, "_metrics"),
        (cloudwatch, "_alarms"),
        (cloudwatch, "_store_datum"),
        (cloudwatch, "_evict_old_metrics"),
        (cloudwatch, "_evaluate_alarm"),
        (cloudwatch, "_calc_stats"),
        (cloudwatch, "_stat_value"),
        (cloudwatch, "_dims_from_list"),
        (cloudwatch, "_dims_key"),
        (cloudwatch, "_get_metric_data"),
        (cloudwatch, "_cbor_metric_data_result"),
        (cloudwatch, "_json_ok"),
        (cloudwatch_logs, "_append_log_events"),
        (lambda_svc, "_emit_lambda_logs"),
        (lambda_svc, "_emit_lambda_metrics"),
        (sqs, "_queues"),
        (sqs, "_refresh_counts"),
    ):
        require(module, name)
    # It copies every list of values while functions add to them; and no local run lasts for two weeks.
    cloudwatch._evict_old_metrics = lambda: None
    cloudwatch._evaluate_alarm = functools.partial(evaluate, cloudwatch)
    cloudwatch._get_metric_data = functools.partial(get_metric_data, cloudwatch, cloudwatch._get_metric_data)
    read_logged_metrics(cloudwatch, cloudwatch_logs)
    count_every_invocation(cloudwatch, lambda_svc)
    look = functools.partial(look_around, cloudwatch, sqs, request_scope)
    threading.Thread(target=look, daemon=True, name="metrics").start()


# --- metrics ----------------------------------------------------------------------------------------------------------


def read_logged_metrics(cloudwatch: Any, logs: Any) -> None:
    """Let every line that is logged give up its metrics."""
    append = logs._append_log_events

    @functools.wraps(append)
    def append_and_read(stream: Any, events: Any) -> None:
        append(stream, events)
        for event in events:
            for datum in embedded_metrics.read(event["message"]):
                cloudwatch._store_datum(
                    *(datum.namespace, datum.name, dict(datum.dimensions), datum.at, datum.unit),
                    *(None, list(datum.values), None, None),
                )

    logs._append_log_events = append_and_read


def count_every_invocation(cloudwatch: Any, lambda_svc: Any) -> None:
    """Count an invocation where its log is written, which all of them pass, instead of where a call came in."""
    write_log, counted = lambda_svc._emit_lambda_logs, lambda_svc._emit_lambda_metrics

    @functools.wraps(write_log)
    def write_log_and_count(
        func: Any, request_id: str, log_text: str, error: Any, duration_ms: int, **others: Any
    ) -> None:
        write_log(func, request_id, log_text, error, duration_ms, **others)
        counted(_function_name(func), duration_ms=float(max(duration_ms, 1)), error=bool(error), throttle=False)

    def count_throttle(function_name: str, duration_ms: float, error: Any, throttle: Any) -> None:
        del error
        if throttle and not duration_ms:  # where it is turned away; its caller would count it a second time
            cloudwatch.record_metric("AWS/Lambda", "Throttles", 1, "Count", {"FunctionName": function_name})

    lambda_svc._emit_lambda_logs = write_log_and_count
    lambda_svc._emit_lambda_metrics = count_throttle


def _function_name(func: Mapping[str, Any]) -> str:
    return str((func.get("config") or func)["FunctionName"])


def look_around(cloudwatch: Any, sqs: Any, request_scope: Any) -> None:
    """Look at queues and alarms for as long as the process lives."""
    while True:
        time.sleep(LOOK_EVERY_S)
        for (account, region, _name), queue in sqs._queues.all_items():
            with request_scope(account, region):
                record_queue(cloudwatch, sqs, queue)
        for (account, region, _name), alarm in cloudwatch._alarms.all_items():
            with request_scope(account, region):
                cloudwatch._evaluate_alarm(alarm)


def record_queue(cloudwatch: Any, sqs: Any, queue: Any) -> None:
    """Put on record what a queue holds. Ages count from the sending; SQS counts those of dead letters from the move."""
    sqs._refresh_counts(queue)
    dimensions = {"QueueName": queue["name"]}
    for attribute, metric in QUEUE_METRICS.items():
        cloudwatch.record_metric("AWS/SQS", metric, float(queue["attributes"][attribute]), "Count", dimensions)
    sent = [message["sent_at"] for message in list(queue["messages"])]
    age = time.time() - min(sent) if sent else 0.0
    cloudwatch.record_metric("AWS/SQS", "ApproximateAgeOfOldestMessage", round(age), "Seconds", dimensions)


# --- expressions ------------------------------------------------------------------------------------------------------


def get_metric_data(
    cloudwatch: Any, without_math: Any, params: Any, request: Any, is_cbor: Any, is_json: Any = None
) -> Any:
    """Answer GetMetricData; what holds no expression, or is asked in a form that is not boto3's, as ministack does."""
    queries = {query["Id"]: query for query in request.get("MetricDataQueries", [])} if is_cbor or is_json else {}
    if not any("Expression" in query for query in queries.values()):
        return without_math(params, request, is_cbor, bool(is_json))
    since, until = cloudwatch._parse_ts(request["StartTime"]), cloudwatch._parse_ts(request["EndTime"])
    measured = {
        query_id: dict(_by_period(cloudwatch, query["MetricStat"], since, until))
        for query_id, query in queries.items()
        if "MetricStat" in query
    }
    times = sorted({at for values in measured.values() for at in values})
    results = [
        _result(cloudwatch, query, queries, measured, times)
        for query in queries.values()
        if query.get("ReturnData", True)
    ]
    if is_json:
        return cloudwatch._json_ok({"MetricDataResults": results})
    return cloudwatch._cbor_ok({"MetricDataResults": [cloudwatch._cbor_metric_data_result(one) for one in results]})


def _by_period(cloudwatch: Any, stat: Mapping[str, Any], since: float, until: float) -> Iterator[tuple[int, float]]:
    """A metric's statistic in each period that has data, by the period's beginning."""
    metric, period = stat["Metric"], int(stat["Period"])
    points = defaultdict(list)
    for point in _points(cloudwatch, metric["Namespace"], metric["MetricName"], metric.get("Dimensions")):
        if since <= point["Timestamp"] < until:
            points[int(point["Timestamp"] // period) * period].append(point)
    for at, found in points.items():
        yield at, cloudwatch._stat_value(cloudwatch._calc_stats(found), stat["Stat"], found)


def _result(
    cloudwatch: Any,
    query: Mapping[str, Any],
    queries: Mapping[str, Mapping[str, Any]],
    measured: Mapping[str, Mapping[int, float]],
    times: Sequence[int],
) -> dict[str, Any]:
    def value(query_id: str, at: int) -> float | None:
        if query_id in measured:
            return measured[query_id].get(at)
        return reckon(queries[query_id]["Expression"], lambda name: value(name, at))

    about: dict[str, Any] = {"Id": query["Id"], "Label": query.get("Label", query["Id"])}
    try:
        found = [(at, reckoned) for at in times if (reckoned := value(query["Id"], at)) is not None]
    except (UnknownMathError, KeyError):
        message = {"Code": "Unsupported", "Value": "this emulator does not reckon with such an expression"}
        return {**about, "StatusCode": "InternalError", "Messages": [message], "Timestamps": [], "Values": []}
    timestamps = [cloudwatch._ts_iso(at) for at, _ in found]
    return {**about, "StatusCode": "Complete", "Timestamps": timestamps, "Values": [one for _, one in found]}


# --- alarms -----------------------------------------------------------------------------------------------------------


def evaluate(cloudwatch: Any, alarm: dict[str, Any]) -> None:
    """Bring an alarm's state up to date, and do what is to be done when it changes."""
    if not alarm.get("MetricName"):
        return
    before = alarm["StateValue"]
    periods = int(alarm["EvaluationPeriods"])
    rule = Rule(
        alarm["ComparisonOperator"],
        float(alarm["Threshold"]),
        int(alarm.get("DatapointsToAlarm") or periods),
        alarm.get("TreatMissingData") or "missing",
    )
    values = list(_values(cloudwatch, alarm, periods))
    after = state_of(rule, values, before)
    if after == before:
        return
    told = ", ".join("none" if value is None else f"{value:g}" for value in values)
    reason = f"{alarm['MetricName']} was {told} in the last {periods} x {alarm['Period']} s, newest first"
    alarm |= {"StateValue": after, "StateReason": reason, "StateUpdatedTimestamp": int(time.time())}
    cloudwatch._record_history(alarm["AlarmName"], before, after, reason)
    cloudwatch._dispatch_alarm_actions(alarm, before, after, reason)
    cloudwatch._evaluate_parent_alarms(alarm)


def _values(cloudwatch: Any, alarm: Mapping[str, Any], periods: int) -> Iterator[float | None]:
    """The statistic in each period back from now, the newest first; None where there was no data."""
    points = _points(cloudwatch, alarm["Namespace"], alarm["MetricName"], alarm.get("Dimensions"))
    statistic = alarm.get("ExtendedStatistic") or alarm.get("Statistic") or "Average"
    now, period = time.time(), int(alarm["Period"])
    recent = [point for point in points if point["Timestamp"] > now - periods * period]
    for number in range(periods):
        end = now - number * period
        found = [point for point in recent if end - period < point["Timestamp"] <= end]
        yield cloudwatch._stat_value(cloudwatch._calc_stats(found), statistic, found) if found else None


def _points(cloudwatch: Any, namespace: str, name: str, dimensions: Any) -> list[Any]:
    """What was recorded of a metric."""
    key = (namespace, name, cloudwatch._dims_key(cloudwatch._dims_from_list(dimensions or [])))
    return list(cloudwatch._metrics.get(key) or [])
