"""Lambda entry point of the receipt intake, behind a function URL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from functions.adapters.clock import utc_now
from functions.adapters.environment import ReceiptIntakeEnvironment
from functions.adapters.receipt_intake import ReceiptIntake
from functions.adapters.secrets import Secret
from functions.adapters.wiring import secrets_manager, sqs

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

environment = ReceiptIntakeEnvironment.load()
intake = ReceiptIntake(
    Secret(secrets_manager(), environment.webhook_secret, clock=utc_now),
    sqs(),
    environment.receipts_queue_url,
    clock=utc_now,
)


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:  # noqa: ARG001 - the request is all there is
    """Answer one request: 204 once its event is on the queue, 401 for what is not signed."""
    return intake.answer(event)
