"""Functions that may do what they do and no more, and whose logs neither live for ever nor tell of people."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from typing import Any

from functions import names
from tests.infrastructure.templates import Template, as_list

FUNCTION = "AWS::Lambda::Function"


def functions(template: Template) -> list[Mapping[str, Any]]:
    return list(template.properties(FUNCTION).values())


def actions_on(template: Template, function: Mapping[str, Any], service: str) -> set[str]:
    statements = [each for each in template.statements_of(function) if each["Effect"] == "Allow"]
    allowed = {action for each in statements for action in as_list(each["Action"])}
    return {action for action in allowed if action.startswith(f"{service}:")}


def test_every_function_writes_to_a_log_that_ends(template: Template) -> None:
    groups = template.properties("AWS::Logs::LogGroup")
    for function in functions(template):
        group = groups[function["LoggingConfig"]["LogGroup"]["Ref"]]
        assert group["RetentionInDays"] == template.settings.regions[template.data_region].retention.logs_days


def test_a_function_may_write_to_its_own_log_only(template: Template) -> None:
    for function in functions(template):
        own = {"Fn::GetAtt": [function["LoggingConfig"]["LogGroup"]["Ref"], "Arn"]}
        logging = [each for each in template.statements_of(function) if "logs:" in str(each["Action"])]
        assert [each["Resource"] for each in logging] == [own]


def test_nothing_is_deployed_by_code_that_runs_in_the_deployment(template: Template) -> None:
    types = {each["Type"] for each in template.body["Resources"].values()}
    assert not [each for each in types if each.startswith("Custom::") or each == "AWS::CloudFormation::CustomResource"]
    assert len(functions(template)) == len({each["Handler"] for each in functions(template)})


def test_every_handler_is_there(template: Template) -> None:
    for function in functions(template):
        module, _, name = function["Handler"].rpartition(".")
        assert name == "handler"
        assert importlib.util.find_spec(module)


def test_functions_run_on_arm_and_the_python_that_their_code_was_bundled_for(template: Template) -> None:
    assert {(each["Runtime"], *each["Architectures"]) for each in functions(template)} == {("python3.14", "arm64")}


def test_no_two_functions_share_a_role(template: Template) -> None:
    roles = [str(each["Role"]) for each in functions(template)]
    assert len(set(roles)) == len(roles)


def test_no_role_grows_when_aws_changes_a_policy(template: Template) -> None:
    for role in template.properties("AWS::IAM::Role").values():
        assert "ManagedPolicyArns" not in role
    for policy in template.properties("AWS::IAM::ManagedPolicy").values():
        assert not {"Roles", "Users", "Groups"} & set(policy)  # for people; the account's owner gives them out


def test_no_role_may_do_anything_by_a_wildcard(template: Template) -> None:
    for statement in template.role_statements():
        assert not [action for action in as_list(statement["Action"]) if "*" in action]
        if statement["Effect"] == "Allow" and "*" in as_list(statement["Resource"]):
            assert statement["Action"] == "sns:Publish"  # a phone number has no ARN


def test_no_event_with_people_s_data_is_logged_and_no_duplicate_let_through(template: Template) -> None:
    for function in functions(template):
        variables = function["Environment"]["Variables"]
        assert "POWERTOOLS_LOGGER_LOG_EVENT" not in variables
        assert "POWERTOOLS_IDEMPOTENCY_DISABLED" not in variables
        assert "POWERTOOLS_DEV" not in variables
        assert variables["POWERTOOLS_LOG_LEVEL"] == "INFO"


def test_metrics_of_every_function_are_told_under_one_service(template: Template) -> None:
    told = {
        (variables["POWERTOOLS_SERVICE_NAME"], variables["POWERTOOLS_METRICS_NAMESPACE"], variables["DATA_REGION"])
        for variables in (function["Environment"]["Variables"] for function in functions(template))
    }
    assert told == {(names.SERVICE, names.METRICS_NAMESPACE, template.data_region)}


def test_the_email_consumer_sends_as_its_sender_and_as_nobody_else(template: Template) -> None:
    statements = template.statements_of(template.consumer("email"))
    sender = template.settings.regions[template.data_region].channels.email.sender
    (sends,) = [each for each in statements if "ses:SendEmail" in as_list(each["Action"])]
    assert sends["Condition"] == {"StringEquals": {"ses:FromAddress": sender}}
    identities = [resource["Fn::Join"][1][-1] for resource in sends["Resource"]]
    configuration_set = {"Ref": next(iter(template.of_type("AWS::SES::ConfigurationSet")))}
    assert len(identities) == 3
    for identity in (f":identity/{sender}", f":identity/{sender.split('@')[1]}", configuration_set):
        assert identity in identities


def test_the_sms_consumer_writes_to_phones_and_never_to_a_topic(template: Template) -> None:
    statements = template.statements_of(template.consumer("sms"))
    publishing = {each["Effect"]: each["Resource"] for each in statements if each["Action"] == "sns:Publish"}
    assert publishing == {"Allow": "*", "Deny": "arn:aws:sns:*:*:*"}


def test_a_channel_s_consumer_cannot_send_through_another_channel(template: Template) -> None:
    assert not actions_on(template, template.consumer("email"), "sns")
    assert not actions_on(template, template.consumer("sms"), "ses")


def test_a_consumer_reads_rows_by_their_key_and_asks_no_index(template: Template, channel: str) -> None:
    statements = template.statements_of(template.consumer(channel))
    assert not [each for each in statements if "/index/" in str(each["Resource"])]


def test_planner_and_reconciler_send_nothing_to_people(template: Template) -> None:
    for output in (names.OUTPUT_PLANNER_FUNCTION, names.OUTPUT_RECONCILER_FUNCTION):
        function = template.function(output)
        assert not actions_on(template, function, "ses") | actions_on(template, function, "sns")


def test_the_planner_finds_what_is_due_by_its_index_and_scans_nothing(template: Template) -> None:
    statements = template.statements_of(template.function(names.OUTPUT_PLANNER_FUNCTION))
    (query,) = [each for each in statements if "dynamodb:Query" in as_list(each["Action"])]
    assert query["Resource"]["Fn::Join"][1][-1] == f"/index/{names.DUE_INDEX}"
    assert "dynamodb:Scan" not in actions_on(template, template.function(names.OUTPUT_PLANNER_FUNCTION), "dynamodb")


def test_nobody_deletes_what_was_written(template: Template) -> None:
    for function in functions(template):
        deleting = {"dynamodb:DeleteItem", "dynamodb:BatchWriteItem", "dynamodb:DeleteTable"}
        assert not actions_on(template, function, "dynamodb") & deleting


def test_the_silence_that_publishes_again_is_longer_than_a_message_is_hidden(template: Template) -> None:
    variables = template.function(names.OUTPUT_RECONCILER_FUNCTION)["Environment"]["Variables"]
    hidden_s = max(template.queue(channel)["VisibilityTimeout"] for channel in ("email", "sms", "webhook"))
    assert int(variables[names.ENV_SILENCE_AFTER_S]) > hidden_s


def test_only_consumers_that_learn_of_customers_write_about_them_and_webhooks_go_through_no_service(
    template: Template,
) -> None:
    customers = template.referred(names.OUTPUT_CUSTOMERS_TABLE)
    writing = {
        channel: [
            each
            for each in template.statements_of(template.consumer(channel))
            if "dynamodb:UpdateItem" in as_list(each["Action"]) and customers in str(each["Resource"])
        ]
        for channel in ("email", "sms", "webhook")
    }
    # A texts' provider knows who said STOP to it, and an endpoint whether it is still there.
    assert [channel for channel, statements in writing.items() if statements] == ["sms", "webhook"]
    webhook = template.consumer("webhook")
    for service in ("ses", "sns", "sms-voice", "secretsmanager"):
        assert not actions_on(template, webhook, service)


def test_the_webhook_consumer_is_told_when_an_endpoint_has_failed_for_too_long(template: Template) -> None:
    told = {
        channel: template.consumer(channel)["Environment"]["Variables"].get(names.ENV_DISABLE_AFTER_S)
        for channel in ("email", "sms", "webhook")
    }
    assert told == {"email": None, "sms": None, "webhook": str(5 * 86_400)}
