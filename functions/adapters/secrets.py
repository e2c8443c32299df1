"""Secrets from Secrets Manager, kept in memory for a few minutes so that a rotation is noticed without a deployment."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Self

from botocore.exceptions import BotoCoreError, ClientError

from functions.core.keyring import KeyRing

if TYPE_CHECKING:
    from datetime import datetime

    from mypy_boto3_secretsmanager import SecretsManagerClient

    from functions.core.ports import Clock

KEPT_FOR: Final = timedelta(minutes=5)
_SERVER_ERROR: Final = 500
_NOT_PLAIN_TEXT: Final = "NotPlainText"


class SecretError(Exception):
    """A secret could not be had. `code` says why, never what; `passing` whether it may be there a moment later."""

    def __init__(self, code: str, *, passing: bool) -> None:
        super().__init__(code)
        self.code = code
        self.passing = passing


class Secret:
    """One secret's current text. `repr` and errors never show it."""

    def __init__(self, client: SecretsManagerClient, name: str, *, clock: Clock, one_line: bool = True) -> None:
        """`one_line`: it will stand in a header, and one that cannot is refused."""
        self._client = client
        self._one_line = one_line
        self._name = name
        self._clock = clock
        self._held: str | None = None
        self._read_at: datetime | None = None

    def __call__(self) -> str:
        """Return the secret, the one held so far while Secrets Manager is troubled. Raises SecretError."""
        now = self._clock()
        if self._held is None or self._read_at is None or now - self._read_at >= KEPT_FOR:
            self._held = self._renewed(self._held)
            self._read_at = now
        return self._held

    def _renewed(self, held: str | None) -> str:
        try:
            return self._read()
        except SecretError as error:
            if held is None or not error.passing:
                raise
            return held

    def _read(self) -> str:
        try:
            text = self._client.get_secret_value(SecretId=self._name).get("SecretString", "").strip()
        except ClientError as error:
            raise SecretError(error.response["Error"]["Code"], passing=_is_passing(error)) from None
        except BotoCoreError as error:
            raise SecretError(type(error).__name__, passing=True) from None
        if not text or (self._one_line and not (text.isascii() and text.isprintable())):
            # Half of a header's errors quote the header: what cannot stand in one must not get there.
            raise SecretError(_NOT_PLAIN_TEXT, passing=False)
        return text


@dataclass(frozen=True, slots=True)
class SecretKeyRing:
    """The key ring that a secret holds, as it is now."""

    secret: Secret

    @classmethod
    def named(cls, client: SecretsManagerClient, name: str, *, clock: Clock) -> Self:
        """Return the ring of a secret; nothing is read yet."""
        return cls(Secret(client, name, clock=clock, one_line=False))

    def __call__(self) -> KeyRing:
        """Return the keys. Raises SecretError, and KeyRingError where the secret holds something else."""
        return KeyRing.parse(self.secret())


def _is_passing(error: ClientError) -> bool:
    status = error.response["ResponseMetadata"]["HTTPStatusCode"]
    return status >= _SERVER_ERROR or "Throttl" in error.response["Error"]["Code"]
