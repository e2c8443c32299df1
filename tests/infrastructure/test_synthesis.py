"""`cdk synth` as a person runs it: alone, silent when all is well, and clear when it is not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App
from aws_cdk import aws_sqs as sqs
from cfnlint.api import lint  # type: ignore[import-untyped]
from cfnlint.config import ManualArgs  # type: ignore[import-untyped]

from app import build
from stacks.settings import Target, load_settings
from tests.infrastructure.templates import ROOT, Template, context

# Every address is refused before a packet leaves: what needs a network says so.
WITHOUT_NETWORK = """
import runpy, socket, sys
def refused(*_): raise OSError("synthesis needs no network")
socket.socket.connect = socket.socket.connect_ex = refused
socket.getaddrinfo = refused
sys.path.insert(0, "")
sys.argv = ["app.py"]
runpy.run_path("app.py", run_name="__main__")
"""


def synth(tmp_path: Path, given: Mapping[str, Any]) -> subprocess.CompletedProcess[str]:
    """Run app.py as the CDK does, with nothing in the environment that knows an account."""
    environment = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": os.environ["HOME"],  # where the CDK has been unpacked before
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "CDK_OUTDIR": str(tmp_path / "cdk.out"),
        "CDK_CONTEXT_JSON": json.dumps(dict(given)),
        "PYTHONWARNINGS": "error",
    }
    return subprocess.run(
        [sys.executable, "-c", WITHOUT_NETWORK], check=False, capture_output=True, text=True, cwd=ROOT, env=environment
    )


def test_synthesis_needs_no_account_and_no_network_and_says_nothing(tmp_path: Path) -> None:
    done = synth(tmp_path, context())
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    written = {path.name for path in (tmp_path / "cdk.out").glob("*.template.json")}
    assert written == {"DigestDelivery-us.template.json", "DigestDelivery-eu.template.json"}


def test_a_second_synthesis_writes_the_same_bytes(on_aws: Mapping[str, Template], tmp_path: Path) -> None:
    build_again = App(analytics_reporting=False, context=context(), outdir=str(tmp_path))
    build(build_again, load_settings(context()))
    build_again.synth()
    for template in on_aws.values():
        assert (tmp_path / template.path.name).read_bytes() == template.path.read_bytes()
    assets = [sorted(path.name for path in folder.glob("asset.*")) for folder in (tmp_path, on_aws["us"].path.parent)]
    assert assets[0] == assets[1]
    assert [(tmp_path / name).read_bytes() for name in assets[0]] == [
        (on_aws["us"].path.parent / name).read_bytes() for name in assets[1]
    ]


def test_both_regions_and_all_functions_share_one_upload(on_aws: Mapping[str, Template]) -> None:
    keys = {
        function["Code"]["S3Key"]
        for template in on_aws.values()
        for function in template.properties("AWS::Lambda::Function").values()
    }
    assert len(keys) == 1


def test_wrong_settings_end_in_their_names_and_not_in_a_traceback(tmp_path: Path) -> None:
    given = context()
    given["regions"]["us"]["channels"]["email"]["concurrency"] = 1
    given["regions"]["eu"]["channels"]["sms"]["sendr"] = "DIGEST"
    done = synth(tmp_path, given)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "regions.us.channels.email.concurrency: is 1; must be from 2 to 1000" in done.stderr
    assert "regions.eu.channels.sms.sendr: is unknown; known here, closest first: sender" in done.stderr


def test_a_template_that_breaks_a_rule_of_security_is_not_written_quietly(tmp_path: Path) -> None:
    app = App(analytics_reporting=False, context=context(), outdir=str(tmp_path))
    settings = load_settings(context())
    build(app, settings)
    sqs.Queue(app.node.find_child("DigestDelivery-us"), "InPlainText")  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="ValidationFailed"):
        app.synth()
    report = json.loads((tmp_path / "validation-report.json").read_text(encoding="utf-8"))
    broken = {violation["ruleName"] for each in report["pluginReports"] for violation in each["violations"]}
    assert {"AwsSolutions-SQS3", "AwsSolutions-SQS4"} <= broken


@pytest.mark.parametrize("data_region", ["us", "eu"])
@pytest.mark.parametrize("target", list(Target))
def test_cloudformation_would_take_the_template(
    on_aws: Mapping[str, Template], on_emulator: Mapping[str, Template], target: Target, data_region: str
) -> None:
    template = (on_aws if target is Target.AWS else on_emulator)[data_region]
    # The emulator's IAM asks for an action that AWS does not have (Target.names_batches_apart).
    ignored = [] if target is Target.AWS else ["W3037"]
    found = lint(
        template.path.read_text(encoding="utf-8"),
        config=ManualArgs(regions=[template.settings.regions[data_region].region], ignore_checks=ignored),
    )
    assert [str(each) for each in found] == []


def test_a_template_tells_nothing_of_this_machine_and_nothing_to_the_cdk_s_statistics(template: Template) -> None:
    written = template.path.read_text(encoding="utf-8")
    assert str(ROOT) not in written
    assert not template.of_type("AWS::CDK::Metadata")
