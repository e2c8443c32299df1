"""Lambda entry point of the receipts function, fed by its queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from functions.adapters.receipt_consumer import ReceiptConsumer

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
    from aws_lambda_powertools.utilities.typing import LambdaContext

consumer = ReceiptConsumer.from_environment()


def handler(event: dict[str, Any], context: LambdaContext) -> PartialItemFailureResponse:
    """Work a batch of events off; return those that are not done."""
    return consumer.handle(event, context)
