"""The functions' code: the same bytes for the same source, small, and complete for the place it runs in."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from functions.names import LANGUAGES
from stacks.bundling import AWS_SERVICES, Dependencies, NotPreparedError, bundle
from stacks.settings import Target
from tests.infrastructure.templates import ROOT

EIGHT_MIB = 8 * 2**20


@pytest.fixture(params=list(Target))
def target(request: pytest.FixtureRequest) -> Target:
    chosen: Target = request.param
    return chosen


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A small project whose dependencies are prepared, to change at will."""
    for name, text in {
        "functions/__init__.py": "",
        "functions/email/handler.py": "handler = print\n",
        "functions/email/digest.html.j2": "<p>{{ name }}</p>\n",
        "requirements/lambda.txt": "thing==1\n",
        "build/lambda-aws/thing/__init__.py": "",
        "build/lambda-aws/thing-1.dist-info/METADATA": "Name: thing\n",
        "build/lambda-aws/thing-1.dist-info/RECORD": "of this machine\n",
        "build/lambda-aws/bin/thing": "#!/of/this/machine/python\n",
        "build/lambda-aws/botocore/data/endpoints.json": "{}\n",
        "build/lambda-aws/botocore/data/sqs/2012-11-05/service-2.json": "{}\n",
        "build/lambda-aws/botocore/data/ec2/2016-11-15/service-2.json": "{}\n",
        "build/lambda-aws/babel/locale-data/root.dat": "all\n",
        "build/lambda-aws/babel/locale-data/de.dat": "Deutsch\n",
        "build/lambda-aws/babel/locale-data/de_AT.dat": "of Austria\n",
        "build/lambda-aws/babel/locale-data/ja.dat": "of Japan\n",
        "build/lambda-aws/babel/locale-data/LICENSE.unicode": "of CLDR\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    dependencies = Dependencies(Target.AWS, tmp_path)
    dependencies._stamp.write_text(dependencies._wanted(), encoding="utf-8")
    return tmp_path


def members(path: Path) -> list[str]:
    with zipfile.ZipFile(path) as archive:
        return archive.namelist()


def test_nothing_changes_when_nothing_was_changed(project: Path) -> None:
    first = bundle(Target.AWS, project)
    bytes_of_first = first.read_bytes()
    first.unlink()
    for path in project.rglob("*"):
        os.utime(path, (0, 0))
        path.chmod(0o755)
    assert bundle(Target.AWS, project) == first
    assert first.read_bytes() == bytes_of_first


def test_running_the_tests_does_not_redeploy_every_function(project: Path) -> None:
    before = bundle(Target.AWS, project)
    cache = project / "functions/email/__pycache__"
    cache.mkdir()
    (cache / "handler.cpython-314.pyc").write_bytes(b"compiled")
    (project / "functions/.DS_Store").write_bytes(b"")
    assert bundle(Target.AWS, project) == before


def test_a_change_of_the_code_is_deployed(project: Path) -> None:
    before = bundle(Target.AWS, project)
    (project / "functions/email/handler.py").write_text("handler = repr\n", encoding="utf-8")
    assert bundle(Target.AWS, project) != before


def test_a_renamed_file_is_deployed(project: Path) -> None:
    before = bundle(Target.AWS, project)
    (project / "functions/email/digest.html.j2").rename(project / "functions/email/weekly.html.j2")
    assert bundle(Target.AWS, project) != before


def test_a_bundle_holds_code_templates_our_languages_the_services_that_are_called_and_nothing_of_this_machine(
    project: Path,
) -> None:
    assert members(bundle(Target.AWS, project)) == [
        "babel/locale-data/LICENSE.unicode",
        "babel/locale-data/de.dat",
        "babel/locale-data/root.dat",
        "botocore/data/endpoints.json",
        "botocore/data/sqs/2012-11-05/service-2.json",
        "functions/__init__.py",
        "functions/email/digest.html.j2",
        "functions/email/handler.py",
        "thing-1.dist-info/METADATA",
        "thing/__init__.py",
    ]


def test_without_make_setup_the_message_says_to_run_it(tmp_path: Path) -> None:
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements/lambda.txt").write_text("thing==1\n", encoding="utf-8")
    with pytest.raises(NotPreparedError, match=r"build/lambda-aws is missing or older .* run `make setup`"):
        bundle(Target.AWS, tmp_path)


def test_dependencies_of_an_older_lock_file_are_not_deployed(project: Path) -> None:
    (project / "requirements/lambda.txt").write_text("thing==2\n", encoding="utf-8")
    with pytest.raises(NotPreparedError, match="run `make setup`"):
        bundle(Target.AWS, project)


def test_the_zipped_code_is_small_enough_to_start_fast(target: Target) -> None:
    assert bundle(target).stat().st_size < EIGHT_MIB


def test_compiled_dependencies_fit_lambda_s_processor_and_python() -> None:
    compiled = [name for name in members(bundle(Target.AWS)) if name.endswith(".so")]
    assert compiled
    assert not [name for name in compiled if "cpython-314-aarch64-linux" not in name]


def test_every_client_that_the_functions_make_is_in_the_bundle() -> None:
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "functions").rglob("*.py")]
    called = {service for source in sources for service in re.findall(r"\.client\(\s*[\"']([\w-]+)[\"']", source)}
    assert {"dynamodb", "sqs"} <= called <= AWS_SERVICES


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The emulator's bundle, because this machine can run it; what is left out is the same in both."""
    folder = tmp_path_factory.mktemp("bundle")
    with zipfile.ZipFile(bundle(Target.EMULATOR)) as archive:
        archive.extractall(folder)
    return folder


def run_alone(folder: Path, program: str, *arguments: str) -> None:
    """Run with nothing but a folder: without the packages of this Python, its environment, and its user's."""
    program = f"import sys; sys.path.insert(0, {str(folder)!r})\n{program}"
    command = [sys.executable, "-I", "-S", "-W", "error", "-c", program, str(folder), *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=folder)
    assert done.stderr == ""
    assert done.returncode == 0


USE_EVERY_CLIENT = """
import boto3, botocore, jinja2, jmespath, pydantic, sys, zoneinfo
import aws_lambda_powertools.utilities.batch, aws_lambda_powertools.utilities.idempotency
assert botocore.__file__.startswith(sys.argv[1]), botocore.__file__
assert pydantic.__file__.startswith(sys.argv[1]), pydantic.__file__
zoneinfo.reset_tzpath([])
zoneinfo.ZoneInfo("Europe/Berlin")
for service in sys.argv[2:]:
    for region in ("us-east-1", "eu-west-1"):
        client = boto3.client(service, region_name=region, aws_access_key_id="-", aws_secret_access_key="-")
        assert region in client.meta.endpoint_url
        assert client.meta.service_model.operation_names
        for method in client.meta.method_to_api_mapping:
            client.can_paginate(method)
"""


def test_every_client_works_with_what_the_bundle_has_of_it(unpacked: Path) -> None:
    run_alone(unpacked, USE_EVERY_CLIENT, *sorted(AWS_SERVICES))


WRITE_IN_EVERY_LANGUAGE = """
import datetime, sys
import babel
from functions.core.content.language import language_of
assert babel.__file__.startswith(sys.argv[1]), babel.__file__
monday = datetime.date(2026, 11, 16)
for code in sys.argv[2:]:
    language = language_of(code)
    assert language.code == code
    assert language.day(monday, "EEEE, d MMMM"), language.days(monday, monday + datetime.timedelta(days=6), "MMMd")
    assert language.money(123456, "EUR"), language.listed(["a", "b"])
    assert language.plural_form(2) == "other"
"""


def test_every_language_can_be_written_with_what_the_bundle_has_of_it(unpacked: Path) -> None:
    run_alone(unpacked, WRITE_IN_EVERY_LANGUAGE, *LANGUAGES)
