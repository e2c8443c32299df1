"""An operator looks into a dead-letter queue, and has its messages moved back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from functions.adapters.items import from_item
from functions.core.delivery import Delivery, Status
from functions.core.identity import Channel
from functions.core.message import DeliveryMessage
from ops.deployment import Deployment
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.environment import CONTROL, dead_letter_url, queue_url
from tests.fakes.examples import EMAIL_ADDRESS, a_delivery, a_rejected_delivery, an_exhausted_delivery
from tests.integration.faults import failing, refused
from tests.integration.move_tasks import NO_SOURCE, MoveTasks, sources_kept
from tests.integration.operators_desk import Desk, FakeLambda, RegionAtHand, a_second_region
from tests.integration.region import Clock, Functions, Region

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

MOVE = ("dlq", "move", "email", "--region", "us", "--reason", "INC-47: provider is back")
POISON = f'{{"to": "{EMAIL_ADDRESS}", "text": "canary"}}'
DEAD = dead_letter_url("email")
A_MOMENT = timedelta(milliseconds=1)  # moto's time stands still, too


class OnAws(RegionAtHand):
    """A region whose SQS has move tasks."""

    move_tasks: MoveTasks

    @property
    def sqs(self) -> SQSClient:
        return self.move_tasks  # type: ignore[return-value]


@pytest.fixture
def desk(region: Region, functions: Functions, clock: Clock, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(region, a_second_region(), FakeLambda(functions.planner.handler, clock), clock, capsys)


@pytest.fixture
def tasks(desk: Desk) -> Iterator[MoveTasks]:
    there = OnAws("us", "us-east-1", desk.planner)
    there.move_tasks = MoveTasks(desk.us.sqs, desk.clock)
    desk.deployment = Deployment([there])
    with sources_kept():
        yield there.move_tasks


@contextmanager
def no_move_tasks(desk: Desk) -> Iterator[None]:
    """As on the emulator, which does not know the action."""
    error = refused("ListMessageMoveTasks", "InvalidAction")
    with failing(desk.deployment.region("us").sqs, "ListMessageMoveTasks", error):
        yield


def dead(region: Region, *rows: Delivery) -> None:
    region.put_deliveries(*rows)
    for row in rows:
        send(region, DeliveryMessage.of(row).to_body())


def bury(region: Region, *rows: Delivery) -> None:
    """As `dead`, with messages that SQS itself moved there after their last receive."""
    region.put_deliveries(*rows)
    region.bury(Channel.EMAIL, *(DeliveryMessage.of(row).to_body() for row in rows))


def send(region: Region, body: str, **attributes: Any) -> None:
    region.sqs.send_message(QueueUrl=DEAD, MessageBody=body, MessageAttributes=attributes)


def records(region: Region) -> list[tuple[str, int]]:
    rows = [from_item(item) for item in region._scan(CONTROL)]
    return [(row["what"], row["how_many"]) for row in rows if row["control_key"].startswith("audit#")]


# --- peek ---


def test_messages_are_shown_beside_their_rows_with_what_moving_them_would_do(desk: Desk) -> None:
    dead(
        desk.us,
        an_exhausted_delivery(customer_id="c-1"),
        a_delivery("c-2", status=Status.ACCEPTED),
        a_rejected_delivery(customer_id="c-3"),
    )
    send(desk.us, DeliveryMessage.of(a_delivery("c-4")).to_body())
    told = desk.digest("dlq", "peek", "email", "--region", "us", "--json").json
    assert (told["messages"], told["in_flight"]) == (4, 0)
    assert {one["delivery_id"]: (one["row"], one["if_moved"].partition(":")[0]) for one in told["shown"]} == {
        "digest:c-1:2026-11-16:email": ("dead_letter", "tried again, under the same id"),
        "digest:c-2:2026-11-16:email": ("accepted", "nothing"),
        "digest:c-3:2026-11-16:email": ("dead_letter", "nothing"),
        "digest:c-4:2026-11-16:email": (None, "nothing"),
    }
    desk.clock.advance(A_MOMENT)
    shown = desk.digest("dlq", "peek", "email", "--region", "us").out
    assert shown.startswith("email dead-letter queue in us: 4 messages\n")
    assert "  digest:c-1:2026-11-16:email: dead letter\n" in shown


def test_looking_takes_nothing_away_and_a_second_look_sees_the_same(desk: Desk) -> None:
    dead(desk.us, *(an_exhausted_delivery(customer_id=f"c-{number}") for number in range(15)))
    for _ in range(2):
        look = desk.digest("dlq", "peek", "email", "--region", "us", "--limit", "15", "--json").json
        assert len(look["shown"]) == 15
        desk.clock.advance(A_MOMENT)
    assert len(desk.us.bodies(DEAD)) == 15


def test_what_a_look_that_dies_has_hidden_is_seen_again_within_seconds(desk: Desk) -> None:
    dead(desk.us, an_exhausted_delivery())
    with failing(desk.deployment.region("us").sqs, "ChangeMessageVisibilityBatch", KeyboardInterrupt()):
        desk.digest("dlq", "peek", "email", "--region", "us")
    assert desk.us.bodies(DEAD) == []
    desk.clock.advance(timedelta(seconds=31))
    assert len(desk.us.bodies(DEAD)) == 1


@pytest.mark.parametrize(
    ("body", "shape"),
    [
        (POISON, "JSON object with 2 fields, sha256 "),
        ("canary {", "8 bytes, not JSON, sha256 "),
        ("[1, 2]", "6 bytes, JSON list, sha256 "),
    ],
)
def test_what_is_no_message_of_ours_is_shown_by_its_shape_only(desk: Desk, body: str, shape: str) -> None:
    send(desk.us, body)
    for form in ([], ["--json"]):
        told = desk.digest("dlq", "peek", "email", "--region", "us", *form)
        desk.clock.advance(A_MOMENT)
        assert shape in told.out
        assert "back within seconds: nobody can work on it" in told.out
        assert "canary" not in told.out + told.err


def test_an_empty_queue_says_so(desk: Desk) -> None:
    assert desk.digest("dlq", "peek", "email", "--region", "us").out == "email dead-letter queue in us: 0 messages\n"
    assert desk.digest(*MOVE).out == "email dead-letter queue in us: nothing to move\n"
    assert records(desk.us) == []


# --- move, where the service has tasks for it ---


def test_a_move_is_the_service_s_own_at_a_rate_and_on_record(desk: Desk, tasks: MoveTasks) -> None:
    bury(desk.us, an_exhausted_delivery(customer_id="c-1"), an_exhausted_delivery(customer_id="c-2"))
    told = desk.digest(*MOVE, "--rate", "5", "--yes", "2")
    assert told.out.endswith("See how far it is: digest dlq status email --region us\n")
    assert [task.rate for task in tasks.tasks] == [5]
    assert records(desk.us) == [("move dead letters email", 2)]
    desk.clock.advance(timedelta(seconds=1))
    told = desk.digest("dlq", "status", "email", "--region", "us")
    assert told.out.startswith("email in us: no move runs\n")
    assert "2026-11-29 20:00:00, 1 s ago  completed      2   2" in told.out
    assert (len(desk.us.bodies(queue_url("email"))), desk.us.count(DEAD)) == (2, 0)


def test_a_second_move_waits_for_the_first(desk: Desk, tasks: MoveTasks) -> None:
    bury(desk.us, an_exhausted_delivery(customer_id="c-1"), an_exhausted_delivery(customer_id="c-2"))
    desk.digest(*MOVE, "--rate", "1", "--yes", "2")
    told = desk.digest(*MOVE, "--yes", "2")
    assert told.status == 1
    assert "a move is running already; see `digest dlq status email --region us`" in told.err
    assert len(records(desk.us)) == 1
    told = desk.digest("dlq", "status", "email", "--region", "us")
    assert told.out.startswith("email in us: running, 0 of 2 moved\n")
    assert len(tasks.tasks) == 1


def test_a_move_is_cancelled_and_what_is_left_stays_where_it_is(desk: Desk, tasks: MoveTasks) -> None:
    bury(desk.us, an_exhausted_delivery(customer_id="c-1"), an_exhausted_delivery(customer_id="c-2"))
    desk.digest(*MOVE, "--rate", "1", "--yes", "2")
    desk.clock.advance(timedelta(seconds=1))
    cancel = ("dlq", "cancel", "email", "--region", "us", "--reason", "INC-47: not mended")
    assert desk.digest(*cancel).out.startswith("email in us: cancelled, after about 1 message\n")
    assert desk.digest(*cancel).out == "email in us: no move runs; nothing was changed\n"
    told = desk.digest("dlq", "status", "email", "--region", "us", "--json").json
    assert [task["status"] for task in told["tasks"]] == [task.status for task in tasks.tasks] == ["CANCELLED"]
    assert (desk.us.count(queue_url("email")), desk.us.count(DEAD)) == (1, 1)


def test_a_move_that_meets_what_somebody_sent_by_hand_fails_and_says_why(desk: Desk, tasks: MoveTasks) -> None:
    send(desk.us, POISON)
    desk.digest(*MOVE, "--yes", "1")
    desk.clock.advance(timedelta(seconds=1))
    (task,) = desk.digest("dlq", "status", "email", "--region", "us", "--json").json["tasks"]
    assert (task["status"], task["failure"], task["moved"]) == ("FAILED", NO_SOURCE, 0)
    assert f"failed      0   1  {NO_SOURCE}" in desk.digest("dlq", "status", "email", "--region", "us").out
    assert tasks.tasks[0].status == "FAILED"


# --- move, where it has none ---


def test_without_tasks_messages_are_carried_back_attributes_and_all_at_the_rate(desk: Desk) -> None:
    dead(desk.us, *(an_exhausted_delivery(customer_id=f"c-{number}") for number in range(4)))
    send(desk.us, POISON, trace={"DataType": "String", "StringValue": "t-1"})
    with no_move_tasks(desk):
        told = desk.digest(*MOVE, "--rate", "2", "--yes", "5")
    assert told.status == 0, told.err
    assert "this endpoint has no StartMessageMoveTask" in told.err
    assert desk.clock() - SUNDAY_EVENING == timedelta(seconds=2.5)
    arrived = desk.us.sqs.receive_message(
        QueueUrl=queue_url("email"), MaxNumberOfMessages=10, MessageAttributeNames=["All"]
    )["Messages"]
    assert len(arrived) == 5
    assert [one["MessageAttributes"]["trace"]["StringValue"] for one in arrived if one["Body"] == POISON] == ["t-1"]
    assert desk.us.count(DEAD) == 0
    assert records(desk.us) == [("move dead letters email", 5)]


def test_one_that_dies_between_sending_and_deleting_doubles_a_message_and_loses_none(desk: Desk) -> None:
    dead(desk.us, an_exhausted_delivery())
    with no_move_tasks(desk), failing(desk.deployment.region("us").sqs, "DeleteMessage", KeyboardInterrupt()):
        told = desk.digest(*MOVE, "--yes", "1")
    assert told.status != 0
    assert (desk.us.count(queue_url("email")), desk.us.count(DEAD)) == (1, 1)
    assert records(desk.us) == [("move dead letters email", 0)]


def test_a_move_of_another_number_than_was_confirmed_moves_nothing(desk: Desk) -> None:
    dead(desk.us, an_exhausted_delivery())
    told = desk.digest(*MOVE, "--yes", "2")
    assert told.status == 1
    assert "2 confirmed, but the number is 1 now" in told.err
    assert (desk.us.count(DEAD), records(desk.us)) == (1, [])


def test_a_move_s_progress_is_nowhere_to_be_seen_where_there_are_no_tasks(desk: Desk) -> None:
    with no_move_tasks(desk):
        told = desk.digest("dlq", "status", "email", "--region", "us")
    assert told.status == 1
    assert "`digest dlq move` carries messages itself, and Ctrl-C stops it" in told.err
