"""`digest smoke`."""

from __future__ import annotations

import os
from collections import Counter
from datetime import timedelta
from typing import Annotated, Final

import typer

from functions.adapters.audit import Action
from ops.cli.actions import OneRegionOption, action_as_json, tell_action, trail
from ops.cli.output import FAILED, note, print_json, say
from ops.cli.plan import invoke_planner
from ops.cli.workplace import JsonOption, Workplace, YesOption, workplace_of
from ops.deployment import RegionDeployment
from ops.smoke.check import Check, Finding, Verdict
from ops.smoke.stage import Stage

BEFOREHAND: Final = (
    "Writes to three mailboxes of SES's simulator, and to the stack's own endpoint if it has one, as customers of its "
    "own. Puts a message that nobody can work on into the email queue: the alarm EmailDeadLetters may ring."
)
NEVER: Final = (
    "texts: each costs money, and goes to a number of somebody's",
    "that a mailbox outside takes our mail: SPF, DKIM, DMARC and the sender's standing",
    "that an alarm reaches whoever is on call",
    "what needs its time: leases that run out, exhausted deliveries redriven, quiet hours, the week's end",
)


def smoke(
    context: typer.Context,
    region: OneRegionOption,
    wait: Annotated[
        float, typer.Option("--wait", metavar="MINUTES", min=0, max=60, help="For a provider's events.")
    ] = 5,
    ring: Annotated[
        bool,
        typer.Option(
            "--ring", metavar="", help="Have the alarm ReceiptsParked ring, too: two mails, and nobody is called."
        ),
    ] = False,
    clean: Annotated[
        bool, typer.Option("--clean", metavar="", help="Only clear away what an interrupted check has left.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", metavar="", help="Fail, too, where a step could not be proved.")
    ] = False,
    yes: YesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Check a deployment by using it: sends, waits for the receipts, has a message die and come back, looks at alarms.

    Its customers are its own, and are cleared away, also when it is interrupted. Anything else is left alone: it moves
    no dead letters of yours, and sends nothing while planning is held or a channel is halted.

    Exit status 0: nothing is wrong. 1: something is, or with `--strict` could not be proved.

    For example:

    - `digest smoke --region us`
    - `digest smoke --region us --clean` after one that was killed
    """
    workplace = workplace_of(context)
    where, now = workplace.deployment.region(region), workplace.clock()
    if not yes and not clean:
        note(BEFOREHAND)
        typer.confirm(f"Check {where.data_region}", abort=True, err=True)
    action = Action(now, where.caller, "smoke --clean" if clean else "smoke", "check after a deployment")
    trail(where).record(action)
    check = _check(workplace, where, wait=wait, ring=ring, quiet=as_json)
    if clean:
        check.clear()
    else:
        check.run()
    if as_json:
        found = [{"step": one.step, "verdict": str(one.verdict), "told": one.told} for one in check.findings]
        print_json({"data_region": where.data_region, "findings": found, "action": action_as_json(action)})
    else:
        _tell_sum(check, clean=clean)
        tell_action(action)
    if check.failed or (strict and any(one.verdict is Verdict.NOT_PROVED for one in check.findings)):
        raise typer.Exit(FAILED)


def _check(workplace: Workplace, where: RegionDeployment, *, wait: float, ring: bool, quiet: bool) -> Check:
    run = f"{workplace.clock():%Y%m%dT%H%M%SZ}"
    return Check(
        region=where,
        stage=Stage(where, workplace.clock, run=run),
        clock=workplace.clock,
        sleep=workplace.sleep,
        plan=lambda: invoke_planner(where, workplace.clock(), on_purpose=False),
        tell=_say_nothing if quiet else _tell,
        patience=timedelta(minutes=wait),
        simulated="AWS_ENDPOINT_URL" in os.environ,
        ring=ring,
    )


def _say_nothing(finding: Finding) -> None:
    """It is all told at the end."""


def _tell(finding: Finding) -> None:
    say(f"{finding.verdict:<10}  {finding.step}: {finding.told}")


def _tell_sum(check: Check, *, clean: bool) -> None:
    counted = Counter(one.verdict for one in check.findings)
    say(", ".join(f"{counted[verdict]} {verdict}" for verdict in Verdict))
    if not clean:
        say("Never proved by this:")
        for one in NEVER:
            say(f"  - {one}")
