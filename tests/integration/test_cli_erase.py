"""An operator erases a customer, between what is planned, being sent and told of afterwards."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from itertools import count
from operator import eq
from pathlib import Path
from typing import Any, Final

import boto3
import pytest
from pydantic import ValidationError

from functions import names
from functions.adapters.opt_out_memory import LEFT, memory_from_row
from functions.adapters.opt_outs import DynamoOptOuts
from functions.adapters.plan_book import DynamoPlanBook
from functions.adapters.schedule_rows import profile_from_row, profile_to_row
from functions.adapters.suppressions import DynamoSuppressions
from functions.core.calendar import monday_of
from functions.core.customer import PROFILE, Consent
from functions.core.delivery import Delivery, ReceiptState, SkipReason, Status
from functions.core.identity import Channel, DeliveryId, Topic
from functions.core.keyring import KeyRing
from functions.core.message import DeliveryMessage
from functions.core.opt_out_memory import Memory, address_mark, customer_mark
from functions.core.outcome import Outcome, OutcomeClass
from functions.core.planning import PlanningRules, plan_schedule
from functions.core.ports import PlanReceipt, UnreadableSchedule
from functions.core.receipts import Note, ReceiptEvent, Receiver, SuppressionCause, SuppressionRule
from functions.core.settlement import settled
from functions.core.unsubscribe_token import Subscription
from ops.erasure import LONGEST_KEPT
from stacks.settings import Retention
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.environment import (
    CUSTOMERS,
    DELIVERIES,
    KEY_RINGS,
    OPT_OUT_KEYS,
    SHARDS,
    channel_environment,
    queue_url,
)
from tests.fakes.examples import (
    AN_ENDPOINT,
    CUSTOMER,
    EMAIL_ADDRESS,
    EVERYTHING_WANTED,
    EXPIRES_AFTER,
    PHONE_NUMBER,
    a_claim,
    a_delivery,
    a_digest_schedule,
    a_profile,
    a_reminder,
    an_activity,
    an_exhausted_delivery,
)
from tests.fakes.providers import NO_KEYS, FakeProvider
from tests.integration.faults import failing, just_before
from tests.integration.lambda_poller import LambdaPoller
from tests.integration.operators_desk import Desk, FakeLambda, a_second_region
from tests.integration.region import Clock, Functions, Region

ERASE: Final = ("customers", "erase", CUSTOMER, "--yes")
KEY: Final = next(iter(KeyRing.parse(KEY_RINGS[OPT_OUT_KEYS])))
EMAIL_DIGEST: Final = (Topic.DIGEST, Channel.EMAIL)
ACCEPTED: Final = a_delivery(
    status=Status.ACCEPTED,
    attempt=1,
    accepted_at=SUNDAY_EVENING,
    attention_at=None,
    provider_reference="ses-1",
    fingerprint="f" * 64,
)
QUEUED: Final = a_delivery(status=Status.QUEUED, topic=Topic.REMINDER, enqueued_at=SUNDAY_EVENING)


@pytest.fixture
def desk(region: Region, functions: Functions, clock: Clock, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(region, a_second_region(), FakeLambda(functions.planner.handler, clock), clock, capsys)


@pytest.fixture(autouse=True)
def only_the_last_weeks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten years of weeks take moto a second; not every test needs them."""
    monkeypatch.setattr("ops.erasure.LONGEST_KEPT", timedelta(days=60))


@pytest.fixture
def customer(desk: Desk) -> Desk:
    a_customer(desk)
    return desk


def a_customer(desk: Desk) -> None:
    """Somebody who has left the digest by email, with a week behind them and a reminder on its way."""
    consent = {**EVERYTHING_WANTED, EMAIL_DIGEST: Consent.OPTED_OUT}
    profile = a_profile(consent=consent, suppressed={Channel.SMS: "stop"}, webhook=AN_ENDPOINT)
    desk.us.add(profile, an_activity("a-1"), an_activity("a-2"))
    desk.us.schedule(a_digest_schedule(), a_reminder())
    desk.us.put_deliveries(ACCEPTED, QUEUED)


def partition(desk: Desk) -> list[str]:
    rows = desk.us._scan(CUSTOMERS)
    return sorted(row[names.RECORD]["S"] for row in rows if row[names.CUSTOMER_ID]["S"] == CUSTOMER)


def memory(desk: Desk, mark: str) -> Memory:
    return memory_from_row(desk.us.customer_row(mark, LEFT))


# --- what goes, what stays, what is told ---


def test_everything_of_theirs_goes_and_their_deliveries_are_scrubbed(customer: Desk) -> None:
    told = customer.digest(*ERASE)
    assert (told.status, told.err) == (0, "")
    assert told.out.splitlines() == [
        "c-417 in us: erased",
        "  Removed     2 activities, 1 endpoint, 1 profile, 2 schedules",
        "  Scrubbed    2 deliveries, 1 of them never to be sent",
        "  Stays       ids, times and states of deliveries until they are purged; 3 keyed hashes of opt-outs",
    ]
    assert partition(customer) == []
    accepted, ended = (customer.us.delivery(row.delivery_id) for row in (ACCEPTED, QUEUED))
    assert accepted == replace(ACCEPTED, provider_reference=None, fingerprint=None, erased_at=SUNDAY_EVENING)
    assert (ended.status, ended.skip_reason) == (Status.SKIPPED, SkipReason.INACTIVE)


def test_opt_outs_and_suppressions_are_remembered_under_hashes_and_nothing_else_is(customer: Desk) -> None:
    customer.digest(*ERASE)
    withdrawn = Memory(frozenset({EMAIL_DIGEST}))
    assert memory(customer, customer_mark(CUSTOMER, KEY)) == withdrawn
    assert memory(customer, address_mark(Channel.EMAIL, EMAIL_ADDRESS, KEY)) == withdrawn
    stop = Memory(causes=frozenset({SuppressionCause.STOP}))
    assert memory(customer, address_mark(Channel.SMS, PHONE_NUMBER, KEY)) == stop
    left = json.dumps(list(customer.us._scan(CUSTOMERS)))
    assert CUSTOMER not in left
    assert "canary" not in left
    assert PHONE_NUMBER not in left


def test_what_two_people_at_one_address_did_not_want_is_remembered_of_both(customer: Desk) -> None:
    consent = {**EVERYTHING_WANTED, (Topic.REMINDER, Channel.EMAIL): Consent.OPTED_OUT}
    customer.us.add(a_profile("c-2", consent=consent))
    customer.digest(*ERASE)
    customer.digest("customers", "erase", "c-2", "--yes")
    mark = address_mark(Channel.EMAIL, EMAIL_ADDRESS, KEY)
    assert memory(customer, mark).opted_out == {EMAIL_DIGEST, (Topic.REMINDER, Channel.EMAIL)}


def test_erasing_again_changes_nothing_and_says_so(customer: Desk) -> None:
    customer.digest(*ERASE)
    before = [list(customer.us._scan(table)) for table in (CUSTOMERS, DELIVERIES)]
    told = customer.digest(*ERASE)
    assert told.out == "c-417 in us or eu: nothing on record, never imported or erased before; nothing was changed\n"
    assert told.status == 0
    assert [list(customer.us._scan(table)) for table in (CUSTOMERS, DELIVERIES)] == before


def test_a_program_gets_the_same_as_json(customer: Desk) -> None:
    assert customer.digest(*ERASE, "--json").json == {
        "customer_id": CUSTOMER,
        "erased": [
            {
                "data_region": "us",
                "rows": {"activity": 2, "endpoint": 1, "profile": 1, "schedule": 2},
                "deliveries": {"accepted": 1, "skipped": 1},
                "not_sent": 1,
                "remembered": 3,
            }
        ],
    }
    assert customer.digest(*ERASE, "--json").json == {"customer_id": CUSTOMER, "erased": []}


def test_other_customers_are_left_alone(customer: Desk) -> None:
    other = replace(ACCEPTED, delivery_id=a_delivery("c-4170").delivery_id)
    customer.us.add(a_profile("c-4170"))
    customer.us.put_deliveries(other)
    customer.digest(*ERASE)
    assert customer.us.customer_row("c-4170", PROFILE) == profile_row("c-4170")
    assert customer.us.delivery(other.delivery_id) == other


def profile_row(customer_id: str) -> dict[str, Any]:
    return {name: value for name, value in profile_to_row(a_profile(customer_id)).items() if value is not None}


def test_a_delivery_is_found_for_as_long_as_any_settings_keep_it(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ops.erasure.LONGEST_KEPT", LONGEST_KEPT)
    oldest = monday_of((SUNDAY_EVENING - LONGEST_KEPT).date())
    row = replace(ACCEPTED, delivery_id=DeliveryId(Topic.DIGEST, CUSTOMER, oldest.isoformat(), Channel.EMAIL))
    desk.us.put_deliveries(row)
    desk.digest(*ERASE)
    assert desk.us.delivery(row.delivery_id).erased_at == SUNDAY_EVENING
    Retention(logs_days=30, deliveries_days=LONGEST_KEPT.days)
    with pytest.raises(ValidationError, match="deliveries_days"):
        Retention(logs_days=30, deliveries_days=LONGEST_KEPT.days + 1)


def test_a_part_of_somebody_in_another_region_is_found_and_goes_too(customer: Desk) -> None:
    customer.eu.add(a_profile("c-1"), an_activity())
    customer.eu.dynamodb.delete_item(
        TableName=CUSTOMERS, Key={names.CUSTOMER_ID: {"S": "c-1"}, names.RECORD: {"S": PROFILE}}
    )
    told = customer.digest("customers", "erase", "c-1", "--yes")
    assert told.out.startswith("c-1 in eu: erased\n  Removed     1 activity\n")
    assert list(customer.eu._scan(CUSTOMERS)) == []


def test_a_region_that_is_not_named_is_not_touched(customer: Desk) -> None:
    assert "nothing on record" in customer.digest(*ERASE, "--region", "eu").out
    assert PROFILE in partition(customer)


# --- being asked first ---


def test_without_a_yes_nothing_is_changed(customer: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    told = customer.digest("customers", "erase", CUSTOMER)
    assert told.status == 1
    assert "c-417 in us: 2 activities, 1 endpoint, 1 profile, 2 schedules, 2 deliveries\n" in told.err
    assert len(partition(customer)) == 6


def test_a_yes_that_is_typed_is_enough(customer: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    told = customer.digest("customers", "erase", CUSTOMER)
    assert "c-417 in us: erased" in told.out
    assert partition(customer) == []


def test_an_address_for_an_id_is_refused_without_being_repeated(desk: Desk) -> None:
    refused = desk.digest("customers", "erase", EMAIL_ADDRESS, "--yes")
    assert refused.status == 2
    assert "canary" not in refused.out + refused.err


def test_without_the_keys_nothing_is_erased(customer: Desk) -> None:
    boto3.client("secretsmanager").put_secret_value(SecretId=OPT_OUT_KEYS, SecretString="no key ring")
    told = customer.digest(*ERASE)
    assert told.status == 1
    assert "the secret opt-out-keys in us-east-1 cannot be used" in told.err
    assert len(partition(customer)) == 6


def test_nothing_that_is_told_or_logged_shows_the_person(
    customer: Desk, log: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    told = [customer.digest(*ERASE[:3]), customer.digest(*ERASE, "--json"), customer.digest(*ERASE)]
    shown = "".join(one.out + one.err for one in told) + log.getvalue()
    assert [one for one in ("canary", PHONE_NUMBER, "hooks.", "America", "Pay invoice") if one in shown] == []


# --- dying anywhere, and going on ---


def test_an_erasure_that_dies_at_any_call_is_finished_by_the_next_one(desk: Desk) -> None:
    client = desk.deployment.region("us").dynamodb
    for dies_at in count(1):
        a_customer(desk)
        with failing(client, "*", KeyboardInterrupt(), when=partial(eq, dies_at)) as calls:
            interrupted = desk.digest(*ERASE)
        if len(calls) < dies_at:
            assert interrupted.status == 0
            break
        assert interrupted.status != 0
        desk.digest(*ERASE)
        assert partition(desk) == []
        assert {row.erased_at for row in desk.us.deliveries().values()} == {SUNDAY_EVENING}
        assert desk.us.delivery(QUEUED.delivery_id).status is Status.SKIPPED
        assert memory(desk, customer_mark(CUSTOMER, KEY)).opted_out == {EMAIL_DIGEST}
        for mark in {row[names.CUSTOMER_ID]["S"] for row in desk.us._scan(CUSTOMERS)}:
            desk.us.dynamodb.delete_item(
                TableName=CUSTOMERS, Key={names.CUSTOMER_ID: {"S": mark}, names.RECORD: {"S": LEFT}}
            )
    assert dies_at > 10


def test_of_two_erasures_at_once_the_second_finds_nothing_left_to_do(customer: Desk) -> None:
    client = customer.deployment.region("us").dynamodb
    with just_before(client, "TransactWriteItems", lambda: customer.digest(*ERASE)):
        told = customer.digest(*ERASE, "--json")
    assert told.status == 0
    _, _, last = told.out.rpartition('"erased":')  # after what the first one told
    assert json.loads(last.rstrip().removesuffix("}")) == [
        {"data_region": "us", "rows": {}, "deliveries": {}, "not_sent": 0, "remembered": 0}
    ]
    assert partition(customer) == []
    assert memory(customer, customer_mark(CUSTOMER, KEY)).opted_out == {EMAIL_DIGEST}


# --- while messages are in flight ---


@dataclass(frozen=True)
class Consumer:
    """The email consumer, its provider, and its queue."""

    desk: Desk
    provider: FakeProvider
    poller: LambdaPoller

    def queue(self, row: Delivery) -> None:
        self.desk.us.put_deliveries(row)
        self.desk.us.sqs.send_message(QueueUrl=queue_url(Channel.EMAIL), MessageBody=DeliveryMessage.of(row).to_body())


@pytest.fixture
def consumer(desk: Desk, functions: Functions, monkeypatch: pytest.MonkeyPatch) -> Consumer:
    for name, value in channel_environment(Channel.EMAIL).items():
        monkeypatch.setenv(name, value)
    provider = FakeProvider()
    handle = functions.email.ChannelConsumer.from_environment(provider).handle
    desk.us.add(a_profile(), an_activity())
    return Consumer(desk, provider, LambdaPoller(desk.us.sqs, queue_url(Channel.EMAIL), handle, desk.clock))


def test_a_message_that_arrives_afterwards_is_done_and_sends_nothing(consumer: Consumer) -> None:
    consumer.queue(a_delivery(status=Status.QUEUED))
    consumer.desk.digest(*ERASE)
    assert consumer.poller.poll() == {"batchItemFailures": []}
    assert consumer.provider.calls == []
    assert consumer.desk.us.delivery(a_delivery().delivery_id).status is Status.SKIPPED


def test_a_message_that_had_been_composed_is_not_sent_any_more(consumer: Consumer) -> None:
    consumer.queue(a_delivery(status=Status.QUEUED))
    with just_before(consumer.desk.us.dynamodb, "UpdateItem", lambda: consumer.desk.digest(*ERASE)):
        consumer.poller.poll()
    assert consumer.provider.calls == []
    row = consumer.desk.us.delivery(a_delivery().delivery_id)
    assert (row.status, row.attempt, row.fingerprint) == (Status.SKIPPED, 0, None)


def test_a_redrive_after_the_customer_came_back_does_not_send_what_was_theirs_before(consumer: Consumer) -> None:
    consumer.queue(an_exhausted_delivery())
    consumer.desk.digest(*ERASE)
    consumer.desk.us.add(a_profile(), an_activity())
    consumer.poller.poll()
    assert consumer.provider.calls == []


@pytest.mark.parametrize(
    ("outcome", "ends"),
    [
        (Outcome(OutcomeClass.ACCEPTED, "ok", "ses-1"), Status.ACCEPTED),
        (Outcome(OutcomeClass.UNAVAILABLE, "ServiceUnavailable"), Status.SKIPPED),
        (Outcome(OutcomeClass.UNKNOWN, "timed_out"), Status.UNCERTAIN),
        (Outcome(OutcomeClass.REJECTED, "InvalidParameter"), Status.SKIPPED),
        (None, Status.UNCERTAIN),
    ],
    ids=["accepted", "not now", "nobody knows", "never", "the invocation died"],
)
def test_a_message_that_is_being_sent_is_waited_for_and_scrubbed(
    desk: Desk, outcome: Outcome | None, ends: Status
) -> None:
    desk.us.add(a_profile())
    desk.us.put_deliveries(a_delivery())
    claimed = desk.us.ledger.claim(a_delivery(), a_claim())

    def settle() -> None:
        desk.meanwhile = lambda: None
        if outcome is not None:
            after = settled(claimed, outcome, guarantee=NO_KEYS, pause_s=30, at=desk.clock())
            assert desk.us.ledger.write(claimed, after)

    desk.meanwhile = settle
    told = desk.digest(*ERASE)
    assert told.err == (
        "a message is being sent to them right now; waiting for it, until 2026-11-29 20:00:30 UTC at the latest\n"
    )
    assert partition(desk) == []
    row = desk.us.delivery(claimed.delivery_id)
    assert (row.status, row.provider_reference, row.fingerprint) == (ends, None, None)
    assert row.erased_at is not None


@pytest.fixture
def planning(customer: Desk) -> Callable[[], PlanReceipt]:
    """A planner that has read the customer's schedules, and commits what it made of them when it is called."""
    book = DynamoPlanBook(
        customer.us.dynamodb,
        customers_table=CUSTOMERS,
        deliveries_table=DELIVERIES,
        shards=SHARDS,
        keep_for=timedelta(days=90),
    )
    read = [one for shard in range(SHARDS) for page in book.due(shard, SUNDAY_EVENING) for one in page]
    schedules = [one for one in read if not isinstance(one, UnreadableSchedule)]
    rules = PlanningRules(expires_after=EXPIRES_AFTER, attention_after=timedelta(minutes=5))
    return lambda: book.commit([plan_schedule(one, now=SUNDAY_EVENING, rules=rules) for one in schedules])


def test_a_planner_that_had_read_the_schedules_brings_nothing_back(
    customer: Desk, planning: Callable[[], PlanReceipt]
) -> None:
    customer.digest(*ERASE)
    before = customer.us.deliveries()
    receipt = planning()
    assert (receipt.planned, receipt.moved, receipt.failed) == ((), 2, ())
    assert customer.us.deliveries() == before
    assert partition(customer) == []


def test_what_a_planner_commits_in_the_middle_of_it_ends_unsent(
    customer: Desk, planning: Callable[[], PlanReceipt]
) -> None:
    client = customer.deployment.region("us").dynamodb
    with just_before(client, "UpdateItem", planning):  # the first schedule is about to be stopped
        customer.digest(*ERASE)
    rows = customer.us.deliveries()
    assert len(rows) == 4  # digest and reminder, by email and by text: one of each was there before
    assert {row.erased_at for row in rows.values()} == {SUNDAY_EVENING}
    assert {row.status for row in rows.values()} == {Status.ACCEPTED, Status.SKIPPED}


def test_a_reminder_is_kept_as_long_as_the_deliveries_that_are_found_by_it(
    customer: Desk, planning: Callable[[], PlanReceipt]
) -> None:
    planning()
    reminder = customer.us.customer_row(CUSTOMER, a_reminder().record)
    text = {names.DELIVERY_ID: {"S": str(a_delivery(topic=Topic.REMINDER, channel=Channel.SMS).delivery_id)}}
    delivery = customer.us.dynamodb.get_item(TableName=DELIVERIES, Key=text)["Item"]
    assert {"N": str(reminder[names.TTL])} == delivery[names.TTL]


def test_somebody_who_says_stop_while_they_are_erased_is_remembered(customer: Desk) -> None:
    client = customer.deployment.region("us").dynamodb
    leaving = Subscription(CUSTOMER, Topic.REMINDER, Channel.EMAIL)
    opt_outs = DynamoOptOuts(customer.us.dynamodb, CUSTOMERS)
    with just_before(client, "TransactWriteItems", lambda: opt_outs.opt_out(leaving, at=SUNDAY_EVENING)):
        customer.digest(*ERASE)
    assert partition(customer) == []
    assert memory(customer, customer_mark(CUSTOMER, KEY)).opted_out == {EMAIL_DIGEST, (Topic.REMINDER, Channel.EMAIL)}


def test_a_profile_that_somebody_else_keeps_changing_is_not_dropped_on_a_guess(customer: Desk) -> None:
    client = customer.deployment.region("us").dynamodb
    suppressions = DynamoSuppressions(customer.us.dynamodb, CUSTOMERS)

    def change(**_: Any) -> None:
        suppressions.clear(CUSTOMER, Channel.EMAIL, at=SUNDAY_EVENING)
        suppressions.suppress(
            CUSTOMER,
            Channel.EMAIL,
            SuppressionCause.HARD_BOUNCE,
            at=customer.clock.advance(timedelta(seconds=1)),
            code="-",
        )

    client.meta.events.register("before-call.dynamodb.TransactWriteItems", change)
    told = customer.digest(*ERASE)
    client.meta.events.unregister("before-call.dynamodb.TransactWriteItems", change)
    assert told.status == 1
    assert told.err == "digest: c-417: somebody else keeps changing this profile; erase it again\n"
    assert PROFILE in partition(customer)


# --- what is told of afterwards ---


def a_bounce(row: Delivery) -> ReceiptEvent:
    return ReceiptEvent(
        provider="ses",
        event_id="event-1",
        reference="ses-1",
        delivery_id=row.delivery_id,
        kind="Email Bounced",
        state=ReceiptState.BOUNCED,
        at=SUNDAY_EVENING,
        arrived_at=SUNDAY_EVENING,
        code="Permanent/General/5.1.1",
    )


@pytest.mark.parametrize(
    "row", [ACCEPTED, a_delivery(status=Status.UNCERTAIN, attempt=1)], ids=["accepted", "uncertain"]
)
def test_a_bounce_that_comes_afterwards_is_noted_on_the_row_and_brings_nobody_back(desk: Desk, row: Delivery) -> None:
    desk.us.add(a_profile())
    desk.us.put_deliveries(row)
    desk.digest(*ERASE)
    suppressions = DynamoSuppressions(desk.us.dynamodb, CUSTOMERS)
    rule = SuppressionRule(soft_bounces=3, within=timedelta(days=60))
    reception = Receiver(desk.us.ledger, suppressions, rule, desk.clock).receive(a_bounce(row))
    assert (reception.note, reception.suppressed) == (Note.TAKEN, None)
    after = desk.us.delivery(row.delivery_id)
    assert after.receipt is not None
    assert (after.status, after.receipt.state, after.provider_reference) == (
        Status.ACCEPTED,
        ReceiptState.BOUNCED,
        None,
    )
    assert partition(desk) == []


def test_an_erased_delivery_says_so(customer: Desk) -> None:
    customer.digest(*ERASE)
    shown = customer.digest("show", str(ACCEPTED.delivery_id)).out
    assert "  Erased     the customer, 2026-11-29 20:00:00 UTC" in shown.splitlines()
    assert customer.digest("show", "--customer", CUSTOMER).status == 1


# --- coming back by an import ---

HEADER: Final = "customer_id,data_region,time_zone,email,phone,email_consent,sms_consent,digest_weekday,digest_time\n"


@pytest.fixture
def one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Moto copies its tables in the middle of a transaction, which two transactions at once do not survive."""
    monkeypatch.setattr("ops.imports.writing.WRITERS", 1)


@pytest.mark.usefixtures("one_at_a_time")
@pytest.mark.parametrize("customer_id", [CUSTOMER, "c-9"])
def test_an_import_after_the_erasure_does_not_bring_opt_outs_back(
    customer: Desk, tmp_path: Path, customer_id: str
) -> None:
    file = tmp_path / "people.csv"
    file.write_text(
        f"{HEADER}{customer_id},us,Europe/Berlin,{EMAIL_ADDRESS},{PHONE_NUMBER},opted_in,opted_in,mon,09:30\n"
    )
    customer.digest(*ERASE)
    told = customer.digest("customers", "import", str(file))
    assert told.status == 0
    assert told.out == (
        "1 customer kept: 1 in us\n1 customer had left before being erased: what was not wanted stays so\n"
    )
    profile = profile_from_row(customer.us.customer_row(customer_id, PROFILE))
    assert profile.consent[EMAIL_DIGEST] is Consent.OPTED_OUT
    assert profile.consent[Topic.REMINDER, Channel.EMAIL] is Consent.OPTED_IN
    assert profile.suppressed == {Channel.SMS: "stop"}
    assert "canary" not in told.out + told.err
