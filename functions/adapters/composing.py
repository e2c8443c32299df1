"""The composer that a channel's functions have, from their environment, for them and for whoever looks ahead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from functions.adapters.clock import utc_now
from functions.adapters.secrets import SecretKeyRing
from functions.core.composition import Composer
from functions.core.unsubscribe_token import UnsubscribeLinks

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy_boto3_secretsmanager import SecretsManagerClient

    from functions.adapters.environment import ChannelEnvironment
    from functions.core.ports import Customers
    from functions.core.summarising import Summariser


def composer_of(
    environment: ChannelEnvironment,
    customers: Customers,
    secrets_manager: Callable[[], SecretsManagerClient],
    summariser: Summariser | None = None,
) -> Composer:
    """Return a composer for the environment's channel. Nothing is read yet."""
    return Composer(
        customers,
        environment.sender,
        environment.site_url,
        quiet_hours=environment.quiet_hours,
        allow_list=environment.recipients,
        sms_segments=environment.sms_segments,
        unsubscribe=_unsubscribe_links(environment, secrets_manager),
        summariser=summariser,
    )


def _unsubscribe_links(
    environment: ChannelEnvironment, secrets_manager: Callable[[], SecretsManagerClient]
) -> UnsubscribeLinks | None:
    if environment.unsubscribe_url is None or environment.unsubscribe_keys is None:
        return None
    keys = SecretKeyRing.named(secrets_manager(), environment.unsubscribe_keys, clock=utc_now)
    return UnsubscribeLinks(environment.unsubscribe_url, keys)
