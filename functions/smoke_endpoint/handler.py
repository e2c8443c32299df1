"""Lambda entry point of the endpoint that `digest smoke` has a webhook sent to, behind a function URL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from functions.adapters.clock import utc_now
from functions.adapters.endpoints import DynamoEndpoints
from functions.adapters.environment import SmokeEndpointEnvironment
from functions.adapters.smoke_arrivals import SmokeArrivals
from functions.adapters.wiring import dynamodb
from functions.smoke_endpoint.endpoint import SmokeEndpoint

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

environment = SmokeEndpointEnvironment.load()
endpoint = SmokeEndpoint(
    DynamoEndpoints(dynamodb(), environment.customers_table),
    SmokeArrivals(dynamodb(), environment.control_table),
    clock=utc_now,
)


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:  # noqa: ARG001 - the request is all there is
    """Answer one request: 204 for a genuine webhook, once it is counted; 401 for what is not signed."""
    return endpoint.answer(event)
