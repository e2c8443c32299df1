"""What other people wrote, made safe to stand in a header, in a line of its own, behind a link."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

# Line breaks and other control characters begin a second header, or a second line where one was promised.
_CONTROLS: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029 ]+")
# They turn the order of whatever follows around, and nothing ends them with the text that they came in.
_DIRECTION: Final = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
# Half a character: no encoding can send it.
_SURROGATES: Final = re.compile("[\ud800-\udfff]")
_NOT_IN_URLS: Final = re.compile("[^!#$%&'()*+,./0-9:;=?@A-Z\\[\\]_a-z~-]")
_LOOPBACK: Final = re.compile(r"(.+\.)?localhost|127\.0\.0\.1|::1")


class UnsafeLinkError(ValueError):
    """An address that must not become a link. The text does not repeat it: it may hold a token."""


def one_line(text: str) -> str:
    """Return text as one line without control characters. Spaces that do not break stay."""
    return _CONTROLS.sub(" ", _SURROGATES.sub("", _DIRECTION.sub("", text))).strip(" ")


def link(address: str, *, field: str) -> str:
    """Check an address that people will follow: https, or http on this machine. Raises UnsafeLinkError."""
    try:
        parts = urlsplit(address)
        host = parts.hostname or ""
        _ = parts.port
    except ValueError:
        raise UnsafeLinkError(f"{field}: is no web address; write one like https://shop.example.com") from None
    allowed = parts.scheme == "https" or (parts.scheme == "http" and _LOOPBACK.fullmatch(host) is not None)
    if not host or not allowed or "@" in parts.netloc or _NOT_IN_URLS.search(address):
        raise UnsafeLinkError(f"{field}: must be an https address such as https://shop.example.com, percent-encoded")
    return address
