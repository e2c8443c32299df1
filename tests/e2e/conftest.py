"""Both regions, deployed once for the whole suite by the CDK, to an emulator that enforces IAM."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ops.local.cdk import Deployment, deployed
from ops.local.demo import pointed_at, running_regions
from ops.local.emulator import Emulator
from ops.local.running_region import RunningRegion

RUN = Path(__file__).parents[2] / "out" / "e2e"


@pytest.fixture(scope="session")
def deployment() -> Iterator[Deployment]:
    """The stacks' outputs and settings, and the emulator they run on. Its logs, and the CDK's, stay in out/e2e."""
    with deployed(RUN, auth=True) as made:
        yield made


@pytest.fixture(scope="session")
def emulator(deployment: Deployment) -> Emulator:
    return deployment.emulator


@pytest.fixture(scope="session")
def cloud(deployment: Deployment) -> dict[str, str]:
    """Environment for a process of its own, such as the command line: it reaches the emulator and no account."""
    return deployment.emulator.environment()


@pytest.fixture
def in_cloud(cloud: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for what runs in the test's own process."""
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name, value in cloud.items():
        if name.startswith("AWS_"):
            monkeypatch.setenv(name, value)


@pytest.fixture(scope="session")
def regions(deployment: Deployment) -> Iterator[dict[str, RunningRegion]]:
    """Each data region, to look at and to poke."""
    with pointed_at(deployment.emulator):
        yield running_regions(deployment)
