"""One run of a story: what goes wrong in it, and what it came to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from functions.core.delivery import Status
from tests.fakes.clock import SUNDAY_EVENING
from tests.proof.carrier import Kind
from tests.proof.invariants import violations
from tests.proof.outside import LEAVES_AN_EFFECT, Call, Cut, Meanwhile, Side, at
from tests.proof.stories import STORIES, Story
from tests.proof.world import RestlessError, World, a_world


@dataclass(frozen=True, slots=True)
class Case:
    """One run: a story, a kind of provider, and where it is cut (nowhere: the run that finds the calls)."""

    story: str
    kind: Kind
    cuts: tuple[Cut, ...] = ()
    call: str = ""
    process: str = ""

    def __str__(self) -> str:
        where = "".join(f" | {cut.number} {cut.side} {cut.meanwhile}" for cut in self.cuts) or " | uncut"
        return f"{self.story} | {self.kind} | {self.process}: {self.call}{where}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a run came to."""

    case: Case
    calls: tuple[Call, ...]
    violations: tuple[str, ...]
    ends: tuple[Status, ...]
    took: timedelta  # from the planner's wake-up until everything was quiet
    needless_doubt: int  # uncertain rows that were never sent


def judge(case: Case) -> Verdict:
    """Run a case to its end and look at what is left."""
    story = STORIES[case.story]
    with a_world(case.kind, story.channel, at(*case.cuts)) as world:
        return told(case, world)


def told(case: Case, world: World, between_steps: Callable[[], None] = lambda: None) -> Verdict:
    """Tell a case's story in a world, and judge it."""
    story = STORIES[case.story]
    story.tell(world)
    found: list[str] = []
    try:
        world.play(between_steps)
    except RestlessError as error:
        found.append(str(error))
    if case.cuts and not world.outside.was_cut:
        found.append("the cut was never reached: the run is not the same twice")
    found.extend(violations(world, story))
    rows = world.rows()
    return Verdict(
        case,
        tuple(world.outside.calls),
        tuple(found),
        tuple(row.status for row in rows),
        world.clock() - SUNDAY_EVENING,
        sum(row.status is Status.UNCERTAIN and not world.carrier.operations[str(row.delivery_id)] for row in rows),
    )


def cuts_of(base: Verdict) -> Iterator[Case]:
    """Every case that follows from an uncut run."""
    for call in base.calls:
        yield from cuts_at(base.case, call)


def cuts_at(base: Case, call: Call) -> Iterator[Case]:
    """Every case that follows from one call."""
    for meanwhile, sides in _what_may_happen(base.kind, call):
        for side in sides:
            yield Case(base.story, base.kind, (Cut(call.number, side, meanwhile),), call.name, call.process)


def _what_may_happen(kind: Kind, call: Call) -> Iterator[tuple[Meanwhile, Sequence[Side]]]:
    yield Meanwhile.NOBODY, call.sides
    yield Meanwhile.TWIN, (Side.NONE, *call.sides)
    if call.process != "reconciler":
        yield Meanwhile.SWEEP, (Side.NONE, *(side for side in call.sides if side in LEAVES_AN_EFFECT))
    if kind is Kind.EVENTS and call.process.endswith("consumer"):
        yield Meanwhile.EVENT, (Side.NONE, *(side for side in call.sides if side in LEAVES_AN_EFFECT))


def uncut(stories: Iterable[Story], kinds: Iterable[Kind]) -> list[Case]:
    wanted = set(kinds)
    return [Case(story.name, kind) for story in stories for kind in story.kinds if kind in wanted]
