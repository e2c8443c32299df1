"""CloudWatch's metric math, as far as our dashboards go."""

from __future__ import annotations

import pytest

from ops.local.metric_math import UnknownMathError, reckon

VALUES = {"retried": 3.0, "beside": 57.0, "none": 0.0}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("retried + beside", 60),
        ("100 * retried / (retried + beside)", 5),
        ("retried - 1.5", 1.5),
        ("FILL(gone, 0) + retried", 3),
        ("FILL(gone, beside)", 57),
        ("IF(retried + beside >= 50, 100 * retried / (retried + beside), 0)", 5),
        ("IF(retried > 50, 1, 0)", 0),
        ("IF( none < 1, beside, gone)", 57),
        ("retried <= 3", 1),
        ("gone + retried", 3),
        ("IF(gone + retried > 1, 1, 0)", 1),
        ("gone", None),
        ("100 * gone", None),
        ("FILL(gone, 0) + FILL(gone_too, 0)", None),
        ("retried / none", None),
        ("retried / gone", None),
    ],
)
def test_an_expression_comes_to_what_cloudwatch_says(expression: str, value: float | None) -> None:
    assert reckon(expression, VALUES.get) == value


@pytest.mark.parametrize("expression", ["RATE(retried)", "retried +", "retried ** 2", "'text'", "__import__('os')"])
def test_what_is_not_known_here_is_not_guessed(expression: str) -> None:
    with pytest.raises(UnknownMathError):
        reckon(expression, VALUES.get)
