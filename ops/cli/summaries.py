"""What became of a digest's summary, for people and for programs. Never what it says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from functions.core.summarising import Plain
from functions.core.summary import SummaryNote
from functions.core.wording import count_of

# Any other outcome is a stop reason of the model or an error code, which says it itself.
PLAIN_BECAUSE: Final[Mapping[str, str]] = {
    Plain.NO_TIME: "the invocation had no time left for the model",
    Plain.TOO_LARGE: "not even one entry of the week fits into summary.tokens_per_digest",
    Plain.OVER_BUDGET: "the week's tokens are used up (summary.tokens_per_period)",
    Plain.UNFIT: "the answer was not fit to be printed",
    Plain.NOT_KEPT: "the customer was erased meanwhile",
    Plain.RESTING: "the model had just failed, and was left alone for a minute",
}


def summary_in_words(note: SummaryNote) -> str:
    """`written by MODEL from weekly-summary-v1, 740 tokens`, or why there is none."""
    tokens = count_of(note.input_tokens + note.output_tokens, "token")
    if note.written:
        return f"written by {note.recipe.model_id} from {note.recipe.prompt_version}, {tokens}"
    why = PLAIN_BECAUSE.get(note.outcome)
    spent = f", {tokens}" if note.input_tokens else ""
    return f"none ({note.outcome}){'' if why is None else f': {why}'}{spent}"


def summary_as_json(note: SummaryNote) -> dict[str, Any]:
    """Everything that the row has of it."""
    return {
        "outcome": note.outcome,
        "prompt_version": note.recipe.prompt_version,
        "model_id": note.recipe.model_id,
        "max_output_tokens": note.recipe.max_output_tokens,
        "temperature": note.recipe.temperature,
        "input_tokens": note.input_tokens,
        "output_tokens": note.output_tokens,
    }
