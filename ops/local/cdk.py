"""Both stacks, deployed to the emulator by the CDK's own command line, as `cdk deploy` would to an account.

    with deployed(Path("out/demo")) as deployment:
        deployment.emulator.emails()
        deployment.outputs["DigestDelivery-us"]["EmailQueue"]

Synthesis takes longest, so it runs while the emulator starts and is bootstrapped.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from functions.names import stack_name
from ops.local.emulator import ACCOUNT, Emulator
from stacks.settings import Settings, read_cdk_json

ROOT: Final = Path(__file__).resolve().parents[2]
SETTINGS: Final = Path(__file__).with_name("settings.json")
LAST_LINES: Final = 40
QUIET: Final = ("--no-notices", "--no-version-reporting", "--no-color")


class CdkError(RuntimeError):
    """A command of the CDK failed; the text ends with the last lines that it wrote."""


@dataclass(frozen=True)
class Deployment:
    """Both stacks on a running emulator.

    `outputs` is per stack name: output name to value. `settings` is what the stacks were made from.
    """

    emulator: Emulator
    settings: Settings
    outputs: Mapping[str, Mapping[str, str]]

    def output(self, data_region: str, name: str) -> str:
        """Value of a stack's output, by data region (`us`) and the output's name in `functions.names`."""
        return self.outputs[stack_name(data_region)][name]

    def aws_region(self, data_region: str) -> str:
        """`us-east-1` for `us`."""
        return self.settings.regions[data_region].region


def ignore_step(_step: str) -> None:
    """Nobody is told."""


@contextmanager
def deployed(
    run: Path,
    *,
    port: int | None = None,
    auth: bool = False,
    overrides: Path = SETTINGS,
    on_step: Callable[[str], None] = ignore_step,
) -> Iterator[Deployment]:
    """An emulator with both stacks deployed to it, for as long as the block lasts.

    Args:
        run: folder that keeps the emulator's log, the synthesised templates (`cdk.out`) and the CDK's logs.
        port: loopback port of the emulator; any free one when left out.
        auth: enforce IAM.
        overrides: settings that are laid over those of cdk.json.
        on_step: told in a few words what begins now.

    Raises:
        SettingsError: the settings do not fit.
        EmulatorError: the emulator did not start.
        CdkError: a command of the CDK failed.
    """
    settings = read_cdk_json(ROOT / "cdk.json", overrides)
    run.mkdir(parents=True, exist_ok=True)
    emulator = Emulator(run, port=port, auth=auth)
    on_step("synthesising both stacks, and starting the emulator")
    with synthesis(run, overrides) as templates, emulator:
        on_step(f"bootstrapping the emulator at {emulator.endpoint_url}")
        bootstrap(emulator, run, [region.region for region in settings.regions.values()])
        prepare_identities(emulator, settings)
        templates.finish()
        on_step("deploying both stacks")
        outputs = deploy(emulator, run)
        yield Deployment(emulator, settings, outputs)


def bootstrap(emulator: Emulator, run: Path, regions: Sequence[str]) -> None:
    """`cdk bootstrap` of AWS regions (`us-east-1`): the bucket that the functions' code is uploaded to.

    Raises:
        CdkError: it failed.
    """
    # Where there is a cdk.json, the CDK would synthesise the application first, which bootstrapping has no use for.
    elsewhere = run / "bootstrap"
    elsewhere.mkdir(parents=True, exist_ok=True)
    places = [f"aws://{ACCOUNT}/{region}" for region in regions]
    Command("bootstrap", [*places], elsewhere, run, emulator.environment()).finish()


def synthesis(run: Path, overrides: Path = SETTINGS) -> Command:
    """`cdk synth` into `run/cdk.out`, begun and not waited for. No account, and no emulator, is needed."""
    application = f'"{sys.executable}" app.py'
    arguments = ["--quiet", "--app", application, "--output", str(run.resolve() / "cdk.out")]
    arguments += ["--context", f"overrides={overrides}", "--no-lookups"]
    without_account = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    return Command("synth", arguments, ROOT, run, without_account)


def deploy(emulator: Emulator, run: Path) -> dict[str, dict[str, str]]:
    """`cdk deploy` of every stack in `run/cdk.out`, two at a time. Returns the outputs per stack name.

    Raises:
        CdkError: it failed.
    """
    outputs = run.resolve() / "outputs.json"
    outputs.unlink(missing_ok=True)
    arguments = ["--all", "--app", str(run.resolve() / "cdk.out"), "--outputs-file", str(outputs)]
    # A fresh emulator has nothing to compare with: a change set would cost a second and tell nothing.
    arguments += ["--concurrency", "2", "--require-approval", "never", "--method", "direct", "--progress", "events"]
    Command("deploy", arguments, run, run, emulator.environment()).finish()
    found: dict[str, dict[str, str]] = json.loads(outputs.read_text(encoding="utf-8"))
    return found


def prepare_identities(emulator: Emulator, settings: Settings) -> None:
    """Have SES know the senders, as an account must before the first deployment. The emulator verifies at once."""
    for region in settings.regions.values():
        ses = emulator.client("sesv2", region.region)
        known = {identity["IdentityName"] for identity in ses.list_email_identities()["EmailIdentities"]}
        if region.channels.email.sender not in known:
            ses.create_email_identity(EmailIdentity=region.channels.email.sender)


class Command:
    """One command of the CDK, running. What it writes goes to `cdk-<name>.log`, and is shown only if it fails.

    As a context manager it is ended when the block is left, if it still runs.
    """

    def __init__(
        self, name: str, arguments: Sequence[str], folder: Path, run: Path, environment: Mapping[str, str]
    ) -> None:
        self.name = name
        self.log = run / f"cdk-{name}.log"
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [*cdk_command(), name, *arguments, *QUIET],
                cwd=folder,
                env=with_tools(environment),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # the CDK runs the application as a child of its own: both end together
            )

    def finish(self) -> None:
        """Wait for it.

        Raises:
            CdkError: it failed.
        """
        try:
            status = self._process.wait()
        except BaseException:  # Ctrl-C must not leave it running
            self.end()
            raise
        if status != 0:
            lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
            raise CdkError("\n".join([f"cdk {self.name} failed with status {status}:", *lines[-LAST_LINES:]]))

    def end(self) -> None:
        """End it if it still runs."""
        if self._process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGTERM)
            self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


def cdk_command() -> list[str]:
    """How to run the pinned CDK command line with the Node of this virtual environment.

    Raises:
        CdkError: one of them is missing.
    """
    node = Path(sys.executable).with_name("node")
    cdk = ROOT / "node_modules" / "aws-cdk" / "bin" / "cdk"
    missing = [str(path) for path in (node, cdk) if not path.exists()]
    if missing:
        raise CdkError(f"{' and '.join(missing)} missing: run `make setup`")
    return [str(node), str(cdk)]


def with_tools(environment: Mapping[str, str]) -> dict[str, str]:
    """`environment` in which jsii finds the Node of this virtual environment, and the CDK sends nothing home."""
    binaries = str(Path(sys.executable).parent)
    # Without kept bytecode, every synthesis would compile the CDK's modules anew: six seconds of it.
    kept = {name: value for name, value in environment.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {
        **kept,
        "PATH": os.pathsep.join([binaries, environment.get("PATH", os.defpath)]),
        "JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION": "1",
        "CDK_DISABLE_CLI_TELEMETRY": "1",
    }
