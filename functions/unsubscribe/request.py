"""A request to the function's URL, as far as it matters here. It shows neither its token nor its body."""

from __future__ import annotations

from base64 import b64decode
from dataclasses import dataclass, field
from email.parser import BytesParser
from email.policy import HTTP
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs

from functions.core.unsubscribe_token import ONE_CLICK

if TYPE_CHECKING:
    from collections.abc import Mapping

LONGEST_BODY: Final = 4096  # bytes; the real one has 26, and a few hundred as multipart
_FORM: Final = "application/x-www-form-urlencoded"
_MULTIPART: Final = "multipart/form-data"


@dataclass(frozen=True, slots=True)
class Request:
    """One request."""

    method: str
    token: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)  # names in small letters
    body: bytes = field(repr=False)

    @classmethod
    def of(cls, event: Mapping[str, Any]) -> Request:
        """Read the event of a function URL (payload format 2.0)."""
        body = event.get("body") or ""
        return cls(
            method=event["requestContext"]["http"]["method"],
            token=event["rawPath"].removeprefix("/"),
            headers={name.lower(): value for name, value in event.get("headers", {}).items()},
            body=b64decode(body) if event.get("isBase64Encoded") else body.encode(errors="replace"),
        )

    @property
    def too_long(self) -> bool:
        """Whether the body is longer than any that we read."""
        return len(self.body) > LONGEST_BODY

    @property
    def asks_to_leave(self) -> bool:
        """Whether the body is the one of RFC 8058, which the page's button sends too, in either form it may have."""
        name, value = ONE_CLICK
        return any(said.strip().casefold() == value.casefold() for said in self._fields().get(name.casefold(), ()))

    def _fields(self) -> dict[str, list[str]]:
        kind = self.headers.get("content-type", _FORM)
        if kind.partition(";")[0].strip().lower() == _MULTIPART:
            return _parts(kind, self.body)
        try:
            read = parse_qs(self.body.decode("ascii", "replace"), max_num_fields=20)
        except ValueError:
            return {}
        return {name.casefold(): values for name, values in read.items()}


def _parts(content_type: str, body: bytes) -> dict[str, list[str]]:
    """The fields of a multipart form: to Python, a message whose header is the request's."""
    message = BytesParser(policy=HTTP).parsebytes(f"Content-Type: {content_type}\r\n\r\n".encode() + body)
    fields: dict[str, list[str]] = {}
    for part in message.iter_parts() if message.is_multipart() else ():
        name = part.get_param("name", header="content-disposition")
        content = part.get_payload(decode=True)
        if isinstance(name, str) and isinstance(content, bytes):
            fields.setdefault(name.casefold(), []).append(content.decode("ascii", "replace"))
    return fields
