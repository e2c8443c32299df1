"""The third channel on deployed stacks: planned, queued and consumed like the others, with rights of its own.

The endpoint's name leads nowhere, on this machine and on any other: what a dead endpoint comes to is what is looked at.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from functions import names
from functions.core.identity import Channel
from ops.local.emulator import Emulator
from ops.local.running_region import RunningRegion
from tests.e2e.people import Person, digest, eventually, import_people, rows_of

Regions = Mapping[str, RunningRegion]
HANNA = Person(
    "webhook-hanna", "eu", digest_channels="webhook", webhook_url="https://nowhere.example.com/token-of-hanna"
)


@pytest.fixture(scope="module")
def called(regions: Regions, cloud: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> RunningRegion:
    """A week that was planned for a dead endpoint, called at least once."""
    region = regions["eu"]
    import_people([HANNA], tmp_path_factory.mktemp("hanna"), cloud)
    region.wake(names.OUTPUT_PLANNER_SCHEDULE)
    eventually(
        lambda: told_of_endpoint(cloud)["failures"], waking=region, within_s=90, what="the first failed call on record"
    )
    return region


def told_of_endpoint(cloud: Mapping[str, str]) -> Mapping[str, object]:
    done = digest(["webhooks", "show", "--customer", HANNA.customer_id, "--json"], cloud)
    assert done.returncode == 0, done.stdout + done.stderr
    told: Mapping[str, object] = json.loads(done.stdout)
    return told


def test_a_call_that_nobody_answered_is_on_the_row_and_on_the_endpoints_record(
    called: RunningRegion, cloud: Mapping[str, str]
) -> None:
    row = rows_of(called, HANNA)[Channel.WEBHOOK]
    assert row.history[0].code == "not_resolved"
    assert row.provider == "webhook"
    assert told_of_endpoint(cloud)["last_code"] == "not_resolved"


def test_no_log_and_no_command_shows_where_the_endpoint_is(
    called: RunningRegion, emulator: Emulator, cloud: Mapping[str, str]
) -> None:
    shown = digest(["show", "--customer", HANNA.customer_id], cloud).stdout
    assert "https://nowhere.example.com/***" in shown
    told = "\n".join([line.text for line in called.log_lines()])
    assert "delivery.attempted" in told
    for place in (told, shown, emulator.log.read_text(errors="replace")):
        assert "token-of-hanna" not in place


def test_only_the_webhook_channel_was_planned_for_it(called: RunningRegion) -> None:
    assert list(rows_of(called, HANNA)) == [Channel.WEBHOOK]
