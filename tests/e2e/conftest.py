"""Both regions, deployed once for each test process by the CDK, to an emulator of its own that enforces IAM.

US emails go through the simulated provider, which knows idempotency keys and fails on demand; EU emails through SES.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ops.local.cdk import SETTINGS, Deployment, deployed
from ops.local.demo import pointed_at, running_regions
from ops.local.emulator import Emulator
from ops.local.provider_simulator import ProviderSimulator
from ops.local.running_region import RunningRegion
from ops.local.simulated_provider import SimulatedProvider
from tests.e2e.people import Mailboxes

RUN = Path(__file__).parents[2] / "out" / "e2e" / os.environ.get("PYTEST_XDIST_WORKER", "alone")
API_KEY_SECRET = "digest/email-api-key"
WEBHOOK_SECRET = "digest/email-webhooks"
SIGNING_SECRET = "whsec_" + base64.b64encode(b"signs what the mail provider says").decode()
JOBS_SECRET = "digest/email-jobs"
JOBS_SIGNING_SECRET = "whsec_" + base64.b64encode(b"signs jobs that an HTTP queue pushes").decode()


@pytest.fixture(scope="session")
def simulator() -> Iterator[ProviderSimulator]:
    with ProviderSimulator() as simulator:
        yield simulator


@pytest.fixture(scope="session")
def provider(simulator: ProviderSimulator) -> SimulatedProvider:
    """The provider of US emails, to be told what to do and asked what it did."""
    return simulator.provider


@pytest.fixture(scope="session")
def deployment(simulator: ProviderSimulator) -> Iterator[Deployment]:
    """The stacks' outputs and settings, and the emulator they run on. Logs stay in out/e2e, by process."""
    settings = json.loads(SETTINGS.read_text(encoding="utf-8"))
    settings["regions"]["us"]["channels"]["email"] |= {
        "provider": "http",
        "provider_options": {
            "url": simulator.url,
            "api_key_secret": API_KEY_SECRET,
            "key_window_s": 86_400,
            "lookup_window_s": 604_800,
        },
    }
    settings["regions"]["us"]["receipts"] = {"webhook_secret": WEBHOOK_SECRET}
    for region in settings["regions"].values():
        region["channels"]["email"]["http_worker"] = {"auth": "signature", "signing_secret": JOBS_SECRET}
        region["channels"]["sms"]["http_worker"] = {"auth": "iam"}
    RUN.mkdir(parents=True, exist_ok=True)
    overrides = RUN / "settings.json"
    overrides.write_text(json.dumps(settings), encoding="utf-8")
    with deployed(RUN, auth=True, overrides=overrides) as made:
        secrets = made.emulator.client("secretsmanager", made.aws_region("us"))
        secrets.create_secret(Name=API_KEY_SECRET, SecretString=simulator.api_key)
        secrets.create_secret(Name=WEBHOOK_SECRET, SecretString=SIGNING_SECRET)
        for data_region in ("us", "eu"):
            secrets = made.emulator.client("secretsmanager", made.aws_region(data_region))
            secrets.create_secret(Name=JOBS_SECRET, SecretString=JOBS_SIGNING_SECRET)
        yield made


@pytest.fixture(scope="session")
def emulator(deployment: Deployment) -> Emulator:
    return deployment.emulator


@pytest.fixture(scope="session")
def mailboxes(emulator: Emulator, provider: SimulatedProvider) -> Mailboxes:
    """What people would find in their mail, whichever provider brought it."""
    return Mailboxes(emulator, provider)


@pytest.fixture(scope="session")
def cloud(deployment: Deployment) -> dict[str, str]:
    """Environment for a process of its own, such as the command line: it reaches the emulator and no account."""
    return deployment.emulator.environment()


@pytest.fixture(scope="session")
def regions(deployment: Deployment) -> Iterator[dict[str, RunningRegion]]:
    """Each data region, to look at and to poke."""
    with pointed_at(deployment.emulator):
        yield running_regions(deployment)
