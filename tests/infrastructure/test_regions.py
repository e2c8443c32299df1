"""Regions that have nothing in common but the code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from functions import names
from tests.infrastructure.templates import Template


def test_a_region_s_stack_does_not_know_the_other_region(on_aws: Mapping[str, Template]) -> None:
    regions = {name: template.settings.regions[name].region for name, template in on_aws.items()}
    for name, template in on_aws.items():
        others = {region for other, region in regions.items() if other != name}
        assert not [other for other in others if other in json.dumps(template.body)]


def test_no_stack_locks_another_one(template: Template) -> None:
    written = json.dumps(template.body)
    assert "Fn::ImportValue" not in written
    assert not [output for output in template.body["Outputs"].values() if "Export" in output]
    assert not [
        resource for resource in template.body["Resources"].values() if "CrossRegion" in json.dumps(resource["Type"])
    ]
    assert not template.of_type("AWS::SSM::Parameter")


def test_an_alarm_watches_metrics_of_its_own_region(template: Template) -> None:
    for alarm in template.properties("AWS::CloudWatch::Alarm").values():
        for term in alarm.get("Metrics", ()):  # the form in which an alarm can name another account or region
            assert "AccountId" not in term
            assert "Region" not in json.dumps(term)


def test_both_regions_are_built_alike(on_aws: Mapping[str, Template]) -> None:
    resources = [sorted(each["Type"] for each in template.body["Resources"].values()) for template in on_aws.values()]
    assert resources[0] == resources[1]


@pytest.mark.parametrize("data_region", ["us", "eu"])
def test_the_emulator_gets_the_same_stack_but_for_what_it_cannot_do(
    on_aws: Mapping[str, Template], on_emulator: Mapping[str, Template], data_region: str
) -> None:
    """It speaks no TLS, its IAM judges sends and batches differently, and its alarms stand on one metric each.

    All else is what AWS gets. A queue that something delivers to keeps its policy there, without the part that asks for
    TLS.
    """
    aws, emulator = (each[data_region].body["Resources"] for each in (on_aws, on_emulator))
    assert {aws[missing]["Type"] for missing in set(aws) - set(emulator)} == {
        "AWS::SQS::QueuePolicy",
        "AWS::CloudWatch::Alarm",
        "AWS::CloudWatch::CompositeAlarm",
    }
    assert not set(emulator) - set(aws)
    differing = {aws[key]["Type"] for key in emulator if comparable(aws[key]) != comparable(emulator[key])}
    assert differing == {
        "AWS::IAM::Role",
        "AWS::SNS::TopicPolicy",
        "AWS::SQS::QueuePolicy",
        "AWS::CloudWatch::Dashboard",
    }


def comparable(resource: Mapping[str, Any]) -> str:
    """A resource without the place of its code."""
    properties = {key: value for key, value in resource.get("Properties", {}).items() if key != "Code"}
    return json.dumps({**resource, "Properties": properties, "Metadata": None}, sort_keys=True)


def test_the_command_line_finds_everything_in_a_stack_s_outputs(template: Template) -> None:
    expected = {value for key, value in vars(names).items() if key.startswith("OUTPUT_")}
    expected -= {names.OUTPUT_RECEIPT_INTAKE_FUNCTION, names.OUTPUT_RECEIPT_INTAKE_URL}  # SES sends no webhooks
    expected -= {names.OUTPUT_SMOKE_ENDPOINT_FUNCTION, names.OUTPUT_SMOKE_ENDPOINT_URL}  # only where it is asked for
    for channel in template.settings.regions[template.data_region].channels.by_name():
        expected |= {
            names.queue_output(channel),
            names.dead_letter_queue_output(channel),
            names.consumer_output(channel),
        }
    assert set(template.body["Outputs"]) == expected
