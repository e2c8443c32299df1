"""What may happen to a week's deliveries. Each story is cut at every call that its processes make."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final

from functions.core.customer import Consent
from functions.core.delivery import Status
from functions.core.identity import Channel, Topic
from functions.core.outcome import Outcome, OutcomeClass
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.examples import EVERYTHING_WANTED, a_digest_schedule, a_profile, a_reminder, an_activity
from tests.proof.carrier import Kind, Mishap
from tests.proof.world import World

EVERY_KIND: Final = tuple(Kind)
SOON: Final = SUNDAY_EVENING + timedelta(seconds=2)
THROTTLED: Final = Outcome(
    OutcomeClass.THROTTLED, "rate_limit_exceeded", retry_at=SUNDAY_EVENING + timedelta(seconds=90)
)
UNAVAILABLE: Final = Outcome(OutcomeClass.UNAVAILABLE, "service_unavailable")
REJECTED: Final = Outcome(OutcomeClass.REJECTED, "invalid_parameter")
REFUSED: Final = Outcome(OutcomeClass.AUTH, "invalid_access")


@dataclass(frozen=True)
class Story:
    """`ends` are the states in which its deliveries may end, beside `uncertain` where the provider cannot tell."""

    name: str
    tell: Callable[[World], None]
    kinds: tuple[Kind, ...] = EVERY_KIND
    channel: Channel = Channel.EMAIL
    ends: frozenset[Status] = field(default=frozenset({Status.ACCEPTED}))
    may_be_uncertain: bool = False
    may_leave_dead_letters: bool = False


def _two_customers(world: World) -> None:
    for customer_id in ("c-1", "c-2"):
        world.region.add(a_profile(customer_id), an_activity())
        world.schedule(a_digest_schedule(customer_id, channels=[world.channel]))


def _one_customer(world: World) -> None:
    world.region.add(a_profile("c-1"), an_activity())
    world.schedule(a_digest_schedule("c-1", channels=[world.channel]))


def straight(world: World) -> None:
    _two_customers(world)


def alone(world: World) -> None:
    _one_customer(world)


def with_a_reminder(world: World) -> None:
    _one_customer(world)
    world.schedule(replace(a_reminder("c-1"), channels=(world.channel,)))


def answer_lost(world: World) -> None:
    _two_customers(world)
    world.carrier.answers.append(Mishap.LOST)


def window_passes_while_trying_again(world: World) -> None:
    answer_lost(world)
    world.carrier.guarantee = replace(world.carrier.guarantee, window=timedelta(seconds=40))


def died_after_acceptance(world: World) -> None:
    _one_customer(world)
    world.carrier.answers.append(Mishap.DIED)


def event_before_settlement(world: World) -> None:
    _one_customer(world)
    world.event_after = timedelta(milliseconds=20)
    world.carrier.answers.append(Mishap.LOST)


def throttled(world: World) -> None:
    _two_customers(world)
    world.carrier.answers.append(THROTTLED)


def unavailable_once(world: World) -> None:
    _one_customer(world)
    world.carrier.answers.append(UNAVAILABLE)


def rejected(world: World) -> None:
    _one_customer(world)
    world.carrier.answers.extend([REJECTED] * 50)  # however often it is asked


def halted_and_resumed(world: World) -> None:
    """The operator looks more than once: what was held up may be refused after the channel was first resumed."""
    _two_customers(world)
    world.carrier.answers.append(REFUSED)
    for later in (timedelta(minutes=3), timedelta(minutes=30), timedelta(hours=3)):
        world.happens(SUNDAY_EVENING + later, lambda: world.traffic.resume(world.channel))


def paced(world: World) -> None:
    """The second has to wait longer for its turn than a consumer lives."""
    _two_customers(world)
    world.rate_per_second = 1 / 40


def exhausted_and_redriven(world: World) -> None:
    _one_customer(world)
    world.carrier.answers.extend([UNAVAILABLE] * 6)
    world.happens(SUNDAY_EVENING + timedelta(hours=6), world.redrive)


def dies_of_it_every_time(world: World) -> None:
    _one_customer(world)
    world.carrier.answers.extend([Mishap.CRASHED] * 50)


def messages_lost(world: World) -> None:
    _two_customers(world)
    world.consumers_from = SOON
    world.happens(SOON, world.purge_queue)


def messages_doubled(world: World) -> None:
    _one_customer(world)
    world.consumers_from = SOON
    world.happens(SOON, world.duplicate_messages)


def too_late(world: World) -> None:
    world.region.add(a_profile("c-1"))
    reminder = replace(a_reminder("c-1"), channels=(world.channel,), expires_at=SUNDAY_EVENING + timedelta(minutes=9))
    world.schedule(reminder)
    world.consumers_from = SUNDAY_EVENING + timedelta(minutes=10)


def opted_out_after_planning(world: World) -> None:
    _two_customers(world)
    world.consumers_from = SOON
    nothing_wanted = {**EVERYTHING_WANTED, (Topic.DIGEST, world.channel): Consent.OPTED_OUT}
    world.happens(SOON, lambda: world.region.add(a_profile("c-1", consent=nothing_wanted)))


def opted_out_in_doubt(world: World) -> None:
    _one_customer(world)
    world.carrier.answers.append(Mishap.CRASHED)
    nothing_wanted = {**EVERYTHING_WANTED, (Topic.DIGEST, world.channel): Consent.OPTED_OUT}
    world.happens(SOON, lambda: world.region.add(a_profile("c-1", consent=nothing_wanted)))


def changed_between_attempts(world: World) -> None:
    _one_customer(world)
    world.carrier.answers.append(Mishap.LOST)
    world.happens(SUNDAY_EVENING + timedelta(seconds=1), lambda: world.region.add(a_profile("c-1"), an_activity("a-2")))


STORIES: Final = {
    story.name: story
    for story in (
        Story("straight", straight),
        Story("alone", alone),
        Story("text messages", straight, (Kind.NONE, Kind.EVENTS), channel=Channel.SMS),
        Story("webhooks", straight, (Kind.KEY, Kind.NONE), channel=Channel.WEBHOOK),
        Story("with a reminder", with_a_reminder, (Kind.KEY, Kind.NONE)),
        Story("answer lost", answer_lost),
        Story("window passes while trying again", window_passes_while_trying_again, (Kind.KEY_PASSED,)),
        Story("died after acceptance", died_after_acceptance),
        Story("event before settlement", event_before_settlement, (Kind.EVENTS,)),
        Story("throttled", throttled, (Kind.KEY, Kind.NONE)),
        Story("paced", paced, (Kind.KEY, Kind.NONE)),
        Story("unavailable once", unavailable_once),
        Story(
            "rejected",
            rejected,
            (Kind.KEY, Kind.NONE),
            ends=frozenset({Status.DEAD_LETTER}),
            may_be_uncertain=True,  # a rejection says nothing of the attempt before it
        ),
        Story("halted and resumed", halted_and_resumed, (Kind.KEY, Kind.NONE)),
        Story(
            "exhausted and redriven",
            exhausted_and_redriven,
            (Kind.KEY, Kind.NONE),
            may_be_uncertain=True,
            may_leave_dead_letters=True,
        ),
        Story(
            "dies of it every time",
            dies_of_it_every_time,
            (Kind.KEY, Kind.NONE),
            ends=frozenset({Status.DEAD_LETTER}),
            may_be_uncertain=True,
            may_leave_dead_letters=True,
        ),
        Story("messages lost", messages_lost, (Kind.KEY, Kind.NONE)),
        Story("messages doubled", messages_doubled),
        Story("too late", too_late, (Kind.KEY, Kind.NONE), ends=frozenset({Status.EXPIRED})),
        Story(
            "opted out after planning",
            opted_out_after_planning,
            (Kind.KEY, Kind.LOOKUP, Kind.NONE),
            ends=frozenset({Status.ACCEPTED, Status.SKIPPED}),
        ),
        Story(
            "opted out in doubt",
            opted_out_in_doubt,
            (Kind.LOOKUP, Kind.NONE),
            ends=frozenset({Status.ACCEPTED, Status.SKIPPED}),
        ),
        Story("changed between attempts", changed_between_attempts, (Kind.KEY, Kind.LOOKUP), may_be_uncertain=True),
    )
}
