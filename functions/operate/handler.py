"""Lambda entry point of the widgets' buttons: an action in, the page as it stands afterwards out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from functions.adapters.environment import OperateEnvironment
from functions.adapters.sqs import SqsDeliveryQueues
from functions.adapters.widgets.desk import Endpoints, answered
from functions.adapters.widgets.wiring import desk
from functions.adapters.wiring import sqs
from functions.core.widgets.request import WidgetRequest
from functions.operate.operator import Operator

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

DESCRIPTION: Final = """\
## digest-delivery: actions

Called by the buttons of the other widgets, and no widget itself. Every action is conditional on what was shown, asks
first, and goes on record.
"""

environment = OperateEnvironment.load()
queues = SqsDeliveryQueues(sqs(), environment.queue_urls)


def handler(event: dict[str, Any], context: LambdaContext) -> str:
    """Do what a button says; answer with the page on which it stands."""
    request = WidgetRequest.of(event)
    if request.describes:
        return DESCRIPTION
    # Lambda does not tell a function who invoked it. CloudTrail does, under the same request id.
    who = f"{context.function_name}, request {context.aws_request_id}"
    endpoints = Endpoints(widgets=environment.widgets_function, operate=context.invoked_function_arn)
    operator = Operator(desk(environment, endpoints), queues, who)
    return answered(request, operator.act)
