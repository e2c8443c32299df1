"""`digest`: its commands, and how every failure that can be foreseen becomes one line and exit status 1."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from botocore.exceptions import BotoCoreError, ClientError

from ops.cli import (
    channels,
    console,
    cost,
    dead_letters,
    dlq,
    done,
    due,
    importing,
    plan,
    preview,
    redriving,
    show,
    smoke,
    status,
    suppressions,
    surge,
    tables,
    uncertain,
    webhooks,
)
from ops.cli.output import complain
from ops.cli.workplace import Workplace
from ops.deployment import Deployment, DeploymentError, in_words
from ops.imports.report import FileFaultError

app = typer.Typer(
    name="digest",
    help="""Weekly digests and reminders: import, plan, look.

    Finds the deployed stacks by itself. For a local run, set what `make demo KEEP=1` prints.

    - Did everybody get theirs? `digest status`
    - Why did this person get none? `digest show --customer c-10428`
    - What failed for good, and how is it done again? `digest dead-letters list`
    - What will be sent next? `digest due`
    - What will they read? `digest preview --customer c-10428`
    - All of it as pages, with graphs and buttons? `digest console`

    All commands take `--json`. Addresses are never shown in full.
    """,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    add_completion=False,
    pretty_exceptions_enable=False,  # it prints locals, which hold addresses
)


@app.callback()
def digest(
    context: typer.Context,
    overrides: Annotated[
        Path | None,
        typer.Option(
            envvar="DIGEST_OVERRIDES",
            help="Settings that stand above cdk.json, as given to the deployment with `-c overrides=FILE`.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Nothing is asked of AWS before a command needs it."""
    if context.obj is None:
        context.obj = Workplace(Deployment.load(overrides=overrides))


importing.add_commands(app)
app.command("plan")(plan.plan)
app.command("due")(due.due)
app.command("status")(status.status)
app.command("show")(show.show)
app.command("preview")(preview.preview)
channels.add_commands(app)
dead_letters.add_commands(app)
app.command("redrive")(redriving.redrive)
dlq.add_commands(app)
uncertain.add_commands(app)
suppressions.add_commands(app)
app.command("actions")(done.actions)
surge.add_commands(app)
tables.add_commands(app)
webhooks.add_commands(app)
app.command("cost")(cost.cost)
app.command("smoke")(smoke.smoke)
app.command("console")(console.console)


def main(arguments: Sequence[str] | None = None, *, workplace: Workplace | None = None) -> None:
    """Run one command and exit: 0 when it did what was asked, 1 when not, 2 for a command that makes no sense.

    Args:
        arguments: what stands after `digest`; the process's own when left out.
        workplace: deployment and clock to work with; found from cdk.json when left out.
    """
    try:
        app(args=None if arguments is None else list(arguments), prog_name="digest", obj=workplace)
    except (DeploymentError, FileFaultError) as error:
        sys.exit(complain(str(error)))
    except (BotoCoreError, ClientError) as error:
        sys.exit(complain(in_words(error)))
