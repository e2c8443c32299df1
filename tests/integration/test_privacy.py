"""An address, a phone number and what a message says are in no log, metric, queue or error text, on any path."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import timedelta
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest
from botocore.exceptions import ClientError, ConnectionClosedError

import functions as package
from functions import names
from functions.adapters.environment import WorkerEnvironment
from functions.adapters.schedule_rows import endpoint_to_row
from functions.adapters.wiring import dynamodb, secrets_manager, sqs
from functions.core.delivery import Delivery, Status
from functions.core.identity import Channel, Topic
from functions.core.instants import to_text
from functions.core.keyring import KeyRing
from functions.core.message import DeliveryMessage
from functions.core.outcome import Dedupe, Guarantee, Outcome, OutcomeClass
from functions.core.unsubscribe_token import Subscription, write_token
from functions.core.webhook_endpoint import SigningSecret, WebhookEndpoint
from functions.worker.worker import Worker
from ops.in_memory.worker import signed_request
from ops.local.loopback_server import RESET, Reply
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.environment import (
    BACKOFF_S,
    CUSTOMERS,
    KEY_RINGS,
    NUMBER_KEYS,
    REGION,
    SHARDS,
    UNSUBSCRIBE_KEYS,
    channel_environment,
    dead_letter_url,
    queue_url,
)
from tests.fakes.examples import (
    AN_ENDPOINT,
    CUSTOMER,
    EMAIL_ADDRESS,
    EXPIRES_AFTER,
    PHONE_NUMBER,
    a_delivery,
    a_digest_schedule,
    a_profile,
    a_reminder,
    an_activity,
    an_exhausted_delivery,
)
from tests.fakes.lambda_context import FakeLambdaContext
from tests.fakes.providers import FakeProvider
from tests.fakes.summaries import SUMMARY_OPTIONS
from tests.integration.canaries import CANARIES, QUOTING, Watch, every_other_logger
from tests.integration.faults import failing, refused
from tests.integration.lambda_poller import LambdaPoller
from tests.integration.provider_contract import StubbedEndpoint
from tests.integration.region import Clock, Functions, Region, make_queues, session_in
from tests.integration.test_model_bedrock import converse_error, converse_reply


@dataclass(frozen=True)
class Stage:
    """All consumers with providers that do as they are told, and everything that they tell being watched."""

    region: Region
    clock: Clock
    functions: Functions
    providers: dict[Channel, FakeProvider]
    pollers: dict[Channel, LambdaPoller]
    watch: Watch
    others: dict[str, ModuleType] = field(default_factory=dict)

    def send(self, *rows: Delivery) -> None:
        self.region.put_deliveries(*rows)
        for row in rows:
            self.put(row.delivery_id.channel, DeliveryMessage.of(row).to_body())

    def put(self, queue: Channel | str, body: str) -> None:
        self.region.sqs.send_message(QueueUrl=queue_url(queue), MessageBody=body)

    def poll(self) -> None:
        for poller in self.pollers.values():
            poller.poll()

    def sweep(self) -> None:
        self.functions.reconciler.handler({}, FakeLambdaContext(self.clock, timeout=timedelta(seconds=50)))

    def plan(self) -> None:
        event = {"scheduled_time": to_text(SUNDAY_EVENING), "shards": list(range(SHARDS))}
        self.functions.planner.handler(event, FakeLambdaContext(self.clock, timeout=timedelta(minutes=4)))

    def invoke(self, function: str, request: dict[str, Any]) -> None:
        """Let a function answer a request."""
        with self.watch.noting_errors():
            self.watch.answers.append(json.dumps(self.others[function].handler(request, FakeLambdaContext(self.clock))))

    def work_off(self, queue: str) -> None:
        LambdaPoller(self.region.sqs, queue_url(queue), self.others[queue].handler, self.clock).poll()


@pytest.fixture
def stage(
    functions: Functions,
    region: Region,  # noqa: ARG001 - its tables and queues
    clock: Clock,
    log: io.StringIO,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Stage]:
    session = session_in(REGION)  # clients of its own, so that what fails the functions fails no scene
    scene = Region(session.client("dynamodb"), session.client("sqs"))
    providers, pollers = {}, {}
    for channel in Channel:
        for name, value in channel_environment(channel).items():
            monkeypatch.setenv(name, value)
        providers[channel] = FakeProvider(guarantee=Guarantee(Dedupe.NONE))
        consumer = functions.email.ChannelConsumer.from_environment(providers[channel])
        pollers[channel] = LambdaPoller(scene.sqs, queue_url(channel), consumer.handle, clock)
    scene.add(a_profile(webhook=AN_ENDPOINT), an_activity())
    scene.schedule(a_digest_schedule(), a_reminder())
    with every_other_logger() as root:
        yield Stage(scene, clock, functions, providers, pollers, Watch(scene, log, root, capsys))


def all_four() -> list[Delivery]:
    return [
        a_delivery(CUSTOMER, channel=channel, topic=topic, status=Status.QUEUED)
        for topic in Topic
        for channel in Channel
    ]


def test_planning_sending_and_recovering(stage: Stage) -> None:
    stage.plan()
    stage.poll()
    stage.sweep()
    assert {row.status for row in stage.region.deliveries().values()} == {Status.ACCEPTED}
    stage.watch.saw_nothing()


@pytest.mark.parametrize("outcome", OutcomeClass)
def test_every_answer_of_a_provider(stage: Stage, outcome: OutcomeClass) -> None:
    for provider in stage.providers.values():
        provider.will(*[Outcome(outcome, "Code")] * 4)
    stage.send(*all_four())
    stage.poll()
    stage.clock.advance(timedelta(hours=2))
    stage.sweep()
    stage.watch.saw_nothing()


def test_a_provider_that_raises_with_the_address_in_its_words(stage: Stage) -> None:
    for provider in stage.providers.values():
        provider.will(*[RuntimeError(QUOTING)] * 4)
    stage.send(*all_four())
    stage.poll()
    assert {row.status for row in stage.region.deliveries().values()} == {Status.UNCERTAIN}
    stage.watch.saw_nothing()


FAULTS: dict[str, tuple[str, Callable[[str], Exception]]] = {
    "cannot read the row": ("BatchGetItem", lambda name: refused(name, QUOTING)),
    "cannot read the person": ("Query", lambda name: refused(name, QUOTING)),
    "cannot claim": ("UpdateItem", lambda name: refused(name, QUOTING)),
    "is cut off": ("Query", lambda _: ConnectionClosedError(endpoint_url=QUOTING)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_table_whose_errors_quote_what_was_asked(stage: Stage, fault: str) -> None:
    operation, error = FAULTS[fault]
    stage.send(*all_four())
    with failing(dynamodb(), operation, error(operation)):
        stage.poll()
    with failing(dynamodb(), operation, error(operation)), stage.watch.noting_errors():
        stage.sweep()
    stage.watch.raised.clear()  # a sweep's own error is the service's text, and the service was never given a person
    stage.watch.saw_nothing()


def test_a_message_that_was_never_finished(stage: Stage) -> None:
    stage.region.add(a_profile(time_zone="Mars/Phobos"))
    stage.send(*all_four())
    for pause in (*BACKOFF_S, 1):
        stage.poll()
        stage.clock.advance(timedelta(seconds=pause + 1))  # the jitter may have chosen the whole pause
    stage.poll()
    assert stage.region.count(dead_letter_url(Channel.EMAIL)) == 1
    stage.watch.saw_nothing()


@pytest.mark.parametrize(
    "differing",
    [
        {"active": False},
        {"addresses": {}},
        {"consent": {}},
        {"suppressed": {Channel.EMAIL: "hard_bounce", Channel.SMS: "stop", Channel.WEBHOOK: "complaint"}},
    ],
    ids=lambda differing: next(iter(differing)),
)
def test_everybody_who_is_skipped(stage: Stage, differing: dict[str, Any]) -> None:
    stage.region.add(a_profile(**differing))
    stage.send(*all_four())
    stage.poll()
    assert {row.status for row in stage.region.deliveries().values()} == {Status.SKIPPED}
    stage.watch.saw_nothing()


def test_what_is_too_late_or_already_done(stage: Stage) -> None:
    stage.send(*all_four())
    stage.send(*(replace(row, status=Status.ACCEPTED, attention_at=None) for row in all_four()[:2]))
    stage.clock.advance(EXPIRES_AFTER)
    stage.poll()
    stage.sweep()
    stage.watch.saw_nothing()


def test_poison_that_holds_a_person(stage: Stage, log: io.StringIO) -> None:
    body = {"schema_version": 1, "channel": "email", "delivery_id": f"digest:{EMAIL_ADDRESS}:2026-11-16:email"}
    poison = [
        QUOTING,
        json.dumps({QUOTING: QUOTING}),
        json.dumps(body | {"template_id": EMAIL_ADDRESS}),
        json.dumps(body | {"template_id": "weekly-digest-v1", EMAIL_ADDRESS: PHONE_NUMBER}),
        json.dumps([EMAIL_ADDRESS]),
    ]
    for one in poison:
        stage.put(Channel.EMAIL, one)
    stage.poll()
    for canary in CANARIES:
        assert canary not in log.getvalue().lower()
        assert canary not in stage.watch.root.getvalue().lower()


def test_a_planner_that_fails(stage: Stage) -> None:
    stage.region.schedule(a_digest_schedule(time_zone="Mars/Phobos"))
    stage.plan()
    stage.region.schedule(a_digest_schedule())
    with failing(sqs(), "SendMessageBatch", refused("SendMessageBatch")), stage.watch.noting_errors():
        stage.plan()
    with failing(dynamodb(), "TransactWriteItems", refused("TransactWriteItems")), stage.watch.noting_errors():
        stage.plan()
    stage.watch.saw_nothing()


# --- every function, in every trouble ---

JOBS_SECRET, EVENTS_SECRET = "email-jobs", "mail-provider-signing"
SIGNING: Final = "whsec_" + base64.b64encode(b"canary-signing-secret-canary").decode()
PAUSES: Final = ",".join(str(pause) for pause in BACKOFF_S)
OF_THE_QUEUE: Final = {names.ENV_BACKOFF_S: PAUSES, names.ENV_NUMBER_KEYS: NUMBER_KEYS}
ENVIRONMENTS: Final[dict[str, dict[str, str]]] = {
    "unsubscribe": {},
    "inbound": OF_THE_QUEUE | {names.ENV_QUEUE_URL: queue_url("inbound")},
    "receipts": OF_THE_QUEUE
    | {
        names.ENV_QUEUE_URL: queue_url("receipts"),
        names.ENV_SOFT_BOUNCES: "3",
        names.ENV_SOFT_BOUNCE_WINDOW_S: "5184000",
    },
    "receipt_intake": {
        names.ENV_RECEIPTS_QUEUE_URL: queue_url("receipts"),
        names.ENV_WEBHOOK_SECRET: EVENTS_SECRET,
    },
    "smoke_endpoint": {},
    "widgets": {},
    "operate": {},
    "worker": channel_environment(Channel.EMAIL) | {names.ENV_SIGNING_SECRET: JOBS_SECRET},
}


@pytest.fixture
def whole(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Stage:
    """The stage, with what the other functions need."""
    for queue in ("inbound", "receipts"):
        make_queues(stage.region.sqs, queue)
    stage.watch.not_ours = ("inbound", "inbound-dead-letters")  # AWS puts texts there as they came
    for secret in (JOBS_SECRET, EVENTS_SECRET):
        secrets_manager().create_secret(Name=secret, SecretString=SIGNING)
    for function in ENVIRONMENTS:
        stage.others[function] = started(function, monkeypatch)
    return stage


def started(function: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A handler's module as a new execution environment loads it; no other test sees this one."""
    with monkeypatch.context() as patch:
        for name, value in ENVIRONMENTS[function].items():
            patch.setenv(name, value)
        spec = find_spec(f"functions.{function}.handler")
        assert spec is not None
        assert spec.loader is not None
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
    return module


def send_everything(stage: Stage) -> None:
    for provider in stage.providers.values():
        provider.will(RuntimeError(QUOTING), Outcome(OutcomeClass.REJECTED, "Code"))
    stage.send(*all_four())
    stage.poll()


def push_jobs(stage: Stage) -> None:
    row = a_delivery(status=Status.QUEUED)
    stage.region.put_deliveries(row)
    job = DeliveryMessage.of(row).to_body()
    requests = [
        *(signed_request(body, SIGNING) for body in (job, QUOTING, json.dumps({QUOTING: QUOTING}), QUOTING * 200)),
        signed_request(job, "whsec_" + "bm9ib2R5" * 4),
        signed_request(job, SIGNING, method="PUT"),
        {**signed_request(job, SIGNING), "body": QUOTING},
        {**signed_request(job, SIGNING), "body": QUOTING, "isBase64Encoded": True},
        {**signed_request(job, SIGNING), "headers": {"authorization": QUOTING}},
    ]
    for request in requests:
        stage.invoke("worker", request)


def visit_the_page(stage: Stage) -> None:
    keys = KeyRing.parse(KEY_RINGS[UNSUBSCRIBE_KEYS])
    tokens = [
        write_token(Subscription(customer, Topic.DIGEST, Channel.EMAIL), keys, at=SUNDAY_EVENING)
        for customer in (CUSTOMER, "c-erased")
    ]
    macs = [token.rpartition(".")[2] for token in tokens]
    stage.watch.secret.extend(macs)
    for path in (*tokens, tokens[0][:-1], EMAIL_ADDRESS, f"{macs[0]}\u00e9"):
        for method, body in (
            ("GET", None),
            ("HEAD", None),
            ("PUT", QUOTING),
            ("POST", QUOTING),
            ("POST", QUOTING * 200),
            ("POST", "List-Unsubscribe=One-Click"),
            ("POST", "List-Unsubscribe=One-Click"),
        ):
            request = {
                "rawPath": f"/{path}",
                "headers": {"content-type": "multipart/form-data" if body == QUOTING else "text/plain", "x": QUOTING},
                "requestContext": {"http": {"method": method}},
                "body": body,
            }
            stage.invoke("unsubscribe", request)


def text_back(stage: Stage) -> None:
    for number in (PHONE_NUMBER, "+15550104171"):
        for words in ("STOP", "START", QUOTING):
            text = {"originationNumber": number, "messageBody": words, "inboundMessageId": "cae173d2-66b9"}
            stage.put("inbound", json.dumps(text))
    for poison in (QUOTING, json.dumps([QUOTING]), json.dumps({"originationNumber": [PHONE_NUMBER], QUOTING: QUOTING})):
        stage.put("inbound", poison)
    stage.work_off("inbound")


def an_event(kind: str, **differing: object) -> dict[str, Any]:
    return {
        "schema_version": 1,
        "provider": "ses",
        "event_id": f"event-{kind}",
        "kind": kind,
        "reference": "ses-1",
        "tags": {part: [text] for part, text in a_delivery().delivery_id.as_tags().items()},
        "at": to_text(SUNDAY_EVENING),
        **differing,
    }


def tell_what_became_of_it(stage: Stage) -> None:
    stage.region.put_deliveries(a_delivery(status=Status.UNCERTAIN, attempt=1))
    for kind in ("Email Delivered", "Email Bounced", "Email Complaint Received", "Email Opened"):
        stage.put("receipts", json.dumps(an_event(kind, bounce="Permanent", detail=QUOTING, status=QUOTING)))
    stage.put("receipts", json.dumps(an_event("Email Delivered", event_id="other", tags={"customer": "c-erased"})))
    stage.put("receipts", json.dumps(an_event("Email Delivered", event_id="another", reference="ses-2")))
    stage.work_off("receipts")


def post_events(stage: Stage) -> None:
    tags = [{"name": name, "value": value} for name, value in a_delivery().delivery_id.as_tags().items()]
    data = {
        "email_id": "4a1c",
        "to": [EMAIL_ADDRESS],
        "subject": QUOTING,
        "tags": [*tags, {"name": "to", "value": EMAIL_ADDRESS}],
        "bounce": {"message": QUOTING, "type": "Permanent", "subType": QUOTING},
    }
    event = json.dumps({"type": "email.bounced", "created_at": to_text(SUNDAY_EVENING), "data": data})
    odd = json.dumps({"type": EMAIL_ADDRESS, "created_at": QUOTING, "data": {**data, "email_id": EMAIL_ADDRESS}})
    requests = [
        *(signed_request(body, SIGNING) for body in (event, odd, QUOTING, json.dumps([QUOTING]), QUOTING * 2000)),
        signed_request(event, "whsec_" + "bm9ib2R5" * 4),
        signed_request(event, SIGNING, method="GET"),
        {**signed_request(event, SIGNING), "body": QUOTING, "isBase64Encoded": True},
    ]
    for request in requests:
        stage.invoke("receipt_intake", request)


def call_the_check(stage: Stage) -> None:
    endpoint = WebhookEndpoint(secrets=(SigningSecret(SIGNING),))
    stage.region.put_raw(CUSTOMERS, endpoint_to_row(names.SMOKE_WEBHOOK_CUSTOMER, endpoint))
    requests = [
        *(signed_request(body, SIGNING) for body in ("{}", QUOTING, QUOTING * 2000)),
        signed_request(QUOTING, "whsec_" + "bm9ib2R5" * 4),
        signed_request(QUOTING, SIGNING, method="GET"),
        {**signed_request("{}", SIGNING), "headers": {"webhook-id": QUOTING, "webhook-signature": QUOTING}},
    ]
    for request in requests:
        stage.invoke("smoke_endpoint", request)


def look_at(stage: Stage) -> None:
    stage.watch.allowed_in_answers = frozenset({"america/new_york"})  # a schedule's zone is what an operator looks at
    stage.region.put_deliveries(an_exhausted_delivery(), *all_four()[1:])
    stage.put("email-dead-letters", QUOTING)
    stage.watch.not_ours = (*stage.watch.not_ours, "email-dead-letters")
    row = str(a_delivery().delivery_id)
    looks: list[dict[str, Any]] = [
        *({"widget": widget} for widget in (names.WIDGET_DUE, names.WIDGET_ATTENTION, names.WIDGET_CHANNELS)),
        {"widget": names.WIDGET_STORY, "delivery_id": row},
        {"widget": names.WIDGET_STORY, "customer_id": CUSTOMER},
        {"widget": names.WIDGET_DEAD_LETTERS, "channel": "email"},
        {"widget": QUOTING},
    ]
    for look in looks:
        stage.invoke("widgets", {**look, QUOTING: QUOTING, "widgetContext": {"theme": QUOTING}})


def press(stage: Stage) -> None:
    typed = "somebody.else@example.org"  # stays in its field, for who typed it, and goes nowhere else
    stage.watch.secret.append(typed)
    stage.watch.allowed_in_answers = frozenset({"america/new_york", typed})
    stage.region.put_deliveries(an_exhausted_delivery())
    row = str(a_delivery().delivery_id)
    for action in ("pause", "resume", "redrive", "confirm", "refute", QUOTING):
        about = {"action": action, "channel": "email", "delivery_id": row, "seen": QUOTING}
        for reason in ("INC-47", typed):
            stage.invoke("operate", {**about, "widgetContext": {"forms": {"all": {"reason": reason}}}})


# One for each handler that there is: what it is given that holds a person.
GIVEN: Final[dict[str, Callable[[Stage], None]]] = {
    "email": send_everything,
    "inbound": text_back,
    "operate": press,
    "planner": lambda stage: stage.plan(),
    "receipt_intake": post_events,
    "receipts": tell_what_became_of_it,
    "reconciler": lambda stage: stage.sweep(),
    "sms": send_everything,
    "smoke_endpoint": call_the_check,
    "unsubscribe": visit_the_page,
    "webhook": send_everything,
    "widgets": look_at,
    "worker": push_jobs,
}
HANDLERS: Final = sorted(file.parent.name for file in Path(package.__path__[0]).glob("*/handler.py"))
# They are given no person, and so neither are the services whose errors they let Lambda print.
TOLD_NOTHING: Final = frozenset({"planner", "reconciler"})


def an_answer(operation: str) -> Exception:
    return ClientError(
        {
            "Error": {"Code": "ValidationException", "Message": QUOTING},
            "ResponseMetadata": {"HTTPStatusCode": 400},  # type: ignore[typeddict-item]
        },
        operation,
    )


ERRORS: Final[tuple[Callable[[str], Exception], ...]] = (
    an_answer,
    lambda _: ConnectionClosedError(endpoint_url=QUOTING),
    lambda _: RuntimeError(QUOTING),  # what nobody has thought of
)
CALLS: Final[dict[str, tuple[Callable[[], Any], tuple[str, ...]]]] = {
    "the tables' reads": (dynamodb, ("BatchGetItem", "GetItem", "Query")),
    "the tables' writes": (dynamodb, ("PutItem", "TransactWriteItems", "UpdateItem")),
    "the queues": (sqs, ("ChangeMessageVisibility", "SendMessage", "SendMessageBatch")),
    "the secrets": (secrets_manager, ("GetSecretValue",)),
}


@pytest.mark.parametrize("function", HANDLERS)
def test_every_function_that_there_is(whole: Stage, function: str) -> None:
    with whole.watch.noting_errors():
        GIVEN[function](whole)
    assert whole.watch.raised == []
    whole.watch.saw_nothing()


@pytest.mark.parametrize("what", CALLS)
@pytest.mark.parametrize("function", HANDLERS)
def test_every_function_when_a_service_fails_it_and_quotes_what_it_was_asked(
    whole: Stage, function: str, what: str
) -> None:
    client, operations = CALLS[what]
    for error in ERRORS:
        with ExitStack() as troubles, whole.watch.noting_errors():
            for operation in operations:
                troubles.enter_context(failing(client(), operation, error(operation)))
            GIVEN[function](whole)
    if function in TOLD_NOTHING:
        whole.watch.raised.clear()
    whole.watch.saw_nothing()


@pytest.mark.parametrize(
    "answer", [*(Outcome(one, "Code") for one in OutcomeClass), RuntimeError(QUOTING)], ids=[*OutcomeClass, "raises"]
)
def test_a_pushed_job_at_every_answer_of_its_provider(
    whole: Stage, monkeypatch: pytest.MonkeyPatch, answer: Outcome | RuntimeError
) -> None:
    for name, value in ENVIRONMENTS["worker"].items():
        monkeypatch.setenv(name, value)
    provider = FakeProvider(guarantee=Guarantee(Dedupe.NONE))
    provider.will(answer)
    row = a_delivery(status=Status.QUEUED)
    whole.region.put_deliveries(row)
    request = signed_request(DeliveryMessage.of(row).to_body(), SIGNING)
    told = Worker.of(WorkerEnvironment.load(), provider).answer(request, FakeLambdaContext(whole.clock))
    assert provider.calls == [str(row.delivery_id)]
    whole.watch.answers.append(json.dumps(told))
    whole.watch.saw_nothing()


@pytest.mark.parametrize(
    "reply",
    [
        converse_reply(QUOTING),
        converse_reply(QUOTING * 50),
        converse_reply(QUOTING, stop_reason="guardrail_intervened"),
        converse_reply(QUOTING, stop_reason="max_tokens"),
        converse_error("ValidationException", 400),
        converse_error("ModelErrorException", 424),
        Reply(200, QUOTING.encode()),
        RESET,
    ],
    ids=["writes", "writes on and on", "is stopped", "is cut off", "refuses", "fails", "is not itself", "is gone"],
)
def test_a_summary_whatever_its_model_does(stage: Stage, monkeypatch: pytest.MonkeyPatch, reply: Reply) -> None:
    with StubbedEndpoint() as bedrock:
        variables = channel_environment(Channel.EMAIL) | {
            names.ENV_SUMMARY: json.dumps(SUMMARY_OPTIONS),
            "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": bedrock.url,
        }
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        bedrock.will(reply)
        consumer = stage.functions.email.ChannelConsumer.from_environment(stage.providers[Channel.EMAIL])
        stage.send(a_delivery(status=Status.QUEUED))
        LambdaPoller(stage.region.sqs, queue_url(Channel.EMAIL), consumer.handle, stage.clock).poll()
        assert bedrock.requests
    assert stage.region.delivery(a_delivery().delivery_id).status is Status.ACCEPTED
    stage.watch.saw_nothing()


def test_the_watch_sees_what_it_looks_for(stage: Stage, functions: Functions) -> None:
    functions.telemetry.logger.info("an address", extra={"to": EMAIL_ADDRESS})
    with pytest.raises(AssertionError, match="in log"):
        stage.watch.saw_nothing()
    stage.watch.log.truncate(0)
    stage.put(Channel.SMS, f"to {PHONE_NUMBER}")
    with pytest.raises(AssertionError, match="in sms queue"):
        stage.watch.saw_nothing()
