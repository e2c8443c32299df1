"""Who a deployment that is not production may write to."""

from __future__ import annotations

import pytest

from functions.core.allow_list import AllowList

STAFF = AllowList(("qa@example.com", "*@Team.example", "+12025550199", "+1555010*", "https://hooks.example.com/*"))


@pytest.mark.parametrize(
    "address",
    [
        "qa@example.com",
        "QA@Example.com",
        "anybody@team.example",
        "+12025550199",
        "+15550104170",
        "https://hooks.example.com/a?b",
    ],
)
def test_addresses_on_the_list_are_written_to(address: str) -> None:
    assert STAFF.allows(address)


@pytest.mark.parametrize(
    "address",
    [
        "somebody@example.com",
        "xqa@example.com",
        "qa@example.com.evil",
        "a@team.example.org",
        "a@notteam.example",
        "+12025550198",
        "https://hooks.example.com.evil.example/",
    ],
)
def test_nobody_else_is_written_to(address: str) -> None:
    assert not STAFF.allows(address)


@pytest.mark.parametrize("patterns", [(), ("",), ("*",), ("qa@example.com", "**")])
def test_a_list_that_allows_nobody_or_everybody_is_refused(patterns: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="null allows everybody"):
        AllowList(patterns)


def test_a_traceback_shows_no_address() -> None:
    assert "example" not in repr(STAFF)
