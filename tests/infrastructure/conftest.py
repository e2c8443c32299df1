"""Templates of both regions, synthesised once for all tests of a process."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

# The CDK's core runs in Node, which make setup puts beside this Python; it is looked up when aws_cdk is imported.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

from stacks.settings import Target
from tests.infrastructure.templates import Template, synthesise

# The functions on a region in moto, for tests of what they say.
from tests.integration.conftest import clock, functions, region, tables  # noqa: F401 - fixtures


@pytest.fixture(scope="session")
def on_aws(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Template]:
    return synthesise(Target.AWS, tmp_path_factory.mktemp("aws"))


@pytest.fixture(scope="session")
def on_emulator(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Template]:
    return synthesise(Target.EMULATOR, tmp_path_factory.mktemp("emulator"))


@pytest.fixture(params=["us", "eu"])
def template(request: pytest.FixtureRequest, on_aws: Mapping[str, Template]) -> Template:
    """The template of each region, as it goes to AWS."""
    return on_aws[request.param]


@pytest.fixture(params=["email", "sms", "webhook"])
def channel(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name
