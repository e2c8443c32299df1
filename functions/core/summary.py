"""A digest's summary, written by a model: what it was made with, what became of it, and what it says."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

WRITTEN: Final = "written"


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a summary is made with. `temperature` None: the model's own."""

    prompt_version: str
    model_id: str
    max_output_tokens: int
    temperature: float | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """What summaries may take: tokens of one digest, in and out, and the time that the model may take to answer."""

    tokens_per_digest: int
    timeout: timedelta


@dataclass(frozen=True, slots=True)
class SummaryNote:
    """What became of a delivery's summary, as its row tells; none of its words.

    `outcome` is WRITTEN, or why the digest is a plain one: a reason of ours, the model's stop reason, or an error code.
    """

    recipe: Recipe
    outcome: str
    input_tokens: int = 0
    output_tokens: int = 0

    @property
    def written(self) -> bool:
        """Whether the digest has a summary."""
        return self.outcome == WRITTEN


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary, or, where `text` is None, that the digest is a plain one."""

    note: SummaryNote
    text: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model is asked: our instructions, and a week's facts as JSON, in which other people's words stand."""

    instructions: str
    facts: str = field(repr=False)

    @property
    def size(self) -> int:
        """UTF-8 bytes of both."""
        return len(self.instructions.encode()) + len(self.facts.encode())


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model said, why it stopped there (Converse's `stopReason`), and what that took."""

    text: str = field(repr=False)
    stop_reason: str
    input_tokens: int
    output_tokens: int

    @property
    def tokens(self) -> int:
        """All of them."""
        return self.input_tokens + self.output_tokens
