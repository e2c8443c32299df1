"""Who carries a message to a person, one module each; chosen by name in the region's settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from functions.core.outcome import Dedupe, Guarantee

if TYPE_CHECKING:
    from collections.abc import Mapping

    from functions.adapters.environment import ConsumerEnvironment
    from functions.core.ports import Provider

# What each does with a second send of the same delivery. Neither SES v2 nor SNS takes an idempotency key.
GUARANTEES: Final[Mapping[str, Guarantee]] = {"ses": Guarantee(Dedupe.NONE), "sns": Guarantee(Dedupe.NONE)}


def make_provider(environment: ConsumerEnvironment) -> Provider:
    """Return the provider that a consumer's environment names.

    Each is imported only where it is used, which keeps a consumer's cold start to its own provider.
    """
    if environment.provider == "ses":
        from functions.adapters.providers.ses import SesProvider  # noqa: PLC0415

        return SesProvider.with_timeout(environment.send_timeout_s)
    if environment.provider == "sns":
        from functions.adapters.providers.sns import SnsProvider  # noqa: PLC0415

        return SnsProvider.with_timeout(environment.send_timeout_s)
    msg = f"PROVIDER: {environment.provider!r} is not one of {', '.join(sorted(GUARANTEES))}"
    raise ValueError(msg)
