"""A region whose digests a model summarises, and one where none does: what its functions know, and may do."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from functions import names
from functions.adapters.environment import ConsumerEnvironment
from functions.core.identity import Channel
from stacks.settings import Target
from tests.fakes.environment import ENVIRONMENT, channel_environment
from tests.infrastructure.templates import Statement, Template, as_list, synthesise

SUMMARY = {
    "prompt_version": "weekly-summary-v1",
    "tokens_per_digest": 4000,
    "tokens_per_period": 5_000_000,
    "timeout_s": 2,
}
PROFILE, MODEL = "us.amazon.nova-lite-v1:0", "amazon.nova-lite-v1:0"


@pytest.fixture(scope="module")
def regions(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Template]:
    """In the US an inference profile, in the EU a model of the region itself; a worker beside each email queue."""
    folder = tmp_path_factory.mktemp("summaries")
    overrides = {
        "regions": {
            name: {"summary": {**SUMMARY, "model_id": model}, "channels": {"email": {"http_worker": {"auth": "iam"}}}}
            for name, model in (("us", PROFILE), ("eu", MODEL))
        }
    }
    path = folder / "overrides.json"
    path.write_text(json.dumps(overrides), encoding="utf-8")
    return synthesise(Target.AWS, folder / "out", overrides=path)


def asking(template: Template, function: Mapping[str, Any]) -> list[Statement]:
    return [each for each in template.statements_of(function) if "bedrock:" in str(each["Action"])]


def sending_emails(template: Template) -> list[Mapping[str, Any]]:
    return [template.consumer("email"), template.function(names.worker_output("email"))]


def in_words(arn: Any) -> str:
    return arn if isinstance(arn, str) else "".join(one if isinstance(one, str) else "*" for one in arn["Fn::Join"][1])


def test_who_sends_emails_is_told_how_digests_are_summarised_in_words_it_understands(
    regions: Mapping[str, Template],
) -> None:
    for function in sending_emails(regions["us"]):
        told = function["Environment"]["Variables"][names.ENV_SUMMARY]
        environment = ENVIRONMENT | channel_environment(Channel.EMAIL) | {names.ENV_SUMMARY: told}
        options = ConsumerEnvironment.load(environment).summary
        assert options is not None
        assert (options.model_id, options.max_output_tokens, options.temperature) == (PROFILE, 300, None)
        assert (options.tokens_per_digest, options.tokens_per_period, options.timeout_s) == (4000, 5_000_000, 2)


def test_a_model_of_the_region_may_be_asked_and_no_other(regions: Mapping[str, Template]) -> None:
    for function in sending_emails(regions["eu"]):
        (statement,) = asking(regions["eu"], function)
        assert statement["Action"] == "bedrock:InvokeModel"
        assert in_words(statement["Resource"]) == f"arn:aws:bedrock:eu-west-1::foundation-model/{MODEL}"
        assert "Condition" not in statement


def test_the_model_behind_a_profile_may_be_asked_through_that_profile_only(regions: Mapping[str, Template]) -> None:
    for function in sending_emails(regions["us"]):
        profile, model = asking(regions["us"], function)
        assert in_words(profile["Resource"]) == f"arn:aws:bedrock:us-east-1:*:inference-profile/{PROFILE}"
        assert in_words(model["Resource"]) == f"arn:aws:bedrock:us-*::foundation-model/{MODEL}"
        assert model["Condition"] == {"StringEquals": {"bedrock:InferenceProfileArn": profile["Resource"]}}


def test_what_a_model_wrote_may_be_kept_with_the_customer(regions: Mapping[str, Template]) -> None:
    for template in regions.values():
        customers = {"Fn::GetAtt": [template.referred(names.OUTPUT_CUSTOMERS_TABLE), "Arn"]}
        for function in sending_emails(template):
            (statement,) = [each for each in template.statements_of(function) if each["Resource"] == customers]
            assert {"dynamodb:ConditionCheckItem", "dynamodb:PutItem"} <= set(statement["Action"])


def test_nobody_else_may_ask_a_model(regions: Mapping[str, Template]) -> None:
    for template in regions.values():
        of_emails = [as_list(each["Role"]["Fn::GetAtt"])[0] for each in sending_emails(template)]
        for function in template.properties("AWS::Lambda::Function").values():
            if function["Role"]["Fn::GetAtt"][0] not in of_emails:
                assert not asking(template, function)
                assert names.ENV_SUMMARY not in function["Environment"]["Variables"]


def test_where_summaries_are_not_set_nobody_may_ask_a_model(template: Template) -> None:
    for function in template.properties("AWS::Lambda::Function").values():
        assert not asking(template, function)
        assert names.ENV_SUMMARY not in function["Environment"]["Variables"]


def test_the_dashboard_draws_summaries_where_there_are_any(regions: Mapping[str, Template], template: Template) -> None:
    for summarised in regions.values():
        drawn = json.dumps(summarised.properties("AWS::CloudWatch::Dashboard"))
        assert names.METRIC_SUMMARIES in drawn
        assert names.METRIC_SUMMARY_OUTPUT_TOKENS in drawn
    assert names.METRIC_SUMMARIES not in json.dumps(template.properties("AWS::CloudWatch::Dashboard"))
