"""The sums of a local run: what was planned against what became of it, and against what the providers received.

Nothing here talks to anything. Rows, messages and expectations come in; figures and checks come out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import ceil
from typing import Final

from functions.core.delivery import OPEN, Delivery, Status
from functions.core.identity import Channel
from ops.local.marketplace import Expectation

PERCENTILES: Final = (50, 95, 99)


@dataclass(frozen=True, slots=True)
class Received:
    """A message that a provider took. `recipient` is the email address or phone number it was for."""

    channel: Channel
    message_id: str
    recipient: str = field(repr=False)
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds from `selected_at` to `accepted_at`, by nearest rank; None where nothing was accepted."""

    p50: int | None
    p95: int | None
    p99: int | None

    @classmethod
    def of(cls, deliveries: Iterable[Delivery]) -> Latency:
        """The percentiles of those that were accepted."""
        taken = sorted(
            round((one.accepted_at - one.selected_at).total_seconds() * 1000)
            for one in deliveries
            if one.accepted_at is not None
        )
        return cls(*(_nearest_rank(taken, percent) for percent in PERCENTILES))


def _nearest_rank(ordered: Sequence[int], percent: int) -> int | None:
    return ordered[ceil(len(ordered) * percent / 100) - 1] if ordered else None


@dataclass(frozen=True, slots=True)
class Funnel:
    """Deliveries by what became of them."""

    planned: int
    accepted: int
    skipped: Mapping[str, int]
    dead_letter: int
    expired: int
    uncertain: int
    open: int

    @classmethod
    def of(cls, deliveries: Sequence[Delivery]) -> Funnel:
        """Count rows."""
        states = Counter(one.status for one in deliveries)
        reasons = Counter(str(one.skip_reason) for one in deliveries if one.status is Status.SKIPPED)
        return cls(
            planned=len(deliveries),
            accepted=states[Status.ACCEPTED],
            skipped=dict(sorted(reasons.items())),
            dead_letter=states[Status.DEAD_LETTER],
            expired=states[Status.EXPIRED],
            uncertain=states[Status.UNCERTAIN],
            open=sum(states[status] for status in OPEN),
        )

    @property
    def skipped_in_all(self) -> int:
        return sum(self.skipped.values())

    @property
    def ended(self) -> int:
        """Deliveries that have an end, or wait for a person."""
        return self.accepted + self.skipped_in_all + self.dead_letter + self.expired + self.uncertain


@dataclass(frozen=True, slots=True)
class Check:
    """One sum that must agree."""

    region: str
    what: str
    expected: str
    found: str

    @property
    def holds(self) -> bool:
        return self.expected == self.found


@dataclass(frozen=True)
class RegionEvidence:
    """What was found of one region when all was quiet.

    `dead_letters` and `injected` are the ids of messages in the dead-letter queues, and of those that were made to end
    there. `recipients` is who each customer is on each channel.
    """

    name: str
    rows: Sequence[Delivery]
    received: Sequence[Received]
    dead_letters: frozenset[str]
    injected: frozenset[str]
    left_in_queues: int
    personal_data_in_logs: int
    log_lines: int
    planner_ms: int
    expected: Mapping[Channel, Expectation]
    recipients: Mapping[tuple[str, Channel], str] = field(repr=False)


@dataclass(frozen=True)
class RegionReckoning:
    """One region's figures and checks."""

    name: str
    funnel: Funnel
    channels: Mapping[Channel, Funnel]
    latency: Latency
    channel_latency: Mapping[Channel, Latency]
    provider_received: int
    duplicates: int
    dlq: int
    planner_ms: int
    checks: tuple[Check, ...]

    @property
    def agrees(self) -> bool:
        return all(check.holds for check in self.checks)


def reckon(found: RegionEvidence) -> RegionReckoning:
    """Add one region up."""
    funnel = Funnel.of(found.rows)
    by_channel = {channel: [one for one in found.rows if one.delivery_id.channel is channel] for channel in Channel}
    used = {channel: rows for channel, rows in by_channel.items() if rows or found.expected.get(channel)}
    doubled = duplicates(found.rows, found.received)
    return RegionReckoning(
        name=found.name,
        funnel=funnel,
        channels={channel: Funnel.of(rows) for channel, rows in used.items()},
        latency=Latency.of(found.rows),
        channel_latency={channel: Latency.of(rows) for channel, rows in used.items()},
        provider_received=len(found.received),
        duplicates=doubled,
        dlq=len(found.dead_letters),
        planner_ms=found.planner_ms,
        checks=(*_sums(found, funnel), *_messages(found, doubled), *_expectations(found, used), *_quiet(found)),
    )


def duplicates(rows: Sequence[Delivery], received: Sequence[Received]) -> int:
    """Messages beyond the first for one delivery.

    An email's address belongs to one customer, so a second one to it is a duplicate. Texts share their numbers, so a
    text is one too many when no accepted row knows it, unless there is a row for it of which nobody is certain.
    """
    emails = Counter(one.recipient for one in received if one.channel is Channel.EMAIL)
    texts = Counter(one.message_id for one in received if one.channel is Channel.SMS)
    known = {one.provider_reference for one in rows if one.delivery_id.channel is Channel.SMS}
    unsure = sum(one.status is Status.UNCERTAIN and one.delivery_id.channel is Channel.SMS for one in rows)
    strange = sum(message_id not in known for message_id in texts)
    repeated = sum(count - 1 for count in texts.values())
    return sum(count - 1 for count in emails.values()) + repeated + max(0, strange - unsure)


def _sums(found: RegionEvidence, funnel: Funnel) -> list[Check]:
    selected = sum(expectation.selected for expectation in found.expected.values())
    return [
        _check(found, "every digest that was due was planned, once", selected, funnel.planned),
        _check(
            found,
            "planned = accepted + skipped + dead letter + expired + uncertain",
            funnel.planned,
            funnel.ended,
        ),
        _check(found, "deliveries still open", 0, funnel.open),
    ]


def _messages(found: RegionEvidence, doubled: int) -> list[Check]:
    checks = []
    for channel, word in ((Channel.EMAIL, "emails"), (Channel.SMS, "texts")):
        accepted = [one for one in found.rows if one.status is Status.ACCEPTED and one.delivery_id.channel is channel]
        received = [one for one in found.received if one.channel is channel]
        if not accepted and not received and channel not in found.expected:
            continue
        checks.append(_check(found, f"{word} received = accepted rows", len(accepted), len(received)))
        checks.append(
            _check(
                found,
                f"{word} that are the one an accepted row refers to, at that customer's own address",
                len(accepted),
                _matched(found, accepted, received),
            )
        )
    return [*checks, _check(found, "messages beyond the first for one delivery", 0, doubled)]


def _matched(found: RegionEvidence, accepted: Sequence[Delivery], received: Sequence[Received]) -> int:
    by_id = {one.message_id: one.recipient for one in received}
    references = Counter(one.provider_reference for one in accepted)
    return sum(
        references[one.provider_reference] == 1
        and one.provider_reference is not None
        and by_id.get(one.provider_reference)
        == found.recipients.get((one.delivery_id.customer_id, one.delivery_id.channel), "nobody")
        for one in accepted
    )


def _expectations(found: RegionEvidence, used: Mapping[Channel, Sequence[Delivery]]) -> list[Check]:
    """Whether those were skipped who should have been, and everybody else was sent to or is known not to be certain."""
    checks = []
    for channel, expectation in found.expected.items():
        funnel = Funnel.of(used.get(channel, ()))
        skipped = {str(reason): count for reason, count in sorted(expectation.skipped.items())}
        checks.append(_check(found, f"{channel}: skipped, by reason", _listed(skipped), _listed(funnel.skipped)))
        checks.append(
            _check(
                found,
                f"{channel}: accepted or uncertain = everybody who wants it and has something to read",
                expectation.accepted,
                funnel.accepted + funnel.uncertain,
            )
        )
    return checks


def _quiet(found: RegionEvidence) -> list[Check]:
    injected = found.dead_letters & found.injected
    return [
        _check(found, "messages left in the queues", 0, found.left_in_queues),
        _check(
            found,
            "dead-letter queues hold the injected messages and no others",
            f"{len(found.injected)} injected, 0 others",
            f"{len(injected)} injected, {len(found.dead_letters - found.injected)} others",
        ),
        _check(
            found,
            f"addresses, numbers or contents in {found.log_lines:,} lines of logs",
            0,
            found.personal_data_in_logs,
        ),
    ]


def _check(found: RegionEvidence, what: str, expected: int | str, seen: int | str) -> Check:
    return Check(found.name, what, _worded(expected), _worded(seen))


def _worded(value: int | str) -> str:
    return f"{value:,}" if isinstance(value, int) else value


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {reason}" for reason, count in counts.items()) or "none"
