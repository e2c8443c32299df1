"""Counts over one batch, written out once at its end: a line for each metric and outcome, not for each message."""

from __future__ import annotations

from collections import Counter

from aws_lambda_powertools.metrics import MetricUnit, single_metric

from functions import names
from functions.adapters.telemetry import data_region, metrics


class Counts:
    """Counts by metric, channel and outcome. No other dimension: what is one of millions belongs into the log."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str, str]] = Counter()

    def add(self, name: str, *, channel: str, outcome: str, count: int = 1) -> None:
        """Count something that happened on a channel."""
        self._counts[name, str(channel), str(outcome)] += count

    def flush(self) -> None:
        """Write the counts, and whatever else was measured meanwhile, and begin anew."""
        for (name, channel, outcome), count in sorted(self._counts.items()):
            write_metric(name, count, channel=channel, outcome=outcome)
            if name in names.TOTALLED:
                metrics.add_metric(name, MetricUnit.Count, count)
        self._counts.clear()
        if metrics.metric_set:
            metrics.flush_metrics()


def write_metric(name: str, value: float, unit: MetricUnit = MetricUnit.Count, **dimensions: str) -> None:
    """Write one value out at once, with these dimensions beside service and region, and no other."""
    with single_metric(
        name=name,
        unit=unit,
        value=value,
        namespace=names.METRICS_NAMESPACE,
        default_dimensions={"service": names.SERVICE, "region": data_region, **dimensions},
    ):
        pass


def where_raised(error: Exception) -> str:
    """Return the innermost function and line of an exception: its text might quote what was in hand."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "unknown" if trace is None else f"{trace.tb_frame.f_code.co_qualname}:{trace.tb_lineno}"
