"""The dashboard of the machinery: schedules, queues, functions, tables, and what throttles them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs

from functions import names
from stacks.deployment import Deployment
from stacks.monitoring import metrics
from stacks.monitoring.graphs import HALF, Graph, Section
from stacks.monitoring.guard import LESS_THAN, QUIET_IS_AN_ALARM, Guard
from stacks.monitoring.parts import Parts
from stacks.wakeup import Wakeup


def sections(parts: Parts, deployment: Deployment) -> list[Section]:
    where = f"of data region {deployment.data_region}"
    return [
        Section("Schedules", list(_schedules(parts, deployment, where))),
        Section("Queues", list(_queues(parts, deployment, where))),
        Section("Functions", [graph for one in _functions(parts, where) for graph in one.graphs()]),
    ]


# --- schedules --------------------------------------------------------------------------------------------------------


def _schedules(parts: Parts, deployment: Deployment, where: str) -> Iterator[Graph]:
    region = deployment.region
    planner_silent = Guard(
        "PlannerSilent",
        "runs finished in an interval",
        f"The planner {where} has not finished a run for three of its intervals: nothing that is due gets planned.",
        "wake-ups",
        metrics.own(names.METRIC_PLANNER_RUNS, deployment, region.planner.interval_s),
        periods=3,
        missing=QUIET_IS_AN_ALARM,
        comparison=LESS_THAN,
    )
    reconciler_silent = Guard(
        "ReconcilerSilent",
        "invocations in an interval",
        f"The reconciler {where} was not invoked for five of its intervals: what was left behind stays behind.",
        "wake-ups",
        metrics.invocations(parts.recovery.reconciler.function, region.reconciler.interval_s),
        periods=5,
        missing=QUIET_IS_AN_ALARM,
        comparison=LESS_THAN,
    )
    lag = metrics.own(names.METRIC_PLANNER_LAG, deployment, statistic="Maximum").with_(label="after its time, s")
    yield Graph("Planner: runs, and how late it finished", [planner_silent], [lag], width=HALF)
    yield Graph("Reconciler: invocations", [reconciler_silent], width=HALF)
    yield _lost_wakeups("Planner", where, parts.planner.wakeup)
    yield _lost_wakeups("Reconciler", where, parts.recovery.wakeup)


def _lost_wakeups(title: str, where: str, wakeup: Wakeup) -> Graph:
    who = f"The {title.lower()} {where}"
    undelivered = Guard(
        f"{title}Undelivered",
        "not handed over",
        f"{who}: its schedule could not hand over an invocation; the message in the queue says why.",
        "wake-ups",
        metrics.waiting(wakeup.undelivered),
    )
    failed = Guard(
        f"{title}Failed",
        "failed for good",
        f"{who}: an invocation failed each time it was tried; the message in the queue says why.",
        "wake-ups",
        metrics.waiting(wakeup.failed),
    )
    return Graph(f"{title}: wake-ups that came to nothing", [undelivered], [failed], width=HALF)


# --- queues -----------------------------------------------------------------------------------------------------------


def _queues(parts: Parts, deployment: Deployment, where: str) -> Iterator[Graph]:
    late_s = deployment.region.backlog_alarm_s
    for name, channel in parts.channels.items():
        title, its = name.capitalize(), f"of the {name} channel in data region {deployment.data_region}"
        oldest = Guard(
            f"{title}OldestMessage",
            "age of the oldest, s",
            f"The oldest message {its} has waited for {late_s} s, a quarter of the time until its delivery expires.",
            "behind",
            metrics.oldest_message(channel.queue),
            threshold=late_s,
        )
        yield _waiting(f"{name} queue", channel.queue, oldest)
        dead = Guard(
            f"{title}DeadLetters",
            "dead letters",
            f"Messages wait in the dead-letter queue {its}: see why, mend it, redrive them.",
            "dead-letters",
            metrics.waiting(channel.dead_letters),
        )
        yield Graph(f"{name} dead-letter queue", [dead], width=HALF)
    parked = Guard(
        "ReceiptsParked",
        "parked events",
        f"Events {where} belong to no delivery that is known, or cannot be read: see which, then redrive or purge.",
        "receipts-parked",
        metrics.waiting(parts.receipts.dead_letters),
    )
    yield _waiting("receipts queue", parts.receipts.queue)
    yield Graph("receipts dead-letter queue", [parked], width=HALF)
    oldest_text = Guard(
        "InboundOldestMessage",
        "age of the oldest, s",
        f"A text from a customer {where} has waited for an hour. If it says STOP, texts still go out.",
        "texts",
        metrics.oldest_message(parts.inbound.queue),
        threshold=3600,
    )
    dead_texts = Guard(
        "InboundDeadLetters",
        "dead letters",
        f"Texts from customers {where} could not be worked on. There may be a STOP among them: act on it today.",
        "texts",
        metrics.waiting(parts.inbound.dead_letters),
    )
    yield _waiting("queue of texts from customers", parts.inbound.queue, oldest_text)
    yield Graph("dead-letter queue of texts from customers", [dead_texts], width=HALF)


def _waiting(title: str, queue: sqs.IQueue, oldest: Guard | None = None) -> Graph:
    age = metrics.oldest_message(queue).with_(label="age of the oldest, s") if oldest is None else oldest
    return Graph(title, [metrics.waiting(queue).with_(label="waiting")], [age], width=HALF)


# --- functions --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Watched:
    """A function with the guards that it has: on errors, on throttles, and on what else it counts."""

    name: str
    function: lambda_.Function
    errors: Guard
    throttles: Guard
    faults: Guard | None = None  # requests to its URL that it could not answer

    def graphs(self) -> list[Graph]:
        typical = metrics.duration(self.function, "p50").with_(label="median, ms")
        longest = metrics.duration(self.function, "Maximum").with_(label="longest, ms")
        at_once = metrics.concurrency(self.function).with_(label="at once")
        invoked = metrics.invocations(self.function).with_(label="invocations")
        graphs = [
            Graph(f"{self.name}: errors and throttles", [self.errors], [self.throttles]),
            Graph(f"{self.name}: duration", [typical, longest]),
            Graph(f"{self.name}: invocations and concurrency", [invoked], [at_once]),
        ]
        return graphs if self.faults is None else [*graphs, Graph(f"{self.name}: answers", [self.faults])]


def _functions(parts: Parts, where: str) -> Iterator[_Watched]:
    yield _watched("Planner", "planner", f"The planner {where}", parts.planner.planner.function)
    yield _watched("Reconciler", "reconciler", f"The reconciler {where}", parts.recovery.reconciler.function)
    for name, channel in parts.channels.items():
        yield _consumer(name, where, channel.consumer.function)
        if channel.worker is not None:
            yield _worker(name, where, channel.worker.function.function)
    receipts = parts.receipts
    yield _watched("Receipts", "receipts", f"The receipts function {where}", receipts.function.function)
    if receipts.intake is not None:
        who = f"The intake of the email provider's webhooks {where}"
        yield _watched("ReceiptIntake", "receipt intake", who, receipts.intake.function.function)
    page = parts.unsubscribe.function.function
    faults = Guard(
        "UnsubscribeFaults",
        "requests answered with 5xx",
        f"The unsubscribe page {where} fails: people cannot leave, which the law gives them the right to.",
        "functions",
        metrics.faults_at_url(page),
    )
    yield _watched("Unsubscribe", "unsubscribe page", f"The unsubscribe page {where}", page, faults)
    listener = parts.inbound.function.function
    yield _watched("Inbound", "listener to texts", f"The listener to texts {where}", listener)
    widgets = parts.widgets
    yield _watched("Widgets", "widgets", f"The function that draws the widgets {where}", widgets.viewing.function)
    acts = f"The function that does what the widgets' buttons say {where}"
    yield _watched("Operate", "widgets' buttons", acts, widgets.operating.function)


def _watched(title: str, name: str, who: str, function: lambda_.Function, faults: Guard | None = None) -> _Watched:
    errors = Guard(
        f"{title}Errors",
        "errors",
        f"{who} fails, in two periods running.",
        "functions",
        metrics.errors(function),
        periods=2,
    )
    throttles = Guard(
        f"{title}Throttles", "throttles", f"{who} is throttled by Lambda.", "functions", metrics.throttles(function)
    )
    return _Watched(name, function, errors, throttles, faults)


def _consumer(name: str, where: str, function: lambda_.Function) -> _Watched:
    title, who = name.capitalize(), f"the {name} consumer {where}"
    errors = Guard(
        f"{title}Errors",
        "errors",
        f"As a whole, in two periods running, fails {who}: whole batches come back.",
        "functions",
        metrics.errors(function),
        periods=2,
    )
    throttles = Guard(
        f"{title}Throttles",
        "throttles",
        f"Lambda throttles {who}: messages nobody looked at use up their receives.",
        "functions",
        metrics.throttles(function),
    )
    return _Watched(f"{name} consumer", function, errors, throttles)


def _worker(name: str, where: str, worker: lambda_.Function) -> _Watched:
    """Its queue is somebody else's, and so are that queue's dead letters: here is what can be seen from inside."""
    title, who = name.capitalize(), f"the {name} worker {where}"
    faults = Guard(
        f"{title}WorkerFaults",
        "jobs answered with 5xx",
        f"For 15 minutes jobs have been answered with 5xx by {who}: its log says whether the provider is to "
        "blame (delivery.attempted) or we are (message.failed, job.failed, job.no_secret).",
        "functions",
        metrics.faults_at_url(worker),
        periods=3,
    )
    errors = Guard(
        f"{title}WorkerErrors",
        "errors",
        f"In two periods running, requests have killed {who}.",
        "functions",
        metrics.errors(worker),
        periods=2,
    )
    throttles = Guard(
        f"{title}WorkerThrottles",
        "throttles",
        f"For 15 minutes jobs have come faster than its concurrency allows to {who}: have the HTTP queue push fewer.",
        "functions",
        metrics.throttles(worker),
        periods=3,
    )
    return _Watched(f"{name} worker", worker, errors, throttles, faults)
