"""Lambda entry point of the texts that customers send, fed by the queue of the inbound topic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from functions.inbound.inbox import Inbox

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
    from aws_lambda_powertools.utilities.typing import LambdaContext

inbox = Inbox.from_environment()


def handler(event: dict[str, Any], context: LambdaContext) -> PartialItemFailureResponse:
    """Work a batch of texts off; return those that are not done."""
    return inbox.handle(event, context)
