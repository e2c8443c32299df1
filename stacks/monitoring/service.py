"""The dashboard of the service: whether everybody gets theirs, and what becomes of those who do not."""

from __future__ import annotations

from functions import names
from stacks.deployment import Deployment
from stacks.monitoring import metrics
from stacks.monitoring.graphs import HALF, Graph, Section
from stacks.monitoring.guard import Guard
from stacks.settings import Summary


def sections(deployment: Deployment) -> list[Section]:
    where = f"data region {deployment.data_region}"
    summary = deployment.region.summary
    return [
        Section("What is due", [*_due(deployment, where)]),
        Section("What needs a person", [*_stuck(deployment, where)]),
        *([] if summary is None else [Section("Summaries", _summaries(deployment, summary))]),
    ]


def _due(deployment: Deployment, where: str) -> list[Graph]:
    sweep_s = deployment.region.reconciler.interval_s
    oldest = Guard(
        "OldestDue",
        "age of the oldest due delivery, s",
        f"A delivery in {where} has been due for longer than a quarter of the time until it expires.",
        "behind",
        metrics.own(names.METRIC_OLDEST_DUE_AGE, deployment, sweep_s, "Maximum"),
        threshold=deployment.region.backlog_alarm_s,
    )
    not_enqueued = Guard(
        "NotEnqueued",
        "ids that SQS did not take",
        f"SQS takes nothing from the reconciler in {where}, in three sweeps running: deliveries stay planned.",
        "behind",
        metrics.own(names.METRIC_NOT_ENQUEUED, deployment, sweep_s),
        periods=3,
    )
    held = Guard(
        "PlanningHeld",
        "shards held",
        f"Far more is due in {where} than on this day last week: planning waits until somebody has looked and agrees.",
        "planning-held",
        metrics.own(names.METRIC_SHARDS_HELD, deployment, deployment.region.planner.interval_s, "Maximum"),
    )
    planned = metrics.own(names.METRIC_PLANNED, deployment).with_(label="planned")
    return [
        Graph("Deliveries planned, in 5 min; shards held", [planned], [held]),
        Graph("Age of the oldest due delivery", [oldest]),
        Graph("Ids that SQS did not take", [not_enqueued]),
    ]


def _stuck(deployment: Deployment, where: str) -> list[Graph]:
    """What the reconciler says of all deliveries at each sweep; that it says nothing has an alarm of its own."""
    sweep_s = deployment.region.reconciler.interval_s
    halted = Guard(
        "ChannelHalted",
        "channels halted",
        f"A channel in {where} is halted: nothing of it is sent, nothing is lost. Mend the cause, then resume it.",
        "channel-halted",
        metrics.own(names.METRIC_CHANNELS_HALTED, deployment, sweep_s, "Maximum"),
    )
    uncertain = Guard(
        "Uncertain",
        "uncertain deliveries",
        f"Deliveries in {where} may have been sent; nobody knows. They wait for the provider's word or a person's.",
        "uncertain",
        metrics.own(names.METRIC_UNCERTAIN_ROWS, deployment, sweep_s, "Maximum"),
        periods=max(3, 900 // sweep_s),  # those that a look-up settles are settled by then
    )
    return [Graph("Channels halted", [halted]), Graph("Deliveries in doubt", [uncertain])]


def _summaries(deployment: Deployment, settings: Summary) -> list[Graph]:
    tokens = [
        metrics.own(name, deployment, prompt_version=settings.prompt_version).with_(label=label)
        for name, label in (
            (names.METRIC_SUMMARY_INPUT_TOKENS, "in"),
            (names.METRIC_SUMMARY_OUTPUT_TOKENS, "out"),
        )
    ]
    by_outcome = metrics.own_by(names.METRIC_SUMMARIES, deployment, "${PROP('Dim.outcome')}")
    return [
        Graph("Digests by what became of their summary", [by_outcome], width=HALF),
        Graph(f"Tokens of {settings.prompt_version}, in 5 min", tokens, width=HALF),
    ]
