"""A week on deployed stacks whose roles are enforced: planned by the schedule, carried by SQS, sent, and told about."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pytest

from functions import names
from functions.core.delivery import FINISHED, Status
from functions.core.identity import Channel
from ops.local.emulator import Emulator
from ops.local.running_region import RunningRegion
from tests.e2e.people import Mailboxes, Person, digest, eventually, import_people, rows_of

Regions = Mapping[str, RunningRegion]

ANNA = Person("week-anna", "us")
BORIS = Person("week-boris", "eu")
CELIA = Person("week-celia", "us", email_consent="opted_out")
DARIO = Person("week-dario", "eu", orders=0)
ALL = [ANNA, BORIS, CELIA, DARIO]


@pytest.fixture(scope="module")
def sent(regions: Regions, cloud: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> Regions:
    """Four people in two regions, imported, planned by the schedule, and followed to their end."""
    folder: Path = tmp_path_factory.mktemp("people")
    import_people(ALL, folder, cloud)
    for region in regions.values():
        region.wake(names.OUTPUT_PLANNER_SCHEDULE)
    for person in ALL:
        eventually(
            partial(_has_ended, regions[person.data_region], person),
            within_s=90,
            what=f"an end for every delivery of {person.customer_id}",
        )
    return regions


def _has_ended(region: RunningRegion, person: Person) -> bool:
    rows = rows_of(region, person)
    return len(rows) == len(person.digest_channels.split(",")) and all(row.status in FINISHED for row in rows.values())


@pytest.mark.parametrize("person", [ANNA, BORIS], ids=lambda person: person.customer_id)
def test_a_customer_gets_one_email_and_one_text_from_their_own_region(
    sent: Regions, emulator: Emulator, mailboxes: Mailboxes, person: Person
) -> None:
    rows = rows_of(sent[person.data_region], person)
    here, there = (
        sent[person.data_region].aws_region,
        next(region.aws_region for name, region in sent.items() if name != person.data_region),
    )
    (mail,) = mailboxes.of(person)
    assert mail.reference == rows[Channel.EMAIL].provider_reference
    assert person.title in mail.html
    assert person.title in mail.text
    reference = rows[Channel.SMS].provider_reference
    assert [one.message_id for one in emulator.texts(here)].count(str(reference)) == 1
    assert reference not in [one.message_id for one in emulator.texts(there)]


def test_who_opted_out_of_email_still_gets_the_text(sent: Regions, mailboxes: Mailboxes) -> None:
    rows = rows_of(sent["us"], CELIA)
    assert (rows[Channel.EMAIL].status, str(rows[Channel.EMAIL].skip_reason)) == (Status.SKIPPED, "opted_out")
    assert rows[Channel.SMS].status is Status.ACCEPTED
    assert not mailboxes.of(CELIA)


def test_an_empty_week_is_skipped_on_every_channel(sent: Regions) -> None:
    rows = rows_of(sent["eu"], DARIO)
    assert {str(row.skip_reason) for row in rows.values()} == {"empty"}


def test_planning_the_same_time_again_changes_nothing(sent: Regions, cloud: Mapping[str, str]) -> None:
    before = sent["us"].deployment.ledger.read([ANNA.delivery_id(channel) for channel in Channel])
    done = digest(["plan", "--region", "us", "--at", ANNA.due_at.isoformat(), "--json"], cloud)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["planned"] == 0
    assert sent["us"].deployment.ledger.read([ANNA.delivery_id(channel) for channel in Channel]) == before


def test_show_says_when_it_was_selected_enqueued_and_accepted(sent: Regions, cloud: Mapping[str, str]) -> None:
    row = rows_of(sent["us"], ANNA)[Channel.EMAIL]
    done = digest(["show", str(row.delivery_id)], cloud)
    assert done.returncode == 0, done.stdout + done.stderr
    for question in ("selected", "enqueued", "accepted"):
        assert question in done.stdout.lower()
    assert ANNA.email not in done.stdout


def test_no_log_holds_an_address_a_number_or_a_word_of_a_message(sent: Regions, emulator: Emulator) -> None:
    personal = [text for person in ALL for text in (person.email, person.phone, person.title)]
    lines = [line.text for region in sent.values() for line in region.log_lines()]
    assert any("delivery.attempted" in line for line in lines), "the functions' logs were not found"
    told = "\n".join([*lines, emulator.log.read_text(errors="replace")])
    assert [text for text in personal if text in told] == []


def test_each_attempt_is_told_in_exactly_one_line(sent: Regions) -> None:
    row = rows_of(sent["us"], ANNA)[Channel.EMAIL]
    records = [line.record for line in sent["us"].log_lines()]
    attempts = [
        record
        for record in records
        if record.get("message") == "delivery.attempted" and record.get("delivery_id") == str(row.delivery_id)
    ]
    assert [(one["attempt"], one["outcome"]) for one in attempts] == [(1, "accepted")]
