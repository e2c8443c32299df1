"""What makes each alarm fire: our own metrics as the functions really print them, AWS's as AWS documents them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final

import pytest

from functions import names
from functions.adapters.channel_consumer import ChannelConsumer
from functions.adapters.periods import DynamoPeriods
from functions.adapters.receipt_consumer import ReceiptConsumer
from functions.adapters.receipt_tallies import DynamoReceiptTallies
from functions.adapters.traffic import DynamoTraffic
from functions.core.bounce_brake import Tally
from functions.core.delivery import Delivery, Status
from functions.core.identity import Channel
from functions.core.instants import to_text
from functions.core.message import DeliveryMessage
from functions.core.outcome import Outcome, OutcomeClass
from functions.core.surge import SurgeRule
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.environment import BACKOFF_S, CONTROL, SHARDS, channel_environment, queue_url
from tests.fakes.examples import (
    AN_ENDPOINT,
    a_delivery,
    a_digest_schedule,
    a_profile,
    a_sending_delivery,
    an_activity,
)
from tests.fakes.lambda_context import FakeLambdaContext
from tests.fakes.providers import FakeProvider
from tests.infrastructure.alarm_evaluation import Sample, Series, read_emf
from tests.infrastructure.templates import Template
from tests.integration.faults import failing, refused
from tests.integration.region import Clock, Functions, Region

LAST_RECEIVE: Final = len(BACKOFF_S) + 1
LATE: Final = timedelta(hours=20)


# --- our own metrics: a region whose functions run --------------------------------------------------------------------


@dataclass(frozen=True)
class Stage:
    """A region in which a cause is set, and the functions that then say what is wrong with it."""

    functions: Functions
    region: Region
    clock: Clock
    patch: pytest.MonkeyPatch
    printed: pytest.CaptureFixture[str]

    def plan(self) -> list[Sample]:
        """Wake the planner."""
        event = {"scheduled_time": to_text(self.clock()), "shards": list(range(SHARDS))}
        self.functions.planner.handler(event, FakeLambdaContext(self.clock, timeout=timedelta(minutes=4)))
        return self.told()

    def sweep(self) -> list[Sample]:
        """Wake the reconciler."""
        self.functions.reconciler.handler({}, FakeLambdaContext(self.clock, timeout=timedelta(seconds=50)))
        return self.told()

    def send(self, channel: Channel, *outcomes: OutcomeClass, receive: int = 1) -> list[Sample]:
        """Hand a consumer a batch whose deliveries the provider answers like this."""
        for name, value in channel_environment(channel).items():
            self.patch.setenv(name, value)
        provider = FakeProvider()
        provider.will(*(Outcome(outcome, "code", "reference") for outcome in outcomes))
        rows = [a_delivery(f"c-{number}", channel=channel, status=Status.QUEUED) for number in range(len(outcomes))]
        for row in rows:
            self.region.add(a_profile(row.delivery_id.customer_id, webhook=AN_ENDPOINT), an_activity())
        self.region.put_deliveries(*rows)
        event = {"Records": [_record(DeliveryMessage.of(row).to_body(), receive) for row in rows]}
        ChannelConsumer.from_environment(provider).handle(event, FakeLambdaContext(self.clock))
        return self.told()

    def hear(self, kind: str, **differing: Any) -> list[Sample]:
        """Hand the receipts function an event about the delivery that was accepted."""
        settings = {
            names.ENV_QUEUE_URL: queue_url("receipts"),
            names.ENV_SOFT_BOUNCES: "3",
            names.ENV_SOFT_BOUNCE_WINDOW_S: "86400",
        }
        for name, value in settings.items():
            self.patch.setenv(name, value)
        self.region.put_deliveries(_accepted())
        body = {
            "schema_version": 1,
            "provider": "ses",
            "event_id": "event-1",
            "kind": kind,
            "reference": "ses-1",
            "tags": {part: [text] for part, text in _accepted().delivery_id.as_tags().items()},
            "at": to_text(self.clock()),
            **differing,
        }
        ReceiptConsumer.from_environment().handle(
            {"Records": [_record(json.dumps(body))]}, FakeLambdaContext(self.clock)
        )
        return self.told()

    def told(self) -> list[Sample]:
        """Return what was printed for CloudWatch since the last time."""
        return read_emf(self.printed.readouterr().out)


@dataclass(frozen=True)
class Cause:
    """What is said in each of an alarm's periods: while something is wrong, so many times over, and once it is mended.

    Where nothing is said when all is well, `mended` is silence.
    """

    wrong: Callable[[Stage], list[Sample]]
    mended: Callable[[Stage], list[Sample]]
    times: int = 1


def silence(_: Stage) -> list[Sample]:
    return []


def quiet_run(stage: Stage) -> list[Sample]:
    return stage.plan()


def quiet_sweep(stage: Stage) -> list[Sample]:
    return stage.sweep()


def _more_than_last_week(stage: Stage) -> list[Sample]:
    planner = stage.functions.planner.planner
    strict = replace(planner, surge_guard=replace(planner.surge_guard, rule=SurgeRule(factor=1, floor=1)))
    stage.patch.setattr(stage.functions.planner, "planner", strict)
    stage.region.schedule(a_digest_schedule("c-1"), a_digest_schedule("c-2"))
    return stage.plan()


def _more_than_last_week_for_an_hour(stage: Stage) -> list[Sample]:
    stage.clock.advance(timedelta(minutes=61))
    return _more_than_last_week(stage)


def _a_zone_that_does_not_exist(stage: Stage) -> list[Sample]:
    stage.region.schedule(a_digest_schedule("c-1", time_zone="Mars/Olympus"))
    return stage.plan()


def _sweep_of(*rows: Delivery) -> Callable[[Stage], list[Sample]]:
    def sweep(stage: Stage) -> list[Sample]:
        stage.region.put_deliveries(*rows)
        return stage.sweep()

    return sweep


def _a_queue_that_takes_nothing(stage: Stage) -> list[Sample]:
    planned_since = SUNDAY_EVENING - timedelta(minutes=16)
    stage.region.put_deliveries(a_delivery(selected_at=planned_since, attention_at=SUNDAY_EVENING))
    with failing(stage.region.sqs, "SendMessageBatch", refused("SendMessageBatch", "AccessDenied")):
        return stage.sweep()


def _a_week_that_stays_open(stage: Stage) -> list[Sample]:
    week = "2026-10-26"
    DynamoPeriods(stage.region.dynamodb, CONTROL).open(week, at=SUNDAY_EVENING)
    out_of_sight = SUNDAY_EVENING + timedelta(days=1)
    stage.region.put_deliveries(a_delivery(status=Status.QUEUED, period=week, attention_at=out_of_sight))
    return stage.sweep()


def _a_halted_channel(stage: Stage) -> list[Sample]:
    DynamoTraffic(stage.region.dynamodb, CONTROL).halt(Channel.EMAIL, at=SUNDAY_EVENING, cause="operator")
    return stage.sweep()


def _rate(wrong: Callable[[Stage], list[Sample]], channel: Channel) -> Cause:
    return Cause(wrong, lambda stage: stage.send(channel, OutcomeClass.ACCEPTED), times=60)


def _answers(channel: Channel, *outcomes: OutcomeClass, receive: int = 1) -> Callable[[Stage], list[Sample]]:
    return lambda stage: stage.send(channel, *outcomes, receive=receive)


def _on_a_day_of(stage: Stage, tally: Tally, kind: str, **differing: Any) -> list[Sample]:
    day = SUNDAY_EVENING.date()
    DynamoReceiptTallies(stage.region.dynamodb, CONTROL).add(Channel.EMAIL, tally, day=day)
    return stage.hear(kind, **differing)


def _bounces(stage: Stage) -> list[Sample]:
    hard = {"bounce": "Permanent", "detail": "General"}
    return _on_a_day_of(stage, Tally(delivered=880, bounced=29), "Email Bounced", **hard)


def _complaints(stage: Stage) -> list[Sample]:
    return _on_a_day_of(stage, Tally(delivered=880, complained=1), "Email Complaint Received", detail="abuse")


def _few_bounces(stage: Stage) -> list[Sample]:
    return _on_a_day_of(stage, Tally(delivered=100), "Email Delivered")


def _accepted_and_told_of(stage: Stage) -> list[Sample]:
    return [*stage.send(Channel.EMAIL, OutcomeClass.ACCEPTED), *stage.hear("Email Delivered")]


def _a_second_reference(stage: Stage) -> list[Sample]:
    return stage.hear("Email Delivered", reference="ses-2")


_ACCEPTED, _REJECTED, _UNAVAILABLE = OutcomeClass.ACCEPTED, OutcomeClass.REJECTED, OutcomeClass.UNAVAILABLE
_LOST = tuple(
    replace(
        a_sending_delivery(lease_until=SUNDAY_EVENING, attention_at=SUNDAY_EVENING),
        delivery_id=a_delivery(f"c-{number}").delivery_id,
    )
    for number in range(3)
)
_OLD = a_delivery(
    status=Status.QUEUED, due_at=SUNDAY_EVENING - LATE, enqueued_at=SUNDAY_EVENING, attention_at=SUNDAY_EVENING
)

OWN: Final[Mapping[str, Cause]] = {
    "PlannerSilent": Cause(silence, quiet_run),
    "ReconcilerSilent": Cause(silence, quiet_sweep),
    "PlanningBehind": Cause(_more_than_last_week_for_an_hour, quiet_run),
    "PlanningHeld": Cause(_more_than_last_week, quiet_run),
    "SchedulesFailed": Cause(_a_zone_that_does_not_exist, quiet_run),
    "OldestDue": Cause(_sweep_of(_OLD), quiet_sweep),
    "EnqueueGap": Cause(_a_queue_that_takes_nothing, quiet_sweep),
    "NotEnqueued": Cause(_a_queue_that_takes_nothing, quiet_sweep),
    "PeriodsOverdue": Cause(_a_week_that_stays_open, quiet_sweep),
    "ChannelHalted": Cause(_a_halted_channel, quiet_sweep),
    "Uncertain": Cause(_sweep_of(a_delivery(status=Status.UNCERTAIN, attempt=1)), quiet_sweep),
    "LeasesRanOut": Cause(_sweep_of(*_LOST), quiet_sweep),
    **{
        f"{channel.capitalize()}Quota": Cause(_answers(channel, OutcomeClass.QUOTA), silence)
        for channel in (Channel.EMAIL, Channel.SMS)
    },
    "SecondSends": Cause(_a_second_reference, silence),
    "EmailReceiptsSilent": Cause(_answers(Channel.EMAIL, OutcomeClass.ACCEPTED), _accepted_and_told_of, times=60),
    "EmailBounceRate": Cause(_bounces, _few_bounces),
    "EmailComplaintRate": Cause(_complaints, _few_bounces),
    **{
        f"{channel.capitalize()}{what}Rate": _rate(wrong, channel)
        for channel in Channel
        for what, wrong in {
            "Retry": _answers(channel, _UNAVAILABLE, _ACCEPTED),
            "Rejected": _answers(channel, _REJECTED, _ACCEPTED, _ACCEPTED),
            "Exhausted": _answers(channel, _UNAVAILABLE, _ACCEPTED, receive=LAST_RECEIVE),
        }.items()
    },
}


def _accepted() -> Delivery:
    return a_delivery(
        status=Status.ACCEPTED,
        attempt=1,
        attention_at=None,
        accepted_at=SUNDAY_EVENING,
        provider_reference="ses-1",
    )


def _record(body: str, receive: int = 1) -> dict[str, Any]:
    sent_at = int(SUNDAY_EVENING.timestamp() * 1000)
    return {
        "messageId": f"message-{hash(body)}",
        "receiptHandle": "handle",
        "body": body,
        "attributes": {"ApproximateReceiveCount": str(receive), "SentTimestamp": str(sent_at)},
        "messageAttributes": {},
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:us-east-1:123456789012:queue",
        "awsRegion": "us-east-1",
    }


# --- AWS's metrics: named here by hand, as its documents name them ----------------------------------------------------

# Dimensions that AWS sends each of them with, of those that an alarm may choose from:
# https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-available-cloudwatch-metrics.html
# https://docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-types.html
# https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/metrics-dimensions.html
DOCUMENTED: Final[Mapping[tuple[str, str], Sequence[set[str]]]] = {
    ("AWS/SQS", "ApproximateNumberOfMessagesVisible"): [{"QueueName"}],
    ("AWS/SQS", "ApproximateAgeOfOldestMessage"): [{"QueueName"}],
    ("AWS/Lambda", "Errors"): [{"FunctionName"}],
    ("AWS/Lambda", "Throttles"): [{"FunctionName"}],
    ("AWS/Lambda", "RecursiveInvocationsDropped"): [{"FunctionName"}],
    ("AWS/Lambda", "Url5xxCount"): [{"FunctionName"}],
    ("AWS/DynamoDB", "ReadThrottleEvents"): [{"TableName"}, {"TableName", "GlobalSecondaryIndexName"}],
    ("AWS/DynamoDB", "WriteThrottleEvents"): [{"TableName"}, {"TableName", "GlobalSecondaryIndexName"}],
}

FUNCTIONS: Final[Mapping[str, str]] = {
    "Planner": names.OUTPUT_PLANNER_FUNCTION,
    "Reconciler": names.OUTPUT_RECONCILER_FUNCTION,
    "Receipts": names.OUTPUT_RECEIPTS_FUNCTION,
    "Unsubscribe": names.OUTPUT_UNSUBSCRIBE_FUNCTION,
    "Inbound": names.OUTPUT_INBOUND_FUNCTION,
    "Widgets": names.OUTPUT_WIDGETS_FUNCTION,
    "Operate": names.OUTPUT_OPERATE_FUNCTION,
    **{channel.capitalize(): names.consumer_output(channel) for channel in Channel},
}
DAY_S: Final = 24 * 3600


@dataclass(frozen=True)
class Sent:
    """What AWS sends in each of an alarm's periods while something is wrong, of which resource, and once it is mended.

    `mended` None: nothing is sent when all is well.
    """

    namespace: str
    metric: str
    resource: Callable[[Template], Mapping[str, Any]]
    wrong: float
    mended: float | None

    def while_wrong(self, template: Template) -> list[Sample]:
        return self._samples(template, self.wrong)

    def once_mended(self, template: Template) -> list[Sample]:
        return self._samples(template, self.mended)

    def _samples(self, template: Template, value: float | None) -> list[Sample]:
        series = Series.of(self.namespace, self.metric, self.resource(template))
        return [] if value is None else [Sample(series, SUNDAY_EVENING, value)]


def _waiting(resource: Callable[[Template], Mapping[str, Any]]) -> Sent:
    return Sent("AWS/SQS", "ApproximateNumberOfMessagesVisible", resource, wrong=1, mended=0)


def _age(resource: Callable[[Template], Mapping[str, Any]], wrong: float) -> Sent:
    return Sent("AWS/SQS", "ApproximateAgeOfOldestMessage", resource, wrong, mended=5)


def _queue(output: str) -> Callable[[Template], Mapping[str, Any]]:
    return lambda template: {"QueueName": {"Fn::GetAtt": [template.referred(output), "QueueName"]}}


def _undelivered(schedule: str) -> Callable[[Template], Mapping[str, Any]]:
    """The queue that a schedule names as its own dead-letter queue."""

    def resource(template: Template) -> Mapping[str, Any]:
        target = template.properties("AWS::Scheduler::Schedule")[template.referred(schedule)]["Target"]
        return {"QueueName": {"Fn::GetAtt": [target["DeadLetterConfig"]["Arn"]["Fn::GetAtt"][0], "QueueName"]}}

    return resource


def _failed(function: str) -> Callable[[Template], Mapping[str, Any]]:
    """The queue that a function's asynchronous invocations end in."""

    def resource(template: Template) -> Mapping[str, Any]:
        configs = template.properties("AWS::Lambda::EventInvokeConfig").values()
        (config,) = [each for each in configs if each["FunctionName"] == {"Ref": template.referred(function)}]
        destination = config["DestinationConfig"]["OnFailure"]["Destination"]
        return {"QueueName": {"Fn::GetAtt": [destination["Fn::GetAtt"][0], "QueueName"]}}

    return resource


def by_function(metric: str, output: str, *, mended: float | None = 0) -> Sent:
    """What Lambda sends of the function that an output names."""
    return Sent("AWS/Lambda", metric, lambda template: {"FunctionName": {"Ref": template.referred(output)}}, 1, mended)


def _throttled(output: str, metric: str, index: str | None = None) -> Sent:
    of_index = {} if index is None else {"GlobalSecondaryIndexName": index}
    return Sent(
        "AWS/DynamoDB",
        metric,
        lambda template: {"TableName": {"Ref": template.referred(output)}, **of_index},
        wrong=3,
        mended=None,
    )


DEAD_LETTER_QUEUES: Final[Mapping[str, str]] = {
    **{channel.capitalize(): names.dead_letter_queue_output(channel) for channel in Channel},
    "Receipts": names.OUTPUT_RECEIPTS_DEAD_LETTER_QUEUE,
    "Inbound": names.OUTPUT_INBOUND_DEAD_LETTER_QUEUE,
}

ON_AWS: Final[Mapping[str, Sent]] = {
    **{f"{title}Errors": by_function("Errors", output) for title, output in FUNCTIONS.items()},
    **{f"{title}Throttles": by_function("Throttles", output) for title, output in FUNCTIONS.items()},
    **{
        f"{channel.capitalize()}Loops": by_function(
            "RecursiveInvocationsDropped", names.consumer_output(channel), mended=None
        )
        for channel in Channel
    },
    "UnsubscribeFaults": by_function("Url5xxCount", names.OUTPUT_UNSUBSCRIBE_FUNCTION),
    **{
        "ReceiptsParked" if title == "Receipts" else f"{title}DeadLetters": _waiting(_queue(output))
        for title, output in DEAD_LETTER_QUEUES.items()
    },
    # A message may have spent the four days of its queue there, of the fourteen that it has.
    **{f"{title}DeadLettersAging": _age(_queue(output), 7 * DAY_S) for title, output in DEAD_LETTER_QUEUES.items()},
    **{
        f"{channel.capitalize()}OldestMessage": _age(_queue(names.queue_output(channel)), 18 * 3600)
        for channel in Channel
    },
    "InboundOldestMessage": _age(_queue(names.OUTPUT_INBOUND_QUEUE), 3600),
    "PlannerUndelivered": _waiting(_undelivered(names.OUTPUT_PLANNER_SCHEDULE)),
    "ReconcilerUndelivered": _waiting(_undelivered(names.OUTPUT_RECONCILER_SCHEDULE)),
    "PlannerFailed": _waiting(_failed(names.OUTPUT_PLANNER_FUNCTION)),
    "ReconcilerFailed": _waiting(_failed(names.OUTPUT_RECONCILER_FUNCTION)),
    "CustomersThrottled": _throttled(names.OUTPUT_CUSTOMERS_TABLE, "ReadThrottleEvents", names.DUE_INDEX),
    "DeliveriesThrottled": _throttled(names.OUTPUT_DELIVERIES_TABLE, "WriteThrottleEvents", names.ATTENTION_INDEX),
    "ControlThrottled": _throttled(names.OUTPUT_CONTROL_TABLE, "WriteThrottleEvents"),
}
