"""Webhook endpoints in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from functions.core.webhook_endpoint import Health, SigningSecret, WebhookEndpoint


class InMemoryEndpoints:
    """`Endpoints`. `before_write` runs ahead of each write: whatever somebody else does in between."""

    def __init__(self, **held: WebhookEndpoint) -> None:
        self.held: dict[str, WebhookEndpoint] = {name.replace("_", "-"): endpoint for name, endpoint in held.items()}
        self.before_write: Callable[[], None] = _nothing
        self.writes = 0

    def read(self, customer_id: str) -> WebhookEndpoint | None:
        return self.held.get(customer_id)

    def note(self, customer_id: str, health: Health, *, version: int) -> bool:
        if not self._may_write(customer_id, version):
            return False
        self.held[customer_id] = replace(self.held[customer_id], health=health, version=version + 1)
        return True

    def keep_secrets(self, customer_id: str, secrets: Sequence[SigningSecret], *, version: int) -> bool:
        if not self._may_write(customer_id, version):
            return False
        self.held[customer_id] = replace(self.held[customer_id], secrets=tuple(secrets), version=version + 1)
        return True

    def _may_write(self, customer_id: str, version: int) -> bool:
        self.before_write()
        self.writes += 1
        return customer_id in self.held and self.held[customer_id].version == version


def _nothing() -> None:
    return
