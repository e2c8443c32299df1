"""What an operator sees of addresses and weeks."""

from __future__ import annotations

import pytest

from functions.core.identity import Channel
from ops.cli.output import masked, week


@pytest.mark.parametrize(
    ("channel", "address", "shown"),
    [
        (Channel.EMAIL, "anna@example.com", "a***@example.com"),
        (Channel.EMAIL, "a@example.com", "a***@example.com"),
        (Channel.SMS, "+12025550123", "+1******0123"),
        (Channel.SMS, "+447700900123", "+44******0123"),
        (Channel.SMS, "+1234", "+1***"),
        (Channel.SMS, "not a number", "+***"),
    ],
)
def test_an_address_is_recognised_and_cannot_be_written_to(channel: Channel, address: str, shown: str) -> None:
    assert masked(channel, address) == shown


def test_a_week_is_its_first_and_its_last_day() -> None:
    assert week("2026-11-16") == "2026-11-16 to 2026-11-22"
