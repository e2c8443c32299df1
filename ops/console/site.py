"""The console's pages, as a WSGI application."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import urlencode

from botocore.exceptions import BotoCoreError, ClientError
from werkzeug.exceptions import HTTPException, NotFound
from werkzeug.routing import Map, Rule
from werkzeug.utils import redirect
from werkzeug.wrappers import Request, Response

from functions import names
from functions.adapters.clock import utc_now
from ops.console import pages
from ops.console.custom_widgets import Call, may_be_called
from ops.console.metric_data import Window
from ops.console.region_page import BOARDS, read_board, read_page, show
from ops.console.session import TOKEN_FIELD, Session
from ops.console.widget_html import CALL_FIELD
from ops.deployment import Deployment, DeploymentError, RegionDeployment, in_words

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

RANGES: Final[Mapping[str, tuple[str, timedelta]]] = {
    "1h": ("1 hour", timedelta(hours=1)),
    "12h": ("12 hours", timedelta(hours=12)),
    "1w": ("1 week", timedelta(weeks=1)),
}
USUAL_RANGE: Final = "12h"
REFRESH_S: Final = 60
WIDGET_FIELD: Final = "console.widget"
BOARD_FIELD: Final = "console.board"
RANGE_FIELD: Final = "console.range"
LARGEST_FORM: Final = 64 * 1024  # bytes
_REFUSED: Final[Mapping[int, str]] = {
    HTTPStatus.NOT_FOUND: "There is no such page.",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "More was typed than the console passes on: say it in fewer words.",
}

View: TypeAlias = Callable[..., Response]


class BadRequestError(Exception):
    """What was asked makes no sense; the text says what to do instead."""


@dataclass(frozen=True, slots=True)
class Span:
    """The time range that was chosen."""

    key: str

    @classmethod
    def of(cls, text: str | None) -> Span:
        return cls(text if text is not None and text in RANGES else USUAL_RANGE)

    def until(self, now: datetime) -> Window:
        return Window(now - RANGES[self.key][1], now)


class Console:
    """The application. Everything is read when it is asked for, and nothing is kept.

    Args:
        deployment: the regions that may be looked at.
        session: who may look.
        clock: the time now, in UTC.
    """

    def __init__(self, deployment: Deployment, session: Session, *, clock: Callable[[], datetime] = utc_now) -> None:
        self._deployment = deployment
        self._session = session
        self._clock = clock
        self._making = Lock()
        self._views: Mapping[str, View] = {
            "first": self._first,
            "board": self._board,
            "call": self._call,
            "manual": self._manual,
            "style": self._style,
        }
        self._urls = Map(
            [
                Rule("/", endpoint="first", methods=["GET"]),
                Rule("/console.css", endpoint="style", methods=["GET"]),
                Rule("/docs/<path:path>", endpoint="manual", methods=["GET"]),
                Rule("/<region>/call", endpoint="call", methods=["POST"]),
                Rule("/<region>", endpoint="board", methods=["GET"], defaults={"board": names.SERVICE_DASHBOARD}),
                Rule("/<region>/<board>", endpoint="board", methods=["GET"]),
            ],
            redirect_defaults=False,
            merge_slashes=False,
        )

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        request = Request(environ)
        request.max_content_length = LARGEST_FORM
        nonce = secrets.token_urlsafe(16)
        response = self._guarded(request, nonce)
        for name, value in _headers(nonce).items():
            response.headers[name] = value
        return response(environ, start_response)

    # --- who may ask what ---------------------------------------------------------------------------------------------

    def _guarded(self, request: Request, nonce: str) -> Response:
        if not self._session.is_meant(request):
            return Response("Ask for 127.0.0.1 or localhost.", 421, mimetype="text/plain")
        if request.path == "/console.css":
            return self._style(request, nonce)
        if request.method == "GET" and self._session.shows_key(request):
            response = redirect(f"/{request.path.lstrip('/')}", 303)
            self._session.admit(request, response)
            return response
        if not self._session.has_key(request):
            return self._problem(
                "Open the address that `digest console` printed: it holds a key.", HTTPStatus.FORBIDDEN
            )
        return self._answered(request, nonce)

    def _answered(self, request: Request, nonce: str) -> Response:
        try:
            endpoint, arguments = self._urls.bind_to_environ(request.environ).match()
            if request.method == "POST" and not self._session.is_ours(request):
                return self._problem(
                    "This form is of an earlier run of the console: go back and load the page.", HTTPStatus.FORBIDDEN
                )
            return self._views[endpoint](request, nonce, **arguments)
        except (DeploymentError, BadRequestError) as error:
            ours = isinstance(error, BadRequestError)
            return self._problem(str(error), HTTPStatus.BAD_REQUEST if ours else HTTPStatus.BAD_GATEWAY)
        except (BotoCoreError, ClientError) as error:
            return self._problem(in_words(error), HTTPStatus.BAD_GATEWAY)
        except HTTPException as error:
            status = error.code or HTTPStatus.BAD_REQUEST
            return self._problem(_REFUSED.get(status, "This cannot be asked of the console."), status)

    def _problem(self, text: str, status: int) -> Response:
        # Whoever has no key learns nothing.
        regions = [] if status == HTTPStatus.FORBIDDEN else list(self._deployment.data_regions)
        return _page(pages.render("problem", text=text, regions=regions), status)

    # --- pages --------------------------------------------------------------------------------------------------------

    def _first(self, request: Request, nonce: str) -> Response:
        del request, nonce
        return redirect(f"/{self._deployment.data_regions[0]}", 303)

    def _style(self, request: Request, nonce: str) -> Response:
        del request, nonce
        return Response(pages.stylesheet(), mimetype="text/css")

    def _manual(self, request: Request, nonce: str, *, path: str) -> Response:
        del request, nonce
        text = pages.manual(path)
        if text is None:
            raise NotFound
        return _page(pages.render("manual", text=text, regions=list(self._deployment.data_regions)))

    def _board(self, request: Request, nonce: str, *, region: str, board: str) -> Response:
        where = self._region(region, board)
        span = Span.of(request.args.get("range"))
        refreshes = request.args.get("refresh") == "on"
        page = read_page(where, board, span.until(self._clock()))
        return _page(
            pages.render(
                "region",
                page=page,
                refresh_s=REFRESH_S if refreshes else None,
                here=_here(region, board, span, refreshes=refreshes),
                **self._around(region, board, span, nonce),
            )
        )

    def _call(self, request: Request, nonce: str, *, region: str) -> Response:
        board = request.form.get(BOARD_FIELD, names.SERVICE_DASHBOARD)
        where = self._region(region, board)
        span = Span.of(request.form.get(RANGE_FIELD))
        shown = show(where, self._asked(request, where, board), span.until(self._clock()))
        return _page(pages.render("called", shown=shown, **self._around(region, board, span, nonce)))

    def _asked(self, request: Request, where: RegionDeployment, board: str) -> Call:
        dashboard = read_board(where, board)
        widget = dashboard.custom(request.form.get(WIDGET_FIELD, ""))
        if widget is None:
            raise BadRequestError("The dashboard has changed since this page was loaded: go back and load it again.")
        wanted = _wanted(request.form.get(CALL_FIELD, ""))
        if not may_be_called(wanted["endpoint"], where.outputs, frozenset(one.endpoint for one in dashboard.customs)):
            raise BadRequestError("The button calls a function that is none of this stack's widgets; nothing was done.")
        fields = {name: value for name, value in request.form.items() if "." not in name}
        return Call(dashboard.name, widget, wanted["endpoint"], wanted["params"], fields)

    # --- what all of them share ---------------------------------------------------------------------------------------

    def _region(self, region: str, board: str) -> RegionDeployment:
        if region not in self._deployment.data_regions or board not in BOARDS:
            raise NotFound
        found = self._deployment.region(region)
        with self._making:  # boto3 makes clients in one thread at a time; each request has a thread of its own
            _ = found.cloudwatch, found.functions
        return found

    def _around(self, region: str, board: str, span: Span, nonce: str) -> dict[str, Any]:
        return {
            "nonce": nonce,
            "regions": list(self._deployment.data_regions),
            "region": region,
            "board": board,
            "boards": list(BOARDS),
            "span": span.key,
            "ranges": {key: text for key, (text, _) in RANGES.items()},
            "hidden": {TOKEN_FIELD: self._session.token, BOARD_FIELD: board, RANGE_FIELD: span.key},
            "widget_field": WIDGET_FIELD,
        }


def _wanted(text: str) -> dict[str, Any]:
    """The function and the parameters that a button stands for."""
    try:
        call = json.loads(text)
        params = json.loads(call["params"])
        endpoint = call["endpoint"]
    except (ValueError, TypeError, KeyError):
        raise BadRequestError("No button of the widget was pressed, or one that cannot be read.") from None
    if not isinstance(params, dict) or not isinstance(endpoint, str):
        raise BadRequestError("The button's parameters are no JSON object: the widget's function is at fault.")
    return {"endpoint": endpoint, "params": params}


def _here(region: str, board: str, span: Span, *, refreshes: bool) -> Callable[..., str]:
    """An address like this page's, with some of it changed."""

    def address(**changed: Any) -> str:  # noqa: ANN401 - parts of an address
        path = f"/{changed.get('region', region)}/{changed.get('board', board)}"
        chosen = {"range": changed.get("span", span.key)}
        if changed.get("refresh", refreshes):
            chosen["refresh"] = "on"
        return f"{path}?{urlencode(chosen)}"

    return address


def _page(html: str, status: int = 200) -> Response:
    return Response(html, status, mimetype="text/html")


def _headers(nonce: str) -> dict[str, str]:
    policy = (
        "default-src 'none'",
        f"style-src 'self' 'nonce-{nonce}'",
        "style-src-attr 'unsafe-inline'",  # widgets may have such attributes; nothing outside can be loaded by them
        "img-src data:",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    )
    return {
        "Content-Security-Policy": "; ".join(policy),
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
    }
