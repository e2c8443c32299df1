"""Custom widgets of the dashboards: who may look, who may act, and what each of the two functions can do at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from functions import names
from tests.infrastructure.templates import Template, as_list

READING = {
    "dynamodb:Query",
    "dynamodb:GetItem",
    "dynamodb:BatchGetItem",
    "dynamodb:Scan",
    "sqs:GetQueueAttributes",
    # Looking into a queue, and giving back what was looked at.
    "sqs:ReceiveMessage",
    "sqs:ChangeMessageVisibility",
    "logs:CreateLogStream",
    "logs:PutLogEvents",
}
ACTING = {"dynamodb:UpdateItem", "dynamodb:PutItem", "sqs:SendMessage"}


def allowed(template: Template, output: str) -> dict[str, list[Any]]:
    """Resources by action, of the role of the function that an output names."""
    found: dict[str, list[Any]] = {}
    for statement in template.statements_of(template.function(output)):
        for action in as_list(statement["Action"]):
            found.setdefault(action, []).extend(as_list(statement["Resource"]))
    return found


def test_the_function_that_draws_can_change_nothing(template: Template) -> None:
    assert set(allowed(template, names.OUTPUT_WIDGETS_FUNCTION)) == READING


def test_looking_receives_from_dead_letter_queues_only(template: Template, channel: str) -> None:
    received = allowed(template, names.OUTPUT_WIDGETS_FUNCTION)["sqs:ReceiveMessage"]
    assert {"Fn::GetAtt": [template.referred(names.dead_letter_queue_output(channel)), "Arn"]} in received
    assert {"Fn::GetAtt": [template.referred(names.queue_output(channel)), "Arn"]} not in received
    assert len(received) == len(template.settings.regions[template.data_region].channels.by_name())


def test_the_function_behind_the_buttons_changes_rows_and_gates_and_reads_no_more_than_the_other(
    template: Template,
) -> None:
    acting = allowed(template, names.OUTPUT_OPERATE_FUNCTION)
    assert set(acting) == READING | ACTING
    customers = json.dumps(template.referred(names.OUTPUT_CUSTOMERS_TABLE))
    changes = [acting[action] for action in ("dynamodb:UpdateItem", "dynamodb:PutItem")]
    assert customers not in json.dumps(changes)


def test_a_reader_s_policy_lets_look_and_an_operator_s_act_too(template: Template) -> None:
    drawing, acting = (template.referred(one) for one in (names.OUTPUT_WIDGETS_FUNCTION, names.OUTPUT_OPERATE_FUNCTION))
    assert may_invoke(template, names.OUTPUT_READERS_POLICY) == {drawing}
    assert may_invoke(template, names.OUTPUT_OPERATORS_POLICY) == {drawing, acting}


def test_every_widget_is_drawn_by_the_function_that_only_reads_and_none_is_taken_from_under_a_reader(
    template: Template,
) -> None:
    drawn = custom_widgets(template)
    assert {one["properties"]["params"]["widget"] for one in drawn} == {
        names.WIDGET_DUE,
        names.WIDGET_ATTENTION,
        names.WIDGET_STORY,
        names.WIDGET_DEAD_LETTERS,
        names.WIDGET_CHANNELS,
    }
    function = template.referred(names.OUTPUT_WIDGETS_FUNCTION)
    assert {one["properties"]["endpoint"] for one in drawn} == {f"<{function}.Arn>"}
    refreshed = [one["properties"]["params"]["widget"] for one in drawn if one["properties"]["updateOn"]["refresh"]]
    assert refreshed == [names.WIDGET_DUE]  # nobody types anything there


def test_the_pages_name_the_functions_that_their_buttons_call(template: Template) -> None:
    drawing, acting = (template.function(one) for one in (names.OUTPUT_WIDGETS_FUNCTION, names.OUTPUT_OPERATE_FUNCTION))
    assert drawing["Environment"]["Variables"][names.ENV_OPERATE_FUNCTION] == arn(
        template, names.OUTPUT_OPERATE_FUNCTION
    )
    back = json.dumps(acting["Environment"]["Variables"][names.ENV_WIDGETS_FUNCTION])
    assert f":function:{drawing['FunctionName']}" in back


def arn(template: Template, output: str) -> Mapping[str, Any]:
    return {"Fn::GetAtt": [template.referred(output), "Arn"]}


def may_invoke(template: Template, output: str) -> set[str]:
    """Functions that the policy lets somebody invoke, which is all that it lets them do."""
    policy = template.properties("AWS::IAM::ManagedPolicy")[template.referred(output)]
    (statement,) = policy["PolicyDocument"]["Statement"]
    assert (statement["Action"], statement["Effect"]) == ("lambda:InvokeFunction", "Allow")
    return {resource["Fn::GetAtt"][0] for resource in as_list(statement["Resource"])}


def custom_widgets(template: Template) -> list[Mapping[str, Any]]:
    bodies = (board["DashboardBody"] for board in template.properties("AWS::CloudWatch::Dashboard").values())
    widgets = [one for body in bodies for one in json.loads(as_text(body))["widgets"]]
    return [one for one in widgets if one["type"] == "custom"]


def as_text(body: Any) -> str:
    """A body whose references are names: `<logical id.attribute>`."""
    parts = body["Fn::Join"][1]
    return "".join(part if isinstance(part, str) else f"<{_named(part)}>" for part in parts)


def _named(reference: Mapping[str, Any]) -> str:
    return ".".join(reference["Fn::GetAtt"]) if "Fn::GetAtt" in reference else str(reference["Ref"])
