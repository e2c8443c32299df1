"""What outlives an erasure: that an address, or an id, wants to be left alone. Nothing else, and of nobody by name.

It is filed under a mark, HMAC-SHA-256 under keys of its own: whoever comes with the address finds it, and from the mark
nobody finds the address. Marks cannot be made anew, the address being gone, so a key of this ring is never taken out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from functions.core.customer import Consent
from functions.core.identity import Channel, Topic
from functions.core.receipts import CAUSES, SuppressionCause

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import datetime

    from functions.core.customer import Profile
    from functions.core.keyring import Key, KeyRing
    from functions.core.unsubscribe_token import Subscription

_PURPOSE: Final = "left"
_CUSTOMER: Final = "customer"  # no channel is called so


@dataclass(frozen=True, slots=True)
class Memory:
    """Topics withdrawn by channel, and causes for which an address is not written to."""

    opted_out: frozenset[tuple[Topic, Channel]] = frozenset()
    causes: frozenset[SuppressionCause] = frozenset()

    def __bool__(self) -> bool:
        """Whether there is anything to remember."""
        return bool(self.opted_out or self.causes)

    @property
    def heaviest_cause(self) -> SuppressionCause | None:
        """The cause that outweighs the others."""
        return max(self.causes, key=CAUSES.index, default=None)


STOPPED: Final = Memory(frozenset((topic, Channel.SMS) for topic in Topic), frozenset({SuppressionCause.STOP}))


class OptOutMemory(Protocol):
    """Where it is kept."""

    def remember(self, mark: str, memory: Memory, *, at: datetime) -> None:
        """Add to what is remembered under a mark; again does no harm, and nothing is ever taken away."""
        ...


@dataclass(frozen=True, slots=True)
class LateOptOuts:
    """Takes at their word those who leave when they are not on record any more: by an old link, or by STOP."""

    memory: OptOutMemory
    keys: Callable[[], KeyRing]

    def leave(self, subscription: Subscription, *, at: datetime) -> None:
        """Remember a link's topic and channel for its customer id. Raises what `keys` raises."""
        memory = Memory(frozenset({(subscription.topic, subscription.channel)}))
        self.memory.remember(customer_mark(subscription.customer_id, self.keys().of(at)), memory, at=at)

    def stop(self, number: str, *, at: datetime) -> None:
        """Remember a phone number that nobody on record has. Raises what `keys` raises."""
        self.memory.remember(address_mark(Channel.SMS, number, self.keys().of(at)), STOPPED, at=at)


def customer_mark(customer_id: str, key: Key) -> str:
    """Return what an id's memory is filed under."""
    return _mark(_CUSTOMER, customer_id, key)


def address_mark(channel: Channel, address: str, key: Key) -> str:
    """Return what an address's memory is filed under. Mailboxes are the same in any letter case, endpoints are not."""
    return _mark(channel, address.casefold() if channel is Channel.EMAIL else address, key)


def _mark(what: str, text: str, key: Key) -> str:
    return f"{key.key_id}.{key.mac(f'{_PURPOSE}:{what}', text)}"


def memories_of(profile: Profile, key: Key) -> Mapping[str, Memory]:
    """Return what is to be remembered of a customer, by mark.

    Consent is the person's own word, so it is remembered for the id and for each address; a suppression is about the
    address. No answer is no opt-out: it leaves the question open, as it does on record.
    """
    withdrawn = frozenset(one for one, held in profile.consent.items() if held is Consent.OPTED_OUT)
    memories = {customer_mark(profile.customer_id, key): Memory(withdrawn)}
    for channel, address in profile.addresses.items():
        causes = {SuppressionCause(profile.suppressed[channel])} if channel in profile.suppressed else set()
        memories[address_mark(channel, address, key)] = Memory(of_channel(withdrawn, channel), frozenset(causes))
    return {mark: memory for mark, memory in memories.items() if memory}


def together(memories: Iterable[Memory]) -> Memory:
    """Return what several memories say."""
    known = list(memories)
    return Memory(
        opted_out=frozenset().union(*(one.opted_out for one in known)),
        causes=frozenset().union(*(one.causes for one in known)),
    )


def of_channel(opted_out: Iterable[tuple[Topic, Channel]], channel: Channel) -> frozenset[tuple[Topic, Channel]]:
    """Return the topics of one channel."""
    return frozenset(one for one in opted_out if one[1] is channel)
