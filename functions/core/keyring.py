"""Keys of ours under their ids, several at a time: what an old one has signed stays good while a new one signs."""

from __future__ import annotations

import hashlib
import hmac
import json
from base64 import urlsafe_b64encode
from dataclasses import dataclass, field
from datetime import UTC, date
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

FIRST: Final = "0"  # id of the key that a deployment begins with; later ones are named by the UTC day they begin on
SHORTEST: Final = 32  # characters: 256 bits where they are hexadecimal, and more anywhere else


class KeyRingError(ValueError):
    """The secret is no key ring; the text says what would be right and nothing of what is there."""


@dataclass(frozen=True, slots=True)
class Key:
    """One key. `repr` does not show it."""

    key_id: str
    secret: bytes = field(repr=False)

    def mac(self, purpose: str, text: str) -> str:
        """HMAC-SHA-256 of a text, in 43 letters, digits, `-` and `_`.

        `purpose` keeps what is made for one use from being taken for what was made for another.
        """
        digest = hmac.new(self.secret, f"{purpose}\0{text}".encode(), hashlib.sha256).digest()
        return urlsafe_b64encode(digest).rstrip(b"=").decode()


@dataclass(frozen=True, slots=True)
class KeyRing:
    """The keys of one secret, oldest first: `{"0": "<key>", "2027-01-15": "<key>"}`."""

    keys: tuple[Key, ...]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a secret's text. Raises KeyRingError."""
        try:
            held = json.loads(text)
        except ValueError:
            held = None
        if not isinstance(held, dict) or not held or not all(_is_key(key_id, key) for key_id, key in held.items()):
            raise KeyRingError(
                f'must be JSON such as {{"0": "<key>", "2027-01-15": "<key>"}}: each key at least {SHORTEST} '
                "characters, each id 0 or the day from which its key is used"
            ) from None
        return cls(tuple(Key(key_id, held[key_id].encode()) for key_id in sorted(held)))

    def __iter__(self) -> Iterator[Key]:
        """Iterate over all keys."""
        return iter(self.keys)

    def of(self, instant: datetime) -> Key:
        """Return the key in use at an instant: the last that had begun, so that asking again later gives the same."""
        day = instant.astimezone(UTC).date().isoformat()
        begun = [key for key in self.keys if key.key_id <= day]  # "0" sorts before every day
        return begun[-1] if begun else self.keys[0]

    def named(self, key_id: str) -> Key | None:
        """Return the key of that id, if it is still there."""
        by_id: Mapping[str, Key] = {key.key_id: key for key in self.keys}
        return by_id.get(key_id)


def _is_key(key_id: str, key: object) -> bool:
    return _is_id(key_id) and isinstance(key, str) and len(key) >= SHORTEST


def _is_id(key_id: str) -> bool:
    if key_id == FIRST:
        return True
    try:
        return date.fromisoformat(key_id).isoformat() == key_id
    except ValueError:
        return False
