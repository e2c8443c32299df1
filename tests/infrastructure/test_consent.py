"""What keeps a deployment from writing at night, to somebody who wants nothing, and to anybody who is not meant."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from functions import names
from functions.core.keyring import FIRST, SHORTEST
from tests.infrastructure.templates import Statement, Template, as_list


def variables(function: Mapping[str, Any]) -> Mapping[str, Any]:
    told: Mapping[str, Any] = function["Environment"]["Variables"]
    return told


def allowed(template: Template, output: str) -> dict[str, list[Statement]]:
    """What a function may do, by action."""
    by_action: dict[str, list[Statement]] = {}
    for statement in template.statements_of(template.function(output)):
        for action in as_list(statement["Action"]):
            by_action.setdefault(action, []).append(statement)
    return by_action


def customers(template: Template) -> dict[str, list[str]]:
    return {"Fn::GetAtt": [template.referred(names.OUTPUT_CUSTOMERS_TABLE), "Arn"]}


def test_every_consumer_is_told_when_to_keep_quiet_and_whom_it_may_write_to(template: Template) -> None:
    told = {
        channel: {
            name: variables(template.consumer(channel))[name] for name in (names.ENV_QUIET_HOURS, names.ENV_RECIPIENTS)
        }
        for channel in ("email", "sms", "webhook")
    }
    assert told == {
        "email": {names.ENV_QUIET_HOURS: "", names.ENV_RECIPIENTS: "null"},
        "sms": {names.ENV_QUIET_HOURS: "21:00-08:00", names.ENV_RECIPIENTS: "null"},
        "webhook": {names.ENV_QUIET_HOURS: "", names.ENV_RECIPIENTS: "null"},
    }


# --- leaving by a link ---


def test_every_email_can_have_a_link_that_leads_to_the_page(template: Template) -> None:
    email, sms = variables(template.consumer("email")), variables(template.consumer("sms"))
    assert email[names.ENV_UNSUBSCRIBE_URL] == template.output(names.OUTPUT_UNSUBSCRIBE_URL)
    assert names.ENV_UNSUBSCRIBE_URL not in sms


def test_links_are_checked_with_the_keys_that_signed_them(template: Template) -> None:
    page = variables(template.function(names.OUTPUT_UNSUBSCRIBE_FUNCTION))
    email = variables(template.consumer("email"))
    keys = {"Fn::GetAtt": [template.referred(names.OUTPUT_UNSUBSCRIBE_KEYS), "Id"]}
    assert page[names.ENV_UNSUBSCRIBE_KEYS] == email[names.ENV_UNSUBSCRIBE_KEYS] == keys


def test_anybody_may_leave_without_an_account_by_the_page_s_own_address_only(template: Template) -> None:
    page = {"Fn::GetAtt": [template.referred(names.OUTPUT_UNSUBSCRIBE_FUNCTION), "Arn"]}
    (url,) = [each for each in template.properties("AWS::Lambda::Url").values() if each["TargetFunctionArn"] == page]
    assert url == {"AuthType": "NONE", "TargetFunctionArn": page}  # and no CORS: no other site's script may post
    permissions = [
        each for each in template.properties("AWS::Lambda::Permission").values() if each["FunctionName"] == page
    ]
    assert {each["Action"] for each in permissions} == {"lambda:InvokeFunctionUrl", "lambda:InvokeFunction"}
    for each in permissions:
        assert each.get("FunctionUrlAuthType") == "NONE" or each.get("InvokedViaFunctionUrl") is True


def test_the_page_can_change_consent_and_nothing_else_and_read_nobody(template: Template) -> None:
    may = allowed(template, names.OUTPUT_UNSUBSCRIBE_FUNCTION)
    assert set(may) == {
        "logs:CreateLogStream",
        "logs:PutLogEvents",
        "dynamodb:UpdateItem",
        "secretsmanager:GetSecretValue",
    }
    (update,) = may["dynamodb:UpdateItem"]
    assert update["Resource"] == customers(template)
    attributes = update["Condition"]["ForAllValues:StringEquals"]["dynamodb:Attributes"]
    assert attributes == [
        names.CUSTOMER_ID,
        names.RECORD,
        *names.CONSENT_ATTRIBUTES,
        *names.LEFT_ATTRIBUTES,
    ]
    assert update["Condition"]["StringEqualsIfExists"] == {"dynamodb:ReturnValues": ["NONE"]}


@pytest.mark.parametrize("output", [names.OUTPUT_UNSUBSCRIBE_KEYS, names.OUTPUT_NUMBER_KEYS, names.OUTPUT_OPT_OUT_KEYS])
def test_keys_are_drawn_by_aws_long_enough_and_outlive_the_stack(template: Template, output: str) -> None:
    secret = template.of_type("AWS::SecretsManager::Secret")[template.referred(output)]
    drawn = secret["Properties"]["GenerateSecretString"]
    assert (json.loads(drawn["SecretStringTemplate"]), drawn["GenerateStringKey"]) == ({}, FIRST)
    assert drawn["PasswordLength"] >= SHORTEST
    assert secret["DeletionPolicy"] == "Retain"


def test_each_function_reads_only_the_keys_it_needs(template: Template) -> None:
    readers: dict[str, set[str]] = {}
    for function_id, function in template.properties("AWS::Lambda::Function").items():
        for statement in template.statements_of(function):
            if statement["Action"] == "secretsmanager:GetSecretValue":
                for resource in as_list(statement["Resource"]):
                    readers.setdefault(resource["Fn::GetAtt"][0], set()).add(function_id)
    assert readers == {
        template.referred(names.OUTPUT_UNSUBSCRIBE_KEYS): {
            template.referred(names.OUTPUT_UNSUBSCRIBE_FUNCTION),
            template.referred(names.consumer_output("email")),
        },
        template.referred(names.OUTPUT_NUMBER_KEYS): {template.referred(names.OUTPUT_INBOUND_FUNCTION)},
        template.referred(names.OUTPUT_OPT_OUT_KEYS): {
            template.referred(names.OUTPUT_UNSUBSCRIBE_FUNCTION),
            template.referred(names.OUTPUT_INBOUND_FUNCTION),
        },
    }


def test_people_who_cannot_leave_raise_an_alarm(template: Template) -> None:
    page = {"Ref": template.referred(names.OUTPUT_UNSUBSCRIBE_FUNCTION)}
    watched = {
        alarm["MetricName"]
        for alarm in template.properties("AWS::CloudWatch::Alarm").values()
        if alarm.get("Dimensions") == [{"Name": "FunctionName", "Value": page}]
    }
    assert watched == {"Url5xxCount", "Errors", "Throttles"}


# --- leaving by STOP ---


def test_the_inbound_queue_takes_what_our_topic_sends_and_nothing_else(template: Template) -> None:
    queue = template.referred(names.OUTPUT_INBOUND_QUEUE)
    topic = {"Ref": template.referred(names.OUTPUT_INBOUND_TOPIC)}
    statements = [
        statement
        for policy in template.properties("AWS::SQS::QueuePolicy").values()
        if policy["Queues"] == [{"Ref": queue}]
        for statement in policy["PolicyDocument"]["Statement"]
        if statement["Effect"] == "Allow"
    ]
    assert [each["Principal"] for each in statements] == [{"Service": "sns.amazonaws.com"}]
    assert [each["Condition"] for each in statements] == [{"ArnEquals": {"aws:SourceArn": topic}}]
    (subscription,) = [
        each for each in template.properties("AWS::SNS::Subscription").values() if each["TopicArn"] == topic
    ]
    assert subscription["Endpoint"] == {"Fn::GetAtt": [queue, "Arn"]}
    assert subscription["RawMessageDelivery"] is True
    assert "FilterPolicy" not in subscription


def test_only_our_own_numbers_publish_texts_and_can_encrypt_them(template: Template) -> None:
    topic_id = template.referred(names.OUTPUT_INBOUND_TOPIC)
    key_id = template.properties("AWS::SNS::Topic")[topic_id]["KmsMasterKeyId"]["Fn::GetAtt"][0]
    key = template.properties("AWS::KMS::Key")[key_id]
    (policy,) = [
        each for each in template.properties("AWS::SNS::TopicPolicy").values() if each["Topics"] == [{"Ref": topic_id}]
    ]
    statements = [*key["KeyPolicy"]["Statement"], *policy["PolicyDocument"]["Statement"]]
    ours = [each for each in statements if each["Principal"] == {"Service": "sms-voice.amazonaws.com"}]
    assert {action for each in ours for action in as_list(each["Action"])} == {
        "sns:Publish",
        "kms:Decrypt",
        "kms:GenerateDataKey*",
    }
    for each in ours:
        assert each["Condition"]["StringEquals"] == {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}
        assert ":sms-voice:" in json.dumps(each["Condition"]["ArnLike"])
    admitted = [each for each in statements if each["Effect"] == "Allow" and each not in ours]
    assert {json.dumps(each["Action"]) for each in admitted} == {'"kms:*"'}  # the account itself, of its own key


def test_the_listener_finds_people_by_the_index_and_reads_no_profile(template: Template) -> None:
    may = allowed(template, names.OUTPUT_INBOUND_FUNCTION)
    assert {action for action in may if action.startswith("dynamodb:")} == {"dynamodb:Query", "dynamodb:UpdateItem"}
    (query,) = may["dynamodb:Query"]
    assert query["Resource"]["Fn::Join"][1][-1] == f"/index/{names.NUMBER_INDEX}"
    assert not [action for action in may if action.startswith(("sns:", "ses:", "sms-voice:"))]


def test_every_receive_of_a_text_but_the_first_has_its_pause(template: Template) -> None:
    function = template.function(names.OUTPUT_INBOUND_FUNCTION)
    queue = template.properties("AWS::SQS::Queue")[template.referred(names.OUTPUT_INBOUND_QUEUE)]
    pauses = variables(function)[names.ENV_BACKOFF_S].split(",")
    assert len(pauses) == queue["RedrivePolicy"]["maxReceiveCount"] - 1
    assert queue["VisibilityTimeout"] >= 6 * function["Timeout"]
    assert sum(int(pause) for pause in pauses) < queue["MessageRetentionPeriod"]


def test_a_text_that_nobody_could_work_on_raises_an_alarm(template: Template) -> None:
    dead_letters = {
        "Fn::GetAtt": [template.referred(names.OUTPUT_INBOUND_DEAD_LETTER_QUEUE), "QueueName"],
    }
    watched = [
        alarm["MetricName"]
        for alarm in template.properties("AWS::CloudWatch::Alarm").values()
        if alarm.get("Dimensions") == [{"Name": "QueueName", "Value": dead_letters}]
    ]
    assert sorted(watched) == ["ApproximateAgeOfOldestMessage", "ApproximateNumberOfMessagesVisible"]
