"""Secrets from Secrets Manager, kept in memory for a few minutes so that a rotation is noticed without a deployment."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from datetime import datetime

    from mypy_boto3_secretsmanager import SecretsManagerClient

    from functions.core.ports import Clock

KEPT_FOR: Final = timedelta(minutes=5)


class Secret:
    """One secret's current text. `repr` and errors never show it."""

    def __init__(self, client: SecretsManagerClient, name: str, *, clock: Clock) -> None:
        self._client = client
        self._name = name
        self._clock = clock
        self._held: str | None = None
        self._read_at: datetime | None = None

    def __call__(self) -> str:
        """Return the secret. Raises ClientError when it cannot be read: nothing is sent then."""
        now = self._clock()
        if self._held is None or self._read_at is None or now - self._read_at >= KEPT_FOR:
            self._held = self._client.get_secret_value(SecretId=self._name)["SecretString"].strip()
            self._read_at = now
        return self._held
