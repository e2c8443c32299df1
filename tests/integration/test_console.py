"""The console's pages over a region in moto: what they show, what their buttons call, and who may press them."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from http.client import HTTPConnection
from typing import Any, Literal

import boto3
import pytest
from botocore.exceptions import ClientError, NoCredentialsError
from moto import mock_aws
from werkzeug.test import Client, TestResponse

from functions import names
from ops.console.html_tree import Element, parse
from ops.console.serving import serving
from ops.console.session import KEY_PARAMETER, TOKEN_FIELD, Session
from ops.console.site import BOARD_FIELD, LARGEST_FORM, RANGE_FIELD, WIDGET_FIELD, Console
from ops.console.widget_html import CALL_FIELD
from ops.deployment import Deployment, DeploymentError, RegionDeployment
from tests.integration.region import session_in

NOW = datetime(2026, 11, 30, 3, 12, tzinfo=UTC)
READS = "arn:aws:lambda:us-east-1:000000000000:function:DigestDelivery-us-widgets"
ACTS = "arn:aws:lambda:us-east-1:000000000000:function:DigestDelivery-us-operate"
OUTPUTS = {
    names.OUTPUT_SERVICE_DASHBOARD: "DigestDelivery-us-service",
    names.OUTPUT_MACHINERY_DASHBOARD: "DigestDelivery-us-machinery",
    names.OUTPUT_OPERATE_FUNCTION: "DigestDelivery-us-operate",
}
ATTEMPTS = 'region="us" MetricName="Attempts"'
SEARCH = f"SEARCH('{{DigestDelivery,channel,outcome,region,service}} {ATTEMPTS}', 'Sum', 300)"
PAUSE = (
    '<input name="reason" value="">'
    '<table><tr><td>email <a class="btn">Pause</a>'
    f'<cwdb-action action="call" endpoint="{ACTS}" confirmation="Pause email?">{{"action": "pause"}}</cwdb-action>'
    "</td></tr></table>"
)
WIDGETS: list[dict[str, Any]] = [
    {"type": "alarm", "properties": {"title": "Alarms", "alarms": []}},
    {"type": "custom", "properties": {"title": "Channels", "endpoint": READS, "params": {"widget": "channels"}}},
    {"type": "text", "properties": {"markdown": "## What is due"}},
    {
        "type": "metric",
        "properties": {
            "title": "Attempts by class",
            "metrics": [[{"expression": SEARCH, "label": "${PROP('Dim.outcome')}"}]],
            "annotations": {"horizontal": [{"value": 5, "label": "Attempts"}]},
        },
    },
]


@dataclass
class FakeLambda:
    """Answers as a function would, and keeps the events."""

    answer: Callable[[str], Any] = lambda _endpoint: PAUSE
    events: list[dict[str, Any]] = field(default_factory=list)

    def invoke(self, *, FunctionName: str, Payload: bytes) -> dict[str, Any]:  # noqa: N803 - as boto3 spells them
        self.events.append(json.loads(Payload))
        told = self.answer(FunctionName)
        if isinstance(told, Exception):
            raise told
        return {"Payload": io.BytesIO(json.dumps(told).encode())}


class RegionAtHand(RegionDeployment):
    def __init__(self, functions: FakeLambda, outputs: Mapping[str, str] = OUTPUTS) -> None:
        super().__init__("us", "us-east-1", outputs=outputs)
        self._lambda = functions

    @property
    def functions(self) -> Any:
        return self._lambda

    @cached_property
    def _session(self) -> boto3.Session:
        return session_in(self.aws_region)


@dataclass
class Browser:
    """A browser that was told the console's address."""

    client: Client
    session: Session
    functions: FakeLambda

    def get(self, path: str) -> TestResponse:
        return self.client.get(path)

    def press(self, endpoint: str, params: str = "{}", **changed: str) -> TestResponse:
        sent = {
            TOKEN_FIELD: self.session.token,
            BOARD_FIELD: "service",
            RANGE_FIELD: "1h",
            WIDGET_FIELD: "widget-1",
            CALL_FIELD: json.dumps({"endpoint": endpoint, "params": params}),
        }
        return self.client.post(
            "/us/call", data=sent | {name.replace("_", "."): value for name, value in changed.items()}
        )


@pytest.fixture(scope="module")
def cloudwatch() -> Iterator[Any]:
    """A region's dashboards, alarms and metrics; no test changes them."""
    with mock_aws():
        client = session_in("us-east-1").client("cloudwatch")
        body = json.dumps({"widgets": WIDGETS})
        for board in ("service", "machinery"):
            client.put_dashboard(DashboardName=f"DigestDelivery-us-{board}", DashboardBody=body)
        states: dict[str, Literal["OK", "ALARM"]] = {
            "UncertainA1B2C3D4-XYZ": "OK",
            "ChannelHaltedDEADBEEF-ABC": "ALARM",
        }
        for number, (name, state) in enumerate(states.items()):
            client.put_metric_alarm(
                AlarmName=f"DigestDelivery-us-Monitoring{name}",
                AlarmDescription=f"Something of alarm {number}. Runbook: docs/runbooks/channel-halted.md",
                Namespace="DigestDelivery",
                MetricName="ChannelsHalted",
                Statistic="Maximum",
                Period=60,
                EvaluationPeriods=1,
                Threshold=1,
                ComparisonOperator="GreaterThanOrEqualToThreshold",
            )
            client.set_alarm_state(
                AlarmName=f"DigestDelivery-us-Monitoring{name}", StateValue=state, StateReason="as told"
            )
        for outcome, count in (("accepted", 4), ("throttled", 2)):
            where = {"service": "digest-delivery", "region": "us", "channel": "email", "outcome": outcome}
            client.put_metric_data(
                Namespace="DigestDelivery",
                MetricData=[
                    {
                        "MetricName": "Attempts",
                        "Dimensions": [{"Name": name, "Value": value} for name, value in where.items()],
                        "Timestamp": NOW - timedelta(minutes=30),
                        "Value": count,
                    }
                ],
            )
        yield client


@pytest.fixture
def browser(cloudwatch: Any) -> Browser:  # noqa: ARG001 - moto is on
    functions, session = FakeLambda(), Session()
    console = Console(Deployment([RegionAtHand(functions)]), session, clock=lambda: NOW)
    client = Client(console)
    assert client.get(f"/?{KEY_PARAMETER}={session.key}").status_code == 303
    return Browser(client, session, functions)


def text_of(response: TestResponse) -> str:
    return re.sub(r"\s+", " ", parse(response.text).text)


def form_of(response: TestResponse) -> tuple[Element, list[Element]]:
    """The first form, and what belongs to it wherever it stands, in the order of the page."""
    page = list(parse(response.text).all())
    form = next(one for one in page if one.tag == "form")
    inside = list(form.all())
    return form, [one for one in page if one in inside or one.get("form") == form.get("id")]


# --- what is shown ----------------------------------------------------------------------------------------------------


def test_a_page_says_first_what_needs_somebody_then_shows_the_widgets_then_the_graphs(browser: Browser) -> None:
    page = browser.get("/us")
    text = text_of(page)
    assert page.status_code == 200
    assert "us: 1 alarm needs somebody" in text
    told = [
        text.index(what)
        for what in ("ChannelHalted", "Something of alarm 1", "Channels", "Pause email?", "What is due")
    ]
    assert told == sorted(told)
    assert "1 other alarms: 1 OK, 0 without data" in text
    assert '<a href="/docs/runbooks/channel-halted.md">' in page.text


def test_a_graph_shows_every_metric_that_its_search_finds(browser: Browser) -> None:
    text = text_of(browser.get("/us?range=1h"))
    assert "accepted: latest 4, lowest 4, highest 4; throttled: latest 2, lowest 2, highest 2" in text
    assert "Attempts at 5" in text


def test_no_alarm_line_is_drawn_over_sums_of_longer_periods(browser: Browser) -> None:
    assert "Attempts at 5" not in text_of(browser.get("/us?range=1w"))


def test_a_widgets_function_gets_what_cloudwatch_would_send(browser: Browser) -> None:
    browser.get("/us?range=1h")
    (event,) = browser.functions.events
    context = event.pop("widgetContext")
    assert event == {"widget": "channels"}
    assert context["params"] == {"widget": "channels"}
    assert context["dashboardName"] == "DigestDelivery-us-service"
    assert context["timeRange"]["end"] - context["timeRange"]["start"] == 3_600_000
    assert (context["accountId"], context["forms"]) == ("000000000000", {"all": {}})


def test_a_runbook_is_a_page_and_nothing_but_the_documentation_is(browser: Browser) -> None:
    page = browser.get("/docs/runbooks/channel-halted.md")
    assert "A channel is halted" in text_of(page)
    for other in ("none.md", "../cdk.json", "..%2F..%2Fcdk.json", "%2Fetc%2Fpasswd", "../README.md", "runbooks"):
        assert browser.get(f"/docs/{other}").status_code == 404


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ({"markdown": "**nothing** waits <script>"}, "nothing waits <script>"),
        ({"due": 3}, '"due": 3'),
        ({"errorType": "Timeout"}, '"errorType": "Timeout"'),
    ],
)
def test_markdown_and_json_are_shown_too(browser: Browser, told: Any, shown: str) -> None:
    browser.functions.answer = lambda _endpoint: told
    assert shown in text_of(browser.get("/us"))
    assert "<script>" not in browser.get("/us").text


# --- what goes wrong --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            ClientError({"Error": {"Code": "TooManyRequestsException", "Message": "secret"}}, "Invoke"),
            "DigestDelivery-us-widgets is called more often than it may run at once",
        ),
        (
            ClientError({"Error": {"Code": "ResourceNotFoundException", "Message": "secret"}}, "Invoke"),
            "there is no function DigestDelivery-us-widgets",
        ),
        (
            ClientError({"Error": {"Code": "AccessDeniedException", "Message": "secret"}}, "Invoke"),
            "use a role that may",
        ),
        (NoCredentialsError(), "no usable AWS credentials"),
    ],
)
def test_what_one_widget_lacks_is_said_in_its_place(browser: Browser, error: Exception, said: str) -> None:
    browser.functions.answer = lambda _endpoint: error
    page = browser.get("/us")
    assert page.status_code == 200
    assert said in text_of(page)
    assert "secret" not in page.text
    assert "Attempts by class" in page.text


def test_a_stack_of_another_release_is_named_with_the_way_out(browser: Browser) -> None:
    session = Session()
    region = RegionDeployment("us", "us-east-1", outputs={"Shards": "4"})
    client = Client(Console(Deployment([region]), session))
    client.get(f"/?{KEY_PARAMETER}={session.key}")
    page = client.get("/us")
    assert page.status_code == 502
    assert "has no output ServiceDashboard" in page.text
    assert "npx cdk deploy DigestDelivery-us" in page.text
    assert browser.get("/mars").status_code == 404
    assert browser.get("/us/cellar").status_code == 404


def test_a_dashboard_that_was_deleted_is_named_with_the_way_out(browser: Browser) -> None:
    session = Session()
    region = RegionAtHand(browser.functions, OUTPUTS | {names.OUTPUT_SERVICE_DASHBOARD: "DigestDelivery-us-gone"})
    client = Client(Console(Deployment([region]), session))
    client.get(f"/?{KEY_PARAMETER}={session.key}")
    assert (
        "there is no dashboard DigestDelivery-us-gone any more: deploy DigestDelivery-us again"
        in client.get("/us").text
    )


# --- what buttons do --------------------------------------------------------------------------------------------------


def test_a_button_calls_its_function_with_its_parameters_and_the_widgets_fields(browser: Browser) -> None:
    browser.functions.answer = lambda endpoint: "<p>paused</p>" if endpoint == ACTS else PAUSE
    page = browser.press(ACTS, '{"action": "pause"}', reason="INC-47")
    assert "paused" in text_of(page)
    (event,) = browser.functions.events
    assert event["action"] == "pause"
    assert event["widgetContext"]["forms"] == {"all": {"reason": "INC-47"}}
    assert event["widgetContext"]["title"] == "Channels"


def test_a_page_with_its_form_has_all_that_the_button_needs(browser: Browser) -> None:
    form, owned = form_of(browser.get("/us"))
    fields = {one.get("name"): one.get("value") for one in owned if one.tag == "input"}
    (button,) = (one for one in owned if one.get("name") == CALL_FIELD)
    answer = browser.client.post(form.get("action"), data={**fields, CALL_FIELD: button.get("value")})
    assert answer.status_code == 200
    assert browser.functions.events[-1]["action"] == "pause"


def test_enter_in_a_field_presses_no_button(browser: Browser) -> None:
    buttons = [one for one in form_of(browser.get("/us"))[1] if one.tag == "button"]
    assert [("disabled" in one.attributes, one.get("type")) for one in buttons] == [(True, "submit"), (False, "submit")]


def test_a_button_may_call_this_stacks_functions_and_no_other(browser: Browser) -> None:
    answer = browser.press("arn:aws:lambda:us-east-1:000000000000:function:DigestDelivery-us-planner")
    assert answer.status_code == 400
    assert "nothing was done" in answer.text
    assert browser.functions.events == []


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"console_token": "guessed"}, 403),
        ({"console_token": ""}, 403),
        ({"console_call": "not json"}, 400),
        ({"console_call": '{"endpoint": 1, "params": "{}"}'}, 400),
        ({"console_call": json.dumps({"endpoint": ACTS, "params": "[1]"})}, 400),
        ({"console_widget": "widget-99"}, 400),
        ({"console_board": "cellar"}, 404),
    ],
)
def test_what_no_page_of_ours_would_send_calls_nothing(browser: Browser, changed: dict[str, str], status: int) -> None:
    assert browser.press(ACTS, **changed).status_code == status
    assert browser.functions.events == []


# --- on a port ---


def test_it_answers_on_loopback_and_names_a_port_that_is_taken() -> None:
    with serving(Deployment([]), 0) as served:
        assert served.server.server_address[0] == "127.0.0.1"
        taken = pytest.raises(DeploymentError, match=rf"--port: {served.server.port} .* or 0 for any that is free")
        with taken, serving(Deployment([]), served.server.port):
            pass
        port, key = served.server.port, served.session.key
        assert served.url == f"http://127.0.0.1:{port}/?key={key}"
        connection = HTTPConnection("127.0.0.1", port)
        connection.request("GET", "/")
        assert connection.getresponse().status == 403
        connection.close()


# --- who may look -----------------------------------------------------------------------------------------------------


def test_whoever_does_not_know_the_key_sees_nothing(browser: Browser) -> None:
    stranger = Client(browser.client.application)
    for path in ("/", "/us", "/docs/runbooks/channel-halted.md", f"/?{KEY_PARAMETER}=guess", f"/us?{KEY_PARAMETER}="):
        page = stranger.get(path)
        assert page.status_code == 403
        assert "us" not in [one.text for one in parse(page.text).all() if one.tag == "a"]
    assert stranger.post("/us/call", data={TOKEN_FIELD: browser.session.token}).status_code == 403
    assert browser.functions.events == []


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8484", "127.0.0.1.evil.example", "localhost.evil.example", ""]
)
def test_a_name_that_was_pointed_at_loopback_is_refused(browser: Browser, host: str) -> None:
    assert browser.client.get("/us", headers={"Host": host}).status_code == 421


def test_a_form_of_another_site_is_refused(browser: Browser) -> None:
    sent = {TOKEN_FIELD: browser.session.token, CALL_FIELD: json.dumps({"endpoint": ACTS, "params": "{}"})}
    for origin in ("https://evil.example", "null", "http://localhost:9"):
        assert browser.client.post("/us/call", data=sent, headers={"Origin": origin}).status_code == 403


def test_a_form_that_is_too_large_is_refused(browser: Browser) -> None:
    assert browser.press(ACTS, reason="x" * LARGEST_FORM).status_code == 413
    assert browser.functions.events == []


@pytest.mark.parametrize("path", ["/us", "/console.css", "/nowhere"])
def test_nothing_is_kept_and_nothing_runs_in_the_browser(browser: Browser, path: str) -> None:
    headers = browser.get(path).headers
    assert headers["Cache-Control"] == "no-store"
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert "script-src" not in headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]


def test_the_key_is_in_no_page_and_not_for_scripts(browser: Browser) -> None:
    answer = Client(browser.client.application).get(f"/?{KEY_PARAMETER}={browser.session.key}")
    assert answer.headers["Location"] == "/"
    assert "HttpOnly" in answer.headers["Set-Cookie"]
    assert "SameSite=Lax" in answer.headers["Set-Cookie"]
    assert browser.session.key not in browser.get("/us").text
