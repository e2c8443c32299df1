"""What can be foreseen to go wrong ends in one line, a way out and exit status 1; never in a traceback."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    EndpointConnectionError,
    NoCredentialsError,
    NoRegionError,
    ProfileNotFound,
    ReadTimeoutError,
)

from ops.cli import main
from ops.cli.workplace import Workplace
from ops.deployment import Deployment, DeploymentError, RegionDeployment
from tests.fakes.clock import FakeClock

LOCAL = "http://127.0.0.1:4999"


class Unreachable(RegionDeployment):
    """A region in which the first look at the stack fails."""

    def __init__(self, error: Exception) -> None:
        super().__init__("us", "us-east-1")
        self.error = error

    @property
    def shards(self) -> int:
        raise self.error


def refusal(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "canary.person@example.com"}}, "DescribeStacks")


@pytest.fixture
def complaint(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    def run(*arguments: str, error: Exception | None = None, status: int = 1) -> str:
        region = RegionDeployment("us", "us-east-1") if error is None else Unreachable(error)
        with pytest.raises(SystemExit) as left:
            main(arguments, workplace=Workplace(Deployment([region]), FakeClock()))
        assert left.value.code == status
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return captured.err

    return run


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERM", "dumb")


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (NoCredentialsError(), "no usable AWS credentials (NoCredentialsError): log in, or set AWS_PROFILE"),
        (ProfileNotFound(profile="canary"), "no usable AWS credentials (ProfileNotFound)"),
        (refusal("ExpiredToken"), "AWS does not accept the credentials (ExpiredToken): log in again"),
        (refusal("AccessDenied"), "AWS refused DescribeStacks (AccessDenied): use a role that may do it"),
        (refusal("Throttling"), "AWS answered DescribeStacks with Throttling: try again"),
        (EndpointConnectionError(endpoint_url="canary"), "AWS cannot be reached: check the network"),
        (ReadTimeoutError(endpoint_url="canary"), "AWS did not answer in time"),
        (NoRegionError(), "NoRegionError: check the AWS settings of this shell"),
        (DeploymentError("DigestDelivery-us is not there"), "DigestDelivery-us is not there"),
    ],
)
def test_trouble_with_aws_is_told_in_one_line(
    complaint: Callable[..., str], error: BotoCoreError | ClientError, says: str
) -> None:
    told = complaint("due", error=error)
    assert told.startswith(f"digest: {says}")
    assert told.count("\n") == 1
    assert "canary" not in told


def test_an_emulator_that_is_gone_is_named_with_the_way_back(
    complaint: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", LOCAL)
    told = complaint("status", error=EndpointConnectionError(endpoint_url=LOCAL))
    assert told.startswith(f"digest: {LOCAL} (AWS_ENDPOINT_URL) cannot be reached: start a local run with `make demo")


def test_a_region_that_there_is_not(complaint: Callable[..., str]) -> None:
    assert complaint("due", "--region", "mars") == ("digest: --region: there is no data region of that name; use us\n")


def test_a_file_that_is_not_there(complaint: Callable[..., str], tmp_path: Path) -> None:
    told = complaint("customers", "import", str(tmp_path / "people.csv"))
    assert told.endswith("people.csv: cannot be read: No such file or directory\n")


def test_a_folder_is_no_file(complaint: Callable[..., str], tmp_path: Path) -> None:
    assert "cannot be read: Is a directory" in complaint("customers", "import", str(tmp_path))


def test_a_file_of_something_else_names_the_file(complaint: Callable[..., str], tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text("name,age\nAnna,33\n")
    told = complaint("customers", "import", str(file))
    assert told.startswith(f"digest: {file}: line 1: the header row lacks customer_id, data_region, time_zone;")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["plan", "--region", "us", "--at", "yesterday"], "must be an ISO 8601 time with its offset, such as 2026-"),
        (["plan", "--region", "us", "--at", "2026-11-30T09:00:00"], "must be an ISO 8601 time with its offset"),
        (["plan", "--region", "us", "--at", "2026-11-30T09:00:00Z"], "lies ahead"),
        (["plan"], "name the data region to plan"),
        (["status", "--period", "2026-11-17"], "2026-11-17 is no Monday; the week that it lies in opens on 2026-11-16"),
        (["status", "--period", "last"], "must be an ISO date such as 2026-11-16"),
        (["show"], "name a delivery, or a customer with --customer"),
        (["show", "digest:c-1"], "must be <topic>:<customer_id>:<period or event>:<channel>"),
        (["show", "--customer", "canary@example.com"], "looks like an email address"),
        (["due", "--limit", "0"], "Input should be greater than or equal to 1"),
    ],
)
def test_a_command_that_makes_no_sense_says_what_would(
    complaint: Callable[..., str], arguments: list[str], says: str
) -> None:
    told = complaint(*arguments, status=2)
    assert says in told
    assert "canary" not in told


def test_settings_that_do_not_fit_are_told_before_anything_is_asked_of_aws(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    overrides = tmp_path / "overrides.json"
    overrides.write_text(json.dumps({"regions": {"us": {"planner": {"shards": 0}}}}))
    with pytest.raises(SystemExit) as left:
        main(["--overrides", str(overrides), "due"])
    assert left.value.code == 1
    told = capsys.readouterr().err
    assert told.startswith("digest: the settings do not fit:\nregions.us.planner.shards: is 0; must be from 1 to 100")
