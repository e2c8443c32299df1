"""How long a text message is, as a network counts it, and what is left of one that is too long."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.core.text_segments import ELLIPSIS, Encoding, fit, size_of

LINK = "https://shop.example.com/activity"

# The tables of 3GPP TS 23.038 as septet codes, row by row; None is the escape to the extension table.
DEFAULT_ALPHABET = (
    "@\u00a3$\u00a5\u00e8\u00e9\u00f9\u00ec\u00f2\u00c7\n\u00d8\u00f8\r\u00c5\u00e5"
    "\u0394_\u03a6\u0393\u039b\u03a9\u03a0\u03a8\u03a3\u0398\u039e\x1b\u00c6\u00e6\u00df\u00c9"
    " !\"#\u00a4%&'()*+,-./0123456789:;<=>?"
    "\u00a1ABCDEFGHIJKLMNOPQRSTUVWXYZ\u00c4\u00d6\u00d1\u00dc\u00a7"
    "\u00bfabcdefghijklmnopqrstuvwxyz\u00e4\u00f6\u00f1\u00fc\u00e0"
)
EXTENSION = {"\f": 0x0A, "^": 0x14, "{": 0x28, "}": 0x29, "\\": 0x2F, "[": 0x3C, "~": 0x3D, "]": 0x3E, "|": 0x40}
EXTENSION["\u20ac"] = 0x65
ESCAPE = 0x1B


def septets_of(character: str) -> list[int] | None:
    if character in EXTENSION:
        return [ESCAPE, EXTENSION[character]]
    code = DEFAULT_ALPHABET.find(character)
    return None if code in {-1, ESCAPE} else [code]


def units_of(character: str) -> list[int]:
    encoded = character.encode("utf-16-be")
    return [int.from_bytes(encoded[at : at + 2]) for at in range(0, len(encoded), 2)]


def as_a_network_sends_it(text: str) -> tuple[Encoding, list[list[int]]]:
    """The segments themselves, filled character by character: slow, and plainly right."""
    septets = [septets_of(character) for character in text]
    if None not in septets:
        encoding, atoms, single, each = Encoding.GSM_7, [one or [] for one in septets], 160, 153
    else:
        encoding, atoms, single, each = Encoding.UCS_2, [units_of(character) for character in text], 70, 67
    if sum(map(len, atoms)) <= single:
        return encoding, [[code for atom in atoms for code in atom]]
    segments: list[list[int]] = [[]]
    for atom in atoms:
        if len(segments[-1]) + len(atom) > each:
            segments.append([])
        segments[-1].extend(atom)
    return encoding, segments


MESSAGES = st.text(st.sampled_from("ab \n@\u00e0\u00df{}[]~\u20ac^\\|"), max_size=700) | st.text(
    st.sampled_from("ab \u20ac\u00e1\u4e2d\U0001f600\U0001f469\u200d\u0301"), max_size=400
)


def test_the_alphabet_has_its_128_places() -> None:
    assert len(DEFAULT_ALPHABET) == len(set(DEFAULT_ALPHABET)) == 128


@given(MESSAGES | st.text(max_size=400))
def test_a_text_is_as_long_as_a_network_makes_it(text: str) -> None:
    encoding, segments = as_a_network_sends_it(text)
    size = size_of(text)
    assert (size.encoding, size.units, size.segments) == (encoding, sum(map(len, segments)), len(segments))


@pytest.mark.parametrize(
    ("text", "encoding", "units", "segments"),
    [
        ("", Encoding.GSM_7, 0, 1),
        ("a" * 160, Encoding.GSM_7, 160, 1),
        ("a" * 161, Encoding.GSM_7, 161, 2),
        ("a" * 306, Encoding.GSM_7, 306, 2),
        ("a" * 307, Encoding.GSM_7, 307, 3),
        ("\u20ac" * 80, Encoding.GSM_7, 160, 1),
        ("\u20ac" * 152, Encoding.GSM_7, 304, 2),
        ("\u20ac" * 153, Encoding.GSM_7, 306, 3),  # 76 of them fill 152 of 153 septets
        ("\u00e1" * 70, Encoding.UCS_2, 70, 1),
        ("\u00e1" * 71, Encoding.UCS_2, 71, 2),
        ("\u00e1" * 134, Encoding.UCS_2, 134, 2),
        ("\u00e1" * 135, Encoding.UCS_2, 135, 3),
        ("\U0001f600" * 35, Encoding.UCS_2, 70, 1),
        ("\U0001f600" * 66, Encoding.UCS_2, 132, 2),
        ("\U0001f600" * 67, Encoding.UCS_2, 134, 3),  # 33 of them fill 66 of 67 units
        ("\u00e7", Encoding.UCS_2, 1, 1),  # only the capital has a place in GSM-7
        ("\x1b", Encoding.UCS_2, 1, 1),  # the escape is no character
    ],
)
def test_limits_of_one_segment_and_of_several(text: str, encoding: Encoding, units: int, segments: int) -> None:
    size = size_of(text)
    assert (size.encoding, size.units, size.segments) == (encoding, units, segments)


# --- equal characters -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("it\u2019s", "it's"),
        ("\u201cso\u201d \u201eso\u201c \u00abso\u00bb", '"so" "so" "so"'),
        ("a \u2013 b \u2014 c\u2011d", "a - b - c-d"),
        ("1\u202f234,50\u00a0\u20ac", "1 234,50 \u20ac"),
        ("wait\u2026", "wait..."),
        ("2 \u00d7 lamp", "2 x lamp"),
        ("cafe\u0301", "caf\u00e9"),
        ("soft\u00adhyphen\u200b", "softhyphen"),
    ],
)
def test_a_stray_apostrophe_does_not_halve_the_room(written: str, sent: str) -> None:
    assert fit(written, segments=1) == sent
    assert size_of(sent).encoding is Encoding.GSM_7


def test_a_text_that_needs_ucs_2_anyway_keeps_its_typography() -> None:
    assert fit("\u00ab\u00e7a va\u2026\u00bb", segments=1) == "\u00ab\u00e7a va\u2026\u00bb"


# --- cutting ----------------------------------------------------------------------------------------------------------

WORDS = st.lists(
    st.text(st.sampled_from("abc\u20ac{\u00e1\U0001f600\u2019\u00a0"), min_size=1, max_size=60), min_size=1, max_size=60
)


@given(words=WORDS, segments=st.integers(1, 4), link=st.sampled_from(["", LINK]))
def test_whatever_is_said_fits_and_is_cut_only_where_it_had_to_be(words: list[str], segments: int, link: str) -> None:
    text = " ".join(words)
    sent = fit(text, segments=segments, link=link)
    assert len(as_a_network_sends_it(sent)[1]) <= segments
    assert sent.endswith(link)
    whole = fit(text, segments=1000, link=link)
    assert (sent == whole) is (size_of(whole).segments <= segments)
    assert sent == whole or ELLIPSIS in sent


def test_a_text_is_cut_at_a_word_and_never_ends_in_a_comma() -> None:
    assert fit("one, two, three " + "x" * 39, segments=1) == "one, two, three " + "x" * 39
    text = "word, " * 40
    assert fit(text, segments=1) == "word, " * 25 + "word..."
    assert fit(text, segments=1, link=LINK) == "word, " * 19 + f"word... {LINK}"


def test_an_amount_is_never_torn_apart() -> None:
    filler = "a" * 10 + " "
    for length in range(20):
        sent = fit(filler * 14 + "b" * length + " 1\u202f234,50\u00a0\u20ac and more", segments=1)
        assert "1" not in sent or "1 234,50 \u20ac" in sent


def test_an_address_in_the_text_is_whole_or_not_there() -> None:
    for length in range(160):
        sent = fit("c" * length + f" {LINK}/{'p' * 60} and then some more words", segments=1)
        assert "http" not in sent or f"{LINK}/{'p' * 60} " in sent


def test_a_link_that_leaves_no_room_for_words_is_left_out() -> None:
    assert fit("Your week", segments=1, link="https://shop.example.com/" + "p" * 140) == "Your week"


def test_a_text_that_is_nothing_but_a_long_address_says_nothing() -> None:
    assert fit("https://shop.example.com/" + "p" * 140, segments=1) == ""


@pytest.mark.parametrize(
    "character",
    [
        "e\u0323\u0301",  # two accents, of which one stays combining
        "\U0001f469\u200d\U0001f469\u200d\U0001f467",  # a family
        "\U0001f1e9\U0001f1ea",  # a flag
        "\U0001f44d\U0001f3fd",  # a thumb with its colour
        "\u2764\ufe0f",  # a heart, as a picture
    ],
)
def test_a_long_word_is_cut_between_characters_and_never_inside_one(character: str) -> None:
    word = unicodedata.normalize("NFC", character) * 100
    sent = fit(word, segments=2).removesuffix(ELLIPSIS)
    assert sent
    assert re.fullmatch(f"(?:{re.escape(unicodedata.normalize('NFC', character))})+", sent)


def test_a_language_without_spaces_is_cut_too() -> None:
    assert fit("\u4e2d" * 200, segments=2) == "\u4e2d" * 131 + ELLIPSIS
