"""Whom a run of the planner would write to, and who would be skipped: counted from schedules and profiles as they are.

What only the moment of the send decides is not counted: an empty week, quiet hours, a customer who leaves meanwhile.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeAlias

from functions import names
from functions.adapters.due_schedules import due_by
from functions.core.allow_list import AllowList
from functions.core.customer import DigestSchedule
from functions.core.delivery import SkipReason
from functions.core.eligibility import reason_to_skip
from functions.core.identity import Channel, DeliveryId, Topic
from functions.core.ports import UnreadableSchedule
from ops.profiles import profiles

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from functions.core.customer import Profile, Schedule
    from ops.deployment import RegionDeployment

PAGE: Final = 500  # schedules whose customers are read together

DueOn: TypeAlias = "tuple[str, Channel]"  # ISO date in UTC, and channel


@dataclass(slots=True)
class Audience:
    """What is due in a data region, by day and channel, and how much of it would be skipped, by reason."""

    data_region: str
    schedules: int = 0
    unreadable: list[str] = field(default_factory=list)  # customers whose schedule nobody can plan
    deliveries: Counter[DueOn] = field(default_factory=Counter)
    skipped: dict[DueOn, Counter[SkipReason]] = field(default_factory=dict)

    def skipped_of(self, channel: Channel | None = None) -> Counter[SkipReason]:
        """How many would be skipped, by reason, on one channel or on all."""
        total: Counter[SkipReason] = Counter()
        for (_, one), reasons in self.skipped.items():
            if channel in {None, one}:
                total.update(reasons)
        return total


def audience(region: RegionDeployment, until: datetime) -> Audience:
    """Count what is due by a time. Reads every schedule that is due, and its customer."""
    counted = Audience(region.data_region)
    allowed = {channel: _allow_list(region, channel) for channel in Channel}
    for page in _pages(due_by(region, until)):
        known = profiles(region, (one.customer_id for one in page))
        for schedule in page:
            counted.schedules += 1
            if isinstance(schedule, UnreadableSchedule):
                counted.unreadable.append(schedule.customer_id)
            else:
                _count(counted, schedule, known.get(schedule.customer_id), allowed)
    return counted


def _count(
    counted: Audience, schedule: Schedule, profile: Profile | None, allowed: Mapping[Channel, AllowList | None]
) -> None:
    for channel in schedule.channels:
        due_on = (f"{schedule.next_run_at:%Y-%m-%d}", channel)
        counted.deliveries[due_on] += 1
        reason = _reason(schedule, channel, profile, allowed[channel])
        if reason is not None:
            counted.skipped.setdefault(due_on, Counter())[reason] += 1


def _reason(
    schedule: Schedule, channel: Channel, profile: Profile | None, allow_list: AllowList | None
) -> SkipReason | None:
    digest = isinstance(schedule, DigestSchedule)
    topic, occasion = (Topic.DIGEST, "-") if digest else (Topic.REMINDER, schedule.record)
    reason = reason_to_skip(DeliveryId(topic, schedule.customer_id, occasion, channel), profile)
    if reason is not None or profile is None:
        return reason
    if not isinstance(schedule, DigestSchedule) and schedule.obsolete is not None:
        return SkipReason(schedule.obsolete)
    if allow_list is not None and not allow_list.allows(profile.addresses[channel]):
        return SkipReason.NOT_ON_ALLOW_LIST
    return None


def _allow_list(region: RegionDeployment, channel: Channel) -> AllowList | None:
    listed = json.loads(region.consumer_variables(channel).get(names.ENV_RECIPIENTS, "null"))
    return None if listed is None else AllowList(tuple(listed))


def _pages(
    schedules: Iterable[Schedule | UnreadableSchedule],
) -> Iterator[Sequence[Schedule | UnreadableSchedule]]:
    remaining = iter(schedules)
    while page := list(islice(remaining, PAGE)):
        yield page
