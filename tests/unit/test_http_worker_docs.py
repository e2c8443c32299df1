"""What docs/http-worker.md shows to those who push jobs is what happens."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from functions.core.consumption import Note
from functions.core.message import DeliveryMessage
from functions.core.outcome import OutcomeClass
from functions.worker.answers import Result
from ops.in_memory.worker import InMemoryWorker, Invocation
from tests.fakes.examples import a_delivery

PAGE = (Path(__file__).parents[2] / "docs" / "http-worker.md").read_text(encoding="utf-8")
SIGNING, NOTEBOOK = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
# A settled message is told by its outcome, a skipped one by its reason, a failed one by its outcome.
TOLD_OTHERWISE = {Note.SETTLED, Note.SKIPPED, Note.FAILED, Note.ABANDONED, Note.IN_DOUBT}


def run(example: str) -> dict[str, Any]:
    page: dict[str, Any] = {}
    exec(compile(example, "docs/http-worker.md", "exec"), page)  # noqa: S102 - our own page
    return page


def test_the_notebook_does_what_its_comments_say(capsys: pytest.CaptureFixture[str]) -> None:
    run(NOTEBOOK)
    printed = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("{")]
    assert printed == re.findall(r"# (\d.*)", NOTEBOOK)


def test_headers_made_as_the_page_shows_let_a_job_in() -> None:
    worker, body = InMemoryWorker(), DeliveryMessage.of(a_delivery()).to_body()
    headers = run(SIGNING)["signed_headers"]("push-1", body, worker.secret)
    request = {"requestContext": {"http": {"method": "POST"}}, "headers": headers, "body": body}
    assert worker.handler(request, Invocation())["statusCode"] == 200
    assert worker.handler({**request, "body": body + " "}, Invocation())["statusCode"] == 401


def test_the_job_that_is_shown_is_one() -> None:
    (shown,) = [one for one in re.findall(r"```json\n(.*?)```", PAGE, flags=re.DOTALL) if "delivery_id" in one]
    DeliveryMessage.model_validate(json.loads(shown))


@pytest.mark.parametrize("word", [*Result, *OutcomeClass, *(note for note in Note if note not in TOLD_OTHERWISE)])
def test_every_word_of_an_answer_is_explained(word: str) -> None:
    assert f"`{word}`" in PAGE or word == OutcomeClass.MISMATCH  # which is told as uncertain
