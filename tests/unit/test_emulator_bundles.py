from __future__ import annotations

import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ops.local.emulator_server import EmulatorChangedError, parse_expressions_once, share_unpacked_bundles


class Worker:
    def _spawn(self, zf: Any, code_dir: Path) -> None:
        zf.extractall(code_dir)


def test_processes_of_one_bundle_share_the_unpacked_code(tmp_path: Path) -> None:
    lambda_runtime = SimpleNamespace(__name__="lambda_runtime", Worker=Worker, zipfile=zipfile)
    share_unpacked_bundles(lambda_runtime, tmp_path / "bundles")
    places = [unpacked(lambda_runtime, tmp_path / name, "handler = 1") for name in ("first", "second")]
    other = unpacked(lambda_runtime, tmp_path / "third", "handler = 2")

    assert places[0].resolve() == places[1].resolve() != other.resolve()
    assert (places[1] / "functions" / "handler.py").read_text() == "handler = 1"
    assert (other / "functions" / "handler.py").read_text() == "handler = 2"


def unpacked(lambda_runtime: Any, folder: Path, code: str) -> Path:
    """As ministack does it: the bundle is written beside an empty folder, and unpacked into that."""
    place = folder / "code"
    place.mkdir(parents=True)
    bundle = folder / "code.zip"
    with zipfile.ZipFile(bundle, "w") as written:
        written.writestr("functions/handler.py", code)
    with lambda_runtime.zipfile.ZipFile(bundle) as zf:
        Worker()._spawn(zf, place)
    return place


def test_an_emulator_that_unpacks_in_another_way_is_refused(tmp_path: Path) -> None:
    class OtherWorker:
        def _spawn(self) -> None:
            raise NotImplementedError

    changed = SimpleNamespace(__name__="lambda_runtime", Worker=OtherWorker)
    with pytest.raises(EmulatorChangedError, match=r"Worker\._spawn"):
        share_unpacked_bundles(changed, tmp_path)


def test_an_expression_is_parsed_once_and_no_caller_can_spoil_it_for_the_next() -> None:
    parsed: list[str] = []

    def tokenize(expression: str) -> list[str]:
        parsed.append(expression)
        return expression.split()

    dynamodb = SimpleNamespace(
        __name__="dynamodb", _tokenize=tokenize, _condition_syntax_error=lambda _expression, _slot: None
    )
    parse_expressions_once(dynamodb)
    dynamodb._tokenize("a = :b").clear()

    assert dynamodb._tokenize("a = :b") == ["a", "=", ":b"]
    assert parsed == ["a = :b"]
