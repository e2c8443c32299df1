"""Amazon Bedrock's Converse: what each of its answers, and each way of getting none, is read as."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import boto3
import pytest
from botocore.loaders import Loader
from botocore.validate import ParamValidator

from functions.adapters.bedrock import RESTS_FOR, BedrockModel
from functions.core.ports import ModelError
from functions.core.summary import Answer, Prompt, Recipe
from ops.local.loopback_server import RESET, SILENCE, Reply
from tests.fakes.clock import FakeClock
from tests.integration.provider_contract import CHATTY, TESTING, TIMEOUT_S, StubbedEndpoint, refusing_url

RECIPE = Recipe("weekly-summary-v1", "eu.example.model-v1:0", max_output_tokens=200)
PROMPT = Prompt("Write one paragraph.", '{"title": "Canary blue lamp"}')
JSON = {"Content-Type": "application/json"}

# Status and code of every documented error of Converse, and whether tokens may have been used by then.
DOCUMENTED = [
    (403, "AccessDeniedException", False),
    (500, "InternalServerException", True),
    (424, "ModelErrorException", True),
    (429, "ModelNotReadyException", False),
    (408, "ModelTimeoutException", True),
    (404, "ResourceNotFoundException", False),
    (503, "ServiceUnavailableException", False),
    (429, "ThrottlingException", False),
    (400, "ValidationException", False),
]


def converse_reply(
    text: str = "A quiet week.", *, stop_reason: str = "end_turn", blocks: list[dict[str, Any]] | None = None
) -> Reply:
    """An answer in the form of the service's model."""
    said = {
        "output": {"message": {"role": "assistant", "content": [*(blocks or []), {"text": text}]}},
        "stopReason": stop_reason,
        "usage": {"inputTokens": 700, "outputTokens": 40, "totalTokens": 740},
        "metrics": {"latencyMs": 900},
    }
    return Reply(200, json.dumps(said).encode(), JSON)


def converse_error(code: str, status: int) -> Reply:
    return Reply(status, json.dumps({"message": CHATTY}).encode(), {**JSON, "x-amzn-ErrorType": code})


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[StubbedEndpoint]:
    with StubbedEndpoint() as stubbed:
        for name, value in {**TESTING, "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": stubbed.url}.items():
            monkeypatch.setenv(name, value)
        yield stubbed


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def model_of(clock: FakeClock, recipe: Recipe = RECIPE) -> BedrockModel:
    return BedrockModel.with_timeout(recipe, TIMEOUT_S, clock=clock)


@pytest.fixture
def model(endpoint: StubbedEndpoint, clock: FakeClock) -> BedrockModel:  # noqa: ARG001 - sets the environment
    return model_of(clock)


def failure_of(model: BedrockModel, log: pytest.LogCaptureFixture) -> ModelError:
    """Why there was no answer, held to what must never be in it."""
    with log.at_level(logging.INFO), pytest.raises(ModelError) as raised:
        model.ask(PROMPT)
    error = raised.value
    told = f"{error!r} {error} {error.__cause__!r} {log.text}".lower()
    assert not [word for word in ("canary", "example.com") if word in told]
    return error


def test_the_recipe_and_the_prompt_go_out_as_the_service_wants_them(
    endpoint: StubbedEndpoint, model: BedrockModel
) -> None:
    endpoint.will(converse_reply())
    model.ask(PROMPT)
    (request,) = endpoint.requests
    assert (request.method, request.path) == ("POST", "/model/eu.example.model-v1%3A0/converse")
    assert json.loads(request.body) == {
        "system": [{"text": "Write one paragraph."}],
        "messages": [{"role": "user", "content": [{"text": '{"title": "Canary blue lamp"}'}]}],
        "inferenceConfig": {"maxTokens": 200},
    }


def test_a_temperature_is_sent_where_the_recipe_has_one(endpoint: StubbedEndpoint, clock: FakeClock) -> None:
    endpoint.will(converse_reply())
    model_of(clock, Recipe("v", "m", 200, temperature=0)).ask(PROMPT)
    assert json.loads(endpoint.requests[0].body)["inferenceConfig"] == {"maxTokens": 200, "temperature": 0}


def test_an_answer_is_read_with_its_reason_and_its_tokens(endpoint: StubbedEndpoint, model: BedrockModel) -> None:
    reasoning = {"reasoningContent": {"reasoningText": {"text": "Let me think."}}}
    endpoint.will(converse_reply(stop_reason="max_tokens", blocks=[reasoning]))
    assert model.ask(PROMPT) == Answer("A quiet week.", "max_tokens", 700, 40)


def test_the_answers_here_are_of_the_form_that_the_service_s_own_model_gives() -> None:
    service: Any = boto3.client("bedrock-runtime", region_name="us-east-1").meta.service_model
    shape = service.operation_model("Converse").output_shape
    assert not ParamValidator().validate(json.loads(converse_reply().body), shape).has_errors()


def test_every_documented_error_is_in_the_table_with_its_status() -> None:
    described = Loader().load_service_model("bedrock-runtime", "service-2")
    named = [error["shape"] for error in described["operations"]["Converse"]["errors"]]
    statuses = {name: described["shapes"][name]["error"]["httpStatusCode"] for name in named}
    assert {code: status for status, code, _ in DOCUMENTED} == statuses


@pytest.mark.parametrize(("status", "code", "spent"), DOCUMENTED)
def test_every_documented_error_is_told_by_its_code(
    endpoint: StubbedEndpoint,
    model: BedrockModel,
    caplog: pytest.LogCaptureFixture,
    status: int,
    code: str,
    *,
    spent: bool,
) -> None:
    endpoint.will(converse_error(code, status))
    error = failure_of(model, caplog)
    assert (error.code, error.spent) == (code, spent)
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (SILENCE, "ReadTimeoutError"),
        (RESET, "ConnectionClosedError"),
        (Reply(200, b"{}", JSON), "UnreadableAnswer"),
        (Reply(200, b"<html>Canary", JSON), "UnreadableAnswer"),
    ],
)
def test_without_an_answer_that_can_be_read_tokens_may_have_been_used(
    endpoint: StubbedEndpoint, model: BedrockModel, caplog: pytest.LogCaptureFixture, reply: Reply, code: str
) -> None:
    endpoint.will(reply)
    began = time.monotonic()
    error = failure_of(model, caplog)
    assert time.monotonic() - began < 2 * TIMEOUT_S
    assert (error.code, error.spent) == (code, True)
    assert len(endpoint.requests) == 1


def test_a_request_that_never_left_has_used_none(
    monkeypatch: pytest.MonkeyPatch,
    endpoint: StubbedEndpoint,  # noqa: ARG001 - sets the environment
    clock: FakeClock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    with refusing_url() as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", url)
        error = failure_of(model_of(clock), caplog)
    assert (error.code, error.spent) == ("EndpointConnectionError", False)


def test_a_model_that_fails_is_left_alone_for_a_minute_and_then_asked_again(
    endpoint: StubbedEndpoint, model: BedrockModel, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    endpoint.will(converse_error("ThrottlingException", 429), converse_reply())
    failure_of(model, caplog)
    clock.advance(RESTS_FOR - timedelta(seconds=1))
    error = failure_of(model, caplog)
    assert (error.code, error.spent) == ("resting", False)
    assert len(endpoint.requests) == 1
    clock.advance(timedelta(seconds=1))
    assert model.ask(PROMPT).text == "A quiet week."
