"""One week's digests in every region: imported, planned, damaged on purpose, waited for, and looked at afterwards."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from functions.core.delivery import Delivery, Status
from functions.core.identity import Channel
from functions.core.settlement import confirmed
from ops.deployment import Deployment
from ops.imports.activity import import_activity
from ops.imports.customers import import_customers
from ops.imports.lines import Form
from ops.imports.report import ImportReport
from ops.local.emulator import Email, Emulator, Text
from ops.local.experiments import REGION_OF_THE_PROVIDER, experiments
from ops.local.faults import (
    Aftermath,
    Fault,
    Injection,
    KilledConsumer,
    PoisonMessage,
    RepeatedMessages,
    TwinPlanners,
)
from ops.local.marketplace import Happening, Marketplace, Person
from ops.local.personal_data import PersonalData
from ops.local.progress import Progress
from ops.local.reckoning import Received, RegionEvidence
from ops.local.running_region import Census, LogLine, RunningRegion, busy_spans
from ops.local.simulated_provider import Operation, SimulatedProvider

STEP_S: Final = 0.4
QUICKEST_LOOK_S: Final = 1.0
SLOWEST_LOOK_S: Final = 6.0  # one slow look, at a busy moment, must not hide that all has ended
# What waits is counted, at some cost, only when so few are missing or nothing has been finished for so long.
NEARLY_ALL: Final = 30
RESTING_AFTER_S: Final = 5
# Looking costs the emulator time that the run needs: so many times what a look took is waited for until the next.
LOOK_SHARE: Final = 15
# Longer than a message is hidden after its consumer died, several times; longer than a busy machine takes to begin.
STALLED_AFTER_S: Final = 300
# One region loses a function; the other shows what the same week is like without.
REGION_OF_THE_KILL: Final = "us"
CHANNEL_OF_THE_KILL: Final = Channel.EMAIL


class WeekFailedError(RuntimeError):
    """The week came to no end; the text says what is still open."""


@dataclass(frozen=True)
class Outbox:
    """What the providers took from all regions."""

    emails: Sequence[Email]
    texts: Sequence[Text]

    @classmethod
    def of(cls, emulator: Emulator, provider: SimulatedProvider, aws_region: str) -> Outbox:
        """Collect what SES and SNS took in the emulator, and the simulated provider from one region."""
        return cls([*emulator.emails(), *(_email(one, aws_region) for one in provider.operations)], emulator.texts())

    def contents(self) -> Iterator[str]:
        """The subject of every email, and every text."""
        yield from (email.subject for email in self.emails)
        yield from (text.text for text in self.texts)

    def received(self, aws_region: str) -> list[Received]:
        """Messages of one AWS region (`us-east-1`), one for each recipient."""
        emails = [
            Received(Channel.EMAIL, email.message_id, address, email.sent_at)
            for email in self.emails
            if email.region == aws_region
            for address in email.to
        ]
        texts = [Received(Channel.SMS, text.message_id, text.to) for text in self.texts if text.region == aws_region]
        return emails + texts


def _email(operation: Operation, aws_region: str) -> Email:
    sent = operation.email
    return Email(
        region=aws_region,
        message_id=operation.operation_id,
        source=sent.sender,
        to=(operation.to,),
        subject=sent.subject,
        html=sent.html,
        text=sent.text,
        sent_at=operation.at,
    )


@dataclass(frozen=True)
class Injections:
    """What is done to one region on purpose."""

    poison: tuple[PoisonMessage, ...]
    planners: TwinPlanners
    repeated: tuple[RepeatedMessages, ...]
    killed: KilledConsumer | None
    experiments: tuple[Injection, ...]

    @property
    def while_it_runs(self) -> tuple[Injection, ...]:
        return (*self.experiments, *self.poison, *((self.killed,) if self.killed else ()), *self.repeated)

    @property
    def all(self) -> tuple[Injection, ...]:
        """In the order of the report."""
        killed = (self.killed,) if self.killed else ()
        return (self.planners, *self.repeated, *self.poison, *killed, *self.experiments)


class Week:
    """The week, in the order of its methods."""

    def __init__(
        self,
        marketplace: Marketplace,
        regions: Mapping[str, RunningRegion],
        provider: SimulatedProvider,
        progress: Progress,
    ) -> None:
        self._marketplace = marketplace
        self._provider = provider
        self._regions = regions
        self._progress = progress
        self._period = marketplace.period_start.isoformat()
        self._expected = marketplace.expectations()
        self._injections = {name: self._planned_injections(region) for name, region in regions.items()}
        self._recipients = {
            (person.customer_id, channel): address
            for person in marketplace.people
            for channel, address in person.addresses.items()
        }
        self._moved_at = time.monotonic()
        self._finished: dict[str, Census] = {}
        self._counted: dict[str, Census] = {}
        self._waiting: dict[str, int] = {}

    def _planned_injections(self, region: RunningRegion) -> Injections:
        someone = next(
            (person.customer_id for person in self._marketplace.people if person.data_region == region.name), "1"
        )
        channels = self._expected.get(region.name, {})
        is_killed = region.name == REGION_OF_THE_KILL and CHANNEL_OF_THE_KILL in channels
        return Injections(
            poison=(
                PoisonMessage.that_does_not_parse(region),
                PoisonMessage.from_the_future(region, someone, self._period),
            ),
            planners=TwinPlanners(region),
            repeated=tuple(RepeatedMessages(region, channel, self._period) for channel in channels),
            killed=KilledConsumer(region, CHANNEL_OF_THE_KILL) if is_killed else None,
            experiments=experiments(self._marketplace, region, self._provider)
            if region.name == REGION_OF_THE_PROVIDER
            else (),
        )

    # --- import -------------------------------------------------------------------------------------------------------

    def import_marketplace(self) -> None:
        """Import activity first and customers after it: a schedule that is due may be planned as soon as it is there.

        The poison messages go ahead, which also wakes the consumers while there is nothing else to do.

        Raises:
            WeekFailedError: the import refused a line.
        """
        for injections in self._injections.values():
            for poison in injections.poison:
                poison.step()
        deployment = Deployment([region.deployment for region in self._regions.values()])
        self._import("happenings", import_activity, self._marketplace.happenings, deployment)
        self._import("customers", import_customers, self._marketplace.people, deployment)

    def _import(
        self,
        what: str,
        import_lines: Callable[..., ImportReport],
        records: Sequence[Happening] | Sequence[Person],
        deployment: Deployment,
    ) -> None:
        self._progress.step(f"importing {len(records):,} {what}")
        lines = (json.dumps(one.record()) for one in records)
        with self._progress.counting(len(records)) as told:
            report = import_lines(lines, deployment, form=Form.JSON_LINES, progress=told)
        if report.bad:
            first = report.bad[0]
            raise WeekFailedError(f"the import refused {len(report.bad):,} {what}; the first: {first.reason}")

    # --- the run ------------------------------------------------------------------------------------------------------

    def run_until_quiet(self) -> None:
        """Let the planners be woken, do the damage when its moment comes, and wait until nothing is open.

        Raises:
            WeekFailedError: nothing has moved for a long time, and something is still open.
        """
        for injections in self._injections.values():
            injections.planners.step()
        self._moved_at = time.monotonic()
        with self._progress:
            self._wait_until_quiet()
            # What had no moment before, because all went by so fast, is done now.
            self._step_injections()
            self._wait_until_quiet()
        for injections in self._injections.values():
            injections.planners.fire_again()

    def _wait_until_quiet(self) -> None:
        look_again_at = 0.0
        while True:
            self._step_injections()
            began = time.monotonic()
            if began >= look_again_at:
                self._look()
                if self._is_quiet():
                    return
                looked_for_s = time.monotonic() - began
                pause_s = min(max(QUICKEST_LOOK_S, LOOK_SHARE * looked_for_s), SLOWEST_LOOK_S)
                look_again_at = time.monotonic() + pause_s
                self._fail_if_stalled()
            time.sleep(STEP_S)

    def _step_injections(self) -> None:
        for injections in self._injections.values():
            for injection in injections.while_it_runs:
                if not injection.is_over:
                    injection.step()

    def _look(self) -> None:
        """Count what is finished; and once that is nearly all, or no longer grows, what is not."""
        for name, region in self._regions.items():
            counted = region.finished_so_far(self._period)
            if name not in self._finished or counted.ends != self._finished[name].ends:
                self._finished[name] = counted
                self._moved_at = time.monotonic()
            missing = sum(one.selected for one in self._expected.get(name, {}).values()) - counted.ends.total()
            rests = time.monotonic() - self._moved_at > RESTING_AFTER_S
            self._counted[name] = region.census(self._period) if missing < NEARLY_ALL or rests else counted
        self._waiting = {name: self._messages_waiting(name) for name in self._regions}
        self._progress.show(self._counted, self._expected, sum(self._waiting.values()))

    def _messages_waiting(self, name: str) -> int:
        region = self._regions[name]
        return sum(region.backlog(region.queue(channel)) for channel in Channel)

    def _is_quiet(self) -> bool:
        finished = all(
            self._counted[name].finished(channel) >= expectation.selected
            for name, channels in self._expected.items()
            for channel, expectation in channels.items()
        )
        return finished and not any(self._waiting.values())

    def _fail_if_stalled(self) -> None:
        if time.monotonic() - self._moved_at < STALLED_AFTER_S:
            return
        lines = [f"nothing has moved for {STALLED_AFTER_S} s, and not everything is finished:"]
        for name, region in self._regions.items():
            census = region.census(self._period)
            for channel, expectation in self._expected.get(name, {}).items():
                waiting = region.backlog(region.queue(channel))
                lines.append(
                    f"  {name} {channel}: {census.finished(channel):,} finished, {census.unfinished(channel):,} open "
                    f"of {expectation.selected:,}; {waiting:,} messages in the queue"
                )
        raise WeekFailedError("\n".join(lines))

    # --- afterwards ---------------------------------------------------------------------------------------------------

    def aftermath(self, outbox: Outbox) -> dict[str, Aftermath]:
        """What is there of every region, once rows in doubt have been settled by what the providers show."""
        return {name: self._aftermath_of(region, outbox) for name, region in self._regions.items()}

    def _aftermath_of(self, region: RunningRegion, outbox: Outbox) -> Aftermath:
        received = outbox.received(region.aws_region)
        rows = {str(row.delivery_id): row for row in region.rows(self._period)}
        settled = settle_from_outbox(region, rows, received, self._recipients)
        if settled:
            rows |= region.deployment.ledger.read(settled)
        return Aftermath(rows, received, region.log_lines(), settled)

    def faults(self, aftermaths: Mapping[str, Aftermath]) -> list[Fault]:
        """What was done on purpose, and what came of it."""
        return [
            injection.fault(aftermaths[name])
            for name, injections in self._injections.items()
            for injection in injections.all
        ]

    def evidence(self, aftermaths: Mapping[str, Aftermath], outbox: Outbox, emulator: Emulator) -> list[RegionEvidence]:
        """All that the sums need."""
        personal = PersonalData.of(self._marketplace, outbox.contents())
        with emulator.log.open(encoding="utf-8", errors="replace") as lines:
            of_the_emulator = list(lines)
        found_outside = personal.count_in(of_the_emulator)
        return [
            self._evidence_of(region, aftermaths[name], personal, (found_outside, len(of_the_emulator)))
            for name, region in self._regions.items()
        ]

    def _evidence_of(
        self, region: RunningRegion, aftermath: Aftermath, personal: PersonalData, outside: tuple[int, int]
    ) -> RegionEvidence:
        dead = [message for channel in Channel for message in region.messages(region.dead_letter_queue(channel))]
        poison = self._injections[region.name].poison
        return RegionEvidence(
            name=region.name,
            rows=list(aftermath.rows.values()),
            received=aftermath.received,
            dead_letters=frozenset(message.message_id for message in dead),
            injected=frozenset(one.message_id for one in poison if one.message_id is not None),
            left_in_queues=self._messages_waiting(region.name),
            personal_data_in_logs=personal.count_in(line.text for line in aftermath.lines) + outside[0],
            log_lines=len(aftermath.lines) + outside[1],
            planner_ms=planner_ms(aftermath.lines),
            expected=self._expected.get(region.name, {}),
            recipients=self._recipients,
        )


def settle_from_outbox(
    region: RunningRegion,
    rows: Mapping[str, Delivery],
    received: Sequence[Received],
    recipients: Mapping[tuple[str, Channel], str],
) -> frozenset[str]:
    """Settle uncertain rows of which the provider's outbox shows a message that no other row accounts for.

    The emulator sends no events. This does what an event would do, by the same rules: a row in doubt becomes accepted,
    and one of which nothing was seen stays as it is. Where several would fit, none is taken.
    """
    known = {row.provider_reference for row in rows.values()}
    unclaimed: dict[tuple[Channel, str], list[Received]] = {}
    for one in received:
        if one.message_id not in known:
            unclaimed.setdefault((one.channel, one.recipient), []).append(one)
    uncertain = [row for row in rows.values() if row.status is Status.UNCERTAIN]
    wanted = Counter(_recipient_of(row, recipients) for row in uncertain)
    settled = set()
    for row in uncertain:
        candidates = unclaimed.get(_recipient_of(row, recipients), [])
        if len(candidates) == 1 and wanted[_recipient_of(row, recipients)] == 1:
            after = confirmed(row, candidates[0].message_id, at=candidates[0].at or datetime.now(UTC))
            if region.deployment.ledger.write(row, after):
                settled.add(str(row.delivery_id))
    return frozenset(settled)


def _recipient_of(row: Delivery, recipients: Mapping[tuple[str, Channel], str]) -> tuple[Channel, str]:
    channel = row.delivery_id.channel
    return channel, recipients.get((row.delivery_id.customer_id, channel), "")


def planner_ms(lines: Iterable[LogLine]) -> int:
    """Milliseconds during which at least one invocation was planning that planned anything, as Lambda reports them."""
    spans = [(begins, ends) for begins, ends, run in busy_spans(list(lines), "planner.finished") if run.get("planned")]
    total, reached = 0.0, datetime.min.replace(tzinfo=UTC)
    for begins, ends in spans:
        total += max(0.0, (ends - max(begins, reached)).total_seconds())
        reached = max(reached, ends)
    return round(total * 1000)
