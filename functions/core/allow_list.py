"""Who a deployment that is not production may write to, and nobody else."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

ANYTHING: Final = "*"


@dataclass(frozen=True, slots=True)
class AllowList:
    """Addresses and numbers, whole or with one `*` at an end: `qa@example.com`, `*@example.com`, `+1202555*`.

    Letter case does not matter. An empty list would allow nobody, which is what halting a channel is for: ValueError.
    """

    patterns: tuple[str, ...] = field(repr=False)

    def __post_init__(self) -> None:
        if not self.patterns or not all(pattern.strip(ANYTHING) for pattern in self.patterns):
            msg = "recipients: must name at least one address, and none that is only a *; null allows everybody"
            raise ValueError(msg)

    def allows(self, address: str) -> bool:
        """Whether something may be sent to this address."""
        wanted = address.casefold()
        return any(_matches(pattern.casefold(), wanted) for pattern in self.patterns)


def _matches(pattern: str, address: str) -> bool:
    if pattern.startswith(ANYTHING):
        return address.endswith(pattern.removeprefix(ANYTHING))
    if pattern.endswith(ANYTHING):
        return address.startswith(pattern.removesuffix(ANYTHING))
    return address == pattern
