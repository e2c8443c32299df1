"""Files imported into DynamoDB with the command line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from functions.adapters.customers import DynamoCustomers
from functions.core.customer import DIGEST_SCHEDULE, PROFILE, Consent, Profile
from functions.core.delivery import SkipReason, Status
from functions.core.identity import Channel, DeliveryId, Topic
from functions.core.instants import from_text
from ops.imports.rows import DynamoRows, RowChange
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.environment import CUSTOMERS, queue_url
from tests.fakes.examples import PERIOD, an_exhausted_delivery
from tests.integration.lambda_poller import LambdaPoller
from tests.integration.operators_desk import Desk, FakeLambda, a_second_region
from tests.integration.region import Clock, Functions, Region

PEOPLE = """\
customer_id,data_region,time_zone,email,phone,email_consent,digest_weekday,digest_time
c-1,us,America/New_York,anna.canary@example.com,+12025550123,opted_in,mon,09:30
c-2,eu,Europe/Berlin,eva.canary@example.org,,opted_in,wed,07:15
c-3,us,Nowhere,max.canary@example.org,,,,
"""
ORDERS = """\
{"customer_id": "c-1", "data_region": "us", "activity_id": "a-1", "occurred_at": "2026-11-18T12:00:00Z", \
"kind": "order", "title": "Blue lamp", "amount": 11.77, "currency": "USD", "quantity": 1}
"""


@pytest.fixture
def desk(region: Region, functions: Functions, clock: Clock, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(region, a_second_region(), FakeLambda(functions.planner.handler, clock), clock, capsys)


@pytest.fixture(autouse=True)
def one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Moto copies its tables in the middle of a transaction, which two transactions at once do not survive."""
    monkeypatch.setattr("ops.imports.writing.WRITERS", 1)


@pytest.fixture
def people(tmp_path: Path) -> Path:
    file = tmp_path / "people.csv"
    file.write_text(PEOPLE)
    return file


def test_good_lines_arrive_in_their_regions_and_the_bad_one_is_named(desk: Desk, people: Path) -> None:
    told = desk.digest("customers", "import", str(people))
    assert told.status == 1
    assert told.out == "2 customers kept: 1 in eu, 1 in us\n1 bad line, not kept; mend and import them again:\n"
    assert told.err == f"{people}:4: time_zone: must be an IANA zone such as Europe/Berlin\n"
    assert desk.us.customer_row("c-1", PROFILE)["addresses"]["sms"] == "+12025550123"
    assert desk.eu.customer_row("c-2", DIGEST_SCHEDULE)["time_zone"] == "Europe/Berlin"
    assert not desk.us.customer_row("c-2", PROFILE)
    assert not desk.eu.customer_row("c-1", PROFILE)


def test_what_is_imported_is_what_the_consumers_read(desk: Desk, people: Path, tmp_path: Path) -> None:
    orders = tmp_path / "orders.jsonl"
    orders.write_text(ORDERS)
    desk.digest("customers", "import", str(people))
    assert desk.digest("activity", "import", str(orders)).status == 0
    profile, (activity,) = DynamoCustomers(desk.us.dynamodb, CUSTOMERS).digest_material("c-1", PERIOD)
    assert profile == Profile(
        customer_id="c-1",
        locale="en",
        time_zone="America/New_York",
        addresses={Channel.EMAIL: "anna.canary@example.com", Channel.SMS: "+12025550123"},
        consent={(topic, Channel.EMAIL): Consent.OPTED_IN for topic in Topic},
    )
    assert (activity.amount_minor, activity.currency) == (1177, "USD")


def test_importing_again_changes_contact_data_and_never_consent(desk: Desk, people: Path) -> None:
    desk.digest("customers", "import", str(people))
    people.write_text(PEOPLE.replace("anna.canary@", "anna.new@").replace("+12025550123,opted_in", ",opted_out"))
    told = desk.digest("customers", "import", str(people), "--json")
    assert told.json["kept_by_region"] == {"eu": 1, "us": 1}
    assert told.json["unchanged"] == 1
    assert told.json["bad"] == [{"line": 4, "reason": "time_zone: must be an IANA zone such as Europe/Berlin"}]
    row = desk.us.customer_row("c-1", PROFILE)
    assert row["addresses"] == {"email": "anna.new@example.com"}
    assert row["consent_digest_email"] == "opted_in"


def test_a_reminder_is_imported_planned_and_not_planned_again(desk: Desk, people: Path, tmp_path: Path) -> None:
    file = tmp_path / "reminders.csv"
    file.write_text(
        "customer_id,data_region,event_id,due_at,channels,subject\nc-1,us,inv-1,2026-11-29T19:00:00Z,email,Pay\n"
    )
    desk.digest("customers", "import", str(people))
    assert desk.digest("reminders", "import", str(file)).out == "1 reminder kept: 1 in us\n"
    assert desk.digest("plan", "--region", "us").out == "1 delivery planned in us, 1 enqueued\n"
    assert desk.digest("reminders", "import", str(file)).out == "1 reminder kept: 1 in us, 1 as they were\n"
    assert desk.digest("plan", "--region", "us").status == 0
    assert len(desk.us.deliveries()) == 1


LOCAL = """\
customer_id,data_region,event_id,due_local,expires_after_hours,channels,subject,obsolete
c-1,us,inv-1,2026-11-30T09:00,12,email,Pay,
c-1,us,inv-2,2026-11-30T09:00,,email,Pay,
"""


def test_a_customer_who_moves_is_reminded_once_and_by_the_new_clock(desk: Desk, people: Path, tmp_path: Path) -> None:
    file = tmp_path / "reminders.csv"
    file.write_text(LOCAL)
    desk.digest("customers", "import", str(people))
    assert desk.digest("reminders", "import", str(file)).out == "2 reminders kept: 2 in us\n"
    assert "2026-11-30 14:00:00  Mon 09:00 EST" in desk.digest("due", "--region", "us").out
    people.write_text(PEOPLE.replace("America/New_York", "America/Los_Angeles"))
    desk.digest("customers", "import", str(people))
    assert "2026-11-30 17:00:00  Mon 09:00 PST" in desk.digest("due", "--region", "us").out
    file.write_text(LOCAL.replace("12,email,Pay,", "12,email,Pay,paid"))
    desk.digest("reminders", "import", str(file))
    shown = desk.digest("show", "--customer", "c-1").out
    assert "reminder inv-1: due 2026-11-30 09:00 America/Los_Angeles, email; paid" in shown
    assert "reminder inv-2: due 2026-11-30 09:00 America/Los_Angeles, email; waits" in shown
    desk.clock.move_to(from_text("2026-11-30T17:00:00Z"))
    for _ in range(2):
        desk.digest("plan", "--region", "us")
    reminders = [one for name, one in desk.us.deliveries().items() if name.startswith("reminder:")]
    assert [str(one.delivery_id) for one in reminders] == ["reminder:c-1:inv-2:email"]
    assert reminders[0].expires_at == from_text("2026-12-01T17:00:00Z")


def test_an_order_that_is_paid_after_its_reminder_was_planned_is_not_reminded_of_by_a_message_or_a_redrive(
    desk: Desk, functions: Functions, clock: Clock, people: Path, tmp_path: Path
) -> None:
    file = tmp_path / "reminders.csv"
    file.write_text(LOCAL.replace("T09:00", "T15:00").replace("2026-11-30", "2026-11-29"))
    desk.digest("customers", "import", str(people))
    desk.digest("reminders", "import", str(file))
    assert desk.digest("plan", "--region", "us").out == "2 deliveries planned in us, 2 enqueued\n"
    file.write_text(file.read_text().replace("Pay,\n", "Pay,paid\n"))
    assert desk.digest("reminders", "import", str(file)).status == 0
    once, redriven = (f"reminder:c-1:inv-{number}:email" for number in (1, 2))
    desk.us.put_deliveries(replace(an_exhausted_delivery(), delivery_id=DeliveryId.parse(redriven)))
    poller = LambdaPoller(desk.us.sqs, queue_url(Channel.EMAIL), functions.email.handler, clock)
    assert poller.poll() == {"batchItemFailures": []}
    for delivery_id in (once, redriven):
        row = desk.us.delivery(delivery_id)
        assert (row.status, row.skip_reason) == (Status.SKIPPED, SkipReason.PAID)
    why = desk.digest("show", redriven, "--json").json["accepted"]["why"]
    assert why == "skipped (paid): the order was paid before the reminder was sent"


def test_hundreds_of_customers_are_written_in_whole_transactions(desk: Desk, tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    rows = [f"c-{n},{'us' if n % 2 else 'eu'},UTC,c{n}@example.com,tue,08:00" for n in range(330)]
    file.write_text("customer_id,data_region,time_zone,email,digest_weekday,digest_time\n" + "\n".join(rows))
    told = desk.digest("customers", "import", str(file))
    assert (told.status, told.out) == (0, "330 customers kept: 165 in eu, 165 in us\n")
    assert desk.us.dynamodb.scan(TableName=CUSTOMERS, Select="COUNT")["Count"] == 330


def test_standard_input_is_read_for_a_dash(desk: Desk, monkeypatch: pytest.MonkeyPatch, people: Path) -> None:
    with people.open() as lines:
        monkeypatch.setattr("sys.stdin", lines)
        told = desk.digest("customers", "import", "-")
    assert told.out.startswith("2 customers kept")
    assert told.err.startswith("-:4: ")


def test_the_output_of_an_import_shows_nobodys_address(desk: Desk, people: Path) -> None:
    told = desk.digest("customers", "import", str(people))
    assert "canary" not in told.out + told.err
    assert "2025550123" not in told.out + told.err


class Throttled:
    """A DynamoDB client that cancels every transaction of more than `most` actions, and always one of `never`."""

    def __init__(self, client: Any, *, most: int, never: str = "") -> None:
        self.client = client
        self.most = most
        self.never = never
        self.sizes: list[int] = []

    def transact_write_items(self, *, TransactItems: list[Any]) -> Any:  # noqa: N803 - as boto3 spells it
        self.sizes.append(len(TransactItems))
        if len(TransactItems) > self.most:
            raise self.refused(TransactItems, "ThrottlingError")
        if any(self.never and self.never in str(action) for action in TransactItems):
            raise self.refused(TransactItems, "ValidationError")
        return self.client.transact_write_items(TransactItems=TransactItems)

    def refused(self, actions: list[Any], code: str) -> ClientError:
        reasons: Any = [{"Code": code} for _ in actions]
        return ClientError(
            {"Error": {"Code": "TransactionCanceledException", "Message": ""}, "CancellationReasons": reasons},
            "TransactWriteItems",
        )


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("functions.adapters.transactions.time.sleep", lambda _: None)


@pytest.mark.usefixtures("hurried")
def test_a_throttled_transaction_is_written_in_halves_until_it_goes_through(region: Region) -> None:
    client = Throttled(region.dynamodb, most=30)
    rows = DynamoRows(client, CUSTOMERS)  # type: ignore[arg-type]
    refused = rows.write([RowChange((f"c-{n}", PROFILE), put={"locale": "en"}, new=True) for n in range(150)])
    assert refused == []
    assert region.dynamodb.scan(TableName=CUSTOMERS, Select="COUNT")["Count"] == 150


@pytest.mark.usefixtures("hurried")
def test_one_row_that_dynamodb_will_not_take_does_not_hold_up_the_others(region: Region) -> None:
    client = Throttled(region.dynamodb, most=100, never="c-77")
    rows = DynamoRows(client, CUSTOMERS)  # type: ignore[arg-type]
    refused = rows.write([RowChange((f"c-{n}", PROFILE), put={"locale": "en"}, new=True) for n in range(100)])
    assert [(one.change.key[0], one.code) for one in refused] == [("c-77", "ValidationError")]
    assert region.dynamodb.scan(TableName=CUSTOMERS, Select="COUNT")["Count"] == 99


def test_rows_that_were_overtaken_come_back_and_the_rest_is_written(region: Region) -> None:
    rows = DynamoRows(region.dynamodb, CUSTOMERS)
    rows.write([RowChange((one, PROFILE), put={"locale": "en", "gone": "-"}, new=True) for one in ("c-1", "c-2")])
    refused = rows.write(
        [
            RowChange(("c-1", PROFILE), put={"locale": "de"}, new=True),
            RowChange(("c-1", DIGEST_SCHEDULE), put={"weekday": 1}, expected={"next_run_at": "then"}),
            RowChange(("c-2", PROFILE), put={"locale": "fr", "gone": None}, if_absent={"active": True}),
        ]
    )
    assert [(one.change.key, one.overtaken) for one in refused] == [
        (("c-1", PROFILE), True),
        (("c-1", DIGEST_SCHEDULE), True),
    ]
    assert region.customer_row("c-1", PROFILE)["locale"] == "en"
    changed = region.customer_row("c-2", PROFILE)
    assert (changed["locale"], changed["active"], "gone" in changed) == ("fr", True, False)


def test_a_row_that_was_erased_since_it_was_read_is_not_made_again(region: Region) -> None:
    rows = DynamoRows(region.dynamodb, CUSTOMERS)
    changes = [
        RowChange(("c-1", PROFILE), put={"locale": "en"}, if_absent={"active": True}),
        RowChange(("c-1", DIGEST_SCHEDULE), put={"next_run_at": None}),
    ]
    assert [one.overtaken for one in rows.write(changes)] == [True, True]
    assert list(region._scan(CUSTOMERS)) == []


def test_more_rows_than_one_request_takes_are_read(region: Region) -> None:
    rows = DynamoRows(region.dynamodb, CUSTOMERS)
    keys = [(f"c-{n}", PROFILE) for n in range(230)]
    rows.write([RowChange(key, put={"locale": "en"}, new=True) for key in keys])
    assert len(rows.read([*keys, ("c-gone", PROFILE)])) == 230


def test_the_runs_of_an_import_are_due_when_they_should_be(desk: Desk, people: Path) -> None:
    desk.digest("customers", "import", str(people))
    row = desk.us.customer_row("c-1", DIGEST_SCHEDULE)
    assert from_text(row["next_run_at"]) == from_text("2026-11-30T14:30:00Z")
    assert from_text(row["next_run_at"]) > SUNDAY_EVENING
