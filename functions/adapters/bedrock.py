"""A model on Amazon Bedrock, through Converse, which takes the same request for every model that converses.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, Protocol, Self, cast

import boto3
from botocore.exceptions import ClientError

from functions.adapters.providers.aws import NEVER_LEFT, UNREADABLE, one_attempt
from functions.core.ports import ModelError
from functions.core.summarising import Plain
from functions.core.summary import Answer

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from functions.core.ports import Clock
    from functions.core.summary import Prompt, Recipe

# A model that fails does so for everybody: one consumer's digests wait for it once a minute, not each of them in turn.
RESTS_FOR: Final = timedelta(seconds=60)
# Refused at the door. A timeout and an error of the model's own are answers, too, and may come after it has written.
_NOT_RUN: Final = frozenset({400, 401, 403, 404, 429, 503})


class Converses(Protocol):
    """The part of boto3's `bedrock-runtime` client that is used."""

    def converse(self, **request: Any) -> Mapping[str, Any]:  # noqa: ANN401 - as boto3 types it without stubs
        """Ask a model."""
        ...


class BedrockModel:
    """`Model` on Converse. After a failure it is left alone for RESTS_FOR."""

    def __init__(self, client: Converses, recipe: Recipe, *, clock: Clock) -> None:
        self._client = client
        self._recipe = recipe
        self._clock = clock
        self._rests_until: datetime | None = None

    @classmethod
    def with_timeout(cls, recipe: Recipe, timeout_s: float, *, clock: Clock) -> Self:
        """Return a model whose client gives up after that many seconds without an answer, and asks once."""
        client = cast("Converses", boto3.client("bedrock-runtime", config=one_attempt(timeout_s)))
        return cls(client, recipe, clock=clock)

    def ask(self, prompt: Prompt) -> Answer:
        """Ask with the recipe's configuration. An error's own words may quote the prompt, and are dropped."""
        if self._rests_until is not None and self._clock() < self._rests_until:
            raise ModelError(Plain.RESTING, spent=False)
        try:
            return _read(self._client.converse(**self._request(prompt)))
        except ClientError as error:
            answer: Any = error.response
            status = int(answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
            failure = ModelError(str(answer["Error"].get("Code", "Unknown")), spent=status not in _NOT_RUN)
        except (KeyError, TypeError, ValueError):
            failure = ModelError(UNREADABLE, spent=True)
        except Exception as error:  # noqa: BLE001 - the SDK's own, and what its parsers trip over
            failure = ModelError(type(error).__name__, spent=not isinstance(error, NEVER_LEFT))
        self._rests_until = self._clock() + RESTS_FOR
        raise failure

    def _request(self, prompt: Prompt) -> dict[str, Any]:
        configuration: dict[str, Any] = {"maxTokens": self._recipe.max_output_tokens}
        if self._recipe.temperature is not None:
            configuration["temperature"] = self._recipe.temperature
        return {
            "modelId": self._recipe.model_id,
            "system": [{"text": prompt.instructions}],
            "messages": [{"role": "user", "content": [{"text": prompt.facts}]}],
            "inferenceConfig": configuration,
        }


def _read(reply: Mapping[str, Any]) -> Answer:
    # Blocks of other kinds, such as a model's reasoning, are nothing that it says to us.
    blocks = reply["output"]["message"]["content"]
    return Answer(
        text="".join(block["text"] for block in blocks if "text" in block),
        stop_reason=str(reply["stopReason"]),
        input_tokens=int(reply["usage"]["inputTokens"]),
        output_tokens=int(reply["usage"]["outputTokens"]),
    )
