"""An HTTP worker beside a channel's queue, or in its place: who may push, what it may do, and who hears of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from cfnlint.api import lint  # type: ignore[import-untyped]
from cfnlint.config import ManualArgs  # type: ignore[import-untyped]

from functions import names
from stacks.settings import Target
from tests.infrastructure.alarm_causes import by_function
from tests.infrastructure.alarm_course import alarms_of, comes_and_goes
from tests.infrastructure.templates import Statement, Template, as_list, synthesise

SECRET = "digest/email-jobs"
URL = "AWS::Lambda::Url"
CHANNELS = ("email", "sms", "webhook")
QUEUE_ONLY = {names.ENV_QUEUE_URL}


@pytest.fixture(scope="module")
def pushed(tmp_path_factory: pytest.TempPathFactory) -> Template:
    """The US region with a worker for each channel: emails signed, texts and webhooks by IAM, texts by HTTP only.

    And with the other function URL that is there only where it is asked for: the check's endpoint.
    """
    folder: Path = tmp_path_factory.mktemp("pushed")
    channels = {
        "email": {"http_worker": {"auth": "signature", "signing_secret": SECRET}},
        "sms": {"http_worker": {"auth": "iam", "instead_of_queue": True}},
        "webhook": {"http_worker": {"auth": "iam"}},
    }
    overrides = folder / "overrides.json"
    asked = {"channels": channels, "smoke_endpoint": True}
    overrides.write_text(json.dumps({"regions": {"us": asked}}), encoding="utf-8")
    return synthesise(Target.AWS, folder / "out", overrides=overrides)["us"]


def worker(template: Template, channel: str) -> Mapping[str, Any]:
    return template.function(names.worker_output(channel))


def url(template: Template, channel: str) -> Mapping[str, Any]:
    function = {"Fn::GetAtt": [template.referred(names.worker_output(channel)), "Arn"]}
    (found,) = [each for each in template.properties(URL).values() if each["TargetFunctionArn"] == function]
    return found


def allowed(statements: list[Statement]) -> set[tuple[str, str, str, str]]:
    return {
        (each["Effect"], action, json.dumps(resource), json.dumps(each.get("Condition")))
        for each in statements
        for action in as_list(each["Action"])
        for resource in as_list(each["Resource"])
        if not action.startswith("logs:")
    }


def test_without_being_asked_for_there_is_none(template: Template) -> None:
    assert not [key for key in template.body["Outputs"] if "Worker" in key]
    assert not [each for each in template.properties("AWS::Lambda::Function").values() if "worker" in each["Handler"]]
    for channel in CHANNELS:
        assert template.mapping(channel).get("Enabled", True) is True


def test_whom_nobody_has_let_in_is_asked_for_a_signature(pushed: Template) -> None:
    assert {channel: url(pushed, channel)["AuthType"] for channel in CHANNELS} == {
        "email": "NONE",
        "sms": "AWS_IAM",
        "webhook": "AWS_IAM",
    }
    assert not [channel for channel in CHANNELS if "Cors" in url(pushed, channel)]
    told = {channel: worker(pushed, channel)["Environment"]["Variables"] for channel in CHANNELS}
    assert {channel: told[channel].get(names.ENV_SIGNING_SECRET) for channel in CHANNELS} == {
        "email": SECRET,
        "sms": None,
        "webhook": None,
    }


def test_a_url_of_iam_admits_nobody_by_itself(pushed: Template) -> None:
    for permission in pushed.properties("AWS::Lambda::Permission").values():
        if permission["Principal"] == "*":
            (function_id,) = permission["FunctionName"]["Fn::GetAtt"][:1]
            assert function_id in {
                pushed.referred(names.worker_output("email")),
                pushed.referred(names.OUTPUT_UNSUBSCRIBE_FUNCTION),
                pushed.referred(names.OUTPUT_SMOKE_ENDPOINT_FUNCTION),
            }


@pytest.mark.parametrize("channel", CHANNELS)
def test_a_worker_may_do_what_the_consumer_may_except_for_the_queue(pushed: Template, channel: str) -> None:
    consumer = allowed(pushed.statements_of(pushed.consumer(channel)))
    sends = {one for one in consumer if not one[1].startswith("sqs:")}
    may = allowed(pushed.statements_of(worker(pushed, channel)))
    (signing,) = [one for one in may if SECRET in one[2]] if channel == "email" else [None]
    assert may - {signing} == sends
    assert (signing is None) or (signing[:2] == ("Allow", "secretsmanager:GetSecretValue"))


@pytest.mark.parametrize("channel", CHANNELS)
def test_a_worker_is_told_what_the_consumer_is(pushed: Template, channel: str) -> None:
    consumer = pushed.consumer(channel)["Environment"]["Variables"]
    told = worker(pushed, channel)["Environment"]["Variables"]
    assert {key for key in {*consumer, *told} if consumer.get(key) != told.get(key)} == (
        QUEUE_ONLY | {names.ENV_SIGNING_SECRET} if channel == "email" else QUEUE_ONLY
    )


@pytest.mark.parametrize("channel", CHANNELS)
def test_a_flood_takes_no_more_of_the_account_than_the_queue_would(pushed: Template, channel: str) -> None:
    function = worker(pushed, channel)
    settings = pushed.settings.regions["us"].channels.by_name()[channel]
    assert function["ReservedConcurrentExecutions"] == settings.concurrency
    assert "ReservedConcurrentExecutions" not in pushed.consumer(channel)
    assert function["Timeout"] == settings.timeout_s > settings.send_timeout_s


def test_only_a_channel_that_is_pushed_instead_leaves_its_queue_alone(pushed: Template) -> None:
    assert {channel: pushed.mapping(channel)["Enabled"] for channel in CHANNELS} == {
        "email": True,
        "sms": False,
        "webhook": True,
    }


@pytest.mark.parametrize("channel", CHANNELS)
def test_faults_errors_and_throttles_of_a_worker_are_noticed(pushed: Template, channel: str) -> None:
    function = {"Ref": pushed.referred(names.worker_output(channel))}
    alarms = [
        each
        for each in pushed.properties("AWS::CloudWatch::Alarm").values()
        if function in [dimension["Value"] for dimension in each.get("Dimensions", ())]
    ]
    assert {each["MetricName"]: each["EvaluationPeriods"] for each in alarms} == {
        "Url5xxCount": 3,
        "Errors": 2,
        "Throttles": 3,
    }
    assert names.worker_output(channel) in json.dumps(pushed.properties("AWS::CloudWatch::Dashboard"))


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize(
    ("what", "metric"), [("Faults", "Url5xxCount"), ("Errors", "Errors"), ("Throttles", "Throttles")]
)
def test_the_alarms_of_a_worker_come_and_go(pushed: Template, channel: str, what: str, metric: str) -> None:
    alarm = alarms_of(pushed)[f"{channel.capitalize()}Worker{what}"]
    sent = by_function(metric, names.worker_output(channel))
    comes_and_goes(alarm, sent.while_wrong(pushed), sent.once_mended(pushed))


def test_every_worker_has_a_role_of_its_own_and_a_log_that_ends(pushed: Template) -> None:
    functions = list(pushed.properties("AWS::Lambda::Function").values())
    assert len({str(each["Role"]) for each in functions}) == len(functions)
    groups = pushed.properties("AWS::Logs::LogGroup")
    for channel in CHANNELS:
        group = groups[worker(pushed, channel)["LoggingConfig"]["LogGroup"]["Ref"]]
        assert group["RetentionInDays"] == pushed.settings.regions["us"].retention.logs_days


def test_cloudformation_would_take_the_template(pushed: Template) -> None:
    found = lint(pushed.path.read_text(encoding="utf-8"), config=ManualArgs(regions=["us-east-1"]))
    assert [str(each) for each in found] == []


# --- the endpoint that `digest smoke` has called ---


def test_the_check_s_endpoint_is_there_only_where_it_is_asked_for(template: Template, pushed: Template) -> None:
    assert not [key for key in template.body["Outputs"] if "Smoke" in key]
    assert {key for key in pushed.body["Outputs"] if "Smoke" in key} == {
        names.OUTPUT_SMOKE_ENDPOINT_FUNCTION,
        names.OUTPUT_SMOKE_ENDPOINT_URL,
    }


def test_the_check_s_endpoint_may_read_one_customer_and_note_arrivals_and_nothing_else(pushed: Template) -> None:
    function = pushed.function(names.OUTPUT_SMOKE_ENDPOINT_FUNCTION)
    found = {
        (action, json.dumps(each["Condition"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]))
        for each in pushed.statements_of(function)
        for action in as_list(each["Action"])
        if not action.startswith("logs:")
    }
    assert found == {("dynamodb:GetItem", '["smoke-webhook"]'), ("dynamodb:UpdateItem", '["smoke#*"]')}
