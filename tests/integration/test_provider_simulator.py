"""The simulated email provider itself: how it is told what to do, and what it remembers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import urllib3
from pydantic import ValidationError

from ops.local.provider_faults import UNCLEAR, FaultKind, ProviderFault
from ops.local.provider_simulator import API_KEY, ProviderSimulator
from ops.local.simulated_provider import KEY_WINDOW

ROOT = Path(__file__).resolve().parents[2]
ADA, BOB = "ada@example.com", "bob@example.com"
KEY = "digest:c-1:2026-11-16:email"

Ask = Callable[..., urllib3.BaseHTTPResponse]


@pytest.fixture
def simulator() -> Iterator[ProviderSimulator]:
    with ProviderSimulator(seed=417) as running:
        yield running


@pytest.fixture
def pool() -> Iterator[urllib3.PoolManager]:
    with urllib3.PoolManager(retries=False, timeout=5, maxsize=8) as one:
        yield one


@pytest.fixture
def send(simulator: ProviderSimulator, pool: urllib3.PoolManager) -> Ask:
    def ask(to: str = ADA, *, key: str | None = KEY, **differing: Any) -> urllib3.BaseHTTPResponse:
        email = {"from": "shop@example.com", "to": [to], "subject": "Hi", "html": "<p>Hi", "text": "Hi", **differing}
        headers = {"Authorization": f"Bearer {API_KEY}", **({} if key is None else {"Idempotency-Key": key})}
        return pool.request("POST", f"{simulator.url}/emails", json=email, headers=headers)

    return ask


@pytest.fixture
def control(simulator: ProviderSimulator, pool: urllib3.PoolManager) -> Ask:
    def ask(method: str, name: str, content: object = None) -> urllib3.BaseHTTPResponse:
        return pool.request(method, f"{simulator.url}/_simulator/{name}", body=json.dumps(content))

    return ask


# --- faults -----------------------------------------------------------------------------------------------------------


def test_a_fault_happens_as_often_as_it_was_told_and_then_all_is_well(simulator: ProviderSimulator, send: Ask) -> None:
    simulator.provider.will(ProviderFault(kind=FaultKind.RATE_LIMITED, times=2))
    assert [send().status for _ in range(3)] == [429, 429, 200]


def test_one_customer_is_rate_limited_while_everybody_else_goes_through(
    simulator: ProviderSimulator, send: Ask
) -> None:
    simulator.provider.will(ProviderFault(kind=FaultKind.RECIPIENT_RATE_LIMITED, to=ADA, times=None, retry_after="20"))
    limited = send(ADA, key="a")
    assert (limited.status, limited.json()["name"], limited.headers["Retry-After"]) == (
        429,
        "recipient_rate_limited",
        "20",
    )
    assert {send(BOB, key=f"b-{number}").status for number in range(5)} == {200}
    assert send(ADA, key="a").status == 429


def test_faults_follow_each_other_in_the_order_in_which_they_were_told(simulator: ProviderSimulator, send: Ask) -> None:
    kinds = (FaultKind.UNAVAILABLE, FaultKind.BAD_GATEWAY, FaultKind.REJECTED)
    simulator.provider.will(*(ProviderFault(kind=kind) for kind in kinds))
    assert [send().status for _ in range(4)] == [503, 502, 422, 200]


def test_chance_is_the_seed_s_alone_whatever_the_order_of_the_requests() -> None:
    def struck(keys: list[str], seed: int) -> set[str]:
        with ProviderSimulator(seed=seed) as simulator, urllib3.PoolManager(retries=False) as pool:
            simulator.provider.will(ProviderFault(kind=FaultKind.UNAVAILABLE, share=0.3, times=None))
            for key in keys:
                email = {"from": "s@example.com", "to": [ADA], "subject": "Hi", "html": "Hi", "text": "Hi"}
                headers = {"Authorization": f"Bearer {API_KEY}", "Idempotency-Key": key}
                pool.request("POST", f"{simulator.url}/emails", json=email, headers=headers)
            return {str(call.key) for call in simulator.provider.calls if call.ended.startswith("503")}

    keys = [f"key-{number}" for number in range(60)]
    assert struck(keys, 1) == struck(keys[::-1], 1) != struck(keys, 2)
    assert 5 < len(struck(keys, 1)) < 35


@pytest.mark.parametrize("kind", sorted(set(FaultKind) - UNCLEAR))
def test_a_clear_refusal_cannot_have_accepted(kind: FaultKind) -> None:
    with pytest.raises(ValidationError, match=f"accepting: a provider that answers {kind} has not accepted"):
        ProviderFault(kind=kind, accepting=True)


def test_a_header_has_one_value() -> None:
    with pytest.raises(ValidationError, match="retry_after, retry_after_date_s: the header has one value"):
        ProviderFault(kind=FaultKind.RATE_LIMITED, retry_after="1", retry_after_date_s=1)


# --- what it remembers ------------------------------------------------------------------------------------------------


def test_every_accepted_operation_is_recorded_with_key_recipient_and_body(
    simulator: ProviderSimulator, send: Ask
) -> None:
    first, again, other = send(), send(), send(BOB, key="other")
    assert first.json() == again.json() != other.json()
    assert "Idempotent-Replayed" not in first.headers
    assert again.headers["Idempotent-Replayed"] == "true"
    assert [(one.key, one.to) for one in simulator.provider.operations] == [(KEY, ADA), ("other", BOB)]
    assert [call.ended for call in simulator.provider.calls] == ["200", "200 replayed", "200"]
    assert ADA not in repr((simulator.provider.operations, simulator.provider.calls))


def test_twenty_at_once_with_one_key_are_one_operation(simulator: ProviderSimulator, send: Ask) -> None:
    simulator.provider.will(ProviderFault(kind=FaultKind.SLOW, delay_s=0.1))
    with ThreadPoolExecutor(8) as many:
        statuses = [one.result().status for one in [many.submit(send) for _ in range(20)]]
    assert set(statuses) <= {200, 409}
    assert len(simulator.provider.operations) == 1


def test_without_a_key_every_request_is_an_operation(simulator: ProviderSimulator, send: Ask) -> None:
    assert send(key=None).status == send(key=None).status == 200
    assert len(simulator.provider.operations) == 2
    assert not simulator.provider.performed_more_than_once()


@pytest.mark.parametrize(
    ("differing", "name"),
    [
        ({"to": "nobody"}, "validation_error"),
        ({"subject": ""}, "missing_required_field"),
        ({"attachments": []}, "missing_required_field"),
        ({"tags": [{"name": "delivery_id", "value": "digest.c-1.2026-11-16.email"}]}, "validation_error"),
        ({"key": "k" * 257}, "invalid_idempotency_key"),
    ],
)
def test_what_a_real_provider_would_refuse_is_refused(
    differing: dict[str, Any], name: str, simulator: ProviderSimulator, send: Ask
) -> None:
    refused = send(**differing)
    assert refused.status in {400, 422}
    assert refused.json()["name"] == name
    assert not simulator.provider.operations


@pytest.mark.parametrize(
    ("headers", "path", "method", "status", "name"),
    [
        ({}, "/emails", "POST", 401, "missing_api_key"),
        ({"Authorization": "Bearer guessed"}, "/emails", "POST", 403, "invalid_api_key"),
        ({"Authorization": f"Bearer {API_KEY}"}, "/email", "POST", 404, "not_found"),
        ({"Authorization": f"Bearer {API_KEY}"}, "/emails", "DELETE", 405, "method_not_allowed"),
        ({"Authorization": f"Bearer {API_KEY}"}, "/emails", "GET", 400, "missing_required_field"),
    ],
)
def test_whoever_asks_wrongly_is_told_so(
    headers: dict[str, str],
    path: str,
    method: str,
    status: int,
    name: str,
    simulator: ProviderSimulator,
    pool: urllib3.PoolManager,
) -> None:
    told = pool.request(method, simulator.url + path, headers=headers)
    assert (told.status, told.json()["name"]) == (status, name)


# --- from another process ---------------------------------------------------------------------------------------------


def test_another_process_can_script_it_and_see_what_happened(send: Ask, control: Ask) -> None:
    told = control("POST", "faults", [{"kind": "reset", "to": ADA, "accepting": True}, {"kind": "hang", "to": BOB}])
    assert [fault["kind"] for fault in told.json()["faults"]] == ["reset", "hang"]
    with pytest.raises(urllib3.exceptions.ProtocolError):
        send()
    assert [fault["kind"] for fault in control("GET", "faults").json()["faults"]] == ["hang"]
    assert control("DELETE", "faults").json() == {"faults": []}
    assert send(BOB, key="b").status == 200
    seen = control("GET", "operations").json()
    assert [(one["key"], one["to"]) for one in seen["operations"]] == [(KEY, ADA), ("b", BOB)]
    assert [call["ended"] for call in seen["calls"]] == ["reset", "200"]
    assert seen["performed_more_than_once"] == {}


def test_its_clock_can_be_moved_past_the_window_of_its_keys(send: Ask, control: Ask) -> None:
    send()
    assert control("POST", "clock", {"advance_s": int(KEY_WINDOW.total_seconds()) - 60}).status == 200
    assert "Idempotent-Replayed" in send().headers
    control("POST", "clock", {"advance_s": 60})
    assert "Idempotent-Replayed" not in send().headers
    assert control("GET", "operations").json()["performed_more_than_once"] == {KEY: 2}


def test_an_email_is_found_by_its_key_for_as_long_as_look_ups_reach(pool: urllib3.PoolManager) -> None:
    with ProviderSimulator(lookup_window=timedelta(hours=1)) as simulator:
        headers = {"Authorization": f"Bearer {API_KEY}", "Idempotency-Key": "k"}
        email = {"from": "s@example.com", "to": [ADA], "subject": "Hi", "html": "Hi", "text": "Hi"}
        sent = pool.request("POST", f"{simulator.url}/emails", json=email, headers=headers).json()
        url = f"{simulator.url}/emails?idempotency_key=k"
        assert pool.request("GET", url, headers=headers).json() == {"data": [{**sent, "status": "sent"}]}
        simulator.provider.advance(timedelta(hours=2))
        assert pool.request("GET", url, headers=headers).json() == {"data": []}


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("faults", {"kind": "reset", "too": ADA}, "0.too: Extra inputs are not permitted"),
        ("faults", {"kind": "explode"}, "0.kind: Input should be 'slow', 'rate_limited'"),
        ("faults", {"kind": "reset", "times": 0}, "0.times: Input should be greater than or equal to 1"),
        ("clock", {"advance_s": -1}, "advance_s: Input should be greater than or equal to 0"),
        ("clok", {}, "there is no POST /_simulator/clok"),
    ],
)
def test_a_slip_in_a_script_is_named(name: str, content: object, says: str, control: Ask) -> None:
    refused = control("POST", name, content)
    assert refused.status in {400, 404}
    assert says in str(refused.json()["error"])


def test_it_runs_as_a_process_of_its_own_until_it_is_told_to_end(pool: urllib3.PoolManager) -> None:
    command = [sys.executable, "-m", "ops.local.provider_simulator", "--api-key", "another"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=dict(os.environ)) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip().removeprefix("Listening on ")
        assert pool.request("GET", f"{url}/_simulator/operations").json()["operations"] == []
        port = url.rpartition(":")[2]
        second = subprocess.run([*command, "--port", port], check=False, cwd=ROOT, capture_output=True, text=True)
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
    assert second.returncode == 1
    assert second.stderr == f"--port: cannot listen on 127.0.0.1:{port}: Address already in use; 0 takes a free one\n"
