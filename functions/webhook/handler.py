"""Lambda entry point of the webhook consumer, fed by its queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from functions.adapters.channel_consumer import ChannelConsumer

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
    from aws_lambda_powertools.utilities.typing import LambdaContext

consumer = ChannelConsumer.from_environment()


def handler(event: dict[str, Any], context: LambdaContext) -> PartialItemFailureResponse:
    """Work a batch of messages off; return those that are not done."""
    return consumer.handle(event, context)
