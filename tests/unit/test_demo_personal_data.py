"""Finding a customer's data in a log, and nothing else."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from ops.local.marketplace import generate
from ops.local.personal_data import PersonalData

NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)
KNOWN = PersonalData(["c417@example.com"], ["+447700900904"], ["Ceramic teapot", "Your week:"])


@pytest.mark.parametrize(
    "line",
    [
        '{"to": "c417@example.com"}',
        "sent to C417@EXAMPLE.COM, 1 message",
        "PhoneNumber=+447700900904",
        "phone 447700900904 refused",
        "- Tuesday, 17 November: Ceramic teapot (EUR 27.50)",
        "Subject: Your week: 1 order",
    ],
)
def test_an_address_a_number_or_a_content_is_found(line: str) -> None:
    assert KNOWN.is_in(line)


@pytest.mark.parametrize(
    "line",
    [
        '{"delivery_id": "digest:417:2026-11-16:email", "attempt": 1}',
        "sender digest@example.com is verified",
        "c4170@example.com",
        "+447700900905",
        "REPORT RequestId: 3c9a7a52-7b0e-4f5b-9f39-1b7700900904\tDuration: 12 ms",
        '{"template_id": "weekly-digest-v1", "timestamp": 1796000000000}',
    ],
)
def test_what_is_nobodys_is_not(line: str) -> None:
    assert not KNOWN.is_in(line)


def test_what_was_sent_is_known_by_how_it_begins_in_any_language() -> None:
    known = PersonalData.of(generate(3, now=NOW), ["Ihre Woche 16.-22. Nov.: 1 Bestellung"])
    assert known.is_in("subject=Ihre Woche 23.-29. Nov.: 2 Bestellungen")
    assert known.is_in("c3@example.com")
    assert not known.is_in("digest:3:2026-11-16:email")


def test_without_any_contents_nothing_is_taken_for_one() -> None:
    assert not PersonalData([], [], []).is_in("all quiet")


def test_lines_are_counted() -> None:
    assert KNOWN.count_in(["c417@example.com", "all quiet", "Ceramic teapot, c417@example.com"]) == 2
