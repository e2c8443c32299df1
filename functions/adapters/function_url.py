"""What Lambda hands over of a request to a function URL (payload format 2.0)."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def method_of(request: Mapping[str, Any]) -> str:
    """Return the HTTP method, in capitals."""
    method: str = request["requestContext"]["http"]["method"]
    return method


def raw_body(request: Mapping[str, Any]) -> bytes | None:
    """Return the bytes as they were sent, which are what was signed; None if they cannot be had."""
    text = request.get("body") or ""
    if not request.get("isBase64Encoded"):
        return str(text).encode()
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        return None
