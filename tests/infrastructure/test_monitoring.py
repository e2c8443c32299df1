"""Alarms that fire when somebody must act, keep still on an idle weekend, and are heard."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import astuple
from pathlib import Path
from typing import Any

import pytest

from functions import names
from tests.infrastructure.alarm_evaluation import Alarm, Series, alarms_of_rule
from tests.infrastructure.templates import Template

ROOT = Path(__file__).parents[2]
ALARM = "AWS::CloudWatch::Alarm"
COMPOSITE = "AWS::CloudWatch::CompositeAlarm"
HEARTBEATS = {names.METRIC_PLANNER_RUNS, names.METRIC_RECOVERED}


def alarms(template: Template) -> list[Mapping[str, Any]]:
    return list(template.properties(ALARM).values())


def alarms_on(template: Template, metric: str) -> list[Mapping[str, Any]]:
    """Alarms that stand on this metric alone."""
    return [alarm for alarm in alarms(template) if alarm.get("MetricName") == metric]


def watched_queues(template: Template, metric: str) -> set[str]:
    """Logical ids of the queues that an alarm on this metric watches."""
    return {alarm["Dimensions"][0]["Value"]["Fn::GetAtt"][0] for alarm in alarms_on(template, metric)}


def sources(template: Template) -> set[str]:
    """Logical ids of the queues that have a dead-letter queue."""
    return {queue for queue, of in template.properties("AWS::SQS::Queue").items() if "RedrivePolicy" in of}


def test_every_alarm_says_what_is_wrong_and_is_heard(template: Template) -> None:
    topic = {"Ref": template.referred(names.OUTPUT_ALARM_TOPIC)}
    for alarm in alarms(template):
        assert f"data region {template.data_region}" in alarm["AlarmDescription"]
        assert alarm["AlarmActions"] == [topic]
        assert alarm["OKActions"] == [topic]


def test_every_alarm_has_a_name_that_a_person_can_look_up(template: Template) -> None:
    for kind in (ALARM, COMPOSITE):
        for logical_id, alarm in template.properties(kind).items():
            alarm_id = alarm["AlarmName"].removeprefix(f"DigestDelivery-{template.data_region}-")
            assert logical_id.startswith(f"Monitoring{alarm_id}")


def test_every_alarm_names_a_runbook_that_is_there_and_knows_it(template: Template) -> None:
    for logical_id, alarm in (template.properties(ALARM) | template.properties(COMPOSITE)).items():
        named = re.search(r"Runbook: (docs/runbooks/[a-z-]+\.md)$", alarm["AlarmDescription"])
        assert named is not None, logical_id
        runbook = (ROOT / named[1]).read_text(encoding="utf-8")
        kinds = re.findall(r"`(?:\.\.\.)?([A-Za-z]+)`", runbook)
        assert any(kind in logical_id for kind in kinds), f"{named[1]} does not speak of {logical_id}"


def test_an_idle_week_raises_no_alarm_and_a_silent_planner_does(template: Template) -> None:
    for alarm in alarms(template):
        expected = "breaching" if alarm.get("MetricName") in HEARTBEATS else "notBreaching"
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
    assert watched == set(template.of_type("AWS::SQS::Queue")) - sources(template)


def test_a_dead_letter_is_spoken_of_again_three_days_before_sqs_may_drop_it(template: Template) -> None:
    queues = template.properties("AWS::SQS::Queue")
    in_time = {
        alarm["Dimensions"][0]["Value"]["Fn::GetAtt"][0]: alarm["Threshold"]
        for alarm in alarms_on(template, "ApproximateAgeOfOldestMessage")
    }
    for source in sources(template):
        dead_letters = queues[source]["RedrivePolicy"]["deadLetterTargetArn"]["Fn::GetAtt"][0]
        lives_s = queues[dead_letters]["MessageRetentionPeriod"]
        assert in_time[dead_letters] == lives_s - queues[source]["MessageRetentionPeriod"] - 3 * 24 * 3600


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
    for logical_id, properties in template.properties(ALARM).items():
        for series in Alarm.of(logical_id, properties).series:
            if series.namespace == names.METRICS_NAMESPACE:
                assert {name for name, _ in series.dimensions} <= {"service", "channel", "region", "outcome"}


def test_throttles_of_every_table_and_index_are_noticed(template: Template) -> None:
    watched = {
        (metric, dimensions)
        for logical_id, properties in template.properties(ALARM).items()
        for namespace, metric, dimensions in (astuple(each) for each in Alarm.of(logical_id, properties).series)
        if namespace == "AWS/DynamoDB"
    }
    assert watched == {
        (metric, Series.of("AWS/DynamoDB", metric, {"TableName": {"Ref": table}, **index}).dimensions)
        for table, properties in template.properties("AWS::DynamoDB::Table").items()
        for index in [
            {},
            *({"GlobalSecondaryIndexName": one["IndexName"]} for one in properties.get("GlobalSecondaryIndexes", [])),
        ]
        for metric in ("ReadThrottleEvents", "WriteThrottleEvents")
    }


def test_both_regions_watch_the_same(on_aws: Mapping[str, Template]) -> None:
    us, eu = ({each["AlarmName"].split("-", 2)[2] for each in alarms(on_aws[region])} for region in ("us", "eu"))
    assert us == eu


def test_an_alarm_that_reckons_takes_no_more_metrics_than_cloudwatch_lets_it(template: Template) -> None:
    for logical_id, properties in template.properties(ALARM).items():
        assert len(Alarm.of(logical_id, properties).series) <= 10


# --- who is called ---


def test_what_cannot_wait_for_the_morning_calls_a_person_and_everything_else_is_mailed(template: Template) -> None:
    (paging,) = template.properties(COMPOSITE).values()
    topic = {"Ref": template.referred(names.OUTPUT_PAGING_TOPIC)}
    assert paging["AlarmActions"] == paging["OKActions"] == [topic]
    named = template.properties(ALARM)
    calls = {named[each]["AlarmName"].split("-", 2)[2] for each in alarms_of_rule(paging["AlarmRule"])}
    page = (ROOT / "docs/runbooks/paging.md").read_text(encoding="utf-8")
    calling, waiting = (set(re.findall(r"`([A-Za-z]+)`", part)) for part in page.split("## Wait", 1))
    assert calls <= calling
    assert {alarm["AlarmName"].split("-", 2)[2] for alarm in alarms(template)} - calls <= waiting
    assert not calling & waiting


def test_the_rule_is_short_enough_for_cloudwatch(template: Template) -> None:
    (paging,) = template.properties(COMPOSITE).values()
    arn = "arn:aws:cloudwatch:us-east-1:123456789012:alarm:"
    named = alarms_of_rule(paging["AlarmRule"])
    alarm_names = [template.properties(ALARM)[each]["AlarmName"] for each in named]
    assert len(named) <= 100
    assert sum(len(f'ALARM("{arn}{name}") OR ') for name in alarm_names) <= 10_240


def test_the_emulator_has_every_alarm_that_stands_on_one_metric(
    on_emulator: Mapping[str, Template], on_aws: Mapping[str, Template]
) -> None:
    local, on_aws_too = on_emulator["us"], on_aws["us"]
    assert not local.of_type(COMPOSITE)
    single = {logical_id for logical_id, each in on_aws_too.properties(ALARM).items() if "MetricName" in each}
    assert set(local.of_type(ALARM)) == single


@pytest.mark.parametrize("output", [names.OUTPUT_ALARM_TOPIC, names.OUTPUT_PAGING_TOPIC])
def test_alarms_reach_a_topic_although_it_is_encrypted_and_has_a_policy_of_its_own(
    template: Template, output: str
) -> None:
    topic_id = template.referred(output)
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


# --- how it is drawn ---


def test_every_alarm_is_drawn_on_the_one_graph_that_it_guards(template: Template) -> None:
    drawn = [
        (alarm_id, line["value"], widget)
        for body in dashboards(template).values()
        for widget in body["widgets"]
        for line in widget["properties"].get("annotations", {}).get("horizontal", ())
        for alarm_id in line["label"].split(", ")
    ]
    by_alarm = {alarm_id: (threshold, widget) for alarm_id, threshold, widget in drawn}
    assert len(by_alarm) == len(drawn)
    for logical_id, properties in template.properties(ALARM).items():
        threshold, widget = by_alarm.pop(properties["AlarmName"].split("-", 2)[2])
        assert threshold == properties["Threshold"]
        shown = json.dumps(widget["properties"]["metrics"])
        for series in Alarm.of(logical_id, properties).series:
            assert series.name in shown
    assert not by_alarm


def test_each_dashboard_begins_with_the_state_of_its_alarms(template: Template) -> None:
    listed = [
        alarm
        for body in dashboards(template).values()
        for alarm in body["widgets"][0]["properties"]["alarms"]
        if body["widgets"][0]["type"] == "alarm"
    ]
    assert sorted(listed) == sorted(template.of_type(ALARM))


def test_dashboards_are_of_plain_widgets_and_within_cloudwatch_s_limits(template: Template) -> None:
    bodies = dashboards(template)
    assert set(bodies) == {f"DigestDelivery-{template.data_region}-{board}" for board in ("service", "machinery")}
    for body in bodies.values():
        assert {widget["type"] for widget in body["widgets"]} <= {"metric", "alarm", "text", "custom"}
        assert len(body["widgets"]) <= 500
        assert sum(len(widget["properties"].get("metrics", ())) for widget in body["widgets"]) <= 2500
        assert all(len(widget["properties"].get("metrics", ())) <= 500 for widget in body["widgets"])


def dashboards(template: Template) -> dict[str, Any]:
    """Bodies by name; what CloudFormation fills in stands there as the logical id that it comes from."""
    return {
        each["DashboardName"]: json.loads(
            "".join(
                part if isinstance(part, str) else logical_id(part) for part in each["DashboardBody"]["Fn::Join"][1]
            )
        )
        for each in template.properties("AWS::CloudWatch::Dashboard").values()
    }


def logical_id(token: Mapping[str, Any]) -> str:
    return str(token["Ref"] if "Ref" in token else token["Fn::GetAtt"][0])
