"""CloudWatch's embedded metric format: the metrics that a line of a log holds.

CloudWatch reads them out of the line; whoever wrote it asked nothing of CloudWatch. What is read here is what
Powertools writes, by the format's specification:
https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

MARK: Final = '"_aws"'


@dataclass(frozen=True, slots=True)
class Datum:
    """Values of one metric, all of one time."""

    namespace: str
    name: str
    dimensions: Mapping[str, str]
    unit: str
    at: float  # seconds since the epoch
    values: Sequence[float]


def read(line: str) -> list[Datum]:
    """The metrics in a line of a log, one for each set of dimensions; none where it holds none, or is no such line."""
    if MARK not in line:
        return []
    try:
        record = json.loads(line)
        return list(_data(record, record["_aws"]))
    except (ValueError, TypeError, KeyError, AttributeError):
        return []  # as CloudWatch does: what it cannot read stays a line of a log


def _data(record: Mapping[str, Any], about: Mapping[str, Any]) -> Iterator[Datum]:
    at = about["Timestamp"] / 1000
    for directive in about["CloudWatchMetrics"]:
        for names in directive["Dimensions"]:
            dimensions = {name: str(record[name]) for name in names}
            for metric in directive["Metrics"]:
                values = record[metric["Name"]]
                yield Datum(
                    directive["Namespace"],
                    metric["Name"],
                    dimensions,
                    metric.get("Unit", "None"),
                    at,
                    [float(value) for value in (values if isinstance(values, list) else [values])],
                )
