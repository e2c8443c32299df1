"""The dashboard of the service: whether everybody gets theirs, and what becomes of those who do not."""

from __future__ import annotations

from aws_cdk import aws_cloudwatch as cloudwatch

from functions import names
from stacks.deployment import Deployment
from stacks.monitoring import metrics
from stacks.monitoring.graphs import HALF, Graph, Numbers, Section
from stacks.monitoring.guard import LESS_THAN, Guard, Urgency
from stacks.settings import Summary

_BY_OUTCOME = "${PROP('Dim.outcome')}"
_BY_CHANNEL_AND_OUTCOME = "${PROP('Dim.channel')}: ${PROP('Dim.outcome')}"
_RETRIES_PERCENT = 30
_DEAD_LETTERS_PERCENT = 5
_LEASES_IN_A_QUARTER = 3
_TOLD_OF_PERCENT = 10  # most are told of within minutes; carriers may take days


def sections(deployment: Deployment) -> list[Section]:
    where = f"in data region {deployment.data_region}"
    channels = list(deployment.region.channels.by_name())
    return [
        Section("The running week", _week(deployment)),
        Section("What is due", _due(deployment, where)),
        Section("Sending", _sending(channels, deployment, where)),
        Section("What fails", _failing(channels, deployment, where)),
        Section("Who is not sent to", _closed(deployment, where)),
        Section("Receipts", _receipts(deployment, where)),
        Section("What it takes", _spent(channels, deployment)),
    ]


# --- the running week -------------------------------------------------------------------------------------------------


def _week(deployment: Deployment) -> list[Graph | Numbers]:
    planned = metrics.own(names.METRIC_PLANNED, deployment).with_(label="planned")
    enqueued = metrics.own(names.METRIC_ENQUEUED, deployment).with_(label="enqueued")
    # Each acceptance tells how late it was, so their number is that of the acceptances.
    accepted = metrics.own(names.METRIC_LATENCY, deployment, statistic="SampleCount").with_(label="accepted")
    not_sent = metrics.own(names.METRIC_NOT_SENT, deployment).with_(label="rightly not sent, or too late")
    dead = metrics.own(names.METRIC_DEAD_LETTERS, deployment).with_(label="dead letters")
    return [
        Numbers("Deliveries of the last seven days", [planned, enqueued, accepted, not_sent, dead], since="-P7D"),
        Graph("Planned, enqueued, accepted, in 5 min", [planned, enqueued, accepted], width=HALF),
        Graph("Not sent, by reason, in 5 min", [_by(names.METRIC_NOT_SENT, deployment)], width=HALF),
    ]


def _by(name: str, deployment: Deployment, label: str = _BY_OUTCOME) -> cloudwatch.MathExpression:
    return metrics.own_by(name, deployment, label)


# --- what is due ------------------------------------------------------------------------------------------------------


def _due(deployment: Deployment, where: str) -> list[Graph | Numbers]:
    region = deployment.region
    sweep_s, plan_s = region.reconciler.interval_s, region.planner.interval_s
    oldest = Guard(
        "OldestDue",
        "due for, s",
        f"A delivery {where} has been due for longer than a quarter of the time until it expires.",
        "behind",
        Urgency.NOW,
        metrics.own(names.METRIC_OLDEST_DUE_AGE, deployment, sweep_s, "Maximum"),
        threshold=region.backlog_alarm_s,
        # A delivery is seen when it is to be looked at, not at every sweep: what waits for a gate, once an hour.
        periods=max(1, 3600 // sweep_s),
        datapoints=1,
    )
    gap = Guard(
        "EnqueueGap",
        "planned for, s",
        f"For {region.enqueue_gap_alarm_s} s no queue has taken a delivery that is planned {where}: nothing goes out.",
        "behind",
        Urgency.NOW,
        metrics.own(names.METRIC_ENQUEUE_GAP, deployment, sweep_s, "Maximum"),
        threshold=region.enqueue_gap_alarm_s,
    )
    not_enqueued = Guard(
        "NotEnqueued",
        "ids that SQS did not take",
        f"SQS takes nothing from the reconciler {where}, in three sweeps running: deliveries stay as they are.",
        "behind",
        Urgency.MORNING,  # if it goes on, the gap calls
        metrics.own(names.METRIC_NOT_ENQUEUED, deployment, sweep_s),
        periods=3,
    )
    behind = Guard(
        "PlanningBehind",
        "due and not planned for, s",
        f"Schedules {where} have been due for an hour, and run after run leaves them unplanned: digests will be late.",
        "wake-ups",
        Urgency.MORNING,  # once they are that late, the oldest delivery calls
        metrics.own(names.METRIC_OLDEST_SCHEDULE_AGE, deployment, plan_s, "Maximum"),
        threshold=3600,
        periods=3,
    )
    held = Guard(
        "PlanningHeld",
        "shards held",
        f"Far more is due {where} than on this day last week: planning waits until somebody has looked and agrees.",
        "planning-held",
        Urgency.NOW,  # if it is growth, everybody waits for it
        metrics.own(names.METRIC_SHARDS_HELD, deployment, plan_s, "Maximum"),
    )
    failed = Guard(
        "SchedulesFailed",
        "schedules",
        f"Schedules {where} are due and could not be planned in three runs running: their customers get nothing.",
        "schedules-failed",
        Urgency.MORNING,
        metrics.own(names.METRIC_SCHEDULES_FAILED, deployment, plan_s, "Maximum"),
        periods=3,
    )
    overdue = Guard(
        "PeriodsOverdue",
        "weeks",
        f"A week {where} is open although all of its deliveries should have ended: some of them are stuck.",
        "periods-overdue",
        Urgency.MORNING,
        metrics.own(names.METRIC_PERIODS_OVERDUE, deployment, sweep_s, "Maximum"),
        periods=3,
    )
    return [
        Graph("Oldest due delivery", [oldest]),
        Graph("Oldest schedule that a run has left", [behind]),
        Graph("Planned, and taken by no queue", [gap], [not_enqueued]),
        Graph("Planning held by the surge guard", [held]),
        Graph("Schedules that could not be planned", [failed]),
        Graph("Weeks open for too long", [overdue]),
    ]


# --- sending ----------------------------------------------------------------------------------------------------------


def _sending(channels: list[str], deployment: Deployment, where: str) -> list[Graph | Numbers]:
    latency = [
        metrics.own(names.METRIC_LATENCY, deployment, statistic=percentile).with_(label=f"{percentile}, s")
        for percentile in ("p50", "p95", "p99")
    ]
    retries = [
        Guard(
            f"{channel.capitalize()}RetryRate",
            f"{channel}, %",
            f"For most of an hour {_RETRIES_PERCENT} % of the {channel} attempts {where} have had to be made again.",
            "retries",
            Urgency.MORNING,
            metrics.retry_rate(channel, deployment),
            threshold=_RETRIES_PERCENT,
            periods=4,
            datapoints=3,
        )
        for channel in channels
    ]
    by_class = _by(names.METRIC_ATTEMPTS, deployment, _BY_CHANNEL_AND_OUTCOME)
    return [
        Graph("From due to accepted", latency),
        Graph("Attempts by class, in 5 min", [by_class]),
        Graph("Attempts that come again, in 15 min", retries),
        Graph("Allowance used up, in an hour", _quotas(channels, deployment, where)),
    ]


def _quotas(channels: list[str], deployment: Deployment, where: str) -> list[Guard]:
    """Customers' own endpoints have no allowance of ours."""
    return [
        Guard(
            f"{channel.capitalize()}Quota",
            channel,
            f"The {channel} provider's allowance {where} is used up: the channel is closed, and tried again each hour.",
            "quota",
            Urgency.MORNING,
            metrics.own(names.METRIC_ATTEMPTS, deployment, 3600, channel=channel, outcome="quota"),
        )
        for channel in channels
        if channel != "webhook"
    ]


# --- what fails -------------------------------------------------------------------------------------------------------


def _failing(channels: list[str], deployment: Deployment, where: str) -> list[Graph | Numbers]:
    sweep_s = deployment.region.reconciler.interval_s
    uncertain = Guard(
        "Uncertain",
        "uncertain deliveries",
        f"Deliveries {where} may have been sent; nobody knows. They wait for the provider's word or a person's.",
        "uncertain",
        Urgency.MORNING,
        metrics.own(names.METRIC_UNCERTAIN_ROWS, deployment, sweep_s, "Maximum"),
        periods=max(3, 900 // sweep_s),  # those that a look-up settles are settled by then
    )
    leases = Guard(
        "LeasesRanOut",
        "leases that ran out",
        f"Invocations {where} die while they send: {_LEASES_IN_A_QUARTER} leases ran out in a quarter of an hour.",
        "leases",
        Urgency.MORNING,
        metrics.own(names.METRIC_LEASES_RAN_OUT, deployment, 900),
        threshold=_LEASES_IN_A_QUARTER,
    )
    second = Guard(
        "SecondSends",
        "sent twice",
        f"A provider has accepted a delivery {where} twice: somebody got it twice. Find out how before it goes on.",
        "second-sends",
        Urgency.NOW,
        metrics.own(names.METRIC_SECOND_SENDS, deployment),
    )
    return [
        Graph("Dead letters by class, in 5 min", [_by(names.METRIC_DEAD_LETTERS, deployment, _BY_CHANNEL_AND_OUTCOME)]),
        *(_dead_letter_rates(of_class, channels, deployment, where) for of_class in names.DEAD_LETTERS_COUNTED),
        Graph("Deliveries in doubt", [uncertain]),
        Graph("Leases that ran out, in 15 min", [leases]),
        Graph("Deliveries that were accepted twice", [second]),
    ]


def _dead_letter_rates(of_class: str, channels: list[str], deployment: Deployment, where: str) -> Graph:
    rates = [
        Guard(
            f"{channel.capitalize()}{of_class.capitalize()}Rate",
            f"{channel}, %",
            f"Of all {channel} deliveries that ended {where}, {_DEAD_LETTERS_PERCENT} % are dead letters ({of_class}).",
            "dead-letters",
            Urgency.NOW,
            metrics.dead_letter_rate(of_class, channel, deployment),
            threshold=_DEAD_LETTERS_PERCENT,
            periods=2,
            datapoints=1,
        )
        for channel in channels
    ]
    return Graph(f"Dead letters ({of_class}) of all that ended, in 15 min", rates)


# --- who is not sent to -----------------------------------------------------------------------------------------------


def _closed(deployment: Deployment, where: str) -> list[Graph | Numbers]:
    halted = Guard(
        "ChannelHalted",
        "channels halted",
        f"A channel {where} is halted: nothing of it is sent, nothing is lost. Mend the cause, then resume it.",
        "channel-halted",
        Urgency.NOW,
        metrics.own(names.METRIC_CHANNELS_HALTED, deployment, deployment.region.reconciler.interval_s, "Maximum"),
    )
    return [
        Graph("Channels halted", [halted]),
        Graph("Halted by the brake", [_by(names.METRIC_BRAKED, deployment, _BY_CHANNEL_AND_OUTCOME)]),
        Graph("Addresses suppressed", [_by(names.METRIC_SUPPRESSIONS, deployment, _BY_CHANNEL_AND_OUTCOME)]),
        Graph("People who left", [_by(names.METRIC_OPT_OUTS, deployment, _BY_CHANNEL_AND_OUTCOME)]),
        Graph("Texts from customers", [_by(names.METRIC_INBOUND_TEXTS, deployment)]),
        Graph("Endpoints disabled", [_by(names.METRIC_ENDPOINTS_DISABLED, deployment)]),
    ]


# --- receipts ---------------------------------------------------------------------------------------------------------


def _receipts(deployment: Deployment, where: str) -> list[Graph | Numbers]:
    """What became of messages, and the two rates by which providers judge an account."""
    unheard = metrics.own_by(names.METRIC_NO_RECEIPT, deployment, "${PROP('Dim.channel')}", statistic="Maximum")
    told = Graph("What became of messages, in 5 min", [_by(names.METRIC_RECEIPTS, deployment, _BY_CHANNEL_AND_OUTCOME)])
    return [
        told,
        *(_judged(deployment, where) if deployment.region.receipt_channels else []),
        Graph("Acceptance proved by a receipt", [_by(names.METRIC_CONFIRMED, deployment, _BY_CHANNEL_AND_OUTCOME)]),
        Graph("Accepted, and never heard of again", [unheard]),
    ]


def _judged(deployment: Deployment, where: str) -> list[Graph]:
    """Guards of the channels whose provider tells what became of messages."""
    settings, channels = deployment.region.receipts, deployment.region.receipt_channels
    silent = [
        Guard(
            f"{channel.capitalize()}ReceiptsSilent",
            f"{channel}, %",
            f"Of the {channel} deliveries that are accepted {where} hardly one is told of, in two of three hours: "
            "events do not arrive, and bounces suppress nobody.",
            "receipts-silent",
            Urgency.MORNING,
            metrics.told_of(channel, deployment),
            threshold=_TOLD_OF_PERCENT,
            periods=3,
            datapoints=2,
            comparison=LESS_THAN,
        )
        for channel in channels
    ]
    bounces = [
        Guard(
            f"{channel.capitalize()}BounceRate",
            f"{channel}, %",
            f"Of today's {channel} deliveries {where} {settings.bounces_alarm_percent:g} % came back for good: see "
            f"whose, before the brake halts the channel at {settings.brake_bounces_percent:g} %.",
            "bounces",
            Urgency.MORNING,  # the brake is there
            metrics.own(names.METRIC_BOUNCE_RATE, deployment, statistic="Maximum", channel=channel),
            threshold=settings.bounces_alarm_percent,
        )
        for channel in channels
    ]
    complaints = [
        Guard(
            f"{channel.capitalize()}ComplaintRate",
            f"{channel}, %",
            f"Of today's {channel} deliveries {where} {settings.complaints_alarm_percent:g} % were complained about: "
            f"see why, before the brake halts the channel at {settings.brake_complaints_percent:g} %.",
            "bounces",
            Urgency.MORNING,
            metrics.own(names.METRIC_COMPLAINT_RATE, deployment, statistic="Maximum", channel=channel),
            threshold=settings.complaints_alarm_percent,
        )
        for channel in channels
    ]
    return [
        Graph("Told of, of those accepted in the same hour", silent),
        Graph("Bounces today, of 100", bounces),
        Graph("Complaints today, of 100", complaints),
    ]


# --- what it takes ----------------------------------------------------------------------------------------------------


def _spent(channels: list[str], deployment: Deployment) -> list[Graph | Numbers]:
    """What providers bill: messages, segments of texts, tokens."""
    sent = [
        metrics.own(names.METRIC_ATTEMPTS, deployment, 3600, channel=channel, outcome="accepted").with_(label=channel)
        for channel in channels
    ]
    segments = metrics.own(names.METRIC_SEGMENTS, deployment, 3600, channel="sms", outcome="accepted")
    graphs: list[Graph | Numbers] = [
        Graph("Messages accepted, in an hour", sent, width=HALF),
        Graph("Segments of texts accepted, in an hour", [segments.with_(label="segments")], width=HALF),
    ]
    return (
        graphs if deployment.region.summary is None else [*graphs, *_summaries(deployment, deployment.region.summary)]
    )


def _summaries(deployment: Deployment, settings: Summary) -> list[Graph | Numbers]:
    tokens = [
        metrics.own(name, deployment, 3600, prompt_version=settings.prompt_version).with_(label=label)
        for name, label in (
            (names.METRIC_SUMMARY_INPUT_TOKENS, "in"),
            (names.METRIC_SUMMARY_OUTPUT_TOKENS, "out"),
        )
    ]
    return [
        Graph(f"Tokens of {settings.prompt_version}, in an hour", tokens, width=HALF),
        # Why a digest has none is a stop reason or an error code, and nobody knows all of those beforehand.
        Graph("Digests by what became of their summary", [_by(names.METRIC_SUMMARIES, deployment)], width=HALF),
    ]
