"""Synthesised templates, read the way the questions of the tests are put."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aws_cdk import App

from app import build
from functions import names
from stacks.settings import Settings, Target, load_settings

ROOT = Path(__file__).resolve().parents[2]

Resource = Mapping[str, Any]
Statement = Mapping[str, Any]


@dataclass(frozen=True)
class Template:
    """One region's CloudFormation template."""

    data_region: str
    settings: Settings
    body: Mapping[str, Any]
    path: Path

    def of_type(self, resource_type: str) -> dict[str, Resource]:
        """Resources of a type, whole, by logical id."""
        return {key: each for key, each in self.body["Resources"].items() if each["Type"] == resource_type}

    def properties(self, resource_type: str) -> dict[str, Mapping[str, Any]]:
        """Properties of each resource of a type, by logical id."""
        return {key: each["Properties"] for key, each in self.of_type(resource_type).items()}

    def output(self, name: str) -> Any:
        return self.body["Outputs"][name]["Value"]

    def referred(self, name: str) -> str:
        """Logical id of the resource that an output tells of."""
        logical_id: str = self.output(name)["Ref"]
        return logical_id

    def queue(self, channel: str) -> Mapping[str, Any]:
        return self._referred_properties(names.queue_output(channel))

    def dead_letter_queue(self, channel: str) -> Mapping[str, Any]:
        return self._referred_properties(names.dead_letter_queue_output(channel))

    def consumer(self, channel: str) -> Mapping[str, Any]:
        return self._referred_properties(names.consumer_output(channel))

    def mapping(self, channel: str) -> Mapping[str, Any]:
        """The event source mapping between a channel's queue and its consumer."""
        queue = {"Fn::GetAtt": [self.referred(names.queue_output(channel)), "Arn"]}
        mappings = self.properties("AWS::Lambda::EventSourceMapping").values()
        return next(each for each in mappings if each["EventSourceArn"] == queue)

    def function(self, output: str) -> Mapping[str, Any]:
        return self._referred_properties(output)

    def statements_of(self, function: Mapping[str, Any]) -> list[Statement]:
        """All that a function's role allows or denies, inline and attached."""
        role = function["Role"]["Fn::GetAtt"][0]
        policies = [policy["PolicyDocument"] for policy in self.properties("AWS::IAM::Role")[role]["Policies"]]
        policies += [
            policy["PolicyDocument"]
            for policy in self.properties("AWS::IAM::Policy").values()
            if {"Ref": role} in policy["Roles"]
        ]
        return [statement for policy in policies for statement in policy["Statement"]]

    def role_statements(self) -> Iterator[Statement]:
        """Every statement of every role of the stack."""
        for role in self.properties("AWS::IAM::Role").values():
            for policy in role["Policies"]:
                yield from policy["PolicyDocument"]["Statement"]
        for policy in self.properties("AWS::IAM::Policy").values():
            yield from policy["PolicyDocument"]["Statement"]

    def _referred_properties(self, output: str) -> Mapping[str, Any]:
        properties: Mapping[str, Any] = self.body["Resources"][self.referred(output)]["Properties"]
        return properties


def as_list(value: Any) -> list[Any]:
    """IAM writes a list of one as the one."""
    return value if isinstance(value, list) else [value]


def context() -> dict[str, Any]:
    """The CDK's context as `cdk.json` gives it."""
    read: dict[str, Any] = json.loads((ROOT / "cdk.json").read_text(encoding="utf-8"))["context"]
    return read


def synthesise(target: Target, outdir: Path, *, overrides: Path | None = None) -> dict[str, Template]:
    """Templates of every region in `cdk.json`, with the overrides of a file if one is named, by data region."""
    settings = load_settings({**context(), "target": str(target), "overrides": overrides})
    app = App(analytics_reporting=False, context=context(), outdir=str(outdir))
    build(app, settings)
    app.synth()
    paths = {name: outdir / f"{names.stack_name(name)}.template.json" for name in settings.regions}
    return {name: Template(name, settings, json.loads(path.read_bytes()), path) for name, path in paths.items()}
