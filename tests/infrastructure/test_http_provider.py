"""A region whose emails go out through an HTTP provider: what its functions know of it, and may do for it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from functions import names
from functions.adapters.providers.http_email import HttpEmailOptions
from functions.core.outcome import Dedupe
from stacks.settings import Target
from tests.infrastructure.templates import Statement, Template, as_list, synthesise

OPTIONS = {
    "url": "https://api.mail.example",
    "api_key_secret": "digest/email-api-key",
    "key_window_s": 86_400,
    "lookup_window_s": 0,
}
ASKABLE = {**OPTIONS, "api_key_secret": "digest/email-api-key-of-eu", "lookup_window_s": 3600}


@pytest.fixture(scope="module")
def regions(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Template]:
    """In the US a provider that only remembers keys, in the EU one that can be asked about them too."""
    folder = tmp_path_factory.mktemp("http")
    overrides = {
        "regions": {
            name: {
                "channels": {"email": {"provider": "http", "provider_options": options}},
                "allowed_hosts": ["api.mail.example"],
            }
            for name, options in (("us", OPTIONS), ("eu", ASKABLE))
        }
    }
    path = folder / "overrides.json"
    path.write_text(json.dumps(overrides), encoding="utf-8")
    return synthesise(Target.AWS, folder / "out", overrides=path)


def reading_secrets(template: Template, function: Mapping[str, Any]) -> list[Statement]:
    return [each for each in template.statements_of(function) if "secretsmanager:" in str(each["Action"])]


def api_keys_read(template: Template, function: Mapping[str, Any]) -> list[Any]:
    """Secrets that a function may read which the stack has not made itself."""
    resources = [one for each in reading_secrets(template, function) for one in as_list(each["Resource"])]
    return [one["Fn::Join"][1] for one in resources if "Fn::Join" in one]


def reconciler(template: Template) -> Mapping[str, Any]:
    return template.function(names.OUTPUT_RECONCILER_FUNCTION)


def variables(function: Mapping[str, Any]) -> Mapping[str, str]:
    told: Mapping[str, str] = function["Environment"]["Variables"]
    return told


def test_consumer_and_reconciler_are_told_of_the_provider_in_words_they_understand(
    regions: Mapping[str, Template],
) -> None:
    for name, dedupe in (("us", Dedupe.WINDOW), ("eu", Dedupe.LOOKUP)):
        consumer, other = variables(regions[name].consumer("email")), variables(reconciler(regions[name]))
        assert consumer[names.ENV_PROVIDER] == other[names.provider_env("email")] == "http"
        told = consumer[names.ENV_PROVIDER_OPTIONS]
        assert told == other[names.provider_options_env("email")]
        assert HttpEmailOptions.model_validate_json(told).guarantee.dedupe is dedupe


def test_the_consumer_reads_one_secret_and_sends_through_ses_no_more(regions: Mapping[str, Template]) -> None:
    for template in regions.values():
        consumer = template.consumer("email")
        (key,) = api_keys_read(template, consumer)
        secret = json.loads(variables(consumer)[names.ENV_PROVIDER_OPTIONS])["api_key_secret"]
        assert {each["Action"] for each in reading_secrets(template, consumer)} == {"secretsmanager:GetSecretValue"}
        assert key[-1] == f":secret:{secret}-??????"
        assert "ses:" not in str(template.statements_of(consumer))


def test_the_secret_of_one_region_is_looked_for_in_that_region_only(regions: Mapping[str, Template]) -> None:
    for name, region in (("us", "us-east-1"), ("eu", "eu-west-1")):
        (key,) = api_keys_read(regions[name], regions[name].consumer("email"))
        assert key[0] == f"arn:aws:secretsmanager:{region}:"


def test_the_reconciler_reads_the_key_only_of_a_provider_that_it_can_ask(regions: Mapping[str, Template]) -> None:
    assert not reading_secrets(regions["us"], reconciler(regions["us"]))
    (reading,) = reading_secrets(regions["eu"], reconciler(regions["eu"]))
    assert reading["Action"] == "secretsmanager:GetSecretValue"


def test_nobody_else_reads_a_secret(regions: Mapping[str, Template]) -> None:
    for template in regions.values():
        for output in (names.OUTPUT_PLANNER_FUNCTION, names.consumer_output("sms")):
            assert not reading_secrets(template, template.function(output))


def test_no_api_key_stands_in_a_template(regions: Mapping[str, Template]) -> None:
    for template in regions.values():
        secrets = template.properties("AWS::SecretsManager::Secret").values()
        assert {tuple(each) for each in secrets} == {("Description", "GenerateSecretString")}
        assert "resolve:secretsmanager" not in json.dumps(template.body)


def test_with_ses_no_function_reads_a_secret_that_the_stack_has_not_made(template: Template) -> None:
    for function in template.properties("AWS::Lambda::Function").values():
        assert not api_keys_read(template, function)
    assert names.ENV_PROVIDER_OPTIONS not in variables(template.consumer("sms"))
