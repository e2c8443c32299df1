"""A provider behind Powertools idempotency: claimed before, sent once, settled after."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from aws_lambda_powertools.utilities.idempotency import IdempotencyConfig, idempotent_function
from aws_lambda_powertools.utilities.idempotency.exceptions import (
    IdempotencyAlreadyInProgressError,
    IdempotencyInconsistentStateError,
    IdempotencyPersistenceLayerError,
)

from functions.adapters.persistence import KEY_PREFIX, DeliveryPersistence, Intent
from functions.core.envelope import EmailEnvelope, fingerprint
from functions.core.outcome import Outcome
from functions.core.ports import InFlightError, LeaseLostError

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from aws_lambda_powertools.utilities.typing import LambdaContext

    from functions.core.delivery import Delivery
    from functions.core.envelope import Envelope
    from functions.core.ports import Clock, Ledger, Provider


class IdempotentSender:
    """`Sender` for one channel. One persistence layer and one configuration, as the engine needs."""

    def __init__(self, provider: Provider, ledger: Ledger, *, clock: Clock) -> None:
        self._ledger = ledger
        self._layer = DeliveryPersistence(ledger, provider=provider.name, guarantee=provider.guarantee, clock=clock)
        self._config = IdempotencyConfig(raise_on_no_idempotency_key=True)
        self._owner = ""
        self._send_once = self._decorated(provider)

    def begin(self, context: LambdaContext) -> None:
        """Register the invocation, before anything is claimed: a claim's lease ends when the invocation does."""
        self._owner = context.aws_request_id
        self._config.register_lambda_context(context)

    def send(self, delivery: Delivery, envelope: Envelope, *, pause_s: int | None) -> Outcome:
        """Claim, send once and settle. Raises InFlightError, or LeaseLostError when the row moved on meanwhile."""
        delivery_id = str(delivery.delivery_id)
        summary = envelope.summary if isinstance(envelope, EmailEnvelope) else None
        self._layer.intend(Intent(delivery, fingerprint(envelope), self._owner, pause_s, summary))
        try:
            held = self._send_once(delivery_id=delivery_id, delivery=delivery, envelope=envelope)
        except (IdempotencyAlreadyInProgressError, IdempotencyInconsistentStateError) as error:
            # The row moved between our look and our claim: whoever moved it decides, and the message looks again.
            raise InFlightError(self._lease_of(delivery_id)) from error
        except IdempotencyPersistenceLayerError as error:
            if isinstance(error.__cause__, LeaseLostError):
                raise error.__cause__ from None
            raise
        finally:
            self._layer.forget(delivery_id)
        return Outcome.from_json(held)

    def _lease_of(self, delivery_id: str) -> datetime | None:
        row = self._ledger.read([delivery_id]).get(delivery_id)
        return None if row is None else row.lease_until

    def _decorated(self, provider: Provider) -> Callable[..., Any]:
        @idempotent_function(  # type: ignore[untyped-decorator]
            data_keyword_argument="delivery_id",
            persistence_store=self._layer,
            config=self._config,
            key_prefix=KEY_PREFIX,
        )
        def send_once(*, delivery_id: str, delivery: Delivery, envelope: Envelope) -> dict[str, Any]:  # noqa: ARG001
            # One thing only: whatever happens in here lies between the claim and the settlement.
            return provider.send(delivery, envelope).to_json()

        return cast("Callable[..., Any]", send_once)
