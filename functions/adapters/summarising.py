"""The summariser that those have who send emails, from their environment."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from functions.adapters.bedrock import BedrockModel
from functions.adapters.clock import utc_now
from functions.adapters.summaries import DynamoSummaries, DynamoTokenBudget
from functions.adapters.summary_telemetry import summary_failed, tokens_used
from functions.adapters.wiring import dynamodb
from functions.core.identity import Channel
from functions.core.summarising import Summariser, SummaryWriter
from functions.core.summary import Limits, Recipe

if TYPE_CHECKING:
    from functions.adapters.environment import ChannelEnvironment


def summariser_of(environment: ChannelEnvironment) -> Summariser | None:
    """Return a summariser for the environment's channel; None for one that has no room for summaries.

    A client for Bedrock is made only where summaries are set. Elsewhere those that are kept are still sent again.
    """
    if environment.channel is not Channel.EMAIL:
        return None
    kept = DynamoSummaries(dynamodb(), environment.customers_table)
    options = environment.summary
    if options is None:
        return Summariser(kept)
    recipe = Recipe(options.prompt_version, options.model_id, options.max_output_tokens, options.temperature)
    budget = DynamoTokenBudget(dynamodb(), environment.control_table, tokens_per_period=options.tokens_per_period)
    writer = SummaryWriter(
        recipe,
        Limits(options.tokens_per_digest, timedelta(seconds=options.timeout_s)),
        BedrockModel.with_timeout(recipe, options.timeout_s, clock=utc_now),
        budget,
        kept,
        used=tokens_used,
        failed=summary_failed,
    )
    return Summariser(kept, writer)
