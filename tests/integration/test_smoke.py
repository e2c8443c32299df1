"""`digest smoke`: a deployment is checked by using it, and is afterwards as it was before."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from datetime import timedelta
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import pytest
from standardwebhooks import Webhook

from functions import names
from functions.adapters.receipt_tallies import DynamoReceiptTallies
from functions.adapters.traffic import DynamoTraffic
from functions.core.bounce_brake import Tally
from functions.core.delivery import Status
from functions.core.identity import Channel
from functions.core.instants import to_text
from functions.core.message import DeliveryMessage
from functions.core.outcome import Outcome, OutcomeClass
from ops.deployment import Deployment
from ops.smoke.probes import BOUNCE, COMPLAINT, CUSTOMERS, DELIVERY
from tests.fakes.environment import (
    CONTROL,
    DELIVERIES,
    ENVIRONMENT,
    channel_environment,
    dead_letter_url,
    queue_url,
)
from tests.fakes.examples import a_delivery, a_profile, an_exhausted_delivery
from tests.fakes.lambda_context import FakeLambdaContext
from tests.fakes.providers import FakeProvider
from tests.integration.faults import failing, refused
from tests.integration.lambda_poller import LambdaPoller
from tests.integration.move_tasks import MoveTasks, sources_kept
from tests.integration.operators_desk import (
    Desk,
    FakeLambda,
    FakeStack,
    RegionAtHand,
    Told,
    a_second_region,
    outputs_of,
)
from tests.integration.region import Clock, Functions, Region, session_in
from tests.integration.test_receipts_function import ENVIRONMENT as RECEIPTS
from tests.integration.test_receipts_function import QUEUE as RECEIPTS_QUEUE

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

EMAIL: Final = Channel.EMAIL
SMOKE: Final = ("smoke", "--region", "us", "--yes")
EVENTS: Final[Mapping[str, Mapping[str, str]]] = {
    DELIVERY.customer_id: {"kind": "Email Delivered"},
    BOUNCE.customer_id: {"kind": "Email Bounced", "bounce": "Permanent", "status": "5.1.1"},
    COMPLAINT.customer_id: {"kind": "Email Complaint Received", "detail": "abuse"},
}
ALARM: Final = "DigestDelivery-us-EmailDeadLetters"
TARGET: Final[Any] = {
    "Arn": "arn:aws:lambda:us-east-1:123456789012:function:planner",
    "RoleArn": "arn:aws:iam::1:role/r",
}


class AllFunctions(FakeLambda):
    """What is asked about functions beside the planner."""

    provider: str = "ses"
    polled: str = "Enabled"

    def get_function_configuration(self, *, FunctionName: str) -> Mapping[str, Any]:  # noqa: N803 - as boto3 spells it
        return {"Environment": {"Variables": ENVIRONMENT | {names.ENV_PROVIDER: self.provider}, "Name": FunctionName}}

    def list_event_source_mappings(self, *, FunctionName: str) -> Mapping[str, Any]:  # noqa: N803 - as boto3 spells it
        return {"EventSourceMappings": [{"State": self.polled, "FunctionArn": FunctionName}]}


class Deployed(RegionAtHand):
    """A region with what the check looks at, and SQS's move tasks."""

    move_tasks: MoveTasks
    stack = FakeStack((ALARM,))

    @property
    def sqs(self) -> SQSClient:
        return self.move_tasks  # type: ignore[return-value]

    def consumer_variables(self, channel: str) -> Mapping[str, str]:
        assert isinstance(self.planner, AllFunctions)
        variables: Mapping[str, str] = self.planner.get_function_configuration(FunctionName=channel)["Environment"][
            "Variables"
        ]
        return variables


@dataclass
class World:
    """A region at work: its consumer and its receipts, while a command lets time pass."""

    desk: Desk
    region: Region
    provider: FakeProvider
    lambdas: AllFunctions
    email: LambdaPoller
    receipts: LambdaPoller
    silent: bool = False  # the provider's events do not come
    told: set[str] = field(default_factory=set)

    def smoke(self, *arguments: str) -> Told:
        return self.desk.digest(*SMOKE, *arguments)

    def verdicts(self, *arguments: str) -> dict[str, str]:
        found = self.smoke("--json", *arguments).json["findings"]
        return {one["step"]: one["verdict"] for one in found}

    def work(self) -> None:
        with redirect_stdout(io.StringIO()):  # metrics go to the functions' logs
            self._work()

    def _work(self) -> None:
        while self.email.poll():
            self.desk.clock.advance(timedelta(milliseconds=1))
        for row in self.region.deliveries().values():
            heard = row.delivery_id.customer_id in EVENTS and not self.silent
            if heard and row.status is Status.ACCEPTED and str(row.delivery_id) not in self.told:
                self.told.add(str(row.delivery_id))
                self.say(row)
        while self.receipts.poll():
            pass

    def say(self, row: Any) -> None:
        event = {
            "schema_version": 1,
            "provider": "ses",
            "event_id": str(row.delivery_id),
            "reference": row.provider_reference,
            "tags": {part: [text] for part, text in row.delivery_id.as_tags().items()},
            "at": to_text(self.desk.clock()),
            **EVENTS[row.delivery_id.customer_id],
        }
        self.region.sqs.send_message(QueueUrl=RECEIPTS_QUEUE, MessageBody=json.dumps(event))

    def left(self) -> list[str]:
        """Customers of the check that are on record."""
        return [item[names.CUSTOMER_ID]["S"] for item in self.region._scan(ENVIRONMENT[names.ENV_CUSTOMERS_TABLE])]


@pytest.fixture
def world(
    region: Region,
    functions: Functions,
    clock: Clock,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    log: io.StringIO,  # noqa: ARG001 - what is logged is not shown
) -> Iterator[World]:
    for name, value in (RECEIPTS | channel_environment(EMAIL)).items():
        monkeypatch.setenv(name, value)
    provider = FakeProvider(name="ses")
    email = LambdaPoller(
        region.sqs, queue_url(EMAIL), functions.email.ChannelConsumer.from_environment(provider).handle, clock
    )
    monkeypatch.setenv(names.ENV_QUEUE_URL, RECEIPTS_QUEUE)
    region.sqs.create_queue(QueueName="receipts")
    receipts = LambdaPoller(region.sqs, RECEIPTS_QUEUE, import_module("functions.receipts.handler").handler, clock)
    lambdas = AllFunctions(functions.planner.handler, clock)
    desk = Desk(region, a_second_region(), lambdas, clock, capsys)
    desk.deployment = Deployment([deployed(lambdas, region, clock)])
    world = World(desk, region, provider, lambdas, email, receipts)
    desk.meanwhile = world.work
    with sources_kept():
        yield world


def put_alarm(name: str, *actions: str) -> None:
    session_in("us-east-1").client("cloudwatch").put_metric_alarm(
        AlarmName=name,
        AlarmActions=actions,
        ComparisonOperator="GreaterThanOrEqualToThreshold",
        EvaluationPeriods=1,
        MetricName="ApproximateNumberOfMessagesVisible",
        Namespace="AWS/SQS",
        Period=60,
        Statistic="Maximum",
        Threshold=1,
    )


def deployed(lambdas: FakeLambda, region: Region, clock: Clock) -> Deployed:
    session = session_in("us-east-1")
    topic = session.client("sns").create_topic(Name="alarms")["TopicArn"]
    session.client("sns").subscribe(TopicArn=topic, Protocol="sqs", Endpoint="arn:aws:sqs:us-east-1:123456789012:email")
    put_alarm(ALARM, topic)
    for name in ("planner-wakeup", "reconciler-wakeup"):
        session.client("scheduler").create_schedule(
            Name=name,
            ScheduleExpression="rate(5 minutes)",
            FlexibleTimeWindow={"Mode": "OFF"},
            Target=TARGET,
        )
    there = Deployed("us", "us-east-1", lambdas)
    there._known_outputs = outputs_of("us-east-1") | {
        names.OUTPUT_ALARM_TOPIC: topic,
        names.OUTPUT_PLANNER_SCHEDULE: "planner-wakeup",
        names.OUTPUT_RECONCILER_SCHEDULE: "reconciler-wakeup",
        names.OUTPUT_RECEIPTS_FUNCTION: "receipts",
        names.OUTPUT_INBOUND_FUNCTION: "inbound",
        **{names.consumer_output(channel): f"{channel}-consumer" for channel in Channel},
    }
    there.move_tasks = MoveTasks(region.sqs, clock)
    return there


# --- a deployment that is well ---


def test_a_deployment_that_is_well_is_said_to_be_and_is_afterwards_as_it_was(world: World) -> None:
    told = world.smoke()
    assert told.status == 0, told.out
    assert "proved      receipt of bounce: bounced, and the channel is closed to them (hard_bounce)" in told.out
    assert "proved      redrive: moved to its queue by SQS, refused again, and back" in told.out
    assert "not proved  webhook: there is no endpoint to call: set `smoke_endpoint`" in told.out
    assert sorted(world.provider.accepted) == sorted(
        f"reminder:{probe.customer_id}:20261129T200000Z:email" for probe in (DELIVERY, BOUNCE, COMPLAINT)
    )
    assert world.left() == []
    assert world.region.count(dead_letter_url(EMAIL)) == world.region.count(queue_url(EMAIL)) == 0


def test_nobody_else_is_touched_and_what_was_accepted_waits_a_day_for_late_events(world: World) -> None:
    world.region.add(a_profile("c-1"))
    bystander = a_delivery("c-1", status=Status.ACCEPTED, attempt=1, attention_at=None, accepted_at=world.desk.clock())
    world.region.put_deliveries(bystander)
    world.smoke()
    assert world.region.delivery(bystander.delivery_id) == bystander
    assert world.left() == ["c-1"]
    tomorrow = (world.desk.clock() + timedelta(days=1)).timestamp()
    rows = [row for row in world.region._scan(DELIVERIES) if "smoke-" in row[names.DELIVERY_ID]["S"]]
    assert [row["status"]["S"] for row in rows] == ["accepted"] * 3
    assert all(int(row[names.TTL]["N"]) <= tomorrow for row in rows)


def test_it_is_on_record_and_can_be_run_again(world: World) -> None:
    world.lambdas.provider = "http"
    for _ in range(2):
        assert world.smoke().status == 0
        world.desk.clock.advance(timedelta(minutes=1))
    told = world.desk.digest("actions", "--region", "us", "--json").json
    assert [one["what"] for one in told["regions"]["us"]] == ["smoke", "smoke"]


# --- what is wrong is said ---


def test_receipts_that_do_not_come_fail_and_what_was_sent_is_left_for_them(world: World) -> None:
    world.silent = True
    told = world.smoke("--wait", "1")
    assert told.status == 1
    assert "failed      receipt of success: nothing was heard in 1 minutes" in told.out
    assert world.left() == []
    assert len(world.region.deliveries()) == 3


def test_a_provider_that_refuses_is_told_by_its_code(world: World) -> None:
    world.provider.will(*[Outcome(OutcomeClass.REJECTED, "MessageRejected")] * 3)
    told = world.smoke()
    assert told.status == 1
    assert "failed      email to success: dead letter: rejected (MessageRejected)" in told.out
    assert world.region.deliveries() == {}


def test_a_halted_channel_sends_nothing_and_fails(world: World) -> None:
    DynamoTraffic(world.region.dynamodb, CONTROL).halt(EMAIL, at=world.desk.clock(), cause="INC-47")
    told = world.smoke()
    assert told.status == 1
    assert "failed      email to success: retryable" in told.out
    assert world.provider.calls == []
    assert world.left() == []


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("schedule", "schedule planner-wakeup is DISABLED"),
        ("mapping", "the queue of email-consumer is not polled (Disabled)"),
        ("alarm off", f"{ALARM} is switched off"),
        ("alarm gone", f"{ALARM} is gone"),
    ],
)
def test_machinery_that_stands_still_is_named(world: World, how: str, said: str) -> None:
    world.lambdas.provider = "http"  # nothing is sent: it is about the rest
    session = session_in("us-east-1")
    if how == "schedule":
        session.client("scheduler").update_schedule(
            Name="planner-wakeup",
            State="DISABLED",
            ScheduleExpression="rate(5 minutes)",
            FlexibleTimeWindow={"Mode": "OFF"},
            Target=TARGET,
        )
    elif how == "mapping":
        world.lambdas.polled = "Disabled"
    elif how == "alarm off":
        session.client("cloudwatch").disable_alarm_actions(AlarmNames=[ALARM])
    else:
        session.client("cloudwatch").delete_alarms(AlarmNames=[ALARM])
    told = world.smoke()
    assert told.status == 1
    assert said in told.out


def test_alarms_that_nobody_hears_are_no_alarms(world: World) -> None:
    world.lambdas.provider = "http"
    sns = session_in("us-east-1").client("sns")
    for one in sns.list_subscriptions()["Subscriptions"]:
        sns.unsubscribe(SubscriptionArn=one["SubscriptionArn"])
    assert "nobody has subscribed to the topic of the output AlarmTopic: set `alarm_email`" in world.smoke().out


def test_an_alarm_is_rung_if_asked_and_is_over_by_itself(world: World) -> None:
    world.lambdas.provider = "http"
    cloudwatch = session_in("us-east-1").client("cloudwatch")
    name = ALARM.replace("EmailDeadLetters", "ReceiptsParked")
    put_alarm(name)
    seen: list[str] = []

    def evaluate() -> None:
        seen.append(cloudwatch.describe_alarms(AlarmNames=[name])["MetricAlarms"][0]["StateValue"])
        cloudwatch.set_alarm_state(AlarmName=name, StateValue="OK", StateReason="below its threshold")
        world.work()

    evaluate()
    world.desk.meanwhile = evaluate
    assert world.verdicts("--ring")["alarm that rings"] == "proved"
    assert seen[1] == "ALARM"
    cloudwatch.set_alarm_state(AlarmName=name, StateValue="ALARM", StateReason="for real")
    world.desk.clock.advance(timedelta(minutes=1))
    assert world.verdicts("--ring")["alarm that rings"] == "not proved"


def test_a_right_that_is_missing_is_named_and_the_rest_goes_on(world: World) -> None:
    world.lambdas.provider = "http"
    scheduler = world.desk.deployment.region("us").scheduler
    with failing(scheduler, "GetSchedule", refused("GetSchedule", "AccessDenied")):
        told = world.smoke()
    assert told.status == 1
    assert "failed      machinery: AWS refused GetSchedule (AccessDenied): use a role that may do it" in told.out
    assert "proved      redrive: moved to its queue by SQS" in told.out


# --- what it keeps its hands off ---


def test_dead_letters_of_others_are_not_moved_for_it(world: World) -> None:
    world.lambdas.provider = "http"
    row = an_exhausted_delivery()
    world.region.put_deliveries(row)
    world.region.bury(EMAIL, DeliveryMessage.of(row).to_body())
    told = world.smoke()
    assert told.status == 0
    assert "not proved  dead letters: messages lie in the email dead-letter queue already" in told.out
    assert world.region.count(dead_letter_url(EMAIL)) == 1
    assert world.region.delivery(row.delivery_id) == row


def test_dead_letters_of_others_that_come_meanwhile_are_not_moved_either(world: World) -> None:
    world.lambdas.provider = "http"
    row = an_exhausted_delivery()
    world.region.put_deliveries(row)

    def die() -> None:
        world.work()
        if world.region.count(dead_letter_url(EMAIL)) == 1:
            world.region.bury(EMAIL, DeliveryMessage.of(row).to_body())

    world.desk.meanwhile = die
    told = world.smoke()
    assert told.status == 0, told.out
    assert "not proved  redrive: more than its message lies there by now" in told.out
    assert world.region.delivery(row.delivery_id) == row
    assert world.region.count(dead_letter_url(EMAIL)) == 1


def test_no_bounce_is_asked_for_where_it_might_halt_the_channel(world: World) -> None:
    today = world.desk.clock().date()
    DynamoReceiptTallies(world.region.dynamodb, CONTROL).add(EMAIL, Tally(delivered=20), day=today)
    verdicts = world.verdicts()
    assert verdicts["bounce"] == "not proved"
    assert world.provider.accepted == [f"reminder:{DELIVERY.customer_id}:20261129T200000Z:email"]


def test_an_http_provider_is_not_sent_to_the_simulator(world: World) -> None:
    world.lambdas.provider = "http"
    assert world.verdicts()["email"] == "not proved"
    assert world.provider.calls == []
    assert world.smoke("--strict").status == 1


def test_on_an_emulator_what_it_cannot_show_is_not_waited_for(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    world.silent = True
    assert world.verdicts() == {
        "machinery": "proved",
        "alarms": "proved",
        "webhook": "not proved",
        "planning": "proved",
        "email to success": "proved",
        "email to bounce": "proved",
        "email to complaint": "proved",
        "receipts": "not proved",
        "dead letters": "proved",
        "redrive": "proved",
        "clearing away": "proved",
    }


# --- dying, and coming again ---


@pytest.mark.parametrize("nth", [1, 2, 4])
def test_ctrl_c_clears_away_what_is_there(world: World, nth: int) -> None:
    looks = 0

    def interrupt() -> None:
        nonlocal looks
        looks += 1
        world.work()
        if looks == nth:
            raise KeyboardInterrupt

    world.desk.meanwhile = interrupt
    told = world.smoke()
    assert told.status != 0
    assert world.left() == []
    assert all(row.status is Status.ACCEPTED for row in world.region.deliveries().values())


def test_a_message_that_does_not_die_is_said_to_be_on_its_way_still(world: World) -> None:
    world.lambdas.provider = "http"
    world.desk.meanwhile = lambda: None
    told = world.smoke()
    assert told.status == 1
    assert "failed      dead letters: a message that nobody can work on is not in the dead-letter queue" in told.out
    assert "its message is on its way still: `digest smoke --region us --clean` later" in told.out


def test_ctrl_c_while_a_message_dies_waits_for_it(world: World) -> None:
    world.lambdas.provider = "http"
    looks = 0

    def interrupt() -> None:
        nonlocal looks
        looks += 1
        if looks == 1:
            raise KeyboardInterrupt
        world.work()

    world.desk.meanwhile = interrupt
    assert world.smoke().status != 0
    assert world.region.count(dead_letter_url(EMAIL)) == world.region.count(queue_url(EMAIL)) == 0


def test_what_a_killed_run_has_left_is_cleared_away_by_the_next_or_on_its_own(world: World) -> None:
    world.desk.meanwhile = lambda: None
    with failing(world.desk.deployment.region("us").dynamodb, "DeleteItem", KeyboardInterrupt()):
        world.smoke()
    assert set(world.left()) == set(CUSTOMERS[:3])
    world.region.sqs.purge_queue(QueueUrl=queue_url(EMAIL))
    world.region.bury(EMAIL, '{"smoke": "20261129T200000Z"}')
    told = world.smoke("--clean")
    assert told.status == 0
    assert (world.left(), world.region.deliveries(), world.region.count(dead_letter_url(EMAIL))) == ([], {}, 0)
    assert world.provider.calls == []


# --- the endpoint ---


@pytest.fixture
def endpoint(world: World, monkeypatch: pytest.MonkeyPatch) -> Any:  # noqa: ARG001 - its tables must be there
    for name in (names.ENV_CUSTOMERS_TABLE, names.ENV_CONTROL_TABLE):
        monkeypatch.setenv(name, ENVIRONMENT[name])
    return import_module("functions.smoke_endpoint.handler").handler


def test_our_endpoint_takes_what_is_signed_by_us_counts_it_and_refuses_all_else(world: World, endpoint: Any) -> None:
    region = world.desk.deployment.region("us")
    region._known_outputs[names.OUTPUT_SMOKE_ENDPOINT_URL] = "https://abc.lambda-url.us-east-1.on.aws/"  # type: ignore[index]
    sent: list[int] = []

    def call() -> None:
        world.work()
        for row in world.region.deliveries().values():
            if row.delivery_id.channel is Channel.WEBHOOK and row.status is Status.QUEUED:
                sent.extend(calls(endpoint, world, str(row.delivery_id)))
                world.region.put_deliveries(accepted(row, world))

    world.desk.meanwhile = call
    told = world.smoke()
    assert told.status == 0, told.out
    assert "proved      webhook's signature: arrived once, and the signature holds" in told.out
    assert sent == [405, 401, 204]
    assert calls(endpoint, world, "after")[-1] == 401  # the customer is gone, and so is the secret


def accepted(row: Any, world: World) -> Any:
    return a_delivery(
        row.delivery_id.customer_id,
        delivery_id=row.delivery_id,
        channel=Channel.WEBHOOK,
        status=Status.ACCEPTED,
        attempt=1,
        accepted_at=world.desk.clock(),
        attention_at=None,
    )


def calls(endpoint: Any, world: World, webhook_id: str) -> list[int]:
    """Statuses of a GET, of a forged webhook and of a genuine one."""
    held = world.region.customer_row(names.SMOKE_WEBHOOK_CUSTOMER, "ENDPOINT#webhook")
    secrets = [one["text"] for one in held.get("secrets", [])] or ["whsec_" + "QUFB" * 11]
    now = world.desk.clock()
    forged, genuine = (Webhook(one).sign(webhook_id, now, "{}") for one in ("whsec_" + "QkJC" * 11, secrets[0]))

    def status(method: str, signature: str) -> int:
        headers = {
            "webhook-id": webhook_id,
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": signature,
        }
        event = {"requestContext": {"http": {"method": method}}, "headers": headers, "body": "{}"}
        return int(endpoint(event, FakeLambdaContext(world.desk.clock))["statusCode"])

    return [status("GET", genuine), status("POST", forged), status("POST", genuine)]
