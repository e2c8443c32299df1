"""Customers' endpoints: what each of their answers, and each way of getting none, is read as; and where none is asked.

The endpoint is a TLS server of its own on loopback, with a certificate of an authority that only these tests trust. The
name in its address is resolved by the tests, and an address of loopback is judged public by them alone.
"""

from __future__ import annotations

import json
import random
import socket
import ssl
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from functions.adapters.dns import NotResolvedError, resolve
from functions.adapters.environment import ProviderChoice
from functions.adapters.providers import guarantee_and_witness, make_provider
from functions.adapters.providers.webhook import ANSWER_LIMIT, WebhookProvider
from functions.core.delivery import Status
from functions.core.envelope import WebhookEnvelope
from functions.core.identity import Channel
from functions.core.outcome import Dedupe, Outcome, OutcomeClass
from functions.core.provider_codes import WEBHOOK
from functions.core.webhook_address import is_public
from functions.core.webhook_endpoint import SigningSecret, WebhookEndpoint, rotated
from ops.local.loopback_server import RESET, SILENCE, LoopbackServer, Reply, Request
from tests.fakes.clock import SUNDAY_EVENING, FakeClock
from tests.fakes.examples import AN_ENDPOINT, WEBHOOK_SECRET, a_delivery
from tests.integration.certificates import Authority
from tests.integration.provider_contract import EMAIL, TIMEOUT_S, everything_logged

HOST = "hooks.example.com"
URL = f"https://{HOST}:8443/canary-token-4170?key=canary"
BODY = '{"title": "Canary été"}'
DELIVERY = a_delivery(channel=Channel.WEBHOOK, status=Status.SENDING, attempt=1)
NEW_SECRET = "whsec_bmV3LWNhbmFyeS1zZWNyZXQtbmV3LWNhbmFyeS1zZWNyZXQ="
ACCEPTED, DEFERRED, REJECTED = OutcomeClass.ACCEPTED, OutcomeClass.DEFERRED, OutcomeClass.REJECTED
UNAVAILABLE, UNKNOWN = OutcomeClass.UNAVAILABLE, OutcomeClass.UNKNOWN


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.found(tmp_path_factory.mktemp("authority"))


@dataclass
class Endpoint:
    """A customer's server: gives the replies that it is told to, in turn, and remembers what it was asked."""

    address: str
    replies: deque[Reply] = field(default_factory=deque)
    requests: list[Request] = field(default_factory=list)

    def answer(self, request: Request) -> Reply:
        self.requests.append(request)
        return self.replies.popleft() if self.replies else Reply(204)


def an_address() -> str:
    """Some address of loopback: a port that webhooks may go to is free at nearly all of them."""
    return f"127.{random.randint(1, 250)}.{random.randint(1, 250)}.{random.randint(1, 250)}"  # noqa: S311


@contextmanager
def serving(tls: ssl.SSLContext) -> Iterator[Endpoint]:
    endpoint = Endpoint(an_address())
    with LoopbackServer(endpoint.answer, host=endpoint.address, port=8443, tls=tls):
        yield endpoint


@pytest.fixture
def endpoint(authority: Authority) -> Iterator[Endpoint]:
    with serving(authority.server(HOST)) as one:
        yield one


@dataclass
class Names:
    """What the name leads to, and who asked: a resolver, and a judge who takes loopback for public."""

    answers: deque[Sequence[str] | Exception]
    asked: list[str] = field(default_factory=list)
    called: list[str] = field(default_factory=list)

    def resolve(self, host: str, timeout_s: float) -> Sequence[str]:
        assert timeout_s > 0
        self.asked.append(host)
        answer = self.answers[0] if len(self.answers) == 1 else self.answers.popleft()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def judge(self, address: str) -> bool:
        self.called.append(address)
        return address.startswith("127.") or is_public(address)


@dataclass
class Desk:
    """A provider whose names lead to the endpoint."""

    endpoint: Endpoint
    authority: Authority
    clock: FakeClock
    log: pytest.LogCaptureFixture
    names: Names

    def send(self, *, url: str = URL, held: WebhookEndpoint = AN_ENDPOINT, timeout_s: float = TIMEOUT_S) -> Outcome:
        """Send once, and hold the outcome and every log line to what must never be in one."""
        provider = WebhookProvider(
            self.clock,
            timeout_s,
            resolve=self.names.resolve,
            may_call=self.names.judge,
            ca_file=self.authority.file,
        )
        with everything_logged(self.log), self.log.at_level("DEBUG"):
            outcome = provider.send(DELIVERY, WebhookEnvelope(url, BODY, held))
        told = f"{outcome!r} {json.dumps(outcome.to_json())} {self.log.text}".lower()
        assert not [word for word in ("canary", "4170", "whsec", WEBHOOK_SECRET.lower()) if word in told]
        return outcome

    @property
    def request(self) -> Request:
        (one,) = self.endpoint.requests
        return one


@pytest.fixture
def desk(endpoint: Endpoint, authority: Authority, caplog: pytest.LogCaptureFixture) -> Desk:
    return Desk(endpoint, authority, FakeClock(), caplog, Names(deque([[endpoint.address]])))


# --- what is sent ----------------------------------------------------------------------------------------------------


def verified(request: Request, secret: str) -> Any:
    """As a receiver checks it, with the library that the specification names."""
    with time_machine.travel(SUNDAY_EVENING, tick=False):
        return Webhook(secret).verify(request.body, dict(request.headers))


def test_a_receiver_can_verify_the_very_bytes_that_arrived(desk: Desk) -> None:
    assert desk.send() == Outcome(ACCEPTED, "ok")
    assert desk.request.body == BODY.encode()
    assert verified(desk.request, WEBHOOK_SECRET) == {"title": "Canary été"}
    assert desk.request.headers["webhook-id"] == str(DELIVERY.delivery_id)
    assert desk.request.headers["webhook-timestamp"] == str(int(SUNDAY_EVENING.timestamp()))
    assert desk.request.headers["content-type"] == "application/json"


def test_the_request_goes_to_the_host_path_and_query_that_the_customer_gave(desk: Desk) -> None:
    desk.send()
    assert (desk.request.method, desk.request.path) == ("POST", "/canary-token-4170")
    assert desk.request.query == {"key": "canary"}
    assert desk.request.headers["host"] == f"{HOST}:8443"


def test_both_secrets_sign_while_one_follows_the_other(desk: Desk) -> None:
    held = WebhookEndpoint(rotated(AN_ENDPOINT.secrets, NEW_SECRET, at=SUNDAY_EVENING))
    desk.send(held=held)
    assert len(desk.request.headers["webhook-signature"].split(" ")) == 2
    for secret in (WEBHOOK_SECRET, NEW_SECRET):
        assert verified(desk.request, secret)
    with pytest.raises(WebhookVerificationError):
        verified(desk.request, "whsec_c29tZWJvZHkgZWxzZQ==")


def test_a_day_later_the_old_secret_signs_no_more(desk: Desk) -> None:
    held = WebhookEndpoint(rotated(AN_ENDPOINT.secrets, NEW_SECRET, at=SUNDAY_EVENING - timedelta(days=1)))
    desk.send(held=held)
    assert verified(desk.request, NEW_SECRET)
    with pytest.raises(WebhookVerificationError):
        verified(desk.request, WEBHOOK_SECRET)


@pytest.mark.parametrize("text", ["", "whsec_", "whsec_&&&"])
def test_nothing_is_sent_unsigned(desk: Desk, text: str) -> None:
    secrets = (SigningSecret(text),) if text else ()
    assert desk.send(held=WebhookEndpoint(secrets)) == Outcome(REJECTED, "no_secret")
    assert not desk.endpoint.requests


# --- what is answered ------------------------------------------------------------------------------------------------

AFTER_A_MINUTE = {"Retry-After": "60"}
CHATTY = b'{"error": "canary-token-4170 is not known to canary"}'


@pytest.mark.parametrize(
    ("reply", "outcome", "code", "wait_s"),
    [
        (Reply(200, b"ok"), ACCEPTED, "ok", None),
        (Reply(202, CHATTY), ACCEPTED, "ok", None),
        (Reply(204), ACCEPTED, "ok", None),
        (Reply(400, CHATTY), REJECTED, "http_400", None),
        (Reply(401, CHATTY), REJECTED, "http_401", None),
        (Reply(403), REJECTED, "http_403", None),
        (Reply(404, CHATTY), REJECTED, "http_404", None),
        (Reply(408), UNKNOWN, "http_408", None),
        (Reply(410, CHATTY), REJECTED, "gone", None),
        (Reply(425), UNAVAILABLE, "http_425", None),
        (Reply(429, CHATTY, AFTER_A_MINUTE), DEFERRED, "http_429", 60),
        (Reply(429), DEFERRED, "http_429", None),
        (Reply(500, CHATTY), UNKNOWN, "http_500", None),
        (Reply(502), UNKNOWN, "http_502", None),
        (Reply(503, CHATTY, AFTER_A_MINUTE), DEFERRED, "http_503", 60),
        (Reply(503, b"", {"Retry-After": "soon"}), UNAVAILABLE, "http_503", None),
        (Reply(503), UNAVAILABLE, "http_503", None),
        (Reply(504), UNKNOWN, "http_504", None),
        (Reply(599), UNKNOWN, "http_599", None),
    ],
    ids=lambda value: str(value.status) if isinstance(value, Reply) else None,
)
def test_an_answer_is_read_as_documented(
    desk: Desk, reply: Reply, outcome: OutcomeClass, code: str, wait_s: int | None
) -> None:
    desk.endpoint.replies.append(reply)
    wait = None if wait_s is None else SUNDAY_EVENING + timedelta(seconds=wait_s)
    assert desk.send() == Outcome(outcome, code, retry_at=wait)
    assert len(desk.endpoint.requests) == 1


def an_email(desk: Desk) -> Outcome:
    return WebhookProvider(desk.clock, TIMEOUT_S).send(DELIVERY, EMAIL)


def answered(desk: Desk, reply: Reply) -> Outcome:
    desk.endpoint.replies.append(reply)
    return desk.send()


def leading_to(desk: Desk, answer: Sequence[str] | Exception) -> Outcome:
    desk.names.answers = deque([answer])
    return desk.send(timeout_s=2)


def behind_another_name(desk: Desk) -> Outcome:
    with serving(desk.authority.server("attacker.example.com")) as impostor:
        return leading_to(desk, [impostor.address])


WITHOUT_A_STATUS: dict[str, Callable[[Desk], Outcome]] = {
    "address_refused": lambda desk: leading_to(desk, ["10.0.0.1"]),
    "certificate_refused": behind_another_name,
    "cut_off": lambda desk: answered(desk, RESET),
    "no_secret": lambda desk: desk.send(held=WebhookEndpoint(())),
    "not_a_webhook": an_email,
    "not_connected": lambda desk: leading_to(desk, [an_address()]),
    "not_resolved": lambda desk: leading_to(desk, NotResolvedError()),
    "timed_out": lambda desk: answered(desk, SILENCE),
}


@pytest.mark.parametrize("code", WEBHOOK)
def test_every_way_of_getting_no_status_is_read_as_its_row_says(desk: Desk, code: str) -> None:
    assert WITHOUT_A_STATUS[code](desk) == Outcome(WEBHOOK[code], code)


@pytest.mark.parametrize("code", WEBHOOK)
def test_an_endpoint_is_asked_only_where_it_may_have_understood(desk: Desk, code: str) -> None:
    WITHOUT_A_STATUS[code](desk)
    assert bool(desk.endpoint.requests) is (WEBHOOK[code] is UNKNOWN)


@pytest.mark.parametrize("status", [300, 301, 302, 303, 304, 307, 308])
def test_a_redirect_is_not_followed_wherever_it_leads(desk: Desk, status: int) -> None:
    for location in (URL, "https://169.254.169.254/latest/meta-data", "/elsewhere"):
        desk.endpoint.replies.append(Reply(status, b"", {"Location": location}))
        assert desk.send() == Outcome(REJECTED, "redirect_refused")
    assert len(desk.endpoint.requests) == 3
    assert set(desk.names.asked) == {HOST}


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("req-0a1b2c3d4e", "req-0a1b2c3d4e"),
        ("short", None),
        ("words that say something", None),
        ("canary-token-4170", None),  # part of the address, sent back
        ("a" * 65, None),
    ],
)
def test_of_an_answer_only_what_looks_like_an_id_is_kept(desk: Desk, given: str, kept: str | None) -> None:
    desk.endpoint.replies.append(Reply(200, CHATTY, {"X-Request-Id": given}))
    assert desk.send().reference == kept


def test_an_answer_that_never_ends_is_left_in_the_middle(desk: Desk) -> None:
    desk.endpoint.replies.append(Reply(200, b"x" * (64 * ANSWER_LIMIT)))
    began = time.monotonic()
    assert desk.send() == Outcome(ACCEPTED, "ok")
    assert time.monotonic() - began < TIMEOUT_S


def test_headers_that_no_parser_likes_reach_no_log(desk: Desk) -> None:
    desk.endpoint.replies.append(Reply(200, b"", {"X-Canary token 4170": "canary\r\n broken: canary"}))
    assert desk.send().outcome in {ACCEPTED, UNKNOWN}


# --- who answers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["another name", "expired", "another authority"])
def test_a_certificate_that_is_not_the_hosts_own_gets_no_message(
    authority: Authority, tmp_path: Path, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    contexts: dict[str, Callable[[], ssl.SSLContext]] = {
        "another name": lambda: authority.server("attacker.example.com"),
        "expired": lambda: authority.server(HOST, expired=True),
        "another authority": lambda: Authority.found(tmp_path).server(HOST),
    }
    with serving(contexts[kind]()) as impostor:
        desk = Desk(impostor, authority, FakeClock(), caplog, Names(deque([[impostor.address]])))
        assert desk.send(timeout_s=2) == Outcome(UNAVAILABLE, "certificate_refused")
        assert not impostor.requests


def drip(context: ssl.SSLContext, address: str, closing: threading.Event, *, handshake: bool) -> socket.socket:
    """A server that is never silent for long and never done."""
    listener = socket.create_server((address, 8443))
    slowly = b"HTTP/1.1 200 OK\r\nX-Slow: " + b"x" * 10_000 if handshake else b"\x16\x03\x03\x3f\xff" + b"x" * 10_000

    def serve() -> None:
        raw, _ = listener.accept()
        with raw, suppress(OSError), context.wrap_socket(raw, server_side=True) if handshake else raw as talk:
            for one in slowly:
                if closing.wait(0.05):
                    return
                talk.send(bytes([one]))

    threading.Thread(target=serve, daemon=True).start()
    return listener


@pytest.mark.parametrize("handshake", [True, False], ids=["in its headers", "in its handshake"])
def test_an_endpoint_that_talks_for_ever_is_left_at_the_deadline(desk: Desk, *, handshake: bool) -> None:
    closing = threading.Event()
    address = an_address()
    desk.names.answers = deque([[address]])
    with ExitStack() as cleaning:
        cleaning.callback(closing.set)
        cleaning.enter_context(drip(desk.authority.server(HOST), address, closing, handshake=handshake))
        began = time.monotonic()
        assert desk.send() == Outcome(UNKNOWN, "timed_out")
        assert time.monotonic() - began < TIMEOUT_S + 0.5


# --- where nobody is asked -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answers",
    [
        ["169.254.169.254"],
        ["10.0.0.1"],
        ["::1"],
        ["::ffff:10.0.0.1"],
        ["64:ff9b::a00:1"],
        ["fe80::1%eth0"],
        ["100.100.100.200"],
        ["0.0.0.0"],  # noqa: S104 - what is refused
    ],
)
def test_a_name_that_leads_inside_is_not_called(desk: Desk, answers: list[str]) -> None:
    desk.names.answers = deque([answers])
    assert desk.send() == Outcome(REJECTED, "address_refused")
    assert not desk.endpoint.requests


def test_one_forbidden_answer_among_public_ones_condemns_the_name(desk: Desk) -> None:
    for answers in ([desk.endpoint.address, "10.0.0.1"], ["10.0.0.1", desk.endpoint.address]):
        desk.names.answers = deque([answers])
        assert desk.send() == Outcome(REJECTED, "address_refused")
    assert not desk.endpoint.requests


def test_a_name_whose_answer_changes_after_the_check_is_called_at_the_address_that_was_checked(desk: Desk) -> None:
    desk.names.answers = deque([[desk.endpoint.address], ["169.254.169.254"]])
    assert desk.send() == Outcome(ACCEPTED, "ok")
    assert desk.names.asked == [HOST]  # once: nothing asks again to connect
    assert desk.send() == Outcome(REJECTED, "address_refused")
    assert len(desk.endpoint.requests) == 1


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example.com/canary",
        "https://127.0.0.1:8443/canary",
        "https://2130706433/canary",
        "https://[::1]:8443/canary",
        "https://localhost/canary",
        "https://hooks.example.com:22/canary",
        "https://user:canary@hooks.example.com/",
        "",
    ],
)
def test_an_address_on_record_that_may_not_be_called_is_asked_of_nobody(desk: Desk, url: str) -> None:
    assert desk.send(url=url) == Outcome(REJECTED, "address_refused")
    assert desk.names.asked == []


def test_the_provider_of_a_deployment_calls_public_addresses_only() -> None:
    provider = make_provider(ProviderChoice("webhook", "{}", 5))
    assert isinstance(provider, WebhookProvider)
    assert (provider.may_call, provider.resolve, provider.ca_file) == (is_public, resolve, None)
    assert guarantee_and_witness(ProviderChoice("webhook", "{}", 5)) == (provider.guarantee, None)
    assert (provider.guarantee.dedupe, provider.guarantee.window) == (Dedupe.WINDOW, timedelta(days=1))


def test_without_the_judge_of_these_tests_loopback_is_not_reached(desk: Desk) -> None:
    provider = WebhookProvider(desk.clock, 5, resolve=lambda *_: [desk.endpoint.address])
    assert provider.send(DELIVERY, WebhookEnvelope(URL, BODY, AN_ENDPOINT)) == Outcome(REJECTED, "address_refused")


def test_a_resolver_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    never = threading.Event()

    def silence(*_: object, **__: object) -> None:
        never.wait(5)
        raise OSError

    monkeypatch.setattr("functions.adapters.dns.socket.getaddrinfo", silence)
    began = time.monotonic()
    with pytest.raises(NotResolvedError):
        resolve("hooks.example.com", 0.1)
    assert time.monotonic() - began < 2
    never.set()


def test_every_address_of_a_name_is_told_ipv4_first(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [
        (socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("2606:2800:21f:cb07:6820:80da:af6b:8b2c", 0, 0, 0)),
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.215.14", 0)),
    ]
    monkeypatch.setattr("functions.adapters.dns.socket.getaddrinfo", lambda *_, **__: found)
    assert list(resolve("hooks.example.com", 1)) == ["93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"]
