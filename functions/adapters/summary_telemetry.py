"""What is told of summaries: the tokens that they take, and what went wrong. Never what they say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from functions import names
from functions.adapters.counts import where_raised, write_metric
from functions.adapters.telemetry import logger

if TYPE_CHECKING:
    from functions.core.summary import Answer, Recipe


def tokens_used(recipe: Recipe, answer: Answer) -> None:
    """Count an answer's tokens by the version of the prompt: there are few, and each costs what it costs."""
    used = {
        names.METRIC_SUMMARY_INPUT_TOKENS: answer.input_tokens,
        names.METRIC_SUMMARY_OUTPUT_TOKENS: answer.output_tokens,
    }
    for name, tokens in used.items():
        write_metric(name, tokens, prompt_version=recipe.prompt_version)


def summary_failed(delivery_id: str, error: Exception) -> None:
    """Tell of a summary that met a fault of our own; the digest goes out without it."""
    about = {"delivery_id": delivery_id, "error": type(error).__name__, "at": where_raised(error)}
    logger.error("summary.failed", extra=about)
