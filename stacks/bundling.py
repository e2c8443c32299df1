"""The functions' code as one zip: our package and its pinned dependencies, the same bytes whenever nothing changed.

`python -m stacks.bundling`, run by `make setup`, fetches the dependencies, once for each place the code runs in.
Synthesis then needs neither Docker nor a network. All functions share the zip: one upload, one hash, and what a handler
does not import costs it nothing.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from functions.names import LANGUAGES
from stacks.settings import HOUR_S, Target

ROOT: Final = Path(__file__).resolve().parent.parent
LAMBDA_PYTHON: Final = "3.14"
LAMBDA_PLATFORM: Final = "aarch64-manylinux2014"

# Services that the functions call. botocore describes every service there is, 20 MB of them zipped.
AWS_SERVICES: Final = frozenset(
    {"bedrock-runtime", "dynamodb", "pinpoint-sms-voice-v2", "secretsmanager", "sesv2", "sns", "sqs"}
)
_SERVICE_MODELS: Final = frozenset({("botocore", "data"), ("boto3", "data")})
# How days, amounts and plurals are written in our languages, and what all languages share. Babel knows a thousand more,
# 30 MB of them.
_LOCALES: Final = frozenset({"root.dat", *(f"{language}.dat" for language in LANGUAGES)})
_LOCALE_DATA: Final = ("babel", "locale-data")
# What installers write about themselves and the machine; it differs where the code does not.
_INSTALLER_NOTES: Final = frozenset({"RECORD", "INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json"})
_SCRIPTS: Final = "bin"

# Zip knows no time before 1980; any fixed one will do.
_NO_TIME: Final = (1980, 1, 1, 0, 0, 0)
_PLAIN_FILE: Final = 0o100644 << 16
_UNIX: Final = 3  # stated, whatever the zip is made on


class NotPreparedError(RuntimeError):
    """The dependencies of the functions are not there, or not those that requirements/lambda.txt asks for."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"{folder} is missing or older than requirements/lambda.txt: run `make setup`")


@dataclass(frozen=True)
class Dependencies:
    """The functions' dependencies for one target, fetched into `build/lambda-<target>`."""

    target: Target
    root: Path = ROOT

    @property
    def folder(self) -> Path:
        return self.root / "build" / f"lambda-{self.target}"

    @property
    def _requirements(self) -> Path:
        return self.root / "requirements" / "lambda.txt"

    @property
    def _stamp(self) -> Path:
        return self.folder.with_suffix(".stamp")

    def prepare(self) -> bool:
        """Fetch them unless they are there. Returns whether anything was fetched."""
        if self._is_prepared():
            return False
        self.folder.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.folder.parent, prefix=".lambda-") as unfinished:
            fetched = Path(unfinished) / "site-packages"
            _install(self._requirements, fetched, _platform_options(self.target))
            shutil.rmtree(self.folder, ignore_errors=True)
            fetched.rename(self.folder)
        self._stamp.write_text(self._wanted(), encoding="utf-8")
        return True

    def require(self) -> Path:
        """The folder that holds them.

        Raises:
            NotPreparedError: they are missing, or others than are asked for.
        """
        if not self._is_prepared():
            raise NotPreparedError(self.folder.relative_to(self.root))
        return self.folder

    def _is_prepared(self) -> bool:
        return self._stamp.is_file() and self._stamp.read_text(encoding="utf-8") == self._wanted()

    def _wanted(self) -> str:
        digest = hashlib.sha256(self._requirements.read_bytes())
        digest.update(_place(self.target).encode())
        return digest.hexdigest()


def _platform_options(target: Target) -> list[str]:
    """For AWS, what Lambda runs on; for the emulator, which runs functions in its own Python, what runs this."""
    if target is Target.EMULATOR:
        return ["--python", sys.executable]
    return ["--python-platform", LAMBDA_PLATFORM, "--python-version", LAMBDA_PYTHON]


def _place(target: Target) -> str:
    """What the fetched wheels were chosen for, the same for every interpreter that could use them."""
    if target is Target.EMULATOR:
        return f"{sys.implementation.cache_tag} {sysconfig.get_platform()}"
    return f"{LAMBDA_PYTHON} {LAMBDA_PLATFORM}"


def _install(requirements: Path, folder: Path, options: list[str]) -> None:
    command = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:"]
    command += ["--link-mode", "copy", "--target", str(folder), "--requirement", str(requirements), *options]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"cannot fetch the functions' dependencies ({' '.join(options)}):\n{done.stderr.strip()}")


@dataclass(frozen=True)
class _Member:
    name: str
    source: Path

    def content(self) -> bytes:
        return self.source.read_bytes()


def bundle(target: Target, root: Path = ROOT) -> Path:
    """Path of the zip with `functions/` and its dependencies, made anew only when its content changed.

    Raises:
        NotPreparedError: the dependencies are missing, or others than are asked for.
    """
    members = sorted(_members(Dependencies(target, root).require(), root / "functions"), key=lambda each: each.name)
    path = root / "build" / f"lambda-{target}-{_content_hash(members)}.zip"
    if not path.exists():
        _write_zip(path, members)
        _drop_old_zips(path, target)
    return path


def _members(dependencies: Path, functions: Path) -> Iterator[_Member]:
    for name, source in _files_below(dependencies):
        if not _is_left_out(name):
            yield _Member(str(name), source)
    for name, source in _files_below(functions):
        yield _Member(str("functions" / name), source)


def _files_below(folder: Path) -> Iterator[tuple[PurePosixPath, Path]]:
    for source in folder.rglob("*"):
        name = PurePosixPath(source.relative_to(folder).as_posix())
        hidden_or_compiled = any(part.startswith(".") or part == "__pycache__" for part in name.parts)
        if source.is_file() and not hidden_or_compiled:
            yield name, source


def _is_left_out(name: PurePosixPath) -> bool:
    if name.parts[:2] in _SERVICE_MODELS and len(name.parts) > 3:  # noqa: PLR2004 - botocore/data/<service>/...
        return name.parts[2] not in AWS_SERVICES or name.name.startswith("examples-")
    if name.parts[:2] == _LOCALE_DATA and name.suffix == ".dat":
        return name.name not in _LOCALES
    if name.parent.suffix == ".dist-info":
        return name.name in _INSTALLER_NOTES
    return name.parts[0] == _SCRIPTS


def _content_hash(members: list[_Member]) -> str:
    digest = hashlib.sha256()
    for member in members:
        digest.update(f"{member.name}\0{hashlib.sha256(member.content()).hexdigest()}\n".encode())
    return digest.hexdigest()[:16]


def _write_zip(path: Path, members: list[_Member]) -> None:
    """Written beside its place and moved there, so that two processes at once do no harm."""
    unfinished = path.with_suffix(f".{os.getpid()}")
    with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for member in members:
            entry = zipfile.ZipInfo(member.name, _NO_TIME)
            entry.external_attr = _PLAIN_FILE
            entry.create_system = _UNIX
            archive.writestr(entry, member.content(), zipfile.ZIP_DEFLATED, compresslevel=9)
    unfinished.replace(path)


def _drop_old_zips(path: Path, target: Target) -> None:
    """A synthesis beside this one may still be copying its own, so only what is an hour old goes."""
    for other in path.parent.glob(f"lambda-{target}-*.zip"):
        if path.stat().st_mtime - other.stat().st_mtime > HOUR_S:
            other.unlink(missing_ok=True)


def main() -> None:
    for target in Target:
        dependencies = Dependencies(target)
        fetched = dependencies.prepare()
        print(f"{dependencies.folder.relative_to(ROOT)}: {'fetched' if fetched else 'up to date'}")  # noqa: T201


if __name__ == "__main__":
    main()
