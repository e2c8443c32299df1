"""What an operator's commands say, all of them: whom it is about is never shown in full, whatever is wrong."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest
import typer
from botocore.exceptions import ClientError, ConnectionClosedError

from functions.core.delivery import Status
from functions.core.identity import Channel, Topic
from functions.core.keyring import KeyRing
from functions.core.unsubscribe_token import Subscription, write_token
from ops.cli.app import app
from ops.deployment import Deployment
from ops.imports import activity, customers, reminders
from ops.imports.lines import Columns
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.environment import (
    ENVIRONMENT,
    KEY_RINGS,
    UNSUBSCRIBE_KEYS,
    channel_environment,
    dead_letter_url,
    unsubscribe_environment,
)
from tests.fakes.examples import (
    AN_ENDPOINT,
    CUSTOMER,
    EMAIL_ADDRESS,
    PHONE_NUMBER,
    WEBHOOK_URL,
    a_delivery,
    a_digest_schedule,
    a_profile,
    a_reminder,
    a_sending_delivery,
    an_activity,
    an_exhausted_delivery,
)
from tests.integration.canaries import QUOTING, Watch, every_other_logger
from tests.integration.faults import failing
from tests.integration.move_tasks import MoveTasks
from tests.integration.operators_desk import Desk, FakeLambda, a_second_region
from tests.integration.region import Clock, Functions, Region
from tests.integration.test_cli_dlq import OnAws

# A preview shows a message and a secret is handed over: that is what they are for. An error names an amount as example.
SHOWN: Final = {
    "preview": {"canary", "11.77", "invoice 9"},
    "webhooks secret": {"canary", "whsec_"},
    "activity import": {"11.77"},
}
LINK: Final = Subscription(CUSTOMER, Topic.DIGEST, Channel.EMAIL)
# Of an address the host, and of a schedule its zone, are what an operator looks at.
SHOWN_BY_ALL: Final = {"hooks.", "america/new_york"}


class Planner(FakeLambda):
    """A planner that can be asked what it runs with."""

    def get_function_configuration(self, *, FunctionName: str) -> Mapping[str, Any]:  # noqa: N803 - as boto3 spells it
        assert FunctionName == "planner"
        return {"Environment": {"Variables": ENVIRONMENT}}


class Staffed(OnAws):
    """A region whose consumers say what they run with, too."""

    def consumer_variables(self, channel: str) -> Mapping[str, str]:
        return ENVIRONMENT | unsubscribe_environment() | channel_environment(Channel(channel))


@pytest.fixture
def desk(region: Region, functions: Functions, clock: Clock, capsys: pytest.CaptureFixture[str]) -> Desk:
    planner = Planner(functions.planner.handler, clock)
    desk = Desk(region, a_second_region(), planner, clock, capsys)
    regions = [Staffed("us", "us-east-1", planner), Staffed("eu", "eu-west-1", planner)]
    for there, tables in zip(regions, (desk.us, desk.eu), strict=True):
        there.move_tasks = MoveTasks(tables.sqs, clock)
    desk.deployment = Deployment(regions)
    region.sqs.send_message(QueueUrl=dead_letter_url(Channel.EMAIL), MessageBody=QUOTING)  # somebody else's
    region.add(a_profile(webhook=AN_ENDPOINT, suppressed={Channel.EMAIL: "hard_bounce"}), an_activity())
    region.schedule(a_digest_schedule(), a_reminder())
    region.put_deliveries(
        a_delivery(status=Status.UNCERTAIN, attempt=1),
        an_exhausted_delivery(channel=Channel.SMS),
        a_sending_delivery(channel=Channel.WEBHOOK),
    )
    return desk


@pytest.fixture
def watch(desk: Desk, log: io.StringIO, capsys: pytest.CaptureFixture[str]) -> Iterator[Watch]:
    token = write_token(LINK, KeyRing.parse(KEY_RINGS[UNSUBSCRIBE_KEYS]), at=SUNDAY_EVENING)
    with every_other_logger() as root:
        watch = Watch(desk.us, log, root, capsys, not_ours=("email", "email-dead-letters"))
        watch.secret.append(token.rpartition(".")[2])
        yield watch


# --- every command ---


def commands_of(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Every command below one, by all of its name. Typer's own kinds of them are not for others to name."""
    within = getattr(command, "commands", None)
    if within is None:
        yield " ".join(path), command
    for name, one in (within or {}).items():
        yield from commands_of(one, (*path, name))


# One serves pages until it is ended, and says no more than their address: see test_console.py.
SERVING: Final = {"console"}
COMMANDS: Final = {name: command for name, command in commands_of(typer.main.get_command(app)) if name not in SERVING}
IMPORTS: Final[dict[str, tuple[Columns, dict[str, str]]]] = {
    "customers import": (
        customers.COLUMNS,
        {
            "customer_id": CUSTOMER,
            "data_region": "us",
            "time_zone": "America/New_York",
            "email": EMAIL_ADDRESS,
            "phone": "+12025550123",
            "webhook_url": WEBHOOK_URL,
        },
    ),
    "activity import": (
        activity.COLUMNS,
        {
            "customer_id": CUSTOMER,
            "data_region": "us",
            "activity_id": "a-9",
            "occurred_at": "2026-11-18T12:00:00Z",
            "kind": "order",
            "title": "Canary blue lamp",
            "amount": "11.77",
            "currency": "USD",
        },
    ),
    "reminders import": (
        reminders.COLUMNS,
        {
            "customer_id": CUSTOMER,
            "data_region": "us",
            "event_id": "invoice-10",
            "due_at": "2026-12-01T09:00:00Z",
            "channels": "email",
            "subject": "Pay invoice 9",
        },
    ),
}
# What a parameter is given, by its name; a command with one that is not here has to be thought about.
GIVEN: Final = {
    "customer": CUSTOMER,
    "delivery_id": str(a_delivery().delivery_id),
    "channel": "email",
    "region": "us",
    "reason": "INC-47",
    "customers": "1000",
    "which": "deliveries",
    "source": "restored",
}
USAGE: Final = 2  # the exit status of a command that makes no sense
# What a command must have in one form or the other.
EITHER: Final = {"uncertain resolve": ["--accepted", "3f6c"]}


def call(name: str, file: Path) -> list[str]:
    """A command with all that it must have, and the customer and the region where it can have them."""
    arguments: list[str] = []
    for parameter in COMMANDS[name].params:
        given = str(file) if parameter.name == "file" else GIVEN.get(parameter.name or "", "")
        if parameter.name == "yes":
            arguments += [parameter.opts[0], *([] if parameter.is_flag else ["1"])]
        elif parameter.required or parameter.name in {"customer", "region"}:
            assert given, f"{name}: what is {parameter.name} given?"
            arguments += [given] if parameter.param_type_name == "argument" else [parameter.opts[0], given]
    return [*name.split(), *arguments, *EITHER.get(name, [])]


def a_file(tmp_path: Path, rows: list[dict[str, str]]) -> Path:
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return file


def said_nothing(watch: Watch, name: str, *told: str) -> None:
    allowed = SHOWN.get(name, set()) | SHOWN_BY_ALL
    watch.answers = list(told)
    watch.allowed_in_answers = frozenset(allowed)
    watch.saw_nothing()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_tells_of_a_customer_without_showing_them(
    desk: Desk, watch: Watch, tmp_path: Path, name: str
) -> None:
    file = a_file(tmp_path, [IMPORTS[name][1]] if name in IMPORTS else [])
    for form in ([], ["--json"]):
        told = desk.digest(*call(name, file), *form)
        assert told.status != USAGE, told.err
        said_nothing(watch, name, told.out, told.err)


ANSWER: Final[Any] = {
    "Error": {"Code": "ValidationException", "Message": QUOTING},
    "ResponseMetadata": {"HTTPStatusCode": 400},
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_that_aws_fails_does_not_repeat_what_aws_says(
    desk: Desk, watch: Watch, tmp_path: Path, name: str
) -> None:
    file = a_file(tmp_path, [IMPORTS[name][1]] if name in IMPORTS else [])
    for operations in (("BatchGetItem", "GetItem", "Query"), ("PutItem", "TransactWriteItems", "UpdateItem")):
        for error in (ClientError(ANSWER, "Query"), ConnectionClosedError(endpoint_url=QUOTING)):
            with ExitStack() as troubles:
                for operation in operations:
                    troubles.enter_context(failing(desk.deployment.region("us").dynamodb, operation, error))
                told = desk.digest(*call(name, file))
            said_nothing(watch, name, told.out, told.err)


# --- files ---


@pytest.mark.parametrize("value", [QUOTING, EMAIL_ADDRESS, PHONE_NUMBER, WEBHOOK_URL, "Canary\ud800"])
@pytest.mark.parametrize("name", IMPORTS)
def test_a_bad_line_is_told_of_without_a_word_of_what_stands_in_it(
    desk: Desk, watch: Watch, tmp_path: Path, name: str, value: str
) -> None:
    columns, good = IMPORTS[name]
    shifted = [{**good, column: value} for column in columns.known]
    file = a_file(tmp_path, [*shifted, {**good, value: value}, {value: value}, {**good, "title": [value, 1]}])  # type: ignore[dict-item]
    told = desk.digest(*name.split(), str(file))
    assert told.status == 1
    said_nothing(watch, name, told.out, told.err)


@pytest.mark.parametrize("name", IMPORTS)
def test_a_file_that_begins_without_its_header_row_is_not_repeated(
    desk: Desk, watch: Watch, tmp_path: Path, name: str
) -> None:
    columns, good = IMPORTS[name]
    file = tmp_path / "rows.csv"
    for text in (
        ",".join(good.values()),
        f"{','.join(good)},{EMAIL_ADDRESS}\n",
        f'{",".join(good)}\n{",".join(good.values())},{PHONE_NUMBER}\n"{EMAIL_ADDRESS}\n',
        f"{','.join(columns.known)}\n{EMAIL_ADDRESS}",
    ):
        file.write_text(text, encoding="utf-8")
        told = desk.digest(*name.split(), str(file))
        assert told.status == 1
        said_nothing(watch, name, told.out, told.err)


def test_the_watch_hears_what_a_command_says(watch: Watch) -> None:
    with pytest.raises(AssertionError, match="in answers"):
        said_nothing(watch, "show", f"to {EMAIL_ADDRESS}")
