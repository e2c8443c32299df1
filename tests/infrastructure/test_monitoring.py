"""Alarms that fire when somebody must act, keep still on an idle weekend, and are heard."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from functions import names
from tests.infrastructure.templates import Template

ROOT = Path(__file__).parents[2]
ALARM = "AWS::CloudWatch::Alarm"
HEARTBEATS = {names.METRIC_PLANNER_RUNS, "Invocations"}


def alarms(template: Template) -> list[Mapping[str, Any]]:
    return list(template.properties(ALARM).values())


def alarms_on(template: Template, metric: str) -> list[Mapping[str, Any]]:
    return [alarm for alarm in alarms(template) if alarm["MetricName"] == metric]


def watched_queues(template: Template, metric: str) -> set[str]:
    """Logical ids of the queues that an alarm on this metric watches."""
    return {alarm["Dimensions"][0]["Value"]["Fn::GetAtt"][0] for alarm in alarms_on(template, metric)}


def test_every_alarm_says_what_is_wrong_and_is_heard(template: Template) -> None:
    topic = {"Ref": template.referred(names.OUTPUT_ALARM_TOPIC)}
    for alarm in alarms(template):
        assert f"data region {template.data_region}" in alarm["AlarmDescription"]
        assert alarm["AlarmActions"] == [topic]
        assert alarm["OKActions"] == [topic]


def test_every_alarm_names_a_runbook_that_is_there_and_knows_it(template: Template) -> None:
    for logical_id, alarm in template.properties(ALARM).items():
        named = re.search(r"Runbook: (docs/runbooks/[a-z-]+\.md)$", alarm["AlarmDescription"])
        assert named is not None, logical_id
        runbook = (ROOT / named[1]).read_text(encoding="utf-8")
        kinds = re.findall(r"`(?:\.\.\.)?([A-Za-z]+)`", runbook)
        assert any(kind in logical_id for kind in kinds), f"{named[1]} does not speak of {logical_id}"


def test_an_idle_week_raises_no_alarm_and_a_silent_planner_does(template: Template) -> None:
    for alarm in alarms(template):
        expected = "breaching" if alarm["MetricName"] in HEARTBEATS else "notBreaching"
        assert alarm["TreatMissingData"] == expected


def test_a_planner_that_stopped_running_is_noticed_within_three_intervals(template: Template) -> None:
    (alarm,) = alarms_on(template, names.METRIC_PLANNER_RUNS)
    interval_s = template.settings.regions[template.data_region].planner.interval_s
    assert alarm["Namespace"] == names.METRICS_NAMESPACE
    assert {each["Name"]: each["Value"] for each in alarm["Dimensions"]} == {
        "service": names.SERVICE,
        "region": template.data_region,
    }
    assert alarm["Period"] * alarm["EvaluationPeriods"] == 3 * interval_s
    assert (alarm["ComparisonOperator"], alarm["Threshold"]) == ("LessThanThreshold", 1)


def test_a_single_dead_letter_raises_an_alarm(template: Template, channel: str) -> None:
    dead_letters = template.referred(names.dead_letter_queue_output(channel))
    assert dead_letters in watched_queues(template, "ApproximateNumberOfMessagesVisible")
    for alarm in alarms_on(template, "ApproximateNumberOfMessagesVisible"):
        assert (alarm["Statistic"], alarm["Threshold"]) == ("Maximum", 1)


def test_a_failed_invocation_that_was_kept_raises_an_alarm(template: Template) -> None:
    watched = watched_queues(template, "ApproximateNumberOfMessagesVisible")
    sources = {template.referred(names.queue_output(channel)) for channel in ("email", "sms", "webhook")}
    sources |= {template.referred(output) for output in (names.OUTPUT_RECEIPTS_QUEUE, names.OUTPUT_INBOUND_QUEUE)}
    assert watched == set(template.of_type("AWS::SQS::Queue")) - sources


def test_no_alarm_stands_on_a_number_that_misses_what_sqs_moves_or_flickers(template: Template) -> None:
    assert not alarms_on(template, "NumberOfMessagesSent")
    assert not alarms_on(template, "ApproximateNumberOfMessagesNotVisible")


def test_a_channel_that_falls_behind_is_noticed_long_before_its_deliveries_expire(
    template: Template, channel: str
) -> None:
    queue_name = {"Fn::GetAtt": [template.referred(names.queue_output(channel)), "QueueName"]}
    expires_s = template.settings.regions[template.data_region].expires_after_s
    on_age = alarms_on(template, "ApproximateAgeOfOldestMessage")
    assert [alarm["Threshold"] for alarm in on_age if alarm["Dimensions"][0]["Value"] == queue_name] == [expires_s / 4]


def test_every_function_s_errors_and_throttles_are_noticed(template: Template) -> None:
    functions = set(template.of_type("AWS::Lambda::Function"))
    for metric in ("Errors", "Throttles"):
        assert {alarm["Dimensions"][0]["Value"]["Ref"] for alarm in alarms_on(template, metric)} == functions
    assert {alarm["EvaluationPeriods"] for alarm in alarms_on(template, "Throttles")} == {1}


def test_no_metric_of_ours_is_split_by_customer(template: Template) -> None:
    for alarm in alarms(template):
        if alarm["Namespace"] == names.METRICS_NAMESPACE:
            assert {each["Name"] for each in alarm["Dimensions"]} <= {"service", "channel", "region", "outcome"}


def test_alarms_reach_the_topic_although_it_is_encrypted_and_has_a_policy_of_its_own(template: Template) -> None:
    topic_id = template.referred(names.OUTPUT_ALARM_TOPIC)
    key_id = template.properties("AWS::SNS::Topic")[topic_id]["KmsMasterKeyId"]["Fn::GetAtt"][0]
    key = template.properties("AWS::KMS::Key")[key_id]
    policies = template.properties("AWS::SNS::TopicPolicy").values()
    (policy,) = [each for each in policies if each["Topics"] == [{"Ref": topic_id}]]
    assert may_use(key["KeyPolicy"], "cloudwatch.amazonaws.com") == {"kms:Decrypt", "kms:GenerateDataKey*"}
    assert may_use(policy["PolicyDocument"], "cloudwatch.amazonaws.com") == {"sns:Publish"}
    assert key["EnableKeyRotation"] is True


def may_use(policy: Mapping[str, Any], service: str) -> set[str]:
    allowed = [
        each for each in policy["Statement"] if each["Effect"] == "Allow" and each["Principal"] == {"Service": service}
    ]
    return {
        action
        for each in allowed
        for action in (each["Action"] if isinstance(each["Action"], list) else [each["Action"]])
    }


def test_every_alarm_is_drawn_on_the_graph_it_guards(template: Template) -> None:
    drawn = json.dumps(template.properties("AWS::CloudWatch::Dashboard"))
    for alarm, properties in template.properties(ALARM).items():
        assert alarm in drawn
        assert properties["MetricName"] in drawn
