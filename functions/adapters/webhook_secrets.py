"""New secrets, as Standard Webhooks writes them."""

from __future__ import annotations

import base64
import secrets
from typing import Final

PREFIX: Final = "whsec_"
_BYTES: Final = 32  # the specification asks for 24 to 64


def new_secret() -> str:
    """Return a secret that nobody has seen, `whsec_` and base64."""
    return PREFIX + base64.b64encode(secrets.token_bytes(_BYTES)).decode()
