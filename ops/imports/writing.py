"""Writes what lines ask for: in batches, several at once, each line reported and none lost."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final, Protocol

from functions.adapters.ledger import TRANSACTION_LIMIT
from functions.core.keyring import KeyRing
from ops.imports.report import BadLine, ImportReport, LineRefusedError
from ops.imports.rows import Key, Refused, Row, RowChange, Rows

WRITERS: Final = 4  # batches on their way at once; a person's laptop against an on-demand table
TRIES: Final = 5  # reads and writes of a line whose row somebody else keeps changing
OVERTAKEN: Final = "was not kept: somebody else keeps changing this customer; import the line again"

Progress = Callable[[int], None]  # told of lines that are done with, since it was told last


class Destination(Protocol):
    """Where a data region's rows go."""

    @property
    def data_region(self) -> str: ...

    @property
    def rows(self) -> Rows: ...

    @property
    def shards(self) -> int: ...

    @property
    def opt_out_keys(self) -> KeyRing:
        """Keys under which it is remembered who left before being erased."""
        ...

    def number_hash(self, number: str) -> str:
        """What a phone number is found by in this data region."""
        ...


class Destinations(Protocol):
    """All data regions; `ops.deployment.Deployment` is one."""

    @property
    def data_regions(self) -> Sequence[str]: ...

    def region(self, data_region: str) -> Destination: ...

    def others(self, data_region: str) -> Iterable[Destination]: ...


class Entry(Protocol):
    """One good line, and what it asks of the rows."""

    @property
    def number(self) -> int: ...

    @property
    def data_region(self) -> str: ...

    @property
    def keys(self) -> Sequence[Key]:
        """Rows that the line would change; no two lines of a file have one in common."""
        ...

    @property
    def reads(self) -> bool:
        """Whether the changes depend on the rows as they are."""
        ...

    @property
    def home(self) -> Key | None:
        """A row that may exist in one data region only; None where the line does not bring one."""
        ...

    def consulted(self, held: Mapping[Key, Row]) -> Sequence[Key]:
        """Rows that the changes depend on besides, given the entry's own as they are."""
        ...

    def changes(self, held: Mapping[Key, Row], *, shards: int) -> Sequence[RowChange]:
        """Changes, given the rows as they are. Raises LineRefusedError."""
        ...


@dataclass(slots=True)
class _Done:
    """What became of a batch."""

    data_region: str
    kept: int = 0
    unchanged: int = 0
    remembered: int = 0
    bad: list[BadLine] = field(default_factory=list)


def write_entries(
    lines: Iterable[Entry | BadLine], destinations: Destinations, *, progress: Progress | None = None
) -> ImportReport:
    """Write the good lines to their own data regions, and report on all of them.

    Raises what the tables raise when they cannot be used at all; lines written before that stay, and importing the same
    file again changes nothing about them.
    """
    tell = progress or (lambda _: None)
    bad: list[BadLine] = []
    results: list[_Done] = []
    pool = ThreadPoolExecutor(WRITERS, thread_name_prefix="import")
    try:
        under_way: deque[Future[_Done]] = deque()
        for data_region, batch in _batches(_good(lines, destinations.data_regions, bad, tell)):
            under_way.append(pool.submit(_write_batch, batch, data_region, destinations))
            if len(under_way) > 2 * WRITERS:
                results.append(_result(under_way.popleft(), tell))
        results.extend(_result(future, tell) for future in under_way)
    finally:
        pool.shutdown(cancel_futures=True)
    kept = Counter[str]()
    for result in results:
        kept[result.data_region] += result.kept
        bad.extend(result.bad)
    return ImportReport(
        kept=kept.total(),
        unchanged=sum(result.unchanged for result in results),
        bad=tuple(sorted(bad)),
        kept_by_region=kept,
        remembered=sum(result.remembered for result in results),
    )


def _result(future: Future[_Done], tell: Progress) -> _Done:
    done = future.result()
    tell(done.kept + len(done.bad))
    return done


def _good(
    lines: Iterable[Entry | BadLine], data_regions: Sequence[str], bad: list[BadLine], tell: Progress
) -> Iterator[Entry]:
    seen: dict[Key, int] = {}
    for line in lines:
        if not isinstance(line, BadLine):
            fault = _fault(line, data_regions, seen)
            if fault is None:
                yield line
                continue
            line = BadLine(line.number, fault)  # noqa: PLW2901 - the line is bad from here on
        bad.append(line)
        tell(1)


def _fault(entry: Entry, data_regions: Sequence[str], seen: dict[Key, int]) -> str | None:
    if entry.data_region not in data_regions:
        return f"data_region: must be one of {', '.join(data_regions)}"
    first = seen.setdefault(entry.keys[0], entry.number)
    if first != entry.number:
        return f"repeats line {first}; leave one of them"
    return None


def _batches(entries: Iterable[Entry]) -> Iterator[tuple[str, list[Entry]]]:
    """Group entries by data region so that the rows of a group fit into one read and one transaction."""
    waiting: dict[str, list[Entry]] = {}
    for entry in entries:
        batch = waiting.setdefault(entry.data_region, [])
        batch.append(entry)
        if (len(batch) + 1) * len(entry.keys) > TRANSACTION_LIMIT:
            yield entry.data_region, waiting.pop(entry.data_region)
    yield from waiting.items()


def _write_batch(batch: Sequence[Entry], data_region: str, destinations: Destinations) -> _Done:
    destination = destinations.region(data_region)
    done = _Done(data_region)
    waiting = batch
    checked_elsewhere = False
    for _ in range(TRIES):
        held = destination.rows.read([key for entry in waiting if entry.reads for key in entry.keys])
        if not checked_elsewhere:
            waiting = _at_home(waiting, held, data_region, destinations, done)
            checked_elsewhere = True
        beside = destination.rows.read([key for entry in waiting for key in entry.consulted(held)])
        waiting = _write_once(waiting, {**held, **beside}, destination, done)
        if not waiting:
            break
    done.bad.extend(BadLine(entry.number, OVERTAKEN) for entry in waiting)
    return done


def _at_home(
    entries: Sequence[Entry], held: Mapping[Key, Row], data_region: str, destinations: Destinations, done: _Done
) -> list[Entry]:
    """Leave out those who are on record in another data region: they would be written to twice from then on."""
    new = {entry.home: entry for entry in entries if entry.home is not None and entry.home not in held}
    elsewhere: dict[int, str] = {}
    for other in destinations.others(data_region) if new else ():
        elsewhere.update({new[key].number: other.data_region for key in other.rows.read(list(new))})
    done.bad.extend(
        BadLine(number, f"data_region: this customer lives in {other}; use that, or erase the customer there first")
        for number, other in elsewhere.items()
    )
    return [entry for entry in entries if entry.number not in elsewhere]


def _write_once(
    entries: Sequence[Entry], held: Mapping[Key, Row], destination: Destination, done: _Done
) -> list[Entry]:
    """Write what the entries ask for; return those that were overtaken and have to be looked at again."""
    asked: dict[int, Sequence[RowChange]] = {}
    for entry in entries:
        try:
            asked[entry.number] = [
                change
                for change in entry.changes(held, shards=destination.shards)
                if change.changes_anything(held.get(change.key))
            ]
        except LineRefusedError as error:
            done.bad.append(BadLine(entry.number, str(error)))
    refused = _write_in_order([change for changes in asked.values() for change in changes], destination.rows)
    overtaken: list[Entry] = []
    for entry in entries:
        if entry.number not in asked:
            continue
        troubles = [refused[change.key] for change in asked[entry.number] if change.key in refused]
        if not troubles:
            done.kept += 1
            done.unchanged += not asked[entry.number]
            done.remembered += any(change.remembered for change in asked[entry.number])
        elif all(one.overtaken for one in troubles):
            overtaken.append(entry)
        else:
            code = next(one.code for one in troubles if not one.overtaken)
            done.bad.append(BadLine(entry.number, f"was not kept (DynamoDB: {code}); import the line again"))
    return overtaken


def _write_in_order(changes: Sequence[RowChange], rows: Rows) -> Mapping[Key, Refused]:
    """Write what comes first, and then the rest, but nothing more of a customer of whom something was refused."""
    refused = list(rows.write([change for change in changes if change.first]))
    held_up = {one.change.key[0] for one in refused}
    refused += rows.write([change for change in changes if not change.first and change.key[0] not in held_up])
    return {one.change.key: one for one in refused}
