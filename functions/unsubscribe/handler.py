"""Lambda entry point of the unsubscribe page, behind a function URL that anybody may call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from functions.adapters.clock import utc_now
from functions.adapters.counts import Counts
from functions.adapters.environment import UnsubscribeEnvironment
from functions.adapters.opt_out_memory import late_opt_outs
from functions.adapters.opt_outs import DynamoOptOuts
from functions.adapters.secrets import SecretKeyRing
from functions.adapters.wiring import dynamodb, secrets_manager
from functions.unsubscribe.desk import UnsubscribeDesk

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

environment = UnsubscribeEnvironment.load()
desk = UnsubscribeDesk(
    opt_outs=DynamoOptOuts(dynamodb(), environment.customers_table),
    keys=SecretKeyRing.named(secrets_manager(), environment.unsubscribe_keys, clock=utc_now),
    late=late_opt_outs(environment),
    clock=utc_now,
    site_url=environment.site_url,
    counts=Counts(),
)


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:  # noqa: ARG001 - Lambda gives it
    """Answer a request with a page."""
    return desk.answer(event)
