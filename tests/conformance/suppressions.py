"""What `Suppressions` must do, whatever they stand on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import permutations

import pytest

from functions.core.customer import Profile
from functions.core.identity import Channel, DeliveryId, Topic
from functions.core.ports import Suppressions
from functions.core.receipts import SoftBounce, SuppressionCause
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.examples import CUSTOMER, a_profile

NOW = SUNDAY_EVENING
LATER = NOW + timedelta(hours=1)
LONG_AGO = NOW - timedelta(days=90)
EMAIL, SMS = Channel.EMAIL, Channel.SMS
BOUNCE, COMPLAINT, STOP = SuppressionCause.HARD_BOUNCE, SuppressionCause.COMPLAINT, SuppressionCause.STOP


@dataclass(frozen=True)
class Suppressed:
    """Suppressions, and the profiles they are kept on."""

    suppressions: Suppressions
    add: Callable[[Profile], None]
    suppressed: Callable[[str], Mapping[Channel, str]]


def delivery(week: int) -> DeliveryId:
    return DeliveryId(Topic.DIGEST, CUSTOMER, f"2026-11-{week:02}", EMAIL)


def bounce(week: int, at: datetime = NOW) -> SoftBounce:
    return SoftBounce(at, str(delivery(week)))


class SuppressionsConformance(ABC):
    @pytest.fixture
    @abstractmethod
    def world(self) -> Suppressed: ...

    @pytest.fixture
    def known(self, world: Suppressed) -> Suppressed:
        world.add(a_profile())
        return world

    def test_an_address_is_suppressed_on_its_channel_only(self, known: Suppressed) -> None:
        assert known.suppressions.suppress(CUSTOMER, EMAIL, BOUNCE, at=NOW, code="5.1.1")
        assert known.suppressed(CUSTOMER) == {EMAIL: "hard_bounce"}

    def test_channels_are_suppressed_independently(self, known: Suppressed) -> None:
        assert known.suppressions.suppress(CUSTOMER, EMAIL, BOUNCE, at=NOW, code="5.1.1")
        assert known.suppressions.suppress(CUSTOMER, SMS, STOP, at=NOW, code="keyword")
        assert known.suppressed(CUSTOMER) == {EMAIL: "hard_bounce", SMS: "stop"}

    @pytest.mark.parametrize("order", list(permutations(SuppressionCause)), ids=",".join)
    def test_the_heaviest_cause_stands_whatever_came_first(
        self, known: Suppressed, order: tuple[SuppressionCause, ...]
    ) -> None:
        for cause in order:
            known.suppressions.suppress(CUSTOMER, EMAIL, cause, at=NOW, code="-")
        assert known.suppressed(CUSTOMER) == {EMAIL: "stop"}

    def test_the_same_cause_again_changes_nothing(self, known: Suppressed) -> None:
        known.suppressions.suppress(CUSTOMER, EMAIL, BOUNCE, at=NOW, code="5.1.1")
        assert not known.suppressions.suppress(CUSTOMER, EMAIL, BOUNCE, at=LATER, code="5.1.1")

    def test_a_customer_who_was_erased_does_not_come_back_as_a_suppression(self, world: Suppressed) -> None:
        assert not world.suppressions.suppress(CUSTOMER, EMAIL, BOUNCE, at=NOW, code="5.1.1")
        assert not world.suppressions.note_soft_bounce(delivery(9), at=NOW, since=LONG_AGO)
        assert not world.suppressions.forget_soft_bounces(delivery(9))
        assert world.suppressed(CUSTOMER) == {}

    def test_a_person_lifts_a_suppression(self, known: Suppressed) -> None:
        known.suppressions.suppress(CUSTOMER, EMAIL, BOUNCE, at=NOW, code="5.1.1")
        known.suppressions.suppress(CUSTOMER, SMS, STOP, at=NOW, code="keyword")
        assert known.suppressions.clear(CUSTOMER, EMAIL, at=LATER)
        assert known.suppressed(CUSTOMER) == {SMS: "stop"}

    def test_lifting_what_is_not_suppressed_changes_nothing(self, known: Suppressed) -> None:
        assert not known.suppressions.clear(CUSTOMER, EMAIL, at=NOW)
        assert known.suppressions.suppress(CUSTOMER, EMAIL, BOUNCE, at=NOW, code="5.1.1")

    @pytest.mark.parametrize("at", [NOW, LATER], ids=["before", "at the same time"])
    def test_an_older_event_does_not_undo_what_a_person_lifted(self, known: Suppressed, at: datetime) -> None:
        known.suppressions.suppress(CUSTOMER, EMAIL, BOUNCE, at=NOW, code="5.1.1")
        known.suppressions.clear(CUSTOMER, EMAIL, at=LATER)
        assert not known.suppressions.suppress(CUSTOMER, EMAIL, COMPLAINT, at=at, code="abuse")
        assert known.suppressed(CUSTOMER) == {}

    def test_an_event_after_a_person_lifted_it_suppresses_again(self, known: Suppressed) -> None:
        known.suppressions.suppress(CUSTOMER, EMAIL, BOUNCE, at=NOW, code="5.1.1")
        known.suppressions.clear(CUSTOMER, EMAIL, at=LATER)
        again = LATER + timedelta(seconds=1)
        assert known.suppressions.suppress(CUSTOMER, EMAIL, BOUNCE, at=again, code="5.1.1")

    def test_soft_bounces_are_remembered_by_delivery(self, known: Suppressed) -> None:
        known.suppressions.note_soft_bounce(delivery(9), at=NOW, since=LONG_AGO)
        known.suppressions.note_soft_bounce(delivery(9), at=LATER, since=LONG_AGO)
        held = known.suppressions.note_soft_bounce(delivery(16), at=NOW, since=LONG_AGO)
        assert set(held) == {bounce(9), bounce(9, LATER), bounce(16)}

    def test_a_soft_bounce_that_is_too_old_does_not_count_any_more(self, known: Suppressed) -> None:
        known.suppressions.note_soft_bounce(delivery(2), at=LONG_AGO, since=LONG_AGO)
        held = known.suppressions.note_soft_bounce(delivery(16), at=NOW, since=NOW - timedelta(days=60))
        assert set(held) == {bounce(16)}

    def test_a_soft_bounce_of_a_delivery_that_arrived_after_all_is_forgotten(self, known: Suppressed) -> None:
        known.suppressions.note_soft_bounce(delivery(9), at=NOW, since=LONG_AGO)
        known.suppressions.note_soft_bounce(delivery(16), at=NOW, since=LONG_AGO)
        known.suppressions.note_soft_bounce(delivery(9), at=LATER, since=LONG_AGO)
        assert set(known.suppressions.forget_soft_bounces(delivery(9))) == {bounce(16)}
        held = known.suppressions.note_soft_bounce(delivery(23), at=NOW, since=LONG_AGO)
        assert set(held) == {bounce(16), bounce(23)}

    def test_a_suppression_whose_ground_has_gone_is_taken_back(self, known: Suppressed) -> None:
        known.suppressions.suppress(CUSTOMER, EMAIL, SuppressionCause.SOFT_BOUNCES, at=NOW, code="-")
        known.suppressions.suppress(CUSTOMER, SMS, STOP, at=NOW, code="keyword")
        assert known.suppressions.withdraw(CUSTOMER, EMAIL, SuppressionCause.SOFT_BOUNCES)
        assert known.suppressed(CUSTOMER) == {SMS: "stop"}

    def test_a_suppression_for_another_cause_is_not_taken_back(self, known: Suppressed) -> None:
        assert not known.suppressions.withdraw(CUSTOMER, EMAIL, SuppressionCause.SOFT_BOUNCES)
        known.suppressions.suppress(CUSTOMER, EMAIL, BOUNCE, at=NOW, code="5.1.1")
        assert not known.suppressions.withdraw(CUSTOMER, EMAIL, SuppressionCause.SOFT_BOUNCES)
        assert known.suppressed(CUSTOMER) == {EMAIL: "hard_bounce"}

    def test_soft_bounces_from_before_a_person_lifted_the_suppression_are_forgotten(self, known: Suppressed) -> None:
        known.suppressions.note_soft_bounce(delivery(9), at=NOW, since=LONG_AGO)
        known.suppressions.suppress(CUSTOMER, EMAIL, SuppressionCause.SOFT_BOUNCES, at=NOW, code="-")
        known.suppressions.clear(CUSTOMER, EMAIL, at=LATER)
        assert not known.suppressions.note_soft_bounce(delivery(16), at=NOW, since=LONG_AGO)
        after = LATER + timedelta(hours=1)
        held = known.suppressions.note_soft_bounce(delivery(23), at=after, since=LONG_AGO)
        assert set(held) == {bounce(23, after)}
