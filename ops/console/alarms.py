"""The alarms of a region: which of them want somebody, and what their runbook is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient
    from mypy_boto3_cloudwatch.type_defs import DescribeAlarmsOutputTypeDef

ALARM: Final = "ALARM"
INSUFFICIENT_DATA: Final = "INSUFFICIENT_DATA"
_RUNBOOK: Final = re.compile(r"\s*Runbook: docs/runbooks/(?P<page>[a-z0-9-]+)\.md\s*$")
# What the CDK puts around the id that the stack gives an alarm.
_CONSTRUCTS: Final = re.compile(r"^(?:Monitoring)?(?P<name>[A-Za-z]+?)(?:[0-9A-F]{8}-[0-9A-Z]+)?$")


@dataclass(frozen=True, slots=True)
class Alarm:
    """An alarm as it stands."""

    arn: str
    name: str
    state: str  # OK, ALARM or INSUFFICIENT_DATA
    what: str  # its description, without the runbook
    runbook: str | None  # page in docs/runbooks
    since: datetime | None
    threshold: float | None  # none for an alarm on other alarms

    @property
    def fires(self) -> bool:
        return self.state == ALARM


def read_alarms(client: CloudWatchClient, stack_name: str) -> list[Alarm]:
    """Every alarm of a stack: those that fire first, those without data next."""
    pages = client.get_paginator("describe_alarms").paginate(
        AlarmNamePrefix=f"{stack_name}-", AlarmTypes=["MetricAlarm", "CompositeAlarm"]
    )
    found = [alarm for page in pages for alarm in _alarms(page, stack_name)]
    order = (ALARM, INSUFFICIENT_DATA)
    return sorted(
        found, key=lambda alarm: (order.index(alarm.state) if alarm.state in order else len(order), alarm.name)
    )


def _alarms(page: DescribeAlarmsOutputTypeDef, stack_name: str) -> Iterator[Alarm]:
    for one in (*page.get("MetricAlarms", []), *page.get("CompositeAlarms", [])):
        description = one.get("AlarmDescription", "")
        runbook = _RUNBOOK.search(description)
        threshold = one.get("Threshold")
        yield Alarm(
            one["AlarmArn"],
            plain_name(one["AlarmName"], stack_name),
            one["StateValue"],
            _RUNBOOK.sub("", description),
            None if runbook is None else runbook["page"],
            one.get("StateUpdatedTimestamp"),
            threshold if isinstance(threshold, float) else None,
        )


def plain_name(name: str, stack_name: str) -> str:
    """`EmailDeadLetters` for the name that CloudFormation made of it."""
    found = _CONSTRUCTS.match(name.removeprefix(f"{stack_name}-"))
    return found["name"] if found else name


def named(alarms: Sequence[Alarm], arn: str) -> Alarm | None:
    """One of them by its ARN."""
    return next((alarm for alarm in alarms if alarm.arn == arn), None)
