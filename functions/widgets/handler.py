"""Lambda entry point of the dashboards' custom widgets: parameters in, HTML out."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from functions.adapters.environment import WidgetsEnvironment
from functions.adapters.widgets.desk import Endpoints, answered
from functions.adapters.widgets.gallery import draw
from functions.adapters.widgets.wiring import desk
from functions.core.widgets.request import WidgetRequest

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

DESCRIPTION: Final = """\
## digest-delivery

What numbers cannot show of one data region. This function reads, and changes nothing.

| widget | what it shows | other parameters |
| --- | --- | --- |
| `due` | what is due now, and what comes next | |
| `attention` | deliveries that are stuck, in doubt or failed for good, and what to do | `why`, `channel`, `age` |
| `story` | one delivery, or a customer's week, or why there is none | `delivery_id`; `customer_id`, `period` |
| `dead-letters` | the dead-letter queues' messages beside their rows, and what a redrive would do to each | `channel` |
| `channels` | which channels send, how fast, what waits; pause, resume | |

### Example

```yaml
widget: story
delivery_id: digest:c-10428:2026-11-16:email
```
"""

environment = WidgetsEnvironment.load()


def handler(event: dict[str, Any], context: LambdaContext) -> str:
    """Answer with a widget's HTML; with Markdown about all of them where they are to be described."""
    request = WidgetRequest.of(event)
    if request.describes:
        return DESCRIPTION
    endpoints = Endpoints(widgets=context.invoked_function_arn, operate=environment.operate_function)
    return answered(request, partial(draw, desk(environment, endpoints)))
