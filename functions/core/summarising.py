"""Whether a digest gets a summary. It never stands in the way of the digest, and every attempt sends the same one.

```
kept already? ── no ── time left? tokens left? ── ask ── fit to be printed? ── keep ── claim: the row tells which it was
     └ yes: that one            └ any no, any failure: the plain digest ───────────────┘        └ retries do as it tells
```
Two consumers may compose the same digest at once. Of two summaries the first that is kept is used by both; of a summary
and a plain digest the one whose claim holds is sent, because the row then tells every later attempt which it was.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, TypeAlias

from functions.core.content.summary import printable, summary_prompt
from functions.core.ports import ModelError
from functions.core.summary import WRITTEN, Summary, SummaryNote

if TYPE_CHECKING:
    from functions.core.composition import Moment
    from functions.core.content.digest import DigestContext
    from functions.core.delivery import Delivery
    from functions.core.ports import Model, Summaries, TokenBudget
    from functions.core.summary import Answer, Limits, Prompt, Recipe

FINISHED: Final = "end_turn"  # Converse's stop reason of a model that has said all that it wanted to

TellUsed: TypeAlias = "Callable[[Recipe, Answer], None]"
TellFailed: TypeAlias = "Callable[[str, Exception], None]"


class Plain(StrEnum):
    """Why a digest has no summary, beside stop reasons and error codes."""

    NO_TIME = "no_time"
    RESTING = "resting"
    TOO_LARGE = "too_large"
    OVER_BUDGET = "over_budget"
    UNFIT = "unfit"
    NOT_KEPT = "not_kept"


@dataclass(frozen=True, slots=True)
class SummaryWriter:
    """Has a model write summaries, within its limits.

    `used` is told of every answer, `failed` of a delivery whose summary met a fault of our own.
    """

    recipe: Recipe
    limits: Limits
    model: Model
    budget: TokenBudget
    kept: Summaries
    used: TellUsed
    failed: TellFailed

    def write(self, delivery: Delivery, digest: DigestContext, moment: Moment) -> Summary:
        """Return the summary that is kept, or a new one, or that there is none and why. Raises nothing."""
        try:
            return self._written(delivery, digest, moment)
        except ModelError as error:
            return self._plain(error.code)
        except Exception as error:  # noqa: BLE001 - whatever it is, the digest goes out without a summary
            self.failed(str(delivery.delivery_id), error)
            return self._plain(type(error).__name__)

    def _written(self, delivery: Delivery, digest: DigestContext, moment: Moment) -> Summary:
        if (kept := self.kept.read(delivery.delivery_id)) is not None:
            return kept
        if moment.latest - moment.now < self.limits.timeout:
            return self._plain(Plain.NO_TIME)
        # No tokenizer makes more tokens of a text than it has bytes, so what fits by bytes is within the limit.
        room = self.limits.tokens_per_digest - self.recipe.max_output_tokens
        prompt = summary_prompt(self.recipe.prompt_version, digest, max_bytes=room)
        if prompt is None:
            return self._plain(Plain.TOO_LARGE)
        if not self.budget.reserve(delivery.period, self.limits.tokens_per_digest):
            return self._plain(Plain.OVER_BUDGET)
        answer = self._ask(prompt, delivery.period)
        # An answer that is not printed is kept all the same: it has been paid for, and is not asked for again.
        return self.kept.keep(delivery, self._judged(answer, prompt)) or self._plain(Plain.NOT_KEPT)

    def _ask(self, prompt: Prompt, period: str) -> Answer:
        try:
            answer = self.model.ask(prompt)
        except ModelError as error:
            if not error.spent:
                self.budget.give_back(period, self.limits.tokens_per_digest)
            raise  # what may have used tokens counts as having used all that it might
        self.used(self.recipe, answer)
        self.budget.give_back(period, self.limits.tokens_per_digest - answer.tokens)
        return answer

    def _judged(self, answer: Answer, prompt: Prompt) -> Summary:
        if answer.stop_reason != FINISHED:
            return self._made(answer, answer.stop_reason)
        text = printable(answer.text, prompt)
        return self._made(answer, Plain.UNFIT if text is None else WRITTEN, text)

    def _made(self, answer: Answer, outcome: str, text: str | None = None) -> Summary:
        return Summary(SummaryNote(self.recipe, str(outcome), answer.input_tokens, answer.output_tokens), text)

    def _plain(self, why: str) -> Summary:
        return Summary(SummaryNote(self.recipe, str(why)))


@dataclass(frozen=True, slots=True)
class Summariser:
    """Knows a delivery's summary. `writer` None: no new ones are written.

    `looks_ahead`: shows what is kept for a delivery that has not been sent yet, and has nothing written.
    """

    kept: Summaries
    writer: SummaryWriter | None = None
    looks_ahead: bool = False

    def summary_for(self, delivery: Delivery, digest: DigestContext, moment: Moment) -> Summary | None:
        """Return the summary, or why there is none; None where nobody wants one, or the first attempt had none.

        Raises what reading does once an attempt was made: another try sends the same, and a plain digest would not.
        """
        if delivery.attempt > 0:
            # Also where summaries have been switched on, or off, since.
            written = delivery.summary is not None and delivery.summary.written
            return self.kept.read(delivery.delivery_id) if written else None
        if self.writer is None:
            return self.kept.read(delivery.delivery_id) if self.looks_ahead else None
        return self.writer.write(delivery, digest, moment)
