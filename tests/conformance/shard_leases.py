"""What the planner's leases must do, whatever they stand on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import timedelta

import pytest

from functions.core.ports import ShardLeases
from tests.fakes.clock import SUNDAY_EVENING

NOW = SUNDAY_EVENING
IN_A_MINUTE = NOW + timedelta(minutes=1)
IN_TWO_MINUTES = NOW + timedelta(minutes=2)


class ShardLeasesConformance(ABC):
    @pytest.fixture
    @abstractmethod
    def leases(self) -> ShardLeases: ...

    def test_a_free_shard_is_taken(self, leases: ShardLeases) -> None:
        assert leases.take(3, owner="first", now=NOW, until=IN_A_MINUTE)

    def test_a_shard_that_somebody_works_on_is_left_alone(self, leases: ShardLeases) -> None:
        leases.take(3, owner="first", now=NOW, until=IN_A_MINUTE)
        assert not leases.take(3, owner="second", now=NOW, until=IN_A_MINUTE)
        assert leases.take(4, owner="second", now=NOW, until=IN_A_MINUTE)

    def test_an_invocation_that_lambda_runs_again_takes_its_own_shard(self, leases: ShardLeases) -> None:
        leases.take(3, owner="first", now=NOW, until=IN_A_MINUTE)
        assert leases.take(3, owner="first", now=NOW, until=IN_A_MINUTE)

    def test_the_shard_of_a_planner_that_died_is_free_when_its_lease_ends(self, leases: ShardLeases) -> None:
        leases.take(3, owner="first", now=NOW, until=IN_A_MINUTE)
        assert leases.take(3, owner="second", now=IN_A_MINUTE, until=IN_TWO_MINUTES)

    def test_a_shard_that_was_given_back_is_free(self, leases: ShardLeases) -> None:
        leases.take(3, owner="first", now=NOW, until=IN_A_MINUTE)
        leases.give_back(3, owner="first")
        assert leases.take(3, owner="second", now=NOW, until=IN_A_MINUTE)

    def test_a_planner_that_lost_its_shard_does_not_give_it_away(self, leases: ShardLeases) -> None:
        leases.take(3, owner="first", now=NOW, until=IN_A_MINUTE)
        leases.take(3, owner="second", now=IN_A_MINUTE, until=IN_TWO_MINUTES)
        leases.give_back(3, owner="first")
        assert not leases.take(3, owner="third", now=IN_A_MINUTE, until=IN_TWO_MINUTES)
