"""A model that says what it is told to, what is kept of it, and the tokens of a week."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from datetime import timedelta
from typing import Final

from functions.core.delivery import Delivery
from functions.core.identity import DeliveryId
from functions.core.ports import ModelError
from functions.core.summary import Answer, Limits, Prompt, Recipe, Summary

RECIPE: Final = Recipe("weekly-summary-v1", "us.example.model-v1:0", max_output_tokens=200)
LIMITS: Final = Limits(tokens_per_digest=6000, timeout=timedelta(seconds=4))
SUMMARY_OPTIONS: Final = {  # the same, as a function's environment has them
    "model_id": RECIPE.model_id,
    "prompt_version": RECIPE.prompt_version,
    "max_output_tokens": RECIPE.max_output_tokens,
    "temperature": None,
    "tokens_per_digest": LIMITS.tokens_per_digest,
    "tokens_per_period": 10_000,
    "timeout_s": 4,
}
SENTENCE: Final = "A quiet week: you ordered one canary lamp for $11.77."


def an_answer(text: str = SENTENCE, *, stop_reason: str = "end_turn", tokens: tuple[int, int] = (700, 40)) -> Answer:
    return Answer(text, stop_reason, *tokens)


class FakeModel:
    """A `Model`. Says SENTENCE unless `answers` holds what to say (or raise) next. `while_asked` runs meanwhile."""

    def __init__(self) -> None:
        self.prompts: list[Prompt] = []
        self.answers: deque[Answer | ModelError | RuntimeError] = deque()
        self.while_asked: Callable[[], None] = _nothing

    def will(self, *answers: Answer | ModelError | RuntimeError) -> None:
        """Say, or raise, these in turn."""
        self.answers.extend(answers)

    def ask(self, prompt: Prompt) -> Answer:
        self.prompts.append(prompt)
        self.while_asked()
        answer = self.answers.popleft() if self.answers else an_answer()
        if isinstance(answer, Exception):
            raise answer
        return answer


class InMemorySummaries:
    """`Summaries`. Customers in `erased` are gone; while it is `broken` nothing can be read."""

    def __init__(self) -> None:
        self.held: dict[DeliveryId, Summary] = {}
        self.erased: set[str] = set()
        self.broken = False

    def read(self, delivery_id: DeliveryId) -> Summary | None:
        if self.broken:
            raise ConnectionError
        return self.held.get(delivery_id)

    def keep(self, delivery: Delivery, summary: Summary) -> Summary | None:
        if delivery.delivery_id.customer_id in self.erased:
            return None
        return self.held.setdefault(delivery.delivery_id, summary)


class InMemoryTokenBudget:
    """`TokenBudget` that counts in `used`."""

    def __init__(self, tokens_per_period: int = 1_000_000) -> None:
        self.tokens_per_period = tokens_per_period
        self.used: Counter[str] = Counter()

    def reserve(self, period: str, tokens: int) -> bool:
        if self.used[period] + tokens > self.tokens_per_period:
            return False
        self.used[period] += tokens
        return True

    def give_back(self, period: str, tokens: int) -> None:
        self.used[period] -= tokens


def _nothing() -> None:
    return
