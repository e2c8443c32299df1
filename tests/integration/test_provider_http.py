"""The HTTP email provider: what each of its answers, and each way of getting none, is read as."""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws
from pydantic import ValidationError
from werkzeug.serving import make_ssl_devcert

from functions.adapters.environment import ProviderChoice
from functions.adapters.providers import guarantee_and_witness, make_provider
from functions.adapters.providers.http_email import ANSWER_LIMIT, HttpEmailOptions, HttpEmailProvider
from functions.adapters.secrets import KEPT_FOR, Secret, SecretError
from functions.adapters.wiring import SECRETS
from functions.core.envelope import EmailEnvelope
from functions.core.outcome import Dedupe, Outcome, OutcomeClass, Sight, Sighting
from functions.core.provider_codes import HTTP_EMAIL
from functions.core.retry_after import LONGEST_WAIT
from ops.local.loopback_server import RESET, SILENCE, Reply
from ops.local.provider_faults import FaultKind, ProviderFault, answer, error
from ops.local.provider_simulator import ProviderSimulator
from tests.fakes.clock import FakeClock
from tests.fakes.examples import EMAIL_ADDRESS
from tests.integration.provider_contract import (
    API_KEY,
    CHATTY,
    DELIVERY,
    EMAIL,
    TESTING,
    TEXT,
    TIMEOUT_S,
    Expected,
    StubbedEndpoint,
    read_by,
    refusing_url,
)

ACCEPTED, AUTH, DEFERRED, QUOTA = OutcomeClass.ACCEPTED, OutcomeClass.AUTH, OutcomeClass.DEFERRED, OutcomeClass.QUOTA
MISMATCH, REJECTED, RUNNING = OutcomeClass.MISMATCH, OutcomeClass.REJECTED, OutcomeClass.RUNNING
THROTTLED, UNAVAILABLE, UNKNOWN = OutcomeClass.THROTTLED, OutcomeClass.UNAVAILABLE, OutcomeClass.UNKNOWN
KEY = str(DELIVERY.delivery_id)


@contextmanager
def connected(url: str, clock: FakeClock, *, api_key: str = API_KEY, **options: int) -> Iterator[HttpEmailProvider]:
    reached = HttpEmailOptions.model_validate({"url": url, "api_key_secret": "email-key", **options})
    provider = HttpEmailProvider.connect(reached, api_key=lambda: api_key, clock=clock, timeout_s=TIMEOUT_S)
    try:
        yield provider
    finally:
        provider.pool.clear()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def simulator(clock: FakeClock) -> Iterator[ProviderSimulator]:
    with ProviderSimulator(api_key=API_KEY, clock=clock) as running:
        yield running


@pytest.fixture
def provider(simulator: ProviderSimulator, clock: FakeClock) -> Iterator[HttpEmailProvider]:
    with connected(simulator.url, clock, lookup_window_s=86_400) as one:
        yield one


@pytest.fixture
def endpoint() -> Iterator[StubbedEndpoint]:
    with StubbedEndpoint() as stubbed:
        yield stubbed


@pytest.fixture
def stubbed(endpoint: StubbedEndpoint, clock: FakeClock) -> Iterator[HttpEmailProvider]:
    with connected(endpoint.url, clock, lookup_window_s=86_400) as one:
        yield one


# --- everything that goes wrong at a provider -------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """A line of the outcome table: what the provider does, and what that must be read as."""

    name: str
    expected: Expected
    fault: dict[str, Any]


def row(name: str, outcome: OutcomeClass, code: str, wait_s: float | None = None, **fault: Any) -> Row:
    return Row(name, Expected(outcome, code, None if wait_s is None else timedelta(seconds=wait_s)), fault)


LIMITED: dict[str, Any] = {"kind": "rate_limited"}
BUSY: dict[str, Any] = {"kind": "unavailable"}
LONGEST_S = LONGEST_WAIT.total_seconds()
BEYOND_ALL_YEARS = "Fri, 31 Dec 9999 23:59:59 -0100"
TABLE = [
    row("429, in seconds", THROTTLED, "rate_limit_exceeded", 7, **LIMITED, retry_after="7"),
    row("429, as a date", THROTTLED, "rate_limit_exceeded", 90, **LIMITED, retry_after_date_s=90),
    row("429, nonsense", THROTTLED, "rate_limit_exceeded", **LIMITED, retry_after="soon"),
    row("429, negative", THROTTLED, "rate_limit_exceeded", **LIMITED, retry_after="-5"),
    row("429, a date that has passed", THROTTLED, "rate_limit_exceeded", **LIMITED, retry_after_date_s=-90),
    row("429, beyond all years", THROTTLED, "rate_limit_exceeded", **LIMITED, retry_after=BEYOND_ALL_YEARS),
    row("429, absent", THROTTLED, "rate_limit_exceeded", **LIMITED),
    row("429, a year", THROTTLED, "rate_limit_exceeded", LONGEST_S, **LIMITED, retry_after="31536000"),
    row("429 for one recipient", DEFERRED, "recipient_rate_limited", 7, kind="recipient_rate_limited", retry_after="7"),
    row("daily quota", QUOTA, "daily_quota_exceeded", 3600, kind="daily_quota", retry_after="3600"),
    row("monthly quota", QUOTA, "monthly_quota_exceeded", kind="monthly_quota"),
    row("503, in seconds", UNAVAILABLE, "service_unavailable", 30, **BUSY, retry_after="30"),
    row("503, absent", UNAVAILABLE, "service_unavailable", **BUSY),
    row("500", UNKNOWN, "internal_server_error", kind="internal_error"),
    row("500 after accepting", UNKNOWN, "internal_server_error", kind="internal_error", accepting=True),
    row("502", UNKNOWN, "unnamed", kind="bad_gateway"),
    row("502 after accepting", UNKNOWN, "unnamed", kind="bad_gateway", accepting=True),
    row("504", UNKNOWN, "unnamed", kind="gateway_timeout"),
    row("504 after accepting", UNKNOWN, "unnamed", kind="gateway_timeout", accepting=True),
    row("no answer", UNKNOWN, "ReadTimeoutError", kind="hang"),
    row("no answer after accepting", UNKNOWN, "ReadTimeoutError", kind="hang", accepting=True),
    row("reset", UNKNOWN, "ProtocolError", kind="reset"),
    row("reset after accepting", UNKNOWN, "ProtocolError", kind="reset", accepting=True),
    row("unreadable 200", UNKNOWN, "unreadable_answer", kind="unreadable"),
    row("unreadable 200 after accepting", UNKNOWN, "unreadable_answer", kind="unreadable", accepting=True),
    row("401", AUTH, "validation_error", kind="unauthorized"),
    row("403", AUTH, "validation_error", kind="forbidden"),
    row("422", REJECTED, "validation_error", kind="rejected"),
    row("an answer in good time", ACCEPTED, "ok", kind="slow", delay_s=0.1),
]  # fmt: skip


def test_the_table_has_every_way_in_which_the_simulator_fails() -> None:
    assert {FaultKind(one.fault["kind"]) for one in TABLE} == set(FaultKind)


@pytest.mark.parametrize("case", TABLE, ids=[one.name for one in TABLE])
def test_whatever_the_provider_does_is_read_as_the_table_says_and_asked_once(
    case: Row,
    provider: HttpEmailProvider,
    simulator: ProviderSimulator,
    clock: FakeClock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    simulator.provider.will(ProviderFault(to=EMAIL_ADDRESS, **case.fault))
    outcome = read_by(provider, EMAIL, caplog)
    assert (outcome.outcome, outcome.code) == (case.expected.outcome, case.expected.code)
    assert outcome.retry_at == (None if case.expected.wait is None else clock() + case.expected.wait)
    assert len(simulator.provider.calls) == 1


@pytest.mark.parametrize("case", TABLE, ids=[one.name for one in TABLE])
def test_after_it_has_gone_wrong_the_same_key_is_accepted_and_performed_once(
    case: Row, provider: HttpEmailProvider, simulator: ProviderSimulator, caplog: pytest.LogCaptureFixture
) -> None:
    simulator.provider.will(ProviderFault(to=EMAIL_ADDRESS, **case.fault))
    first = read_by(provider, EMAIL, caplog)
    again = read_by(provider, EMAIL, caplog)
    (operation,) = simulator.provider.operations
    assert operation.key == KEY
    assert (again.outcome, again.reference) == (ACCEPTED, operation.operation_id)
    performed_before = first.outcome is ACCEPTED or bool(case.fault.get("accepting"))
    assert again.provider_duplicate is performed_before
    assert not simulator.provider.performed_more_than_once()


def test_an_accepted_email_carries_its_delivery_in_key_and_tags(
    provider: HttpEmailProvider, simulator: ProviderSimulator, caplog: pytest.LogCaptureFixture
) -> None:
    outcome = read_by(provider, EMAIL, caplog)
    (operation,) = simulator.provider.operations
    assert outcome == Outcome(ACCEPTED, "ok", operation.operation_id)
    assert operation.key == KEY
    named = {tag["name"]: tag["value"] for tag in operation.email.tags}
    assert DELIVERY.delivery_id.from_tags(named) == DELIVERY.delivery_id
    sent = operation.email
    assert EmailEnvelope(sent.to[0], sent.sender, sent.subject, sent.html, sent.text) == EMAIL


# --- no connection ----------------------------------------------------------------------------------------------------


def test_a_provider_that_never_answers_is_given_up_in_time(
    provider: HttpEmailProvider, simulator: ProviderSimulator, caplog: pytest.LogCaptureFixture
) -> None:
    simulator.provider.will(ProviderFault(kind=FaultKind.HANG))
    began = time.monotonic()
    read_by(provider, EMAIL, caplog)
    assert TIMEOUT_S <= time.monotonic() - began < TIMEOUT_S + 2


def test_a_refused_connection_sent_nothing(clock: FakeClock, caplog: pytest.LogCaptureFixture) -> None:
    with refusing_url() as url, connected(url, clock) as provider:
        assert read_by(provider, EMAIL, caplog) == Outcome(UNAVAILABLE, "NewConnectionError")


def test_a_host_that_does_not_exist_was_sent_nothing(clock: FakeClock, caplog: pytest.LogCaptureFixture) -> None:
    with connected("https://provider.invalid", clock) as provider:
        assert read_by(provider, EMAIL, caplog) == Outcome(UNAVAILABLE, "NameResolutionError")


def test_a_certificate_that_nobody_vouches_for_gets_no_email_and_no_key(
    clock: FakeClock, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    with StubbedEndpoint() as impostor:
        speak_tls(impostor, tmp_path)
        with connected(impostor.url.replace("http:", "https:"), clock) as provider:
            assert read_by(provider, EMAIL, caplog) == Outcome(UNAVAILABLE, "SSLError")
        assert not impostor.requests


def test_a_server_that_does_not_speak_tls_may_have_understood_something(
    endpoint: StubbedEndpoint, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    with connected(endpoint.url.replace("http:", "https:"), clock) as provider:
        assert read_by(provider, EMAIL, caplog).outcome is UNKNOWN
    assert not endpoint.requests


# --- the key ----------------------------------------------------------------------------------------------------------


def test_the_same_key_with_other_bytes_is_a_mismatch_and_sends_nothing(
    provider: HttpEmailProvider, simulator: ProviderSimulator, caplog: pytest.LogCaptureFixture
) -> None:
    read_by(provider, EMAIL, caplog)
    changed = read_by(provider, replace(EMAIL, subject="Canary prices have changed"), caplog)
    assert changed == Outcome(MISMATCH, "invalid_idempotent_request")
    assert len(simulator.provider.operations) == 1


def test_the_same_key_while_its_first_request_runs_is_told_apart_from_a_mismatch(
    provider: HttpEmailProvider, simulator: ProviderSimulator, caplog: pytest.LogCaptureFixture
) -> None:
    simulator.provider.will(ProviderFault(kind=FaultKind.SLOW, delay_s=TIMEOUT_S * 2))
    assert read_by(provider, EMAIL, caplog).outcome is UNKNOWN
    assert read_by(provider, EMAIL, caplog) == Outcome(RUNNING, "concurrent_idempotent_requests")
    assert provider.look_up(DELIVERY) == Sighting(Sight.RUNNING)
    _await(lambda: len(simulator.provider.operations) == 1)
    again = read_by(provider, EMAIL, caplog)
    assert (again.outcome, again.provider_duplicate) == (ACCEPTED, True)
    assert len(simulator.provider.operations) == 1


def test_two_at_once_with_one_key_are_performed_once(provider: HttpEmailProvider, simulator: ProviderSimulator) -> None:
    simulator.provider.will(ProviderFault(kind=FaultKind.SLOW, delay_s=0.2))
    with ThreadPoolExecutor(4) as both:
        outcomes = [one.result() for one in [both.submit(provider.send, DELIVERY, EMAIL) for _ in range(4)]]
    assert {outcome.outcome for outcome in outcomes} <= {ACCEPTED, RUNNING}
    assert len(simulator.provider.operations) == 1


def test_a_key_that_the_provider_has_forgotten_is_performed_again_which_is_why_its_window_is_ours_to_know(
    provider: HttpEmailProvider, simulator: ProviderSimulator, caplog: pytest.LogCaptureFixture
) -> None:
    read_by(provider, EMAIL, caplog)
    simulator.provider.advance(provider.guarantee.window)
    assert not read_by(provider, EMAIL, caplog).provider_duplicate
    assert simulator.provider.performed_more_than_once() == {KEY: 2}


def test_every_delivery_has_a_key_of_its_own(provider: HttpEmailProvider, simulator: ProviderSimulator) -> None:
    for customer in ("c-1", "c-2"):
        delivery_id = replace(DELIVERY.delivery_id, customer_id=customer)
        provider.send(replace(DELIVERY, delivery_id=delivery_id), EMAIL)
    assert len({operation.key for operation in simulator.provider.operations}) == 2


# --- looking up -------------------------------------------------------------------------------------------------------


def test_a_look_up_says_whether_the_key_was_accepted(
    provider: HttpEmailProvider, simulator: ProviderSimulator, caplog: pytest.LogCaptureFixture
) -> None:
    assert provider.look_up(DELIVERY) == Sighting(Sight.ABSENT)
    simulator.provider.will(ProviderFault(kind=FaultKind.RESET, accepting=True))
    assert read_by(provider, EMAIL, caplog).outcome is UNKNOWN
    assert provider.look_up(DELIVERY) == Sighting(Sight.ACCEPTED, simulator.provider.operations[0].operation_id)
    assert len(simulator.provider.calls) == 1


@pytest.mark.parametrize("kind", sorted(set(FaultKind) - {FaultKind.SLOW}))
def test_a_look_up_that_fails_says_neither_that_it_was_accepted_nor_that_it_was_not(
    kind: FaultKind, provider: HttpEmailProvider, simulator: ProviderSimulator
) -> None:
    simulator.provider.will(ProviderFault(kind=kind, on="look_up"))
    assert provider.look_up(DELIVERY) == Sighting(Sight.NO_ANSWER)
    assert provider.look_up(DELIVERY) == Sighting(Sight.ABSENT)


@pytest.mark.parametrize(
    "content", ["[]", "{}", '{"data": 1}', '{"data": [1]}', '{"data": [{}]}', '{"data": [{"id": 1}]}', "nonsense"]
)
def test_a_look_up_that_cannot_be_read_says_nothing(
    content: str, stubbed: HttpEmailProvider, endpoint: StubbedEndpoint
) -> None:
    endpoint.will(Reply(200, content.encode()))
    assert stubbed.look_up(DELIVERY) == Sighting(Sight.NO_ANSWER)


def test_a_look_up_at_a_provider_that_is_not_there_says_nothing(clock: FakeClock) -> None:
    with refusing_url() as url, connected(url, clock) as provider:
        assert provider.look_up(DELIVERY) == Sighting(Sight.NO_ANSWER)


# --- codes ------------------------------------------------------------------------------------------------------------

# Status, name and class of every documented error.
DOCUMENTED = [
    (500, "application_error", UNKNOWN),
    (409, "concurrent_idempotent_requests", RUNNING),
    (429, "daily_quota_exceeded", QUOTA),
    (500, "internal_server_error", UNKNOWN),
    (422, "invalid_access", REJECTED),
    (403, "invalid_api_key", AUTH),
    (422, "invalid_attachment", REJECTED),
    (422, "invalid_from_address", AUTH),
    (400, "invalid_idempotency_key", REJECTED),
    (409, "invalid_idempotent_request", MISMATCH),
    (422, "invalid_parameter", REJECTED),
    (422, "invalid_region", AUTH),
    (405, "method_not_allowed", AUTH),
    (401, "missing_api_key", AUTH),
    (422, "missing_required_field", REJECTED),
    (422, "missing_required_fields", REJECTED),
    (429, "monthly_quota_exceeded", QUOTA),
    (404, "not_found", AUTH),
    (429, "rate_limit_exceeded", THROTTLED),
    (429, "recipient_rate_limited", DEFERRED),
    (401, "restricted_api_key", AUTH),
    (451, "security_error", REJECTED),
    (503, "service_unavailable", UNAVAILABLE),
    (400, "validation_error", REJECTED),
]


@pytest.mark.parametrize(("status", "name", "outcome"), DOCUMENTED, ids=[name for _, name, _ in DOCUMENTED])
def test_every_documented_error_is_read_as_its_class(
    status: int,
    name: str,
    outcome: OutcomeClass,
    stubbed: HttpEmailProvider,
    endpoint: StubbedEndpoint,
    caplog: pytest.LogCaptureFixture,
) -> None:
    endpoint.will(error(status, name, CHATTY))
    assert read_by(stubbed, EMAIL, caplog) == Outcome(outcome, name)
    assert len(endpoint.requests) == 1


def test_no_documented_error_is_left_out() -> None:
    assert {name for _, name, _ in DOCUMENTED} == set(HTTP_EMAIL)


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (301, UNAVAILABLE),
        (307, UNAVAILABLE),
        (400, UNAVAILABLE),
        (401, AUTH),
        (403, AUTH),
        (404, UNAVAILABLE),
        (408, UNKNOWN),
        (409, RUNNING),
        (422, UNAVAILABLE),
        (429, THROTTLED),
        (500, UNKNOWN),
        (502, UNKNOWN),
        (503, UNAVAILABLE),
        (504, UNKNOWN),
        (599, UNKNOWN),
    ],
)
def test_an_error_that_nobody_has_seen_is_read_by_its_status(
    status: int,
    outcome: OutcomeClass,
    stubbed: HttpEmailProvider,
    endpoint: StubbedEndpoint,
    caplog: pytest.LogCaptureFixture,
) -> None:
    headers = {"Location": f"{endpoint.url}/elsewhere"}  # nobody follows it with a customer's email in hand
    endpoint.will(error(status, "brand_new", CHATTY, headers))
    assert read_by(stubbed, EMAIL, caplog) == Outcome(outcome, "brand_new")
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize(
    "body",
    [
        json.dumps({"name": CHATTY}),
        json.dumps({"name": {"of": EMAIL_ADDRESS}}),
        json.dumps({"name": None}),
        json.dumps([EMAIL_ADDRESS]),
        json.dumps(EMAIL_ADDRESS),
        EMAIL_ADDRESS,
        "[" * 60_000,
        "",
    ],
)
def test_an_error_s_words_are_never_taken_for_its_name(
    body: str, stubbed: HttpEmailProvider, endpoint: StubbedEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    endpoint.will(Reply(422, body.encode()))
    assert read_by(stubbed, EMAIL, caplog) == Outcome(UNAVAILABLE, "unnamed")


@pytest.mark.parametrize(
    "reply",
    [
        answer({"id": 7}),
        answer({}),
        answer({"id": "e-1", "padding": "x" * ANSWER_LIMIT}),
        Reply(200, b"[]"),
        Reply(200, b"null"),
        Reply(200, b"\xff\xfe"),
        Reply(204),
        Reply(200, b"not gzip", {"Content-Encoding": "gzip"}),
    ],
    ids=["a number", "no id", "endless", "a list", "null", "no text", "no content", "not what it says"],
)
def test_a_success_that_names_no_email_may_stand_for_one(
    reply: Reply, stubbed: HttpEmailProvider, endpoint: StubbedEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    endpoint.will(reply)
    assert read_by(stubbed, EMAIL, caplog).outcome is UNKNOWN


@pytest.mark.parametrize("reply", [SILENCE, RESET], ids=["silence", "reset"])
def test_a_connection_that_broke_is_not_used_again(
    reply: Reply, stubbed: HttpEmailProvider, endpoint: StubbedEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    endpoint.will(reply, answer({"id": "e-1"}))
    assert read_by(stubbed, EMAIL, caplog).outcome is UNKNOWN
    assert read_by(stubbed, EMAIL, caplog) == Outcome(ACCEPTED, "ok", "e-1")


# --- the provider's key, and the options ------------------------------------------------------------------------------


def test_a_wrong_api_key_halts_and_sends_nothing(
    simulator: ProviderSimulator, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    with connected(simulator.url, clock, api_key="canary-wrong") as provider:
        assert read_by(provider, EMAIL, caplog) == Outcome(AUTH, "invalid_api_key")
    assert not simulator.provider.operations


@pytest.mark.parametrize(("passing", "outcome"), [(True, UNAVAILABLE), (False, AUTH)])
def test_a_key_that_cannot_be_read_halts_unless_it_may_be_there_in_a_moment(
    *, passing: bool, outcome: OutcomeClass, provider: HttpEmailProvider, simulator: ProviderSimulator
) -> None:
    def unreadable() -> str:
        raise SecretError("AnyException", passing=passing)

    keyless = replace(provider, api_key=unreadable)
    assert keyless.send(DELIVERY, EMAIL) == Outcome(outcome, "api_key_AnyException")
    assert keyless.look_up(DELIVERY) == Sighting(Sight.NO_ANSWER)
    assert not simulator.provider.calls


def test_a_text_message_is_refused_before_it_reaches_the_provider(
    provider: HttpEmailProvider, simulator: ProviderSimulator, caplog: pytest.LogCaptureFixture
) -> None:
    assert read_by(provider, TEXT, caplog) == Outcome(REJECTED, "not_an_email")
    assert not simulator.provider.calls


def test_the_settings_choose_it_and_its_key_comes_from_secrets_manager(
    simulator: ProviderSimulator, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name, value in TESTING.items():
        monkeypatch.setenv(name, value)
    options = {"url": simulator.url, "api_key_secret": "email-key", "lookup_window_s": 3600}
    choice = ProviderChoice("http", json.dumps(options), TIMEOUT_S)
    with mock_aws():
        provider = make_provider(choice)
        assert read_by(provider, EMAIL, caplog) == Outcome(AUTH, "api_key_ResourceNotFoundException")
        boto3.client("secretsmanager").create_secret(Name="email-key", SecretString=f" {API_KEY}\n")
        assert read_by(provider, EMAIL, caplog).outcome is ACCEPTED
        guarantee, witness = guarantee_and_witness(choice)
        assert witness is not None
        assert witness.look_up(DELIVERY).sight is Sight.ACCEPTED
    assert (guarantee.dedupe, guarantee.lookup_window) == (Dedupe.LOOKUP, timedelta(hours=1))


def test_a_rotated_key_is_noticed_within_minutes_and_a_lost_one_at_once(
    clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in TESTING.items():
        monkeypatch.setenv(name, value)
    with mock_aws():
        client = boto3.client("secretsmanager")
        client.create_secret(Name="email-key", SecretString="canary-old")
        secret = Secret(client, "email-key", clock=clock)
        assert secret() == "canary-old"
        client.put_secret_value(SecretId="email-key", SecretString="canary-new")
        assert secret() == "canary-old"
        clock.advance(KEPT_FOR)
        assert secret() == "canary-new"
        client.delete_secret(SecretId="email-key", ForceDeleteWithoutRecovery=True)
        clock.advance(KEPT_FOR)
        with pytest.raises(SecretError, match=r"^ResourceNotFoundException$") as lost:
            secret()
    assert not lost.value.passing


@pytest.mark.parametrize("held", ["", "  ", "canary\nkey", "canary-\N{GREEK SMALL LETTER ALPHA}"])
def test_a_key_that_cannot_stand_in_a_header_is_not_sent_and_not_quoted(
    held: str, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in TESTING.items():
        monkeypatch.setenv(name, value)
    with mock_aws():
        client = boto3.client("secretsmanager")
        client.create_secret(Name="email-key", SecretString=held or "x")
        if not held:
            client.put_secret_value(SecretId="email-key", SecretBinary=b"canary")
        with pytest.raises(SecretError, match=r"^NotPlainText$"):
            Secret(client, "email-key", clock=clock)()


def test_a_held_key_outlives_a_troubled_secrets_manager(clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in TESTING.items():
        monkeypatch.setenv(name, value)
    with mock_aws():
        boto3.client("secretsmanager").create_secret(Name="email-key", SecretString="canary-held")
        secret = Secret(boto3.client("secretsmanager"), "email-key", clock=clock)
        assert secret() == "canary-held"
    clock.advance(KEPT_FOR)
    with refusing_url() as url:
        secret._client = boto3.client("secretsmanager", endpoint_url=url, config=SECRETS)
        assert secret() == "canary-held"
        with pytest.raises(SecretError, match=r"^EndpointConnectionError$"):
            Secret(secret._client, "email-key", clock=clock)()


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("http://mail.example.com", "must begin with https://"),
        ("ftp://127.0.0.1", "must begin with https://"),
        ("mail.example.com", "must begin with https://"),
        ("https://", "must name a host"),
        ("https://mail.example.com/?key=1", "nothing after it"),
    ],
)
def test_emails_leave_encrypted_or_stay_on_this_machine(url: str, says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        HttpEmailOptions(url=url, api_key_secret="email-key")


def test_what_it_promises_follows_from_its_windows() -> None:
    options = HttpEmailOptions(url="https://mail.example.com/v1/", api_key_secret="email-key")
    assert options.url == "https://mail.example.com/v1"
    assert (options.guarantee.dedupe, options.guarantee.window) == (Dedupe.WINDOW, timedelta(hours=24))
    asked = options.model_copy(update={"lookup_window_s": 60})
    assert asked.guarantee.dedupe is Dedupe.LOOKUP


def _await(reached: Any) -> None:
    deadline = time.monotonic() + 5
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def speak_tls(endpoint: StubbedEndpoint, folder: Path) -> None:
    """Let the endpoint answer over TLS, with a certificate that it has signed itself."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*make_ssl_devcert(str(folder / "impostor"), host="localhost"))
    server = endpoint._server._server
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
