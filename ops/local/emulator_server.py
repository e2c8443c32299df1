"""The emulator's process: ministack on a loopback port, and what our stacks need beyond it.

Run as `python -m ops.local.emulator_server`; `ops.local.emulator.Emulator` starts it, hands it its settings in
ministack's own environment variables, and ends it. It dies with its starter: standard input is the lifeline.

What is added to ministack, each written for the version pinned in requirements/dev.in and refused on any other shape:

- Context attributes (`<aws.scheduler.scheduled-time>` and its siblings) in a schedule's input, which ministack hands
  over literally. The planner's idea of time is that attribute, so without it nothing would be planned.
- `/_local/sent`: what was sent, with its region. Ministack's own list of emails does not say where one was sent from.
- Metrics and alarms: see `ops.local.emulator_metrics`.
- Functions run under the plain interpreter, outside the virtual environment, so that a dependency missing from the
  bundle is missed here as it would be in Lambda. A bundle is unpacked once for all processes that run it, read-only in
  Lambda as well, so that only the first of them compiles it.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import inspect
import json
import os
import re
import shutil
import signal
import sys
import threading
import uuid
import zipfile
from collections.abc import Awaitable, Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, NoReturn, TypeAlias

from typing_extensions import override

from ops.local.emulator_metrics import keep_metrics

SENT_PATH: Final = "/_local/sent"
# Schedules are looked at this often. AWS is punctual to the minute; ministack's own 10 s would be most of a local run.
SCHEDULE_TICK_S: Final = 1
# How far back the occurrence is looked for that a tick belongs to: far more than a busy machine's delay.
OCCURRENCE_WINDOW: Final = timedelta(minutes=5)
CONTEXT_ATTRIBUTE: Final = re.compile(r"<aws\.scheduler\.(scheduled-time|schedule-arn|execution-id|attempt-number)>")

Application: TypeAlias = Callable[[Mapping[str, Any], Any, Any], Awaitable[None]]


class EmulatorChangedError(RuntimeError):
    """Ministack no longer has the internals that this file builds on."""

    def __init__(self, missing: str) -> None:
        super().__init__(
            f"ministack has no {missing}: ops/local/emulator_server.py was written for the version pinned in "
            "requirements/dev.in; pin that one again, or bring the file up to date"
        )


# --- schedules --------------------------------------------------------------------------------------------------------


def with_context_attributes(text: str, *, scheduled_at: datetime, schedule_arn: str, execution_id: str) -> str:
    """`text` with Scheduler's context attributes filled in, as EventBridge Scheduler does before it calls a target.

    `scheduled_at` is in UTC and is written to the second, `2026-11-29T20:05:00Z`. The attempt is always the first:
    ministack calls a target once.
    """
    values = {
        "scheduled-time": scheduled_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "schedule-arn": schedule_arn,
        "execution-id": execution_id,
        "attempt-number": "1",
    }
    return CONTEXT_ATTRIBUTE.sub(lambda found: values[found[1]], text)


def latest_occurrence(ticked_at: datetime, next_after: Callable[[datetime], datetime | None]) -> datetime:
    """The occurrence that a tick at `ticked_at` is for: the last one not after it, else the tick itself, to the second.

    `next_after(t)` is the first occurrence in a minute after `t`'s, or None. A tick comes some seconds after the minute
    that it is for; the schedule means the minute.
    """
    latest = ticked_at.replace(microsecond=0)
    found = next_after(ticked_at - OCCURRENCE_WINDOW)
    while found is not None and found <= ticked_at:
        latest = found
        found = next_after(found)
    return latest


def fill_schedule_inputs(scheduler: Any, eventbridge: Any) -> None:
    """Let ministack's scheduler fill in the context attributes of a target's `Input`, and look every second.

    Raises:
        EmulatorChangedError: ministack hands schedules to their targets in another way by now.
    """
    for module, name in (
        (scheduler, "_at_time_epoch"),
        (scheduler, "_tick_schedules"),
        (scheduler, "_SCHEDULE_TICK_INTERVAL"),
        (eventbridge, "_invoke_target"),
        (eventbridge, "_parse_cron_fields"),
        (eventbridge, "_cron_next_fire"),
    ):
        require(module, name)
    if "_eb._invoke_target(target, event, sched)" not in inspect.getsource(scheduler._tick_schedules):
        raise EmulatorChangedError("scheduler._tick_schedules that dispatches by eventbridge._invoke_target")
    dispatch = eventbridge._invoke_target

    def scheduled_at(expression: str, ticked_at: datetime) -> datetime:
        once = scheduler._at_time_epoch(expression)
        if once is not None:
            return datetime.fromtimestamp(once, tz=UTC)
        fields = eventbridge._parse_cron_fields(expression)
        return latest_occurrence(ticked_at, lambda after: fields and eventbridge._cron_next_fire(fields, after))

    @functools.wraps(dispatch)
    def invoke_target(target: Any, event: Any, rule: Any, view: Any = None) -> Any:
        if event.get("Source") == "aws.scheduler" and target.get("Input"):
            ticked_at = datetime.fromtimestamp(event["Time"], tz=UTC)
            filled = with_context_attributes(
                target["Input"],
                scheduled_at=scheduled_at(rule.get("ScheduleExpression", ""), ticked_at),
                schedule_arn=rule.get("Arn", ""),
                execution_id=uuid.uuid4().hex[:16],
            )
            target = {**target, "Input": filled}
        return dispatch(target, event, rule, view)

    eventbridge._invoke_target = invoke_target
    scheduler._SCHEDULE_TICK_INTERVAL = SCHEDULE_TICK_S


def require(module: Any, name: str) -> None:
    if not hasattr(module, name):
        raise EmulatorChangedError(f"{module.__name__}.{name}")


# --- DynamoDB expressions ---------------------------------------------------------------------------------------------


def parse_expressions_once(dynamodb: Any) -> None:
    """Remember what an expression parsed to: ministack parses a key condition anew for each row of a partition."""
    for name in ("_tokenize", "_condition_syntax_error"):
        require(dynamodb, name)
    tokens = functools.lru_cache(maxsize=4096)(dynamodb._tokenize)
    dynamodb._tokenize = lambda expression: list(tokens(expression))
    dynamodb._condition_syntax_error = functools.lru_cache(maxsize=4096)(dynamodb._condition_syntax_error)


# --- functions --------------------------------------------------------------------------------------------------------


def share_unpacked_bundles(lambda_runtime: Any, folder: Path) -> None:
    """Unpack each bundle once, into `folder`; every process that runs it gets a link instead of a copy of its own.

    Raises:
        EmulatorChangedError: ministack unpacks functions in another way by now.
    """
    unpacking = threading.Lock()

    class SharedBundle(zipfile.ZipFile):
        @override
        def extractall(self, path: Any = None, members: Any = None, pwd: bytes | None = None) -> None:
            place = Path(path)
            with unpacking:
                shared = folder / hashlib.sha256(Path(str(self.filename)).read_bytes()).hexdigest()
                if not shared.exists():
                    super().extractall(shared, members, pwd)
            place.rmdir()
            place.symlink_to(shared, target_is_directory=True)

    worker = lambda_runtime.Worker if hasattr(lambda_runtime, "Worker") else None
    if worker is None or "zf.extractall(code_dir)" not in inspect.getsource(worker._spawn):
        raise EmulatorChangedError("lambda_runtime.Worker._spawn that unpacks by zipfile.ZipFile.extractall")
    lambda_runtime.zipfile = SimpleNamespace(ZipFile=SharedBundle, BadZipFile=zipfile.BadZipFile)


# --- what was sent ----------------------------------------------------------------------------------------------------


def sent_emails(ses: Any) -> Iterator[dict[str, Any]]:
    """Ministack's records of sent emails, each with the `Region` it was sent in."""
    for (_account, region, entries), records in ses._sent_emails.to_dict().items():
        if entries == "entries":
            yield from ({"Region": region, **record} for record in list(records))


def sent_texts(sns: Any) -> Iterator[dict[str, Any]]:
    """Ministack's records of texts that were published to a phone number, each with its `Region`."""
    for (_account, region, _number), records in sns._sms_messages.to_dict().items():
        yield from ({"Region": region, **record} for record in list(records))


def with_sent_route(app: Application, ses: Any, sns: Any) -> Application:
    """The application `app`, and `GET /_local/sent`: `{"emails": [...], "texts": [...]}`."""
    require(ses, "_sent_emails")
    require(sns, "_sms_messages")

    async def serve(scope: Mapping[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["path"] != SENT_PATH:
            await app(scope, receive, send)
            return
        body = json.dumps({"emails": list(sent_emails(ses)), "texts": list(sent_texts(sns))}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return serve


# --- the process ------------------------------------------------------------------------------------------------------


def end_with_starter() -> None:
    """End this whole process group, and remove its folder, when the lifeline closes: the starter is gone."""
    while os.read(sys.stdin.fileno(), 1):  # unbuffered: a buffer's lock, held here, would spoil an orderly exit
        pass
    shutil.rmtree(os.environ["TMPDIR"], ignore_errors=True)
    os.killpg(os.getpgrp(), signal.SIGKILL)


def main() -> NoReturn:
    """Serve until ended. Settings are ministack's environment variables, and TMPDIR for everything it writes."""
    threading.Thread(target=end_with_starter, daemon=True, name="lifeline").start()
    from hypercorn.asyncio import serve  # noqa: PLC0415 - the lifeline first: imports take a while
    from hypercorn.config import Config  # noqa: PLC0415
    from ministack.app import app  # noqa: PLC0415
    from ministack.core import lambda_runtime  # noqa: PLC0415
    from ministack.services import dynamodb, eventbridge, scheduler, ses, sns  # noqa: PLC0415

    fill_schedule_inputs(scheduler, eventbridge)
    parse_expressions_once(dynamodb)
    keep_metrics(require)
    share_unpacked_bundles(lambda_runtime, Path(os.environ["TMPDIR"], "bundles"))
    sys.executable = str(Path(sys.executable).resolve())
    config = Config()
    config.bind = [f"127.0.0.1:{os.environ['GATEWAY_PORT']}"]
    config.loglevel = "WARNING"
    config.keep_alive_timeout = 75
    asyncio.run(serve(with_sent_route(app, ses, sns), config))
    sys.exit(0)


if __name__ == "__main__":
    main()
