"""The page behind a link to leave, as people, mail programs and scanners meet it."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import logging
import re
from collections.abc import Iterator
from typing import Any

import pytest

from functions import names
from functions.adapters.counts import Counts
from functions.adapters.secrets import SecretError
from functions.adapters.telemetry import logger
from functions.core.identity import Channel, Topic
from functions.core.keyring import KeyRing
from functions.core.opt_out_memory import LateOptOuts, Memory, customer_mark
from functions.core.unsubscribe_token import Subscription, write_token
from functions.unsubscribe.desk import UnsubscribeDesk
from functions.unsubscribe.page import Kind, language_wanted, render
from functions.unsubscribe.request import LONGEST_BODY
from tests.fakes.clock import SUNDAY_EVENING, FakeClock
from tests.fakes.examples import ADDRESSES, CUSTOMER, SITE_URL
from tests.fakes.opt_outs import InMemoryOptOutMemory, InMemoryOptOuts

KEYS = KeyRing.parse(json.dumps({"0": "k" * 40}))
OPT_OUT_KEYS = KeyRing.parse(json.dumps({"0": "m" * 40}))
WEEKLY = Subscription(CUSTOMER, Topic.DIGEST, Channel.EMAIL)
TOKEN = write_token(WEEKLY, KEYS, at=SUNDAY_EVENING)
ONE_CLICK = "List-Unsubscribe=One-Click"
MULTIPART = '--x\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--x--\r\n'


@pytest.fixture
def opt_outs() -> InMemoryOptOuts:
    return InMemoryOptOuts({CUSTOMER: "hash"})


@pytest.fixture
def memory() -> InMemoryOptOutMemory:
    return InMemoryOptOutMemory()


@pytest.fixture
def desk(opt_outs: InMemoryOptOuts, memory: InMemoryOptOutMemory) -> UnsubscribeDesk:
    late = LateOptOuts(memory, lambda: OPT_OUT_KEYS)
    return UnsubscribeDesk(opt_outs, lambda: KEYS, late, FakeClock(), SITE_URL, Counts())


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    handler = logger.registered_handler
    assert isinstance(handler, logging.StreamHandler)
    lines = io.StringIO()
    before = handler.setStream(lines)
    yield lines
    handler.setStream(before)


def event(method: str = "GET", token: str = TOKEN, body: str | None = None, **headers: str) -> dict[str, Any]:
    """As Lambda hands over a request to a function URL."""
    return {
        "version": "2.0",
        "rawPath": f"/{token}",
        "rawQueryString": "",
        "headers": {name.replace("_", "-"): value for name, value in headers.items()},
        "requestContext": {"http": {"method": method, "path": f"/{token}", "sourceIp": "192.0.2.1"}},
        "isBase64Encoded": False,
        **({} if body is None else {"body": body}),
    }


def post(body: str | None = ONE_CLICK, token: str = TOKEN, **headers: str) -> dict[str, Any]:
    return event("POST", token, body, **headers)


# --- following the link ---


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_scanner_that_follows_the_link_unsubscribes_nobody(
    desk: UnsubscribeDesk, opt_outs: InMemoryOptOuts, method: str
) -> None:
    answer = desk.answer(event(method))
    assert answer["statusCode"] == 200
    assert opt_outs.opted_out == {}


def test_the_page_says_what_will_happen_and_has_a_button_that_does_it(desk: UnsubscribeDesk) -> None:
    page = desk.answer(event())["body"]
    assert "You will then no longer get the weekly digest by email." in page
    assert '<form method="post">' in page
    assert '<input type="hidden" name="List-Unsubscribe" value="One-Click">' in page
    assert CUSTOMER not in page
    assert not [address for address in ADDRESSES.values() if address in page]


def test_head_is_get_without_the_page(desk: UnsubscribeDesk) -> None:
    head, get = desk.answer(event("HEAD")), desk.answer(event())
    assert head == {**get, "body": ""}


def test_the_page_loads_nothing_keeps_nothing_and_tells_nobody(desk: UnsubscribeDesk) -> None:
    answer = desk.answer(event())
    headers, page = answer["headers"], answer["body"]
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert headers["content-security-policy"].split("; ") == [
        "default-src 'none'",
        f"style-src 'sha256-{digest}'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    ]
    assert (headers["cache-control"], headers["referrer-policy"]) == ("no-store", "no-referrer")
    assert headers["x-content-type-options"] == "nosniff"
    assert not re.search(r"<(script|img|link|iframe)|@import|url\(", page)


# --- leaving ---


@pytest.mark.parametrize(
    "request_event",
    [
        pytest.param(post(), id="a mail program's one click"),
        pytest.param(post(content_type="application/x-www-form-urlencoded; charset=utf-8"), id="the button"),
        pytest.param(post(MULTIPART, content_type="multipart/form-data; boundary=x"), id="one click as multipart"),
        pytest.param({**post(base64.b64encode(ONE_CLICK.encode()).decode()), "isBase64Encoded": True}, id="in base64"),
    ],
)
def test_one_click_leaves_that_topic_on_that_channel(
    desk: UnsubscribeDesk, opt_outs: InMemoryOptOuts, request_event: dict[str, Any]
) -> None:
    answer = desk.answer(request_event)
    assert answer["statusCode"] == 200
    assert "You are unsubscribed" in answer["body"]
    assert opt_outs.opted_out == {WEEKLY: SUNDAY_EVENING}


def test_leaving_twice_is_leaving(desk: UnsubscribeDesk, opt_outs: InMemoryOptOuts) -> None:
    assert desk.answer(post()) == desk.answer(post())
    assert list(opt_outs.opted_out) == [WEEKLY]


def test_somebody_who_was_erased_is_told_the_same_and_stays_erased(
    desk: UnsubscribeDesk, opt_outs: InMemoryOptOuts, memory: InMemoryOptOutMemory
) -> None:
    opt_outs.numbers.clear()
    assert "You are unsubscribed" in desk.answer(post())["body"]
    assert opt_outs.opted_out == {}
    mark = customer_mark(CUSTOMER, next(iter(OPT_OUT_KEYS)))
    assert memory.held == {mark: Memory(frozenset({(Topic.DIGEST, Channel.EMAIL)}))}


def test_somebody_on_record_is_remembered_there_and_nowhere_else(
    desk: UnsubscribeDesk, memory: InMemoryOptOutMemory
) -> None:
    desk.answer(post())
    assert memory.held == {}


# --- what is refused ---


@pytest.mark.parametrize("body", [None, "", "hello", "List-Unsubscribe=", "List-Unsubscribe=No", "&" * 50, "a=1"])
def test_a_post_that_does_not_say_so_changes_nothing(
    desk: UnsubscribeDesk, opt_outs: InMemoryOptOuts, body: str | None
) -> None:
    answer = desk.answer(post(body))
    assert answer["statusCode"] == 400
    assert opt_outs.opted_out == {}


@pytest.mark.parametrize(
    "content_type", ["multipart/form-data", "multipart/form-data; boundary=y", "multipart/form-data; boundary="]
)
def test_a_broken_form_changes_nothing(desk: UnsubscribeDesk, opt_outs: InMemoryOptOuts, content_type: str) -> None:
    assert desk.answer(post(MULTIPART, content_type=content_type))["statusCode"] == 400
    assert opt_outs.opted_out == {}


def test_a_body_that_is_too_long_is_not_read(desk: UnsubscribeDesk, opt_outs: InMemoryOptOuts) -> None:
    answer = desk.answer(post(f"{ONE_CLICK}&x={'a' * LONGEST_BODY}"))
    assert answer["statusCode"] == 413
    assert opt_outs.opted_out == {}


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
@pytest.mark.parametrize("token", ["", "favicon.ico", TOKEN[:-1], TOKEN.replace(CUSTOMER, "c-1"), "x" * 5000, "a/b"])
def test_a_link_that_is_not_ours_is_not_found_whoever_it_names(
    desk: UnsubscribeDesk, opt_outs: InMemoryOptOuts, method: str, token: str
) -> None:
    answer = desk.answer(event(method, token, ONE_CLICK))
    assert answer["statusCode"] == 404
    assert "digest" not in answer["body"]
    assert opt_outs.opted_out == {}


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_are_refused(desk: UnsubscribeDesk, opt_outs: InMemoryOptOuts, method: str) -> None:
    answer = desk.answer(event(method, body=ONE_CLICK))
    assert (answer["statusCode"], answer["headers"]["allow"]) == (405, "GET, HEAD, POST")
    assert opt_outs.opted_out == {}


# --- faults of ours ---


def test_a_person_whose_wish_cannot_be_noted_is_told_so_and_can_try_again(
    desk: UnsubscribeDesk, opt_outs: InMemoryOptOuts, log: io.StringIO
) -> None:
    opt_outs.fails = RuntimeError(f"cannot write {TOKEN}")
    answer = desk.answer(post())
    assert (answer["statusCode"], answer["headers"]["retry-after"]) == (503, "60")
    assert "has not been noted yet" in answer["body"]
    assert '<form method="post">' in answer["body"]
    assert "RuntimeError" in log.getvalue()
    assert TOKEN not in log.getvalue()


def test_without_its_keys_the_page_says_that_the_fault_is_ours(opt_outs: InMemoryOptOuts) -> None:
    def no_keys() -> KeyRing:
        raise SecretError("ResourceNotFoundException", passing=False)

    late = LateOptOuts(InMemoryOptOutMemory(), no_keys)
    answer = UnsubscribeDesk(opt_outs, no_keys, late, FakeClock(), SITE_URL, Counts()).answer(event())
    assert answer["statusCode"] == 503


def test_what_was_done_is_logged_without_the_link(desk: UnsubscribeDesk, log: io.StringIO) -> None:
    desk.answer(post(user_agent="Canary/1.0"))
    (line,) = [json.loads(one) for one in log.getvalue().splitlines()]
    assert {name: line[name] for name in ("message", "customer_id", "topic", "channel", "changed")} == {
        "message": "consent.opted_out",
        "customer_id": CUSTOMER,
        "topic": "digest",
        "channel": "email",
        "changed": True,
    }
    assert not [secret for secret in (TOKEN, "Canary", "192.0.2.1") if secret in log.getvalue()]


# --- languages ---


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("", "en"),
        ("de-AT,de;q=0.9,en;q=0.5", "de"),
        ("ja,fr;q=0.3,es;q=0.7", "es"),
        ("FR", "fr"),
        ("en;q=0,de;q=0.1", "de"),
        ("de;q=nonsense", "en"),
        ("*", "en"),
        (",;q=,", "en"),
        ("ja," * 1000 + "de", "en"),
    ],
)
def test_the_page_speaks_the_readers_language(header: str, language: str) -> None:
    assert language_wanted(header) == language


def test_a_german_reader_gets_a_german_page(desk: UnsubscribeDesk) -> None:
    answer = desk.answer(event(accept_language="de-DE"))
    assert (answer["headers"]["content-language"], answer["headers"]["vary"]) == ("de", "accept-language")
    assert '<html lang="de">' in answer["body"]
    assert "Sie bekommen dann die Wochenübersicht per E-Mail nicht mehr." in answer["body"]


@pytest.mark.parametrize("language", names.LANGUAGES)
@pytest.mark.parametrize("kind", Kind)
def test_every_page_has_its_words_in_every_language(kind: Kind, language: str) -> None:
    for topic in Topic:
        for channel in Channel:
            page = render(kind, language=language, subscription=Subscription("c-1", topic, channel), site_url=SITE_URL)
            assert f'<html lang="{language}">' in page
            assert "{" not in re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)
            assert SITE_URL in page
