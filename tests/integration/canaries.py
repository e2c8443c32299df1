"""What the customer of the examples is and gets, and a watch on everything that leaves the system."""

from __future__ import annotations

import io
import json
import logging
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

import pytest

from tests.fakes.environment import CONTROL, DELIVERIES
from tests.fakes.examples import EMAIL_ADDRESS, PHONE_NUMBER
from tests.integration.region import Region

# Nothing of it may be seen anywhere but in the customers table.
CANARIES: Final = (
    EMAIL_ADDRESS,
    PHONE_NUMBER,
    PHONE_NUMBER.lstrip("+"),
    "canary",
    "11.77",
    "invoice 9",
    "america/new_york",
    "hooks.",
    "whsec_",
)
QUOTING: Final = f"<{EMAIL_ADDRESS}> {PHONE_NUMBER}: Canary blue lamp"  # as providers and services word their errors


@dataclass
class Watch:
    """Everything that leaves the functions while it is on. `secret` adds what must not be seen either."""

    region: Region
    log: io.StringIO
    root: io.StringIO
    capsys: pytest.CaptureFixture[str]
    raised: list[BaseException] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)  # what those who asked were told
    allowed_in_answers: frozenset[str] = frozenset()
    secret: list[str] = field(default_factory=list)
    not_ours: tuple[str, ...] = ()  # queues that somebody else fills

    @contextmanager
    def noting_errors(self) -> Iterator[None]:
        """Take what is raised for what Lambda would print of it."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - what it says is what is looked at
            self.raised.append(error)

    def seen(self) -> Iterator[tuple[str, str]]:
        printed = self.capsys.readouterr()
        yield "log", self.log.getvalue()
        yield "every other logger", self.root.getvalue()
        yield "metrics", printed.out + printed.err
        for url in self.region.sqs.list_queues().get("QueueUrls", []):
            name = url.rpartition("/")[2]
            if name not in self.not_ours:
                yield f"{name} queue", "\n".join(self.region.bodies(url))
        yield "deliveries table", json.dumps(list(self.region._scan(DELIVERIES)))
        yield "control table", json.dumps(list(self.region._scan(CONTROL)))
        yield "answers", "\n".join(self.answers)
        for error in self.raised:
            yield "raised", "".join(traceback.format_exception(error))

    def saw_nothing(self) -> None:
        for place, text in self.seen():
            allowed = self.allowed_in_answers if place == "answers" else ()
            for canary in (one for one in (*CANARIES, *self.secret) if one not in allowed):
                assert canary.lower() not in text.lower(), f"{canary!r} in {place}"


@contextmanager
def every_other_logger() -> Iterator[io.StringIO]:
    """What libraries log, as Lambda's own handler writes it, and at a level lower than its."""
    lines = io.StringIO()
    handler = logging.StreamHandler(lines)
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    try:
        yield lines
    finally:
        root.setLevel(level)
        root.removeHandler(handler)
