"""What docs/webhooks.md shows to receivers is what they get, and what operators may see is explained to them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from functions.adapters.providers.webhook import signed_headers
from functions.core.content import digest_payload, reminder_payload
from functions.core.identity import Channel, Topic
from functions.core.provider_codes import WEBHOOK
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.examples import PERIOD, SITE_URL, WEBHOOK_SECRET, a_delivery, a_profile, a_reminder, an_activity

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "webhooks.md").read_text(encoding="utf-8")
BODY = '{"title": "été"}'.encode()
NOW = SUNDAY_EVENING.timestamp()
NEW = "whsec_bmV3LXNlY3JldC1vZi10aGUtY3VzdG9tZXI="


def shown(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.fixture(scope="module")
def is_ours() -> Callable[..., bool]:
    (example,) = shown("python")
    page: dict[str, Any] = {}
    exec(compile(example, "docs/webhooks.md", "exec"), page)  # noqa: S102 - our own page
    found: Callable[..., bool] = page["is_ours"]
    return found


def headers(*secrets: str) -> dict[str, str]:
    return signed_headers("digest:c-417:2026-11-16:webhook", BODY, secrets, at=SUNDAY_EVENING)


def test_the_receivers_example_knows_what_we_send(is_ours: Callable[..., bool]) -> None:
    assert is_ours(headers(WEBHOOK_SECRET), BODY, WEBHOOK_SECRET, NOW)
    assert all(is_ours(headers(NEW, WEBHOOK_SECRET), BODY, secret, NOW) for secret in (WEBHOOK_SECRET, NEW))


def test_the_receivers_example_refuses_what_is_not_ours(is_ours: Callable[..., bool]) -> None:
    assert not is_ours(headers(NEW), BODY, WEBHOOK_SECRET, NOW)
    assert not is_ours(headers(WEBHOOK_SECRET), BODY + b" ", WEBHOOK_SECRET, NOW)
    assert not is_ours(headers(WEBHOOK_SECRET), BODY, WEBHOOK_SECRET, NOW + 301)
    assert not is_ours({**headers(WEBHOOK_SECRET), "webhook-id": "another"}, BODY, WEBHOOK_SECRET, NOW)


def test_both_payloads_are_shown_as_they_are_sent() -> None:
    digest = digest_payload(
        [replace(an_activity(), title="Blue lamp")],
        delivery=a_delivery(channel=Channel.WEBHOOK),
        profile=a_profile(),
        period_start=PERIOD,
        site_url=SITE_URL,
    )
    reminder = reminder_payload(
        a_reminder(), delivery=a_delivery(channel=Channel.WEBHOOK, topic=Topic.REMINDER), site_url=SITE_URL
    )
    assert [json.loads(one) for one in shown("json")] == [json.loads(digest), json.loads(reminder)]


def test_every_code_that_an_operator_may_see_is_explained() -> None:
    page = (DOCS / "channels" / "webhook.md").read_text(encoding="utf-8")
    # A fault of ours, of no deployment.
    assert [code for code in WEBHOOK if f"`{code}`" not in page] == ["not_a_webhook"]
