"""`digest console`: the operators' pages of CloudWatch, on this machine."""

from __future__ import annotations

import sys
import webbrowser
from threading import Event
from typing import Annotated, Final

import typer

from ops.cli.output import print_json, say
from ops.cli.workplace import JsonOption, RegionOption, workplace_of
from ops.deployment import Deployment

USUAL_PORT: Final = 8484


def console(
    context: typer.Context,
    region: RegionOption = None,
    port: Annotated[
        int, typer.Option("--port", metavar="PORT", help="Port on 127.0.0.1; 0 for any free one.", min=0, max=65_535)
    ] = USUAL_PORT,
    open_it: Annotated[bool, typer.Option("--open", metavar="", help="Open it in a browser.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Serve the deployed dashboards as pages: alarms, widgets with their buttons, graphs, runbooks. Ctrl-C ends it.

    Only this machine can reach them, and only with the address that is printed: it holds a key, and whoever has it acts
    with your credentials. Nothing is kept, and nothing runs in the browser.

    Example: `digest console --region us --open`
    """
    from ops.console.serving import serving  # noqa: PLC0415 - other commands start sooner without a server of pages

    deployment = workplace_of(context).deployment
    chosen = deployment if region is None else Deployment([deployment.region(region)])
    with serving(chosen, port) as served:
        if as_json:
            print_json({"url": served.url})
        else:
            say(f"Open {served.url}")
            say("Ctrl-C ends it")
        sys.stdout.flush()
        if open_it:
            webbrowser.open(served.url)
        try:
            Event().wait()
        except KeyboardInterrupt:
            say()
