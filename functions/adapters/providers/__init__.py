"""Who carries a message to a person, one module each; chosen by name in the region's settings.

Each is imported only where it is used, which keeps a function's cold start to its own providers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from functions.adapters.clock import utc_now
from functions.core.outcome import Dedupe, Guarantee
from functions.core.webhook_endpoint import GUARANTEE as ENDPOINT_GUARANTEE

if TYPE_CHECKING:
    from functions.adapters.environment import ProviderChoice
    from functions.adapters.providers.http_email import HttpEmailProvider
    from functions.core.ports import Provider, Witness

PROVIDERS: Final = ("eum", "http", "ses", "sns", "webhook")


def make_provider(choice: ProviderChoice) -> Provider:
    """Return the provider that the environment names; ValueError for one that does not exist."""
    if choice.name == "ses":
        from functions.adapters.providers.ses import SesOptions, SesProvider  # noqa: PLC0415

        return SesProvider.with_timeout(choice.timeout_s, SesOptions.model_validate_json(choice.options))
    if choice.name == "sns":
        from functions.adapters.providers.sns import SnsProvider  # noqa: PLC0415

        return SnsProvider.with_timeout(choice.timeout_s)
    if choice.name == "eum":
        from functions.adapters.providers.eum import EumOptions, EumProvider  # noqa: PLC0415

        options = EumOptions.model_validate_json(choice.options)
        return EumProvider.with_timeout(choice.timeout_s, options, clock=utc_now)
    if choice.name == "http":
        return _http_email(choice)
    if choice.name == "webhook":
        from functions.adapters.providers.webhook import WebhookProvider  # noqa: PLC0415

        return WebhookProvider(utc_now, choice.timeout_s)
    msg = f"PROVIDER: {choice.name!r} is not one of {', '.join(PROVIDERS)}"
    raise ValueError(msg)


def guarantee_and_witness(choice: ProviderChoice) -> tuple[Guarantee, Witness | None]:
    """Return what a provider promises about duplicates, and the provider itself where it can be asked."""
    if choice.name == "webhook":
        return ENDPOINT_GUARANTEE, None
    if choice.name != "http":
        return Guarantee(Dedupe.NONE), None  # neither SES v2 nor the texts' providers take an idempotency key
    provider = _http_email(choice)
    can_be_asked = provider.guarantee.dedupe is Dedupe.LOOKUP
    return provider.guarantee, provider if can_be_asked else None


def _http_email(choice: ProviderChoice) -> HttpEmailProvider:
    from functions.adapters.providers.http_email import HttpEmailOptions, HttpEmailProvider  # noqa: PLC0415
    from functions.adapters.secrets import Secret  # noqa: PLC0415
    from functions.adapters.wiring import secrets_manager  # noqa: PLC0415

    options = HttpEmailOptions.model_validate_json(choice.options)
    return HttpEmailProvider.connect(
        options,
        api_key=Secret(secrets_manager(), options.api_key_secret, clock=utc_now),
        clock=utc_now,
        timeout_s=choice.timeout_s,
    )
