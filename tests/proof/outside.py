"""Everything that leaves a process goes through here: it is counted, and one call of a run may be cut."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final, NoReturn, Protocol

from botocore.exceptions import BotoCoreError, ClientError


class Side(StrEnum):
    """What goes wrong at a call. Killed is as a process dies: nothing that it would still have done has an effect."""

    KILLED_BEFORE = "killed before"
    KILLED_AFTER = "killed after"
    LANDS_LATE = "killed, lands late"  # the request was on its way, and takes effect when the process is long gone
    THROTTLED = "throttled"
    TIMED_OUT_BEFORE = "timed out before"
    TIMED_OUT_AFTER = "timed out after"
    REPEATED = "answer lost and asked again"  # what the SDK does below us
    IN_PART = "done in part"  # 200 with failed entries in it, keys left unread, or an index that has not caught up
    RAISED = "raised after"
    STALLED = "stalled before"  # the process stands still for most of its life, and then goes on
    NONE = "nothing"  # only somebody else comes between


class Meanwhile(StrEnum):
    """Who runs, from beginning to end, while a process is about to make a call."""

    NOBODY = "alone"
    TWIN = "with a twin"  # the same process once more: the same event, the same messages
    SWEEP = "with a sweep"  # the reconciler
    EVENT = "with the event"  # the provider's event of what it has accepted so far


# Of these the process learns nothing, or too late, while the outside has moved on.
LEAVES_AN_EFFECT: Final = frozenset({Side.KILLED_AFTER, Side.LANDS_LATE, Side.TIMED_OUT_AFTER})
KILLED: Final = frozenset({Side.KILLED_BEFORE, Side.KILLED_AFTER, Side.LANDS_LATE})


class Died(BaseException):  # no error: nothing may handle it
    """The process is dead: no handler, no `finally` of it reaches the outside any more."""


class Request(Protocol):
    """One thing that a process asks of the outside."""

    @property
    def name(self) -> str: ...

    @property
    def sides(self) -> tuple[Side, ...]: ...

    def perform(self) -> Any: ...

    def fail(self, side: Side) -> Any:
        """Return or raise what the caller sees of a failure; its effect, if it has one, takes place."""
        ...


@dataclass(frozen=True, slots=True)
class Call:
    """A call that a run made, and what could have gone wrong with it."""

    number: int
    process: str
    name: str
    sides: tuple[Side, ...]


@dataclass(frozen=True, slots=True)
class Cut:
    """One call of a run, who runs just before it, and what goes wrong with it."""

    number: int
    side: Side
    meanwhile: Meanwhile = Meanwhile.NOBODY


def at(*cuts: Cut) -> Callable[[Call], Cut | None]:
    """Return what chooses exactly these cuts."""
    by_number = {cut.number: cut for cut in cuts}
    return lambda call: by_number.get(call.number)


@dataclass(slots=True)
class Process:
    """An invocation: `again` does the same work once more, as a second invocation for the same event would."""

    name: str
    again: Callable[[], None]
    dead: bool = False
    error: Exception | None = None


@dataclass(slots=True)
class Outside:
    """Counts the calls of a run's processes and cuts those that `choose` names. It minds what processes do."""

    choose: Callable[[Call], Cut | None] = lambda _: None
    calls: list[Call] = field(default_factory=list)
    late: list[Request] = field(default_factory=list)
    others: dict[Meanwhile, Callable[[], None]] = field(default_factory=dict)
    stall: Callable[[], None] = lambda: None
    was_cut: bool = False
    _running: list[Process] = field(default_factory=list)

    def run(self, name: str, work: Callable[[], None], *, again: Callable[[], None]) -> Process:
        """Run a process to its end, whichever that is. Its error, if it had one, is in what is returned."""
        process = Process(name, again)
        self._running.append(process)
        try:
            work()
        except Died:
            if not process.dead:
                raise
        except Exception as error:  # noqa: BLE001 - Lambda reports whatever it is, and goes on
            process.error = error
        finally:
            self._running.pop()
        return process

    def kill(self) -> NoReturn:
        """Let the running process die here; whose request lands late is dead already."""
        if self._running:
            self._running[-1].dead = True
        raise Died

    def reach(self, request: Request) -> Any:
        """Let the running process do this, or not."""
        if not self._running:
            return request.perform()
        process = self._running[-1]
        if process.dead:
            raise Died
        if len(self._running) > 1:
            return request.perform()  # a twin is whole: one thing goes wrong at a time
        call = Call(len(self.calls), process.name, request.name, request.sides)
        self.calls.append(call)
        cut = self.choose(call)
        return request.perform() if cut is None else self._cut(cut, process, request)

    def _cut(self, cut: Cut, process: Process, request: Request) -> Any:
        self.was_cut = True
        if cut.meanwhile is not Meanwhile.NOBODY:
            work = process.again if cut.meanwhile is Meanwhile.TWIN else self.others[cut.meanwhile]
            self.run(f"{process.name} {cut.meanwhile}", work, again=work)
        if cut.side not in (*request.sides, Side.NONE):
            cut = replace(cut, side=Side.KILLED_BEFORE)  # a second cut meets whatever call comes there
        if cut.side is Side.STALLED:
            self.stall()
        if cut.side in {Side.NONE, Side.STALLED}:
            return request.perform()
        if cut.side in KILLED:
            self._leave_behind(cut.side, request)
            self.kill()
        if cut.side is Side.REPEATED:
            perform_quietly(request)
            return request.perform()
        return request.fail(cut.side)

    def _leave_behind(self, side: Side, request: Request) -> None:
        if side is Side.KILLED_AFTER:
            perform_quietly(request)
        elif side is Side.LANDS_LATE:
            self.late.append(request)


def perform_quietly(request: Request) -> None:
    """Let a request have its effect while nobody hears the answer."""
    with contextlib.suppress(ClientError, BotoCoreError, Died):
        request.perform()
