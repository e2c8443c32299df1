"""The last gate of a deployment that is not production: between everything else and its provider."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from functions.core.outcome import Outcome, OutcomeClass

if TYPE_CHECKING:
    from functions.core.allow_list import AllowList
    from functions.core.delivery import Delivery
    from functions.core.envelope import Envelope
    from functions.core.outcome import Guarantee
    from functions.core.ports import Provider

NOT_ON_ALLOW_LIST: Final = "not_on_allow_list"


@dataclass(frozen=True, slots=True)
class AllowListedProvider:
    """`Provider` that hands on what goes to the addresses on a list, and rejects everything else without a request.

    The composer has asked the same before. This holds for whatever reaches a provider by another way.
    """

    provider: Provider
    allow_list: AllowList

    @property
    def name(self) -> str:
        """The provider's own."""
        return self.provider.name

    @property
    def guarantee(self) -> Guarantee:
        """The provider's own."""
        return self.provider.guarantee

    def send(self, delivery: Delivery, envelope: Envelope) -> Outcome:
        """Send, if the address is on the list."""
        if not self.allow_list.allows(envelope.to):
            return Outcome(OutcomeClass.REJECTED, NOT_ON_ALLOW_LIST)
        return self.provider.send(delivery, envelope)


def only_to(allow_list: AllowList | None, provider: Provider) -> Provider:
    """Return a provider that sends to the addresses on a list only; None allows everybody."""
    return provider if allow_list is None else AllowListedProvider(provider, allow_list)
