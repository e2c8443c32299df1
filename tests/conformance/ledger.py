"""What every ledger and plan book must do, whatever they stand on.

Subclass `LedgerConformance` in a test module and give it a `world` fixture; the fake and DynamoDB run the same
scenarios.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import pytest

from functions.core.customer import Schedule
from functions.core.delivery import OPEN, TRANSITIONS, Attempt, Attention, Delivery, Failure, SkipReason, Status
from functions.core.identity import Channel
from functions.core.outcome import Dedupe, Guarantee, Outcome, OutcomeClass
from functions.core.planning import SchedulePlan
from functions.core.ports import ClaimRefusedError, Ledger, PlanBook
from functions.core.settlement import (
    abandoned,
    doubtful,
    expired,
    postponed,
    put_off,
    redriven,
    requeued,
    settled,
    skipped,
)
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.examples import (
    ACCEPTED,
    PERIOD,
    a_claim,
    a_delivery,
    a_digest_schedule,
    a_plan,
    a_reminder,
    a_sending_delivery,
    an_exhausted_delivery,
)

LATER = SUNDAY_EVENING + timedelta(hours=1)
A_WEEK = timedelta(days=7)
NO_KEYS = Guarantee(Dedupe.NONE)


@dataclass(frozen=True)
class World:
    """A ledger and a plan book on the same rows, and the ways to set a scene without them. One shard."""

    ledger: Ledger
    book: PlanBook
    put: Callable[[Delivery], None]
    add_schedule: Callable[[Schedule], None]
    next_run_at: Callable[[Schedule], datetime | None]

    def row(self, delivery: Delivery) -> Delivery:
        return self.ledger.read([str(delivery.delivery_id)])[str(delivery.delivery_id)]


class LedgerConformance(ABC):
    @pytest.fixture
    @abstractmethod
    def world(self) -> World: ...

    # --- reading ---

    def test_an_id_without_a_row_is_left_out(self, world: World) -> None:
        world.put(a_delivery())
        rows = world.ledger.read([str(a_delivery().delivery_id), "digest:c-nobody:2026-11-16:email"])
        assert list(rows) == [str(a_delivery().delivery_id)]

    def test_a_row_comes_back_as_it_was_written(self, world: World) -> None:
        full = a_delivery(
            status=Status.RETRYABLE,
            enqueued_at=LATER,
            attempt=3,
            claimed_by="request-3",
            next_attempt_at=LATER,
            attention_at=LATER,
            provider="ses",
            fingerprint="f" * 64,
            failure=Failure("throttled", "TooManyRequestsException", LATER),
            history=(Attempt(3, LATER, "throttled", "TooManyRequestsException", 1),),
        )
        world.put(full)
        assert world.row(full) == full

    def test_an_id_asked_for_twice_is_read_once(self, world: World) -> None:
        world.put(a_delivery())
        assert len(world.ledger.read([str(a_delivery().delivery_id)] * 3)) == 1

    def test_more_rows_than_fit_in_one_request_are_all_read(self, world: World) -> None:
        rows = [a_delivery(f"c-{number}") for number in range(130)]
        for row in rows:
            world.put(row)
        assert len(world.ledger.read(str(row.delivery_id) for row in rows)) == 130

    # --- claiming ---

    @pytest.mark.parametrize("status", [Status.PLANNED, Status.QUEUED, Status.RETRYABLE])
    def test_a_waiting_row_is_claimed_with_the_next_attempt(self, world: World, status: Status) -> None:
        before = a_delivery(status=status, attempt=2)
        world.put(before)
        claimed = world.ledger.claim(before, a_claim(owner="request-7"))
        assert (claimed.status, claimed.attempt, claimed.claimed_by) == (Status.SENDING, 3, "request-7")
        assert world.row(before) == claimed

    def test_a_claim_writes_its_lease_provider_and_fingerprint(self, world: World) -> None:
        world.put(a_delivery())
        claim = a_claim()
        world.ledger.claim(a_delivery(), claim)
        row = world.row(a_delivery())
        assert (row.lease_until, row.provider, row.fingerprint) == (claim.lease_until, "fake", "f" * 64)

    def test_a_redriven_row_is_claimed_and_keeps_its_history(self, world: World) -> None:
        before = an_exhausted_delivery(history=(Attempt(6, SUNDAY_EVENING, "unavailable", "ServiceUnavailable", 1),))
        world.put(before)
        claimed = world.ledger.claim(before, a_claim())
        assert (claimed.attempt, claimed.history) == (7, before.history)

    def test_of_two_that_read_the_same_row_one_claims_it(self, world: World) -> None:
        before = a_delivery(status=Status.QUEUED, enqueued_at=SUNDAY_EVENING)
        world.put(before)
        world.ledger.claim(before, a_claim(owner="first"))
        with pytest.raises(ClaimRefusedError) as refused:
            world.ledger.claim(before, a_claim(owner="second"))
        assert refused.value.current is not None
        assert refused.value.current.claimed_by == "first"
        assert world.row(before).attempt == 1

    def test_a_claim_whose_answer_was_lost_is_known_again_by_its_owner(self, world: World) -> None:
        before = a_delivery(status=Status.QUEUED, enqueued_at=SUNDAY_EVENING)
        world.put(before)
        first = world.ledger.claim(before, a_claim(owner="request-1"))
        assert world.ledger.claim(before, a_claim(owner="request-1")) == first

    def test_a_claim_that_was_settled_meanwhile_is_not_taken_for_its_own(self, world: World) -> None:
        before = a_delivery(status=Status.QUEUED, enqueued_at=SUNDAY_EVENING)
        world.put(before)
        mine = world.ledger.claim(before, a_claim(owner="request-1"))
        world.ledger.write(mine, abandoned(mine, guarantee=NO_KEYS, at=LATER))
        with pytest.raises(ClaimRefusedError):
            world.ledger.claim(before, a_claim(owner="request-1"))

    @pytest.mark.parametrize("status", [Status.ACCEPTED, Status.SKIPPED, Status.EXPIRED, Status.UNCERTAIN])
    def test_a_row_that_has_ended_since_it_was_read_is_not_claimed(self, world: World, status: Status) -> None:
        world.put(a_delivery(status=status))
        with pytest.raises(ClaimRefusedError) as refused:
            world.ledger.claim(a_delivery(status=Status.QUEUED), a_claim())
        assert refused.value.current is not None
        assert refused.value.current.status is status

    def test_a_row_that_is_not_there_is_not_claimed(self, world: World) -> None:
        with pytest.raises(ClaimRefusedError) as refused:
            world.ledger.claim(a_delivery(), a_claim())
        assert refused.value.current is None

    # --- writing ---

    def test_a_claimed_row_is_settled(self, world: World) -> None:
        sending = a_sending_delivery()
        world.put(sending)
        assert world.ledger.write(sending, settled(sending, ACCEPTED, guarantee=NO_KEYS, pause_s=None, at=LATER))
        row = world.row(sending)
        assert (row.status, row.accepted_at, row.provider_reference) == (Status.ACCEPTED, LATER, "reference-1")
        assert row.lease_until is None

    def test_an_invocation_that_lost_its_lease_does_not_overwrite_its_successor(self, world: World) -> None:
        mine = a_sending_delivery()
        successor = replace(mine, attempt=2, claimed_by="request-2")
        world.put(successor)
        assert not world.ledger.write(mine, settled(mine, ACCEPTED, guarantee=NO_KEYS, pause_s=None, at=LATER))
        assert world.row(mine) == successor

    def test_an_acceptance_that_comes_late_settles_an_uncertain_row(self, world: World) -> None:
        mine = a_sending_delivery()
        world.put(abandoned(mine, guarantee=NO_KEYS, at=LATER))
        assert world.ledger.write(mine, settled(mine, ACCEPTED, guarantee=NO_KEYS, pause_s=None, at=LATER))
        row = world.row(mine)
        assert (row.status, row.failure, row.in_doubt_since, row.attention_at) == (Status.ACCEPTED, None, None, None)

    def test_a_row_that_was_put_off_meanwhile_is_not_claimed(self, world: World) -> None:
        """Nobody would look for it: it would be `sending`, and in the index stand among those that wait."""
        read = a_delivery(status=Status.QUEUED, enqueued_at=SUNDAY_EVENING)
        world.put(put_off(read, until=LATER))
        with pytest.raises(ClaimRefusedError):
            world.ledger.claim(read, a_claim())
        assert world.row(read).status is Status.RETRYABLE

    def test_a_row_in_doubt_is_not_put_off_by_who_has_not_heard_of_it(self, world: World) -> None:
        read = a_delivery(status=Status.RETRYABLE, attempt=1)
        world.put(doubtful(read, at=LATER))
        assert not world.ledger.write(read, put_off(read, until=LATER))
        assert world.row(read).status is Status.UNCERTAIN

    @pytest.mark.parametrize("status", [Status.PLANNED, Status.RETRYABLE])
    def test_a_row_whose_id_was_published_meanwhile_is_claimed(self, world: World, status: Status) -> None:
        read = a_delivery(status=status)
        world.put(requeued(read, at=SUNDAY_EVENING, look_again_at=LATER, unheard=False))
        world.ledger.claim(read, a_claim())
        assert world.row(read).status is Status.SENDING
        assert list(world.ledger.needing_attention(Attention.OPEN, Channel.EMAIL, 0, a_claim().lease_until))

    @pytest.mark.parametrize("source", Status)
    @pytest.mark.parametrize("target", [status for status in Status if status is not Status.PLANNED])
    def test_a_row_moves_only_as_the_table_of_transitions_allows(
        self, world: World, source: Status, target: Status
    ) -> None:
        current = a_delivery(status=source)
        world.put(current)
        allowed = target in TRANSITIONS[source] or source is target
        assert world.ledger.write(current, replace(current, status=target)) is allowed
        assert world.row(current).status is (target if allowed else source)

    def test_a_write_to_a_row_that_is_not_there_makes_none(self, world: World) -> None:
        assert not world.ledger.write(a_delivery(), expired(a_delivery(), at=LATER))
        assert world.ledger.read([str(a_delivery().delivery_id)]) == {}

    def test_a_write_changes_only_what_it_means_to_change(self, world: World) -> None:
        read = a_delivery()
        world.put(read)
        world.ledger.mark_enqueued([read], LATER)
        assert world.ledger.write(read, skipped(read, SkipReason.EMPTY, at=LATER))
        row = world.row(read)
        assert (row.status, row.enqueued_at) == (Status.SKIPPED, LATER)

    def test_what_a_row_no_longer_has_is_gone(self, world: World) -> None:
        sending = a_sending_delivery(failure=Failure("throttled", "Throttling", SUNDAY_EVENING))
        world.put(sending)
        world.ledger.write(sending, settled(sending, ACCEPTED, guarantee=NO_KEYS, pause_s=None, at=LATER))
        row = world.row(sending)
        assert (row.failure, row.lease_until, row.attention_at) == (None, None, None)

    # --- marking what was enqueued ---

    def test_published_rows_are_marked_with_the_time(self, world: World) -> None:
        rows = [a_delivery(f"c-{number}") for number in range(130)]
        for row in rows:
            world.put(row)
        world.ledger.mark_enqueued(rows, LATER)
        marked = world.ledger.read(str(row.delivery_id) for row in rows).values()
        assert {(row.status, row.enqueued_at) for row in marked} == {(Status.QUEUED, LATER)}

    def test_a_consumer_that_was_quicker_than_the_planner_keeps_its_row(self, world: World) -> None:
        quick, slow = a_delivery("c-quick"), a_delivery("c-slow")
        world.put(quick)
        world.put(slow)
        claimed = world.ledger.claim(quick, a_claim())
        world.ledger.mark_enqueued([quick, slow], LATER)
        assert world.row(quick) == claimed
        assert world.row(slow).status is Status.QUEUED

    def test_rows_that_are_gone_do_not_keep_others_from_being_marked(self, world: World) -> None:
        world.put(a_delivery("c-here"))
        world.ledger.mark_enqueued([a_delivery("c-gone"), a_delivery("c-here")], LATER)
        assert world.row(a_delivery("c-here")).status is Status.QUEUED

    # --- what needs attention ---

    def test_rows_are_looked_at_oldest_first_and_not_before_their_time(self, world: World) -> None:
        due = [a_delivery(f"c-{n}", attention_at=SUNDAY_EVENING + timedelta(minutes=n)) for n in (3, 1, 2, 4)]
        for row in due:
            world.put(row)
        seen = world.ledger.needing_attention(Attention.OPEN, Channel.EMAIL, 0, SUNDAY_EVENING + timedelta(minutes=3))
        assert [one.split(":")[1] for one in seen] == ["c-1", "c-2", "c-3"]

    def test_the_moment_itself_counts(self, world: World) -> None:
        world.put(a_delivery(attention_at=LATER))
        assert list(world.ledger.needing_attention(Attention.OPEN, Channel.EMAIL, 0, LATER))

    def test_a_channel_is_looked_at_without_the_other(self, world: World) -> None:
        world.put(a_delivery(channel=Channel.SMS))
        assert not list(world.ledger.needing_attention(Attention.OPEN, Channel.EMAIL, 0, LATER))
        assert list(world.ledger.needing_attention(Attention.OPEN, Channel.SMS, 0, LATER))

    @pytest.mark.parametrize(
        ("status", "why"),
        [
            (Status.PLANNED, Attention.OPEN),
            (Status.QUEUED, Attention.OPEN),
            (Status.SENDING, Attention.OPEN),
            (Status.RETRYABLE, Attention.RETRYABLE),
            (Status.UNCERTAIN, Attention.UNCERTAIN),
            (Status.DEAD_LETTER, Attention.DEAD_LETTER),
        ],
    )
    def test_a_row_that_has_not_ended_is_found_by_why_it_waits(
        self, world: World, status: Status, why: Attention
    ) -> None:
        world.put(a_delivery(status=status))
        found = {one for one in Attention if list(world.ledger.needing_attention(one, Channel.EMAIL, 0, LATER))}
        assert found == {why}

    def test_a_row_is_found_by_its_new_state_after_it_moved(self, world: World) -> None:
        sending = a_sending_delivery()
        world.put(sending)
        throttled = Outcome(OutcomeClass.THROTTLED, "Throttling")
        world.ledger.write(sending, settled(sending, throttled, guarantee=NO_KEYS, pause_s=30, at=SUNDAY_EVENING))
        assert not list(world.ledger.needing_attention(Attention.OPEN, Channel.EMAIL, 0, LATER))
        assert list(world.ledger.needing_attention(Attention.RETRYABLE, Channel.EMAIL, 0, LATER))

    def test_a_finished_row_needs_no_attention_any_more(self, world: World) -> None:
        too_late, unwanted = a_delivery("c-late", status=Status.QUEUED), a_delivery("c-out", status=Status.QUEUED)
        world.put(too_late)
        world.put(unwanted)
        world.ledger.write(too_late, expired(too_late, at=LATER))
        world.ledger.write(unwanted, skipped(unwanted, SkipReason.OPTED_OUT, at=LATER))
        for why in Attention:
            assert not list(world.ledger.needing_attention(why, Channel.EMAIL, 0, LATER))

    def test_a_write_knows_itself_again_and_no_other(self, world: World) -> None:
        before = an_exhausted_delivery()
        world.put(before)
        after = redriven(before, at=LATER.replace(microsecond=123_456))
        assert not world.ledger.took_effect(before, after)
        assert world.ledger.write(before, after)
        assert not world.ledger.write(before, after)
        assert world.ledger.took_effect(before, after)
        assert not world.ledger.took_effect(before, redriven(before, at=LATER))
        assert not world.ledger.took_effect(
            a_delivery("c-gone"), skipped(a_delivery("c-gone"), SkipReason.EMPTY, at=LATER)
        )

    def test_a_row_that_is_all_right_is_looked_at_later(self, world: World) -> None:
        row = a_delivery(status=Status.QUEUED, enqueued_at=SUNDAY_EVENING)
        world.put(row)
        world.ledger.write(row, postponed(row, look_again_at=LATER))
        assert not list(world.ledger.needing_attention(Attention.OPEN, Channel.EMAIL, 0, LATER - timedelta(seconds=1)))
        assert list(world.ledger.needing_attention(Attention.OPEN, Channel.EMAIL, 0, LATER))

    def test_a_row_published_again_is_left_alone_until_it_has_been_silent(self, world: World) -> None:
        row = a_delivery(status=Status.RETRYABLE, attempt=1, attention_at=SUNDAY_EVENING)
        world.put(row)
        world.ledger.write(row, requeued(row, at=SUNDAY_EVENING, look_again_at=LATER, unheard=False))
        assert not list(world.ledger.needing_attention(Attention.RETRYABLE, Channel.EMAIL, 0, LATER))
        assert list(world.ledger.needing_attention(Attention.OPEN, Channel.EMAIL, 0, LATER))

    @pytest.mark.parametrize("status", Status)
    def test_a_week_is_open_while_a_delivery_of_it_is(self, world: World, status: Status) -> None:
        world.put(a_delivery(status=status))
        assert world.ledger.has_open(PERIOD.isoformat()) is (status in OPEN)
        assert not world.ledger.has_open("2026-11-23")

    # --- the plan book ---

    def test_schedules_are_due_up_to_and_including_the_moment_oldest_first(self, world: World) -> None:
        for minutes in (2, 0, 1, 3):
            moment = SUNDAY_EVENING + timedelta(minutes=minutes)
            world.add_schedule(a_digest_schedule(f"c-{minutes}", next_run_at=moment))
        pages = world.book.due(0, SUNDAY_EVENING + timedelta(minutes=2))
        assert [one.customer_id for page in pages for one in page] == ["c-0", "c-1", "c-2"]

    def test_a_schedule_comes_back_as_it_was_written(self, world: World) -> None:
        digest, reminder = a_digest_schedule(), a_reminder(next_run_at=SUNDAY_EVENING + timedelta(seconds=1))
        world.add_schedule(digest)
        world.add_schedule(reminder)
        assert [one for page in world.book.due(0, LATER) for one in page] == [digest, reminder]

    def test_paging_loses_no_schedule(self, world: World) -> None:
        for number in range(520):
            world.add_schedule(a_digest_schedule(f"c-{number}", next_run_at=SUNDAY_EVENING))
        pages = list(world.book.due(0, LATER))
        assert sorted(len(page) for page in pages) == [20, 500]
        assert len({one.customer_id for page in pages for one in page}) == 520

    def test_rows_are_written_and_the_schedule_moved_on_in_one_commit(self, world: World) -> None:
        email, sms = a_delivery(), a_delivery(channel=Channel.SMS)
        plan = self._scheduled(world, a_plan(email, sms))
        receipt = world.book.commit([plan])
        assert (receipt.planned, receipt.existing, receipt.moved, receipt.failed) == ((email, sms), 0, 0, ())
        assert world.row(email) == email
        assert world.row(sms) == sms
        assert world.next_run_at(plan.schedule) == SUNDAY_EVENING + A_WEEK
        assert not list(world.book.due(0, LATER))

    def test_a_reminder_has_had_its_last_run(self, world: World) -> None:
        reminder = a_reminder()
        world.add_schedule(reminder)
        world.book.commit([SchedulePlan(reminder, (a_delivery(),), next_run_at=None)])
        assert world.next_run_at(reminder) is None
        assert not list(world.book.due(0, LATER))

    def test_the_same_plan_committed_twice_changes_nothing(self, world: World) -> None:
        email, sms = a_delivery(), a_delivery(channel=Channel.SMS)
        plan = self._scheduled(world, a_plan(email, sms))
        world.book.commit([plan])
        receipt = world.book.commit([plan])
        assert (receipt.planned, receipt.existing, receipt.moved, receipt.failed) == ((), 2, 1, ())
        assert world.next_run_at(plan.schedule) == SUNDAY_EVENING + A_WEEK

    def test_a_row_that_exists_is_never_set_back_to_planned(self, world: World) -> None:
        email, sms = a_delivery(), a_delivery(channel=Channel.SMS)
        plan = self._scheduled(world, a_plan(email, sms))
        accepted = replace(email, status=Status.ACCEPTED, attempt=1, accepted_at=LATER, attention_at=None)
        world.put(accepted)
        receipt = world.book.commit([plan])
        assert (receipt.planned, receipt.existing) == ((sms,), 1)
        assert world.row(email) == accepted
        assert world.next_run_at(plan.schedule) == SUNDAY_EVENING + A_WEEK

    def test_a_schedule_whose_rows_all_exist_still_moves_on(self, world: World) -> None:
        plan = self._scheduled(world, a_plan(a_delivery()))
        world.put(a_delivery())
        receipt = world.book.commit([plan])
        assert (receipt.planned, receipt.existing, receipt.moved) == ((), 1, 0)
        assert world.next_run_at(plan.schedule) == SUNDAY_EVENING + A_WEEK

    def test_a_schedule_that_somebody_moved_meanwhile_writes_no_row(self, world: World) -> None:
        world.add_schedule(a_digest_schedule(next_run_at=LATER))
        receipt = world.book.commit([a_plan(a_delivery())])
        assert (receipt.planned, receipt.moved) == ((), 1)
        assert world.ledger.read([str(a_delivery().delivery_id)]) == {}
        assert world.next_run_at(a_digest_schedule()) == LATER

    def test_one_customer_who_was_planned_already_does_not_hold_up_the_page(self, world: World) -> None:
        plans = [
            self._scheduled(world, a_plan(a_delivery(f"c-{number}"), customer_id=f"c-{number}")) for number in range(60)
        ]
        world.put(a_delivery("c-17", status=Status.SKIPPED, skip_reason=SkipReason.EMPTY, attention_at=None))
        receipt = world.book.commit(plans)
        assert (len(receipt.planned), receipt.existing, receipt.moved, receipt.failed) == (59, 1, 0, ())
        assert world.row(a_delivery("c-17")).status is Status.SKIPPED
        assert not list(world.book.due(0, LATER))

    def test_nothing_to_commit_is_nothing_done(self, world: World) -> None:
        receipt = world.book.commit([])
        assert (receipt.planned, receipt.existing, receipt.moved, receipt.failed) == ((), 0, 0, ())

    def _scheduled(self, world: World, plan: SchedulePlan) -> SchedulePlan:
        world.add_schedule(plan.schedule)
        return plan
