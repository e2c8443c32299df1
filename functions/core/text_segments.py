"""How long a text message is, as a network counts it, and how a longer one is made to fit.

A message goes out in GSM-7 (3GPP TS 23.038) when its alphabet covers every character, in UCS-2 otherwise. One that does
not fit into a single segment gives up a part of each for the header that joins them:

```
           one segment    each of several    one character takes
GSM-7      160 septets    153 septets        1, or 2 from the extension table
UCS-2       70 units       67 units          1, or 2 outside the basic plane (a UTF-16 surrogate pair)
```
A character of two is never split between segments, so a full one may end in a gap.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SMS_SEGMENTS: Final = 2  # that a message may take, where nobody says otherwise

_BASIC: Final = frozenset(
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§"
    "¿abcdefghijklmnopqrstuvwxyzäöñüà"
)
_EXTENSION: Final = frozenset("\f^{}\\[~]|€")

# One of these would turn 160 characters into 70. What replaces it says the same.
_EQUAL: Final = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u00b4`", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
        **dict.fromkeys(
            "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " "
        ),
        "\u00d7": "x",
        "\u2026": "...",
    }
)
_INVISIBLE: Final = dict.fromkeys(map(ord, "\u00ad\u200b\u2060\ufeff"))
ELLIPSIS: Final = "..."
_LONGEST_WORD: Final = 40  # a longer one is cut inside, as is a language that puts no spaces between words
_NO_END: Final = " .,;:-\u2013\u2014(\u00ab\u201c\u201e"  # what a cut text does not end in, before the ellipsis
_ZERO_WIDTH_JOINER: Final = "\u200d"
_LARGEST_OF_BASIC_PLANE: Final = 0xFFFF


class Encoding(Enum):
    """How a message is sent; its value holds the units of a single segment, and of each of several."""

    GSM_7 = (160, 153)
    UCS_2 = (70, 67)

    @property
    def single(self) -> int:
        """Units that a message of one segment holds."""
        return self.value[0]

    @property
    def each(self) -> int:
        """Units that each of several segments holds."""
        return self.value[1]


@dataclass(frozen=True, slots=True)
class TextSize:
    """What a network counts, and bills: septets or 16-bit units, and segments."""

    encoding: Encoding
    units: int
    segments: int


def size_of(text: str) -> TextSize:
    """Measure a text as it stands. An empty one is a segment too."""
    encoding = Encoding.GSM_7 if _is_gsm_7(text) else Encoding.UCS_2
    widths = [_width(character, encoding) for character in text]
    units = sum(widths)
    return TextSize(encoding, units, 1 if units <= encoding.single else _segments(widths, encoding.each))


def fit(text: str, *, segments: int, link: str = "") -> str:
    """Return a text of one line, and a link that stays whole, in as many segments at most.

    Characters outside GSM-7 are replaced by equal ones where that makes it a GSM-7 message. A text that is too long is
    cut at a word and ends in "..."; never inside a character, an amount (which no-break spaces hold together) or an
    address. A link that leaves no room for a single word of the text is left out.
    """
    text = unicodedata.normalize("NFC", text).translate(_INVISIBLE)
    whole = _sendable(text, link)
    if size_of(whole).segments <= segments:
        return whole
    # No character takes less than one unit, so nothing behind this point can be part of the message.
    room = max(Encoding.GSM_7.single, segments * Encoding.GSM_7.each)
    for end in _places_to_cut(text, room):
        if not (kept := _ended(text[:end])):
            continue
        shorter = _sendable(kept, link)
        if size_of(shorter).segments <= segments:
            return shorter
    return fit(text, segments=segments) if link else ""


def _is_gsm_7(text: str) -> bool:
    return all(character in _BASIC or character in _EXTENSION for character in text)


def _width(character: str, encoding: Encoding) -> int:
    if encoding is Encoding.GSM_7:
        return 2 if character in _EXTENSION else 1
    return 2 if ord(character) > _LARGEST_OF_BASIC_PLANE else 1


def _segments(widths: Iterable[int], room: int) -> int:
    segments, used = 1, 0
    for width in widths:
        if used + width > room:
            segments, used = segments + 1, 0
        used += width
    return segments


def _sendable(text: str, link: str) -> str:
    message = f"{text} {link}" if link else text
    plain = message.translate(_EQUAL)
    return plain if _is_gsm_7(plain) else message


def _ended(text: str) -> str:
    """A text that was cut, with its ellipsis; empty where nothing is left to say."""
    kept = text.rstrip(" ")
    if _is_address(kept.rpartition(" ")[2]):
        return f"{kept} {ELLIPSIS}"  # what touches an address becomes a part of it
    kept = kept.rstrip(_NO_END)
    return kept and kept + ELLIPSIS


def _is_address(word: str) -> bool:
    return "://" in word


def _places_to_cut(text: str, room: int) -> Iterator[int]:
    """Where a text may end, the longest first."""
    places: set[int] = set()
    for word in re.finditer("[^ ]+", text[: room + 1]):
        places.add(word.start())
        if len(word[0]) > _LONGEST_WORD and not _is_address(word[0]):
            places.update(word.start() + inside for inside in _between_characters(word[0]))
    return iter(sorted(places - {0}, reverse=True))


def _between_characters(word: str) -> Iterator[int]:
    """Places between what a reader takes for one character each: accents, emoji and flags stay in one piece."""
    flag_is_open = False
    for place in range(1, len(word)):
        before, after = word[place - 1], word[place]
        flag_is_open = _is_half_a_flag(before) and not flag_is_open
        joined = _ZERO_WIDTH_JOINER in (before, after) or _goes_with_the_one_before(after)
        if not joined and not (flag_is_open and _is_half_a_flag(after)):
            yield place


def _is_half_a_flag(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _goes_with_the_one_before(character: str) -> bool:
    is_mark = unicodedata.category(character).startswith("M")  # accents, and variation selectors
    return is_mark or "\U0001f3fb" <= character <= "\U0001f3ff" or "\U000e0020" <= character <= "\U000e007f"
