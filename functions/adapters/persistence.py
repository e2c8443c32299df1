"""The delivery row as the Powertools idempotency record: put is the claim, update the settlement, delete the release.

One truth and one write per step. Powertools' own layer neither fences its updates nor keeps a failed state, and hides
the delivery behind a hash (aws_lambda_powertools/utilities/idempotency/persistence, 3.37.0).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from aws_lambda_powertools.utilities.idempotency.exceptions import (
    IdempotencyItemAlreadyExistsError,
    IdempotencyItemNotFoundError,
)
from aws_lambda_powertools.utilities.idempotency.persistence.base import BasePersistenceLayer
from aws_lambda_powertools.utilities.idempotency.persistence.datarecord import STATUS_CONSTANTS, DataRecord

from functions.core.delivery import OPEN, Delivery, Status
from functions.core.outcome import Guarantee, Outcome, OutcomeClass
from functions.core.ports import Claim, ClaimRefusedError, LeaseLostError
from functions.core.settlement import is_settled_as, settled

if TYPE_CHECKING:
    from functions.core.ports import Clock, Ledger
    from functions.core.summary import SummaryNote

KEY_PREFIX: Final = "delivery"
RAISED: Final = "raised"


class NoLeaseError(Exception):
    """The Lambda context was not registered, so a claim could never run out: nothing is claimed."""


@dataclass(frozen=True, slots=True)
class Intent:
    """What a send is about to do; the engine hands a layer the key only."""

    row: Delivery
    fingerprint: str
    owner: str
    pause_s: int | None
    summary: SummaryNote | None = None


class DeliveryPersistence(BasePersistenceLayer):
    """Keeps idempotency records in the ledger. The engine calls its methods by keyword, so their names are fixed."""

    def __init__(self, ledger: Ledger, *, provider: str, guarantee: Guarantee, clock: Clock) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._ledger = ledger
        self._provider = provider
        self._guarantee = guarantee
        self._clock = clock
        self._intents: dict[str, Intent] = {}
        self._claimed: dict[str, Delivery] = {}

    def intend(self, intent: Intent) -> None:
        """Say what the next send of this delivery is about to do."""
        self._intents[str(intent.row.delivery_id)] = intent

    def forget(self, delivery_id: str) -> None:
        """Drop what was held of a send that is over."""
        self._intents.pop(delivery_id, None)
        self._claimed.pop(delivery_id, None)

    def _generate_hash(self, data: Any) -> str:  # noqa: ANN401 - the base class's signature
        return str(data)  # the key stays the delivery id, which an operator can read

    def _put_record(self, data_record: DataRecord) -> None:
        delivery_id = delivery_id_of(data_record.idempotency_key)
        intent = self._intents[delivery_id]
        lease_ms = data_record.in_progress_expiry_timestamp
        if lease_ms is None:
            raise NoLeaseError
        claim = Claim(
            at=self._clock(),
            lease_until=datetime.fromtimestamp(lease_ms / 1000, UTC),
            owner=intent.owner,
            provider=self._provider,
            fingerprint=intent.fingerprint,
            last_receive=intent.pause_s is None,
            summary=intent.summary,
        )
        try:
            self._claimed[delivery_id] = self._ledger.claim(intent.row, claim)
        except ClaimRefusedError as refused:
            held = None if refused.current is None else record_of(refused.current)
            raise IdempotencyItemAlreadyExistsError(old_data_record=held) from refused

    def _update_record(self, data_record: DataRecord) -> None:
        self._settle(delivery_id_of(data_record.idempotency_key), read_outcome(data_record.response_data))

    def _delete_record(self, data_record: DataRecord) -> None:
        # The send raised, which a provider never does: what became of the request is not known.
        self._settle(delivery_id_of(data_record.idempotency_key), Outcome(OutcomeClass.UNKNOWN, RAISED))

    def _get_record(self, idempotency_key: str) -> DataRecord:
        delivery_id = delivery_id_of(idempotency_key)
        row = self._ledger.read([delivery_id]).get(delivery_id)
        if row is None or not (row.status is Status.SENDING or row.status not in OPEN):
            raise IdempotencyItemNotFoundError
        return record_of(row)

    def _settle(self, delivery_id: str, outcome: Outcome) -> None:
        claimed = self._claimed[delivery_id]
        after = settled(
            claimed,
            outcome,
            guarantee=self._guarantee,
            pause_s=self._intents[delivery_id].pause_s,
            at=self._clock(),
        )
        if self._ledger.write(claimed, after):
            return
        if not is_settled_as(self._ledger.read([delivery_id]).get(delivery_id), after):
            raise LeaseLostError


def record_of(row: Delivery) -> DataRecord:
    """Return a row as the engine's record: in progress while it is being sent, completed once it has an end."""
    key = f"{KEY_PREFIX}#{row.delivery_id}"
    if row.status in OPEN:
        # A row that somebody has tried and left waiting has no lease: it is busy too, until its message comes again.
        lease_until = row.lease_until
        return DataRecord(
            idempotency_key=key,
            status=STATUS_CONSTANTS["INPROGRESS"],
            in_progress_expiry_timestamp=None if lease_until is None else int(lease_until.timestamp() * 1000),
        )
    return DataRecord(
        idempotency_key=key,
        status=STATUS_CONSTANTS["COMPLETED"],
        response_data=write_outcome(_held_outcome(row)),
    )


def _held_outcome(row: Delivery) -> Outcome:
    if row.status is Status.ACCEPTED:
        return Outcome(OutcomeClass.ACCEPTED, "ok", row.provider_reference, replayed=True)
    return Outcome(OutcomeClass.UNKNOWN, str(row.status), replayed=True)


def delivery_id_of(idempotency_key: str) -> str:
    """Return the delivery id in an idempotency key."""
    return idempotency_key.removeprefix(f"{KEY_PREFIX}#")


def write_outcome(outcome: Outcome) -> str:
    """Return an outcome as the JSON text that the engine stores and replays."""
    return json.dumps(outcome.to_json())


def read_outcome(response_data: str | None) -> Outcome:
    """Read what `write_outcome` wrote."""
    return Outcome.from_json(json.loads(response_data or "null"))
