"""The dashboard of the machinery: schedules, queues, functions, tables, and what throttles them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs

from functions import names
from stacks.deployment import Deployment
from stacks.monitoring import metrics
from stacks.monitoring.graphs import HALF, Graph, Section
from stacks.monitoring.guard import LESS_THAN, QUIET_IS_AN_ALARM, Guard, Urgency
from stacks.monitoring.parts import Parts
from stacks.settings import DEAD_LETTER_ALARM_S
from stacks.wakeup import Wakeup


def sections(parts: Parts, deployment: Deployment) -> list[Section]:
    where = f"of data region {deployment.data_region}"
    return [
        Section("Schedules", list(_schedules(parts, deployment, where))),
        Section("Queues", list(_queues(parts, deployment, where))),
        Section(
            "Functions", [*(graph for one in _functions(parts, where) for graph in one.graphs()), _loops(parts, where)]
        ),
        Section("Tables", list(_tables(parts, where))),
    ]


# --- schedules --------------------------------------------------------------------------------------------------------


def _schedules(parts: Parts, deployment: Deployment, where: str) -> Iterator[Graph]:
    region = deployment.region
    planner_silent = Guard(
        "PlannerSilent",
        "runs finished in an interval",
        f"Runs of the planner {where} have been missing for three intervals: what is due in their shards waits.",
        "wake-ups",
        Urgency.NOW,
        metrics.own(names.METRIC_PLANNER_RUNS, deployment, region.planner.interval_s),
        threshold=region.planner.parallel,
        periods=3,
        missing=QUIET_IS_AN_ALARM,
        comparison=LESS_THAN,
    )
    reconciler_silent = Guard(
        "ReconcilerSilent",
        "sweeps finished in an interval",
        f"The reconciler {where} has not finished a sweep for five intervals: what was left behind stays behind, "
        "and what only it can see has no alarm.",
        "wake-ups",
        Urgency.NOW,
        # Each sweep says what it mended, if only that it was nothing.
        metrics.own(names.METRIC_RECOVERED, deployment, region.reconciler.interval_s, "SampleCount"),
        periods=5,
        missing=QUIET_IS_AN_ALARM,
        comparison=LESS_THAN,
    )
    lag = metrics.own(names.METRIC_PLANNER_LAG, deployment, statistic="Maximum").with_(label="after its time, s")
    yield Graph("Planner: runs, and how late it finished", [planner_silent], [lag], width=HALF)
    mended = metrics.own(names.METRIC_RECOVERED, deployment).with_(label="rows mended, in 5 min")
    yield Graph("Reconciler: sweeps, and what they mended", [reconciler_silent], [mended], width=HALF)
    yield _lost_wakeups("Planner", where, parts.planner.wakeup)
    yield _lost_wakeups("Reconciler", where, parts.recovery.wakeup)


def _lost_wakeups(title: str, where: str, wakeup: Wakeup) -> Graph:
    who = f"The {title.lower()} {where}"
    undelivered = Guard(
        f"{title}Undelivered",
        "not handed over",
        f"{who}: its schedule could not hand over an invocation; the message in the queue says why.",
        "wake-ups",
        Urgency.MORNING,  # if none gets through, its silence calls
        metrics.waiting(wakeup.undelivered),
    )
    failed = Guard(
        f"{title}Failed",
        "failed for good",
        f"{who}: an invocation failed each time it was tried; the message in the queue says why.",
        "wake-ups",
        Urgency.MORNING,
        metrics.waiting(wakeup.failed),
    )
    return Graph(f"{title}: wake-ups that came to nothing", [undelivered], [failed], width=HALF)


# --- queues -----------------------------------------------------------------------------------------------------------


def _queues(parts: Parts, deployment: Deployment, where: str) -> Iterator[Graph]:
    late_s = deployment.region.backlog_alarm_s
    for name, channel in parts.channels.items():
        title, its = name.capitalize(), f"of the {name} channel {where}"
        oldest = Guard(
            f"{title}OldestMessage",
            "age of the oldest, s",
            f"The oldest message {its} has waited for {late_s} s, a quarter of the time until its delivery expires.",
            "behind",
            Urgency.MORNING,  # three quarters are left
            metrics.oldest_message(channel.queue),
            threshold=late_s,
        )
        dead = Guard(
            f"{title}DeadLetters",
            "dead letters",
            f"Messages wait in the dead-letter queue {its}: see why, mend it, redrive them.",
            "dead-letters",
            Urgency.MORNING,  # many of them call by their rate
            metrics.waiting(channel.dead_letters),
        )
        yield _waiting(f"{title} queue", channel.queue, oldest)
        yield _dead_letters(f"{title} dead-letter queue", title, its, channel.dead_letters, dead)
    yield from _receipts_queues(parts, where)
    yield from _inbound_queues(parts, where)


def _receipts_queues(parts: Parts, where: str) -> Iterator[Graph]:
    parked = Guard(
        "ReceiptsParked",
        "parked events",
        f"Events {where} belong to no delivery that is known, or cannot be read: see which, then redrive or purge.",
        "receipts-parked",
        Urgency.MORNING,
        metrics.waiting(parts.receipts.dead_letters),
    )
    yield _waiting("Receipts queue", parts.receipts.queue)
    its = f"of receipts {where}"
    yield _dead_letters("Receipts dead-letter queue", "Receipts", its, parts.receipts.dead_letters, parked)


def _inbound_queues(parts: Parts, where: str) -> Iterator[Graph]:
    oldest = Guard(
        "InboundOldestMessage",
        "age of the oldest, s",
        f"A text from a customer {where} has waited for an hour. If it says STOP, texts still go out.",
        "texts",
        Urgency.NOW,  # people are texted who have asked for none
        metrics.oldest_message(parts.inbound.queue),
        threshold=3600,
    )
    dead = Guard(
        "InboundDeadLetters",
        "dead letters",
        f"Texts from customers {where} could not be worked on. There may be a STOP among them: act on it today.",
        "texts",
        Urgency.MORNING,
        metrics.waiting(parts.inbound.dead_letters),
    )
    yield _waiting("Queue of texts from customers", parts.inbound.queue, oldest)
    its = f"of texts from customers {where}"
    title = "Dead-letter queue of texts from customers"
    yield _dead_letters(title, "Inbound", its, parts.inbound.dead_letters, dead)


def _waiting(title: str, queue: sqs.IQueue, oldest: Guard | None = None) -> Graph:
    age = metrics.oldest_message(queue).with_(label="age of the oldest, s") if oldest is None else oldest
    return Graph(title, [metrics.waiting(queue).with_(label="waiting")], [age], width=HALF)


def _dead_letters(title: str, alarm_title: str, its: str, queue: sqs.IQueue, waiting: Guard) -> Graph:
    aging = Guard(
        f"{alarm_title}DeadLettersAging",
        "age of the oldest, s",
        f"A message in the dead-letter queue {its} may be gone in three days: SQS counts from its first sending.",
        "dead-letters",
        Urgency.MORNING,
        metrics.oldest_message(queue),
        threshold=DEAD_LETTER_ALARM_S,
    )
    return Graph(title, [waiting], [aging], width=HALF)


# --- functions --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Watched:
    """A function with the guards that it has: on errors, on throttles, and on what its URL could not answer."""

    name: str
    function: lambda_.Function
    errors: Guard
    throttles: Guard
    faults: Guard | None = None

    def graphs(self) -> list[Graph]:
        typical = metrics.duration(self.function, "p50").with_(label="median, ms")
        longest = metrics.duration(self.function, "Maximum").with_(label="longest, ms")
        at_once = metrics.concurrency(self.function).with_(label="at once")
        invoked = metrics.invocations(self.function).with_(label="invocations")
        failing = [self.errors] if self.faults is None else [self.errors, self.faults]
        return [
            Graph(f"{self.name}: errors and throttles", failing, [self.throttles]),
            Graph(f"{self.name}: duration", [typical, longest]),
            Graph(f"{self.name}: invocations and concurrency", [invoked], [at_once]),
        ]


def _functions(parts: Parts, where: str) -> Iterator[_Watched]:
    yield _watched("Planner", "Planner", f"The planner {where}", parts.planner.planner.function)
    yield _watched("Reconciler", "Reconciler", f"The reconciler {where}", parts.recovery.reconciler.function)
    for name, channel in parts.channels.items():
        yield _consumer(name, where, channel.consumer.function)
        if channel.worker is not None:
            yield _worker(name, where, channel.worker.function.function)
    receipts = parts.receipts
    yield _watched("Receipts", "Receipts", f"The receipts function {where}", receipts.function.function)
    if receipts.intake is not None:
        who = f"The intake of the email provider's webhooks {where}"
        yield _watched("ReceiptIntake", "Receipt intake", who, receipts.intake.function.function)
    page = parts.unsubscribe.function.function
    faults = Guard(
        "UnsubscribeFaults",
        "requests answered with 5xx",
        f"The unsubscribe page {where} fails: people cannot leave, which the law gives them the right to.",
        "functions",
        Urgency.NOW,
        metrics.faults_at_url(page),
    )
    yield _watched("Unsubscribe", "Unsubscribe page", f"The unsubscribe page {where}", page, faults)
    listener = parts.inbound.function.function
    yield _watched("Inbound", "Listener to texts", f"The listener to texts {where}", listener)
    widgets = parts.widgets
    yield _watched("Widgets", "Widgets", f"The function that draws the widgets {where}", widgets.viewing.function)
    acts = f"The function that does what the widgets' buttons say {where}"
    yield _watched("Operate", "Widgets' buttons", acts, widgets.operating.function)


def _errors(title: str, description: str, urgency: Urgency, function: lambda_.Function) -> Guard:
    metric = metrics.errors(function)
    return Guard(f"{title}Errors", "errors", description, "functions", urgency, metric, periods=2)


def _throttles(
    title: str, description: str, urgency: Urgency, function: lambda_.Function, *, periods: int = 1
) -> Guard:
    metric = metrics.throttles(function)
    return Guard(f"{title}Throttles", "throttles", description, "functions", urgency, metric, periods=periods)


def _watched(title: str, name: str, who: str, function: lambda_.Function, faults: Guard | None = None) -> _Watched:
    """A function whose standing still loses nothing that is not called out by an alarm of its own."""
    errors = _errors(title, f"{who} fails, in two periods running.", Urgency.MORNING, function)
    throttles = _throttles(title, f"{who} is throttled by Lambda.", Urgency.MORNING, function)
    return _Watched(name, function, errors, throttles, faults)


def _consumer(name: str, where: str, function: lambda_.Function) -> _Watched:
    """After six receives, within half an hour, what a consumer could not work on are dead letters."""
    title, whose = name.capitalize(), f"The consumer of the {name} channel {where}"
    errors = _errors(
        title, f"{whose} fails as a whole, in two periods running: whole batches come back.", Urgency.NOW, function
    )
    throttles = _throttles(
        title,
        f"{whose} is throttled by Lambda: messages nobody looked at use up their receives.",
        Urgency.NOW,
        function,
    )
    return _Watched(f"{title} consumer", function, errors, throttles)


def _worker(name: str, where: str, worker: lambda_.Function) -> _Watched:
    """Its queue is somebody else's, and so are that queue's dead letters: here is what can be seen from inside."""
    title, whose = f"{name.capitalize()}Worker", f"The worker of the {name} channel {where}"
    faults = Guard(
        f"{title}Faults",
        "jobs answered with 5xx",
        f"{whose} has answered jobs with 5xx for 15 minutes: its log says whether the provider is to blame "
        "(delivery.attempted) or we are (message.failed, job.failed, job.no_secret).",
        "functions",
        Urgency.MORNING,  # the reconciler brings back what the HTTP queue gives up
        metrics.faults_at_url(worker),
        periods=3,
    )
    errors = _errors(title, f"{whose} dies in its requests, in two periods running.", Urgency.NOW, worker)
    throttles = _throttles(
        title,
        f"{whose} has been throttled for 15 minutes: jobs come faster than its concurrency allows. Have the HTTP queue "
        "push fewer at once.",
        Urgency.MORNING,
        worker,
        periods=3,
    )
    return _Watched(f"{name.capitalize()} worker", worker, errors, throttles, faults)


def _loops(parts: Parts, where: str) -> Graph:
    dropped = [
        Guard(
            f"{name.capitalize()}Loops",
            name,
            f"Lambda dropped messages of the {name} channel {where} that went round in a circle: something sends its "
            "consumer's work back to its queue.",
            "loops",
            Urgency.NOW,
            metrics.dropped_as_loops(channel.consumer.function),
        )
        for name, channel in parts.channels.items()
    ]
    return Graph("Messages that Lambda dropped as loops", dropped, width=HALF)


# --- tables -----------------------------------------------------------------------------------------------------------


def _tables(parts: Parts, where: str) -> Iterator[Graph]:
    storage = parts.storage
    yield from _table("Customers", where, storage.customers, [names.DUE_INDEX, names.NUMBER_INDEX])
    yield from _table("Deliveries", where, storage.deliveries, [names.ATTENTION_INDEX, names.PERIOD_INDEX])
    yield from _table("Control", where, storage.control, [])


def _table(title: str, where: str, table: dynamodb.Table, indexes: Sequence[str]) -> Iterator[Graph]:
    throttled = Guard(
        f"{title}Throttled",
        "throttled reads and writes, of its indexes too",
        f"DynamoDB throttles the {title.lower()} table {where}, for a quarter of an hour: everything gets slower.",
        "tables",
        Urgency.MORNING,  # clients try again; what gives up comes back by its visibility
        metrics.throttled(table, indexes),
        periods=4,
        datapoints=3,
    )
    read, written = (metrics.consumed(table, kind).with_(label=f"units, {kind.lower()}") for kind in ("Read", "Write"))
    yield Graph(f"{title}: units in 5 min", [read], [written], width=HALF)
    yield Graph(f"{title}: throttled", [throttled], width=HALF)
