"""What the domain asks of the outside. Adapters give it on AWS; fakes give it in tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import date

    from functions.core.bounce_brake import Tally
    from functions.core.customer import Activity, Profile, ReminderSchedule, Schedule
    from functions.core.delivery import Attention, Delivery
    from functions.core.envelope import Envelope
    from functions.core.identity import Channel, DeliveryId
    from functions.core.outcome import Guarantee, Outcome, Sighting
    from functions.core.planning import SchedulePlan
    from functions.core.receipts import SoftBounce, SuppressionCause
    from functions.core.summary import Answer, Prompt, Summary, SummaryNote
    from functions.core.webhook_endpoint import Health, SigningSecret, WebhookEndpoint

Clock: TypeAlias = Callable[[], datetime]


class ClaimRefusedError(Exception):
    """Somebody else has the row, or it is finished. `current` is the row as it stands, None if there is none."""

    def __init__(self, current: Delivery | None) -> None:
        super().__init__("the delivery is not free to be claimed")
        self.current = current


class LeaseLostError(Exception):
    """The row has moved on since it was claimed, so this invocation may not write its result."""


class InFlightError(Exception):
    """Another invocation is sending this delivery right now, until `lease_until` at the latest."""

    def __init__(self, lease_until: datetime | None) -> None:
        super().__init__("another invocation is sending this delivery")
        self.lease_until = lease_until


class ModelError(Exception):
    """A model gave no answer. `code` says why, not in the service's words; `spent` whether it may have used tokens."""

    def __init__(self, code: str, *, spent: bool) -> None:
        super().__init__(code)
        self.code = code
        self.spent = spent


@dataclass(frozen=True, slots=True)
class Claim:
    """What a claim writes: it raises `attempt`, which from then on fences every write of this invocation."""

    at: datetime
    lease_until: datetime
    owner: str  # the invocation, so that it knows its own claim again
    provider: str
    fingerprint: str
    last_receive: bool
    summary: SummaryNote | None = None  # what became of the digest's summary, decided before the first attempt


@dataclass(frozen=True, slots=True)
class UnreadableSchedule:
    """A due schedule whose row makes no sense: planned by nobody, and in nobody's way."""

    customer_id: str
    record: str


@dataclass(frozen=True, slots=True)
class PlanReceipt:
    """What became of a page of plans."""

    planned: tuple[Delivery, ...]  # new rows, to be enqueued
    existing: int  # deliveries that had a row already
    moved: int  # schedules that another planner had moved on first
    failed: tuple[str, ...]  # customers whose plan could not be written; they stay due


@dataclass(frozen=True, slots=True)
class EnqueueReceipt:
    """What a batch send came to: SQS may take a part of it and answer 200 all the same."""

    sent: tuple[Delivery, ...]
    failed: tuple[tuple[Delivery, str], ...]  # with the error code


class Ledger(Protocol):
    """The deliveries table: the one truth about every delivery."""

    def read(self, delivery_ids: Iterable[str]) -> Mapping[str, Delivery]:
        """Read rows consistently, by id; ids without a row are left out."""
        ...

    def claim(self, before: Delivery, claim: Claim) -> Delivery:
        """Move a row to `sending` if nobody has touched it since it was read. Raises ClaimRefusedError."""
        ...

    def write(self, before: Delivery, after: Delivery) -> bool:
        """Move a row from one state to another; False if it moved on meanwhile.

        Holds only while `attempt` is as it was read and the row's state may become the new one. Where the receipt is
        written, it must be as it was read, too: two events that come at once are joined, not lost.
        """
        ...

    def took_effect(self, before: Delivery, after: Delivery) -> bool:
        """Whether a write that was refused had been done: its answer was lost, and the SDK asked again."""
        ...

    def mark_enqueued(self, deliveries: Sequence[Delivery], at: datetime) -> None:
        """Move `planned` rows to `queued`; rows that have moved on already stay as they are."""
        ...

    def needing_attention(self, why: Attention, channel: Channel, shard: int, until: datetime) -> Iterator[str]:
        """Ids of a channel's rows that are to be looked at by `until`, oldest first. A hint: the rows decide."""
        ...

    def has_open(self, period: str) -> bool:
        """Whether any delivery of a period is still open, as far as the index knows."""
        ...


class PlanBook(Protocol):
    """The due schedules, and the commit that turns them into rows."""

    def due(self, shard: int, until: datetime) -> Iterator[Sequence[Schedule | UnreadableSchedule]]:
        """Pages of schedules whose next run is not after `until`, oldest first."""
        ...

    def commit(self, plans: Sequence[SchedulePlan]) -> PlanReceipt:
        """Write new rows and move their schedules on, both or neither for each customer."""
        ...


class ShardLeases(Protocol):
    """Which planner works on which shard."""

    def take(self, shard: int, *, owner: str, now: datetime, until: datetime) -> bool:
        """Take a shard unless somebody else holds it."""
        ...

    def give_back(self, shard: int, *, owner: str) -> None:
        """Give a shard back if it is still ours."""
        ...


class Customers(Protocol):
    """What is known of a customer, read consistently right before a send."""

    def digest_material(self, customer_id: str, since: date) -> tuple[Profile | None, Sequence[Activity]]:
        """Return the profile, and all activity from about `since` on (up to a day earlier)."""
        ...

    def reminder_material(self, customer_id: str, event_id: str) -> tuple[Profile | None, ReminderSchedule | None]:
        """Return the profile and the reminder."""
        ...


class PlannedDays(Protocol):
    """How many schedules were planned on each UTC day, and until when more than usual may be."""

    def planned(self, day: date) -> int:
        """Return a day's number; 0 for one that nobody knows of."""
        ...

    def add(self, day: date, schedules: int, *, at_most: int | None) -> bool:
        """Add to a day's number; False, and nothing added, if it would become more than `at_most`."""
        ...

    def approved_until(self) -> datetime | None:
        """Until when an operator lets more than usual be planned; None if nobody ever did."""
        ...

    def approve(self, until: datetime) -> None:
        """Let more than usual be planned until then; a time that has passed takes it back."""
        ...


class ReceiptTallies(Protocol):
    """How many deliveries of a channel arrived and came back, by UTC day."""

    def add(self, channel: Channel, tally: Tally, *, day: date) -> Tally:
        """Add to a day's tally and return the whole."""
        ...

    def clear(self, channel: Channel, *, day: date) -> None:
        """Let a day's tally begin anew."""
        ...


class Suppressions(Protocol):
    """Which channels of a customer are not written to any more, and the soft bounces that may lead there."""

    def suppress(self, customer_id: str, channel: Channel, cause: SuppressionCause, *, at: datetime, code: str) -> bool:
        """Suppress a channel for what happened at that time.

        False if it is suppressed for as much already, if a person has cleared it since, or if the customer is gone.
        """
        ...

    def clear(self, customer_id: str, channel: Channel, *, at: datetime) -> bool:
        """Lift a suppression on a person's word; what happened before then no longer counts. False if there is none."""
        ...

    def withdraw(self, customer_id: str, channel: Channel, cause: SuppressionCause) -> bool:
        """Take a suppression back whose ground has gone. False if the channel is not suppressed for just that."""
        ...

    def note_soft_bounce(self, delivery_id: DeliveryId, *, at: datetime, since: datetime) -> Collection[SoftBounce]:
        """Remember a soft bounce, and those of the channel that are not older than `since`; return them."""
        ...

    def forget_soft_bounces(self, delivery_id: DeliveryId) -> Collection[SoftBounce]:
        """Forget the soft bounces of a delivery that came to something else; return those that are left."""
        ...


class Endpoints(Protocol):
    """The customers' webhook endpoints, beside their addresses."""

    def read(self, customer_id: str) -> WebhookEndpoint | None:
        """Return an endpoint as it is now; None where there is none, or the customer is gone."""
        ...

    def note(self, customer_id: str, health: Health, *, version: int) -> bool:
        """Record how it has been answering; False if it has been changed since that version was read."""
        ...

    def keep_secrets(self, customer_id: str, secrets: Sequence[SigningSecret], *, version: int) -> bool:
        """Record the secrets that sign; False if the endpoint has been changed since that version was read."""
        ...


class Summaries(Protocol):
    """The summaries that have been written for digests which may still be sent: the person's own data."""

    def read(self, delivery_id: DeliveryId) -> Summary | None:
        """Return what is kept, consistently; None where nothing was written, or the customer is gone."""
        ...

    def keep(self, delivery: Delivery, summary: Summary) -> Summary | None:
        """Keep a summary unless one is kept already; return the one that is. None if the customer is gone."""
        ...


class TokenBudget(Protocol):
    """A week's tokens, shared by all consumers of a region."""

    def reserve(self, period: str, tokens: int) -> bool:
        """Count so many tokens as used; False if the week has fewer left."""
        ...

    def give_back(self, period: str, tokens: int) -> None:
        """Count so many tokens of a reservation as not used."""
        ...


class Model(Protocol):
    """A language model."""

    def ask(self, prompt: Prompt) -> Answer:
        """Ask once, with one HTTP attempt and within its timeout. Raises ModelError."""
        ...


class AwaitedReceipts(Protocol):
    """The accepted deliveries of which the provider has not said what became of them."""

    def count(self, period: str, channel: Channel, *, accepted_before: datetime) -> int:
        """Count a week's deliveries of a channel that were accepted before then and have no conclusive receipt."""
        ...


class Periods(Protocol):
    """Which weeks have deliveries that are still open, and since when the others are closed."""

    def open(self, period: str, *, at: datetime) -> None:
        """Record that a week has open deliveries."""
        ...

    def all_open(self) -> Mapping[str, int]:
        """Return the open weeks, each with the version that closing it must find."""
        ...

    def close(self, period: str, *, version: int, at: datetime) -> bool:
        """Record that a week has none left; False if it was opened again meanwhile."""
        ...


class DeliveryQueues(Protocol):
    """The channels' queues, for those who publish."""

    def backlog(self, channel: Channel) -> int:
        """Return about how many messages wait to be received."""
        ...

    def publish(self, deliveries: Sequence[Delivery], *, delay_s: int = 0) -> EnqueueReceipt:
        """Send the ids of deliveries to their channels' queues."""
        ...


class Provider(Protocol):
    """Who carries a message to a person."""

    @property
    def name(self) -> str:
        """Name by which the settings and the rows know it."""
        ...

    @property
    def guarantee(self) -> Guarantee:
        """What it promises about duplicates."""
        ...

    def send(self, delivery: Delivery, envelope: Envelope) -> Outcome:
        """Send once, with one HTTP attempt. Every answer and every failure to get one is an Outcome."""
        ...


class Witness(Protocol):
    """A provider that can be asked what became of a delivery."""

    def look_up(self, delivery: Delivery) -> Sighting:
        """Ask what became of the sends with this delivery's key; sends nothing."""
        ...


class Sender(Protocol):
    """A provider behind the ledger: claims, sends once, settles."""

    def send(self, delivery: Delivery, envelope: Envelope, *, pause_s: int | None) -> Outcome:
        """Return this attempt's outcome, or that of the attempt which finished the delivery before.

        `pause_s` is how long the message would back off after a passing failure; None on its last allowed receive.
        Raises InFlightError, and LeaseLostError when the result could not be written.
        """
        ...
