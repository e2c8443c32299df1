"""The delivery row as Powertools' idempotency record: its persistence contract, driven by the real engine.

Whatever ledger it stands on. Subclass `IdempotencyConformance` and give it `rows`, and a `clock` that the whole process
goes by: the engine reads the time for itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response
from aws_lambda_powertools.utilities.idempotency.exceptions import (
    IdempotencyItemAlreadyExistsError,
    IdempotencyItemNotFoundError,
    IdempotencyKeyError,
    IdempotencyPersistenceLayerError,
)
from aws_lambda_powertools.utilities.idempotency.persistence.datarecord import STATUS_CONSTANTS, DataRecord

from functions.adapters.idempotent_sender import IdempotentSender
from functions.adapters.persistence import (
    KEY_PREFIX,
    DeliveryPersistence,
    Intent,
    NoLeaseError,
    read_outcome,
    record_of,
    write_outcome,
)
from functions.core.delivery import OPEN, Delivery, Status
from functions.core.envelope import EmailEnvelope
from functions.core.outcome import Dedupe, Guarantee, Outcome, OutcomeClass
from functions.core.ports import Clock, InFlightError, LeaseLostError, Ledger
from functions.core.settlement import abandoned, settled
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.examples import ACCEPTED, a_claim, a_delivery, a_sending_delivery
from tests.fakes.lambda_context import FakeLambdaContext
from tests.fakes.providers import FakeProvider
from tests.integration.region import Clock as WallClock

NO_KEYS = Guarantee(Dedupe.NONE)
ENVELOPE = EmailEnvelope("ada@example.com", "digest@example.com", "Subject", "<p>html</p>", "text")
QUEUED = a_delivery(status=Status.QUEUED, enqueued_at=SUNDAY_EVENING)
DELIVERY_ID = str(QUEUED.delivery_id)
KEY = f"{KEY_PREFIX}#{DELIVERY_ID}"
LEASE = timedelta(seconds=30)
INPROGRESS, COMPLETED = STATUS_CONSTANTS["INPROGRESS"], STATUS_CONSTANTS["COMPLETED"]


@dataclass(frozen=True)
class Rows:
    """A ledger, and the way to put a row into it."""

    ledger: Ledger
    put: Callable[[Delivery], None]

    def row(self) -> Delivery:
        return self.ledger.read([DELIVERY_ID])[DELIVERY_ID]


def in_progress(lease_until_ms: int | None) -> DataRecord:
    return DataRecord(KEY, status=INPROGRESS, in_progress_expiry_timestamp=lease_until_ms)


def completed(outcome: Outcome) -> DataRecord:
    return DataRecord(KEY, status=COMPLETED, response_data=write_outcome(outcome))


def lease_ms(clock: Clock) -> int:
    return int((clock() + LEASE).timestamp() * 1000)


def intend(layer: DeliveryPersistence, row: Delivery, *, owner: str = "request-1") -> None:
    layer.intend(Intent(row, "f" * 64, owner, 30))


@dataclass(frozen=True)
class Engine:
    rows: Rows
    provider: FakeProvider
    sender: IdempotentSender

    def send(self, row: Delivery) -> Outcome:
        return self.sender.send(row, ENVELOPE, pause_s=30)


class IdempotencyConformance(ABC):
    @pytest.fixture
    @abstractmethod
    def rows(self) -> Rows: ...

    @pytest.fixture
    def layer(self, rows: Rows, clock: WallClock) -> DeliveryPersistence:
        return DeliveryPersistence(rows.ledger, provider="fake", guarantee=NO_KEYS, clock=clock)

    # --- the four methods ---

    def test_put_claims_a_row_that_waits(self, rows: Rows, layer: DeliveryPersistence, clock: WallClock) -> None:
        rows.put(QUEUED)
        intend(layer, QUEUED)
        layer._put_record(in_progress(lease_ms(clock)))
        row = rows.row()
        assert (row.status, row.attempt, row.lease_until) == (Status.SENDING, 1, clock() + LEASE)

    def test_put_refuses_a_row_that_is_being_sent_and_hands_the_loser_its_record(
        self, rows: Rows, layer: DeliveryPersistence, clock: WallClock
    ) -> None:
        rows.put(QUEUED)
        rows.ledger.claim(QUEUED, a_claim(owner="request-9"))
        intend(layer, QUEUED)
        with pytest.raises(IdempotencyItemAlreadyExistsError) as refused:
            layer._put_record(in_progress(lease_ms(clock)))
        record = refused.value.old_data_record
        assert record is not None
        assert (record.status, record.idempotency_key) == (INPROGRESS, KEY)
        assert record.in_progress_expiry_timestamp == lease_ms(clock)

    def test_put_refuses_a_row_that_has_ended_and_hands_over_how(
        self, rows: Rows, layer: DeliveryPersistence, clock: WallClock
    ) -> None:
        sending = a_sending_delivery()
        rows.put(settled(sending, ACCEPTED, guarantee=NO_KEYS, pause_s=None, at=clock()))
        intend(layer, QUEUED)
        with pytest.raises(IdempotencyItemAlreadyExistsError) as refused:
            layer._put_record(in_progress(lease_ms(clock)))
        record = refused.value.old_data_record
        assert record is not None
        assert record.status == COMPLETED
        held = read_outcome(record.response_data)
        assert (held.outcome, held.reference, held.replayed) == (OutcomeClass.ACCEPTED, "reference-1", True)

    def test_put_without_a_lease_claims_nothing(self, rows: Rows, layer: DeliveryPersistence) -> None:
        rows.put(QUEUED)
        intend(layer, QUEUED)
        with pytest.raises(NoLeaseError):
            layer._put_record(in_progress(None))
        assert rows.row() == QUEUED

    def test_update_settles_its_own_claim(self, rows: Rows, layer: DeliveryPersistence, clock: WallClock) -> None:
        rows.put(QUEUED)
        intend(layer, QUEUED)
        layer._put_record(in_progress(lease_ms(clock)))
        layer._update_record(completed(ACCEPTED))
        assert (rows.row().status, rows.row().provider_reference) == (Status.ACCEPTED, "reference-1")

    def test_update_after_a_successors_claim_is_refused(
        self, rows: Rows, layer: DeliveryPersistence, clock: WallClock
    ) -> None:
        rows.put(QUEUED)
        intend(layer, QUEUED)
        layer._put_record(in_progress(lease_ms(clock)))
        keys = Guarantee(Dedupe.WINDOW, window=timedelta(days=1))
        mine = rows.row()
        given_back = abandoned(mine, guarantee=keys, at=clock())
        rows.ledger.write(mine, given_back)
        successor = rows.ledger.claim(given_back, a_claim(owner="request-2"))
        with pytest.raises(LeaseLostError):
            layer._update_record(completed(ACCEPTED))
        assert rows.row() == successor

    def test_delete_leaves_a_row_that_may_have_been_sent_uncertain(
        self, rows: Rows, layer: DeliveryPersistence, clock: WallClock
    ) -> None:
        rows.put(QUEUED)
        intend(layer, QUEUED)
        layer._put_record(in_progress(lease_ms(clock)))
        layer._delete_record(DataRecord(KEY))
        assert rows.row().status is Status.UNCERTAIN

    def test_delete_after_a_successors_claim_is_refused(
        self, rows: Rows, layer: DeliveryPersistence, clock: WallClock
    ) -> None:
        self.test_update_after_a_successors_claim_is_refused(rows, layer, clock)
        successor = rows.row()
        with pytest.raises(LeaseLostError):
            layer._delete_record(DataRecord(KEY))
        assert rows.row() == successor

    @pytest.mark.parametrize("status", Status)
    def test_get_finds_what_is_being_sent_and_what_has_ended(
        self, rows: Rows, layer: DeliveryPersistence, status: Status
    ) -> None:
        rows.put(a_delivery(status=status))
        if status in OPEN - {Status.SENDING}:
            with pytest.raises(IdempotencyItemNotFoundError):
                layer._get_record(KEY)
        else:
            assert layer._get_record(KEY).status == (INPROGRESS if status is Status.SENDING else COMPLETED)

    def test_get_finds_nothing_where_there_is_no_row(self, layer: DeliveryPersistence) -> None:
        with pytest.raises(IdempotencyItemNotFoundError):
            layer._get_record(KEY)

    def test_a_row_that_was_left_waiting_counts_as_busy_until_its_message_comes_again(self) -> None:
        record = record_of(a_delivery(status=Status.RETRYABLE, attempt=1))
        assert (record.status, record.in_progress_expiry_timestamp) == (INPROGRESS, None)

    # --- driven by idempotent_function ---

    @pytest.fixture
    def engine(self, rows: Rows, clock: WallClock) -> Engine:
        provider = FakeProvider()
        sender = IdempotentSender(provider, rows.ledger, clock=clock)
        sender.begin(FakeLambdaContext(clock))
        rows.put(QUEUED)
        return Engine(rows, provider, sender)

    def test_a_send_is_claimed_made_once_and_settled(self, engine: Engine) -> None:
        outcome = engine.send(QUEUED)
        assert (outcome.outcome, outcome.reference, outcome.replayed) == (OutcomeClass.ACCEPTED, "reference-1", False)
        assert engine.rows.row().status is Status.ACCEPTED

    def test_the_key_is_the_delivery_id_in_plain_words(self, engine: Engine) -> None:
        seen: list[str] = []
        engine.provider.while_sending = lambda: seen.append(engine.sender._layer._get_record(KEY).idempotency_key)
        engine.send(QUEUED)
        assert seen == [f"delivery#{DELIVERY_ID}"]

    def test_a_send_that_had_been_settled_is_replayed_and_not_made(self, engine: Engine) -> None:
        first = engine.send(QUEUED)
        second = engine.send(QUEUED)
        assert (second.outcome, second.reference, second.replayed) == (first.outcome, first.reference, True)
        assert len(engine.provider.calls) == 1

    @pytest.mark.parametrize("outcome", [one for one in OutcomeClass if one is not OutcomeClass.ACCEPTED])
    def test_every_outcome_reaches_the_row(self, engine: Engine, outcome: OutcomeClass) -> None:
        engine.provider.will(Outcome(outcome, "Code"))
        assert engine.send(QUEUED) == Outcome(outcome, "Code")
        expected = settled(
            a_sending_delivery(), Outcome(outcome, "Code"), guarantee=NO_KEYS, pause_s=30, at=SUNDAY_EVENING
        )
        row = engine.rows.row()
        assert (row.status, row.history) == (expected.status, expected.history)

    def test_a_send_that_is_being_made_is_in_flight_until_its_lease_ends(
        self, engine: Engine, clock: WallClock
    ) -> None:
        errors: list[InFlightError] = []

        def a_second_one() -> None:
            other = IdempotentSender(engine.provider, engine.rows.ledger, clock=clock)
            other.begin(FakeLambdaContext(clock, request_id="request-2"))
            with pytest.raises(InFlightError) as in_flight:
                other.send(QUEUED, ENVELOPE, pause_s=30)
            errors.append(in_flight.value)

        engine.provider.while_sending = a_second_one
        engine.send(QUEUED)
        assert [error.lease_until for error in errors] == [clock() + LEASE]
        assert len(engine.provider.calls) == 1

    def test_a_row_whose_lease_has_run_out_meanwhile_is_not_sent_on_old_knowledge(
        self, engine: Engine, clock: WallClock
    ) -> None:
        engine.rows.ledger.claim(QUEUED, a_claim(owner="request-9"))
        clock.advance(timedelta(minutes=1))
        with pytest.raises(InFlightError):
            engine.send(QUEUED)
        assert engine.provider.calls == []

    def test_a_context_that_was_not_registered_claims_nothing(self, rows: Rows, clock: WallClock) -> None:
        provider = FakeProvider()
        rows.put(QUEUED)
        sender = IdempotentSender(provider, rows.ledger, clock=clock)
        with (
            pytest.raises(IdempotencyPersistenceLayerError),
            pytest.warns(UserWarning, match="register_lambda_context"),
        ):
            sender.send(QUEUED, ENVELOPE, pause_s=30)
        assert provider.calls == []
        assert rows.row() == QUEUED

    def test_a_claim_made_with_no_time_left_has_a_lease_that_ends_all_the_same(
        self, engine: Engine, clock: WallClock
    ) -> None:
        engine.sender.begin(FakeLambdaContext(clock, timeout=timedelta(0)))
        leases: list[Any] = []
        engine.provider.while_sending = lambda: leases.append(engine.rows.row().lease_until)
        engine.send(QUEUED)
        assert leases == [clock()]

    def test_the_invocation_before_is_not_whose_lease_counts(self, engine: Engine, clock: WallClock) -> None:
        clock.advance(timedelta(minutes=15))
        engine.sender.begin(FakeLambdaContext(clock, request_id="request-2"))
        leases: list[Any] = []
        engine.provider.while_sending = lambda: leases.append(engine.rows.row().lease_until)
        engine.send(QUEUED)
        assert leases == [clock() + LEASE]

    def test_a_send_without_an_id_is_refused_loudly(self, engine: Engine) -> None:
        with pytest.raises(IdempotencyKeyError):
            engine.sender._send_once(delivery_id="", delivery=QUEUED, envelope=ENVELOPE)
        assert engine.provider.calls == []

    def test_a_lost_lease_says_so(self, engine: Engine, clock: WallClock) -> None:
        keys = Guarantee(Dedupe.WINDOW, window=timedelta(days=1))

        def somebody_takes_over() -> None:
            mine = engine.rows.row()
            given_back = abandoned(mine, guarantee=keys, at=clock())
            engine.rows.ledger.write(mine, given_back)
            engine.rows.ledger.claim(given_back, a_claim(owner="request-2"))

        engine.provider.while_sending = somebody_takes_over
        with pytest.raises(LeaseLostError):
            engine.send(QUEUED)
        assert engine.rows.row().claimed_by == "request-2"

    def test_nothing_is_remembered_of_a_send_that_is_over(self, engine: Engine) -> None:
        engine.send(QUEUED)
        assert engine.sender._layer._intents == {}
        assert engine.sender._layer._claimed == {}

    # --- driven by the batch processor ---

    def test_two_equal_records_in_one_batch_run_once_and_both_are_done(self, engine: Engine, clock: WallClock) -> None:
        outcomes: list[Outcome] = []

        def work(record: Any) -> None:  # noqa: ARG001 - both ask for the same delivery
            outcomes.append(engine.send(QUEUED))

        answer = process_partial_response(
            event={"Records": [{"messageId": str(number), "body": DELIVERY_ID} for number in range(2)]},
            record_handler=work,
            processor=BatchProcessor(event_type=EventType.SQS),
            context=FakeLambdaContext(clock),
        )
        assert answer == {"batchItemFailures": []}
        assert [outcome.replayed for outcome in outcomes] == [False, True]
        assert len(engine.provider.accepted) == 1

    def test_a_record_that_another_invocation_is_sending_is_reported_and_the_others_are_done(
        self, engine: Engine, clock: WallClock
    ) -> None:
        other = a_delivery("c-other", status=Status.QUEUED, enqueued_at=SUNDAY_EVENING)
        engine.rows.put(other)
        engine.rows.ledger.claim(QUEUED, a_claim(owner="request-9"))
        deliveries = {"0": QUEUED, "1": other}

        def work(record: Any) -> None:
            engine.send(deliveries[record.message_id])

        answer = process_partial_response(
            event={"Records": [{"messageId": number, "body": ""} for number in deliveries]},
            record_handler=work,
            processor=BatchProcessor(event_type=EventType.SQS, raise_on_entire_batch_failure=False),
            context=FakeLambdaContext(clock),
        )
        assert answer == {"batchItemFailures": [{"itemIdentifier": "0"}]}
        assert engine.provider.accepted == [str(other.delivery_id)]
