"""Schedules: fired in a stated zone, handing over their time, tried a few times, and noticed when they fail."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from functions import names
from stacks.settings import Target
from tests.infrastructure.templates import Template, synthesise

FUNCTION_OF = {
    names.OUTPUT_PLANNER_SCHEDULE: names.OUTPUT_PLANNER_FUNCTION,
    names.OUTPUT_RECONCILER_SCHEDULE: names.OUTPUT_RECONCILER_FUNCTION,
}


@pytest.fixture(params=sorted(FUNCTION_OF))
def wakeup(request: pytest.FixtureRequest) -> str:
    """Output that names a schedule."""
    output: str = request.param
    return output


@pytest.fixture(scope="module")
def side_by_side(tmp_path_factory: pytest.TempPathFactory) -> Template:
    """A region whose planner is woken three times at once."""
    folder = tmp_path_factory.mktemp("parallel")
    overrides = folder / "overrides.json"
    overrides.write_text(json.dumps({"regions": {"us": {"planner": {"parallel": 3}}}}), encoding="utf-8")
    return synthesise(Target.AWS, folder / "cdk.out", overrides=overrides)["us"]


def schedule(template: Template, wakeup: str) -> Mapping[str, Any]:
    return template.properties("AWS::Scheduler::Schedule")[template.referred(wakeup)]


def handed_over(template: Template, wakeup: str) -> dict[str, Any]:
    event: dict[str, Any] = json.loads(schedule(template, wakeup)["Target"]["Input"])
    return event


def interval_s(template: Template, wakeup: str) -> int:
    region = template.settings.regions[template.data_region]
    return (region.planner if wakeup == names.OUTPUT_PLANNER_SCHEDULE else region.reconciler).interval_s


def delivery_dead_letter_queues(template: Template) -> set[str]:
    return {template.referred(names.dead_letter_queue_output(channel)) for channel in ("email", "sms", "webhook")}


def test_a_change_of_the_clocks_moves_no_wake_up(template: Template, wakeup: str) -> None:
    assert schedule(template, wakeup)["ScheduleExpressionTimezone"] == "Etc/UTC"
    rules = template.properties("AWS::Events::Rule").values()
    assert not [each for each in rules if "ScheduleExpression" in each]


def test_a_wake_up_comes_on_the_minute(template: Template, wakeup: str) -> None:
    assert schedule(template, wakeup)["FlexibleTimeWindow"] == {"Mode": "OFF"}
    assert schedule(template, wakeup)["ScheduleExpression"].startswith("cron(")


def test_a_late_invocation_still_works_for_the_time_it_was_scheduled_for(template: Template, wakeup: str) -> None:
    assert handed_over(template, wakeup)["scheduled_time"] == "<aws.scheduler.scheduled-time>"


def test_every_shard_is_planned_by_exactly_one_schedule(template: Template) -> None:
    shards = handed_over(template, names.OUTPUT_PLANNER_SCHEDULE)["shards"]
    assert shards == list(range(int(template.output(names.OUTPUT_SHARDS))))


def test_wake_ups_side_by_side_share_the_shards(side_by_side: Template) -> None:
    (_, names_of) = side_by_side.output(names.OUTPUT_PLANNER_SCHEDULE)["Fn::Join"]
    schedules = side_by_side.properties("AWS::Scheduler::Schedule")
    events = [json.loads(schedules[one["Ref"]]["Target"]["Input"]) for one in names_of if one != ","]
    assert [event["shards"] for event in events] == [[0, 3, 6], [1, 4, 7], [2, 5]]
    assert {event["scheduled_time"] for event in events} == {"<aws.scheduler.scheduled-time>"}


def test_one_of_several_planners_that_is_silent_is_noticed(side_by_side: Template) -> None:
    alarms = side_by_side.properties("AWS::CloudWatch::Alarm").values()
    (silent,) = [each for each in alarms if each.get("MetricName") == names.METRIC_PLANNER_RUNS]
    assert (silent["ComparisonOperator"], silent["Threshold"]) == ("LessThanThreshold", 3)


def test_planner_consumers_and_reconciler_count_the_same_shards(template: Template) -> None:
    shards = {
        each["Environment"]["Variables"][names.ENV_SHARDS]
        for each in template.properties("AWS::Lambda::Function").values()
    }
    assert shards == {template.output(names.OUTPUT_SHARDS)}


def test_an_invocation_that_cannot_be_handed_over_is_tried_a_few_times_and_then_kept(
    template: Template, wakeup: str
) -> None:
    target = schedule(template, wakeup)["Target"]
    assert target["RetryPolicy"]["MaximumRetryAttempts"] <= 3
    assert target["RetryPolicy"]["MaximumEventAgeInSeconds"] <= interval_s(template, wakeup)
    assert target["DeadLetterConfig"]["Arn"]["Fn::GetAtt"][0] in template.of_type("AWS::SQS::Queue")


def test_an_invocation_that_fails_is_tried_a_few_times_and_then_kept(template: Template, wakeup: str) -> None:
    function = {"Ref": template.referred(FUNCTION_OF[wakeup])}
    configs = template.properties("AWS::Lambda::EventInvokeConfig").values()
    (config,) = [each for each in configs if each["FunctionName"] == function]
    assert config["MaximumRetryAttempts"] <= 2
    assert config["MaximumEventAgeInSeconds"] <= interval_s(template, wakeup)
    assert config["DestinationConfig"]["OnFailure"]["Destination"]["Fn::GetAtt"][0] in template.of_type(
        "AWS::SQS::Queue"
    )


def test_a_failed_invocation_never_lies_among_dead_letters_that_a_redrive_would_send_back(template: Template) -> None:
    kept = {
        each["DestinationConfig"]["OnFailure"]["Destination"]["Fn::GetAtt"][0]
        for each in template.properties("AWS::Lambda::EventInvokeConfig").values()
    } | {
        each["Target"]["DeadLetterConfig"]["Arn"]["Fn::GetAtt"][0]
        for each in template.properties("AWS::Scheduler::Schedule").values()
    }
    assert len(kept) == 2 * len(FUNCTION_OF)
    assert not kept & delivery_dead_letter_queues(template)


def test_a_wake_up_ends_before_the_next_one(template: Template, wakeup: str) -> None:
    assert template.function(FUNCTION_OF[wakeup])["Timeout"] < interval_s(template, wakeup)


def test_the_scheduler_s_role_is_of_no_use_to_another_account(template: Template, wakeup: str) -> None:
    role = template.properties("AWS::IAM::Role")[schedule(template, wakeup)["Target"]["RoleArn"]["Fn::GetAtt"][0]]
    (trust,) = role["AssumeRolePolicyDocument"]["Statement"]
    assert trust["Principal"] == {"Service": "scheduler.amazonaws.com"}
    assert trust["Condition"]["StringEquals"]["aws:SourceAccount"] == {"Ref": "AWS::AccountId"}


def test_the_scheduler_may_invoke_its_function_and_report_to_its_queue_and_nothing_else(
    template: Template, wakeup: str
) -> None:
    target = schedule(template, wakeup)["Target"]
    statements = template.statements_of({"Role": target["RoleArn"]})
    assert {(each["Action"], str(each["Resource"])) for each in statements} == {
        ("lambda:InvokeFunction", str(target["Arn"])),
        ("sqs:SendMessage", str(target["DeadLetterConfig"]["Arn"])),
    }
