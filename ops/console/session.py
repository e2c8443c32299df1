"""Who may use the console: the one who was told its address, from this machine.

It acts with the credentials of whoever started it, so nobody else may: not other users of the machine (the key in the
address), not pages that are open in the same browser (a token in each form), not a name that somebody pointed at
loopback (the Host header).
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from werkzeug.wrappers import Request, Response

HOSTS: Final = frozenset({"127.0.0.1", "localhost"})
KEY_PARAMETER: Final = "key"
TOKEN_FIELD: Final = "console.token"  # noqa: S105 - the name of a field
_SECRET_BYTES: Final = 32


def _secret() -> str:
    return secrets.token_urlsafe(_SECRET_BYTES)


@dataclass(frozen=True)
class Session:
    """The secrets of one run of the console."""

    key: str = field(default_factory=_secret, repr=False)
    token: str = field(default_factory=_secret, repr=False)

    def cookie(self, request: Request) -> str:
        """Name of the cookie: browsers share cookies between the ports of a host."""
        return f"digest-console-{urlsplit(request.host_url).port or 80}"

    def is_meant(self, request: Request) -> bool:
        """Whether the request names this machine, as a browser does that was not led astray."""
        return urlsplit(f"//{request.host}").hostname in HOSTS

    def has_key(self, request: Request) -> bool:
        """Whether whoever asks has been told the address once."""
        return hmac.compare_digest(request.cookies.get(self.cookie(request), "").encode(), self.key.encode())

    def shows_key(self, request: Request) -> bool:
        """Whether the address that was told is asked for."""
        return hmac.compare_digest(request.args.get(KEY_PARAMETER, "").encode(), self.key.encode())

    def is_ours(self, request: Request) -> bool:
        """Whether a form that is sent comes from one of our pages."""
        origin = request.headers.get("Origin")
        if origin is not None and origin != request.host_url.rstrip("/"):
            return False
        return hmac.compare_digest(request.form.get(TOKEN_FIELD, "").encode(), self.token.encode())

    def admit(self, request: Request, response: Response) -> None:
        """Have the browser remember the key, until it is closed."""
        response.set_cookie(self.cookie(request), self.key, httponly=True, samesite="Lax", path="/")
