"""A custom widget, called as CloudWatch calls it: the function gets parameters and a context, and returns HTML.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/add_custom_widget_dashboard_about.html
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from functions import names
from ops.console.dashboards import Custom
from ops.console.metric_data import Window
from ops.deployment import DeploymentError

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

_BUSY: Final = frozenset({"TooManyRequestsException", "EC2ThrottledException"})
_GONE: Final = "ResourceNotFoundException"
_PERIOD_S: Final = 300
# CloudWatch knows its user's choice and says `light` or `dark`. A browser tells no server: the page's style asks it.
THEME: Final = "auto"


@dataclass(frozen=True, slots=True)
class Returned:
    """What a function gave back: HTML, Markdown, or anything else as text. Exactly one of them."""

    html: str | None = None
    markdown: str | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function on behalf of a widget of a dashboard."""

    dashboard: str
    widget: Custom
    endpoint: str
    params: Mapping[str, Any]
    fields: Mapping[str, str] = field(default_factory=dict, repr=False)  # of the widget's forms

    def event(self, window: Window) -> dict[str, Any]:
        """What the function is called with."""
        return {**self.params, "widgetContext": self._context(window)}

    def _context(self, window: Window) -> dict[str, Any]:
        return {
            "dashboardName": self.dashboard,
            "widgetId": self.widget.widget_id,
            "accountId": _account(self.endpoint),
            "locale": "en",
            "timezone": {"label": "UTC", "offsetISO": "+00:00", "offsetInMinutes": 0},
            "period": _PERIOD_S,
            "isAutoPeriod": True,
            "timeRange": {
                "mode": "relative",
                "start": round(window.start.timestamp() * 1000),
                "end": round(window.end.timestamp() * 1000),
                "relativeStart": window.length // timedelta(milliseconds=1),
            },
            "theme": THEME,
            "linkCharts": True,
            "title": self.widget.title,
            "forms": {"all": dict(self.fields)},
            "params": dict(self.widget.params),
            "width": self.widget.width,
            "height": self.widget.height,
        }


def invoke(client: LambdaClient, call: Call, window: Window) -> Returned:
    """Call the function, once.

    Raises:
        DeploymentError: it is not there, is called too often, or failed; the text says the way out.
        BotoCoreError, ClientError: everything else.
    """
    name = function_name(call.endpoint)
    try:
        answer = client.invoke(FunctionName=call.endpoint, Payload=json.dumps(call.event(window)).encode())
    except ClientError as error:
        raise (_in_words(error, name) or error) from None
    told = json.load(answer["Payload"])
    if answer.get("FunctionError"):
        what = told.get("errorType") if isinstance(told, dict) else "an error"
        raise DeploymentError(f"the function {name} failed ({what}): its log says why")
    return _returned(told)


def _in_words(error: ClientError, name: str) -> DeploymentError | None:
    code = error.response["Error"]["Code"]
    if code in _BUSY:
        return DeploymentError(
            f"the function {name} is called more often than it may run at once ({code}): wait a moment, then load again"
        )
    if code == _GONE:
        return DeploymentError(
            f"there is no function {name}: the dashboard is of another release; deploy the stack again"
        )
    return None


def _returned(told: Any) -> Returned:  # noqa: ANN401 - whatever JSON a function returns
    if isinstance(told, str):
        return Returned(html=told)
    if isinstance(told, dict) and isinstance(told.get("markdown"), str):
        return Returned(markdown=told["markdown"])
    return Returned(text=json.dumps(told, indent=2, ensure_ascii=False))


def function_name(endpoint: str) -> str:
    """The function's name in its ARN, or the name itself."""
    return endpoint.partition(":function:")[2].partition(":")[0] or endpoint


def may_be_called(endpoint: str, outputs: Mapping[str, str], dashboard_endpoints: frozenset[str]) -> bool:
    """Whether a button may call a function: one of the dashboards', or the one that this stack has for actions."""
    return endpoint in dashboard_endpoints or function_name(endpoint) == function_name(
        outputs.get(names.OUTPUT_OPERATE_FUNCTION, "")
    )


def _account(endpoint: str) -> str:
    parts = endpoint.split(":")
    return parts[4] if len(parts) > 4 else ""  # noqa: PLR2004 - an ARN's account
