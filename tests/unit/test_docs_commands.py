"""Whoever types a command of the documentation finds it, with these options: ours, AWS's and make's."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import typer
from botocore import xform_name
from botocore.loaders import Loader
from botocore.model import ServiceModel

from ops.cli.app import app

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
ROOT_COMMAND: Final[Any] = typer.main.get_command(app)
TARGETS: Final = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
# What the AWS command line has of its own, without an operation of that name, and what every command of it takes.
RENAMED: Final = {("sns", "subscribe"): {"--notification-endpoint"}}
CUSTOM: Final = {("logs", "tail"): {"--since", "--filter-pattern", "--follow", "--format"}}
EVERYWHERE: Final = {"--query", "--output", "--region", "--profile", "--no-cli-pager"}
SERVICES: Final = {"events": "events", "ses": "sesv2"}


def commands(page: Path) -> Iterator[str]:
    """Lines of code blocks, and code within lines, that begin with a command; comments and prompts taken off."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"```[a-z]*\n(.*?)```", text, flags=re.DOTALL)
    inline = re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    for block in blocks:
        yield from (line.strip() for line in block.replace("\\\n", " ").splitlines())
    yield from inline


def words(command: str, program: str) -> list[str] | None:
    """A command's words, up to a pipe; None for another program's."""
    if not command.startswith(f"{program} "):
        return None
    try:
        found = shlex.split(command.replace("...", ""), comments=True)
    except ValueError:
        return None  # half of a command: its beginning is quoted elsewhere
    return found[1 : found.index("|")] if "|" in found else found[1:]


def options(found: list[str]) -> set[str]:
    return {word.partition("=")[0] for word in found if re.fullmatch(r"--[a-z][a-z-]*(=.*)?", word)}


def ours(found: list[str]) -> tuple[Any, list[str]]:
    """The command that the first words name, and the rest."""
    command, rest = ROOT_COMMAND, list(found)
    while rest and getattr(command, "commands", None) and rest[0] in command.commands:
        command = command.commands[rest.pop(0)]
    return command, rest


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_of_ours_is_there_with_its_options(page: Path) -> None:
    for line in commands(page):
        if (found := words(line, "digest")) is None:
            continue
        command, rest = ours(found)
        if getattr(command, "commands", None):
            assert not rest or rest[0].startswith(("-", "<")) or not rest[0].islower(), line
            continue
        known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
        assert options(rest) <= known | {"--help"}, line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_of_aws_is_there_with_its_options(page: Path) -> None:
    for line in commands(page):
        found = words(line, "aws")
        if found is None or len(found) < 2 or found[0].startswith("-"):
            continue
        service, operation = found[:2]
        assert options(found[2:]) <= EVERYWHERE | options_of_aws(service, operation), line


def options_of_aws(service: str, operation: str) -> set[str]:
    if (service, operation) in CUSTOM:
        return CUSTOM[service, operation]
    loader = Loader()
    model = ServiceModel(loader.load_service_model(SERVICES.get(service, service), "service-2"))
    operations = {xform_name(name, "-"): name for name in model.operation_names}
    assert operation in operations, f"aws {service} has no {operation}"
    shape = model.operation_model(operations[operation]).input_shape
    members: Mapping[str, Any] = shape.members if shape is not None else {}
    flags = {f"--no-{xform_name(name, '-')}" for name, member in members.items() if member.type_name == "boolean"}
    return {f"--{xform_name(name, '-')}" for name in members} | flags | RENAMED.get((service, operation), set())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_target_of_make_is_there(page: Path) -> None:
    for line in commands(page):
        if found := words(line, "make"):
            assert found[0] in TARGETS, line


def test_there_are_commands_to_look_at() -> None:
    lines = [line for page in PAGES for line in commands(page)]
    assert sum(words(line, "digest") is not None for line in lines) > 80
    assert sum(words(line, "aws") is not None for line in lines) > 10
