"""Where a webhook really goes: whatever a name leads to, and however often that changes, only to what was judged."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.adapters.dns import resolve
from functions.adapters.providers.webhook import WebhookProvider
from functions.core.delivery import Status
from functions.core.envelope import WebhookEnvelope
from functions.core.identity import Channel
from functions.core.outcome import Outcome, OutcomeClass
from functions.core.webhook_address import PORTS, is_public
from tests.fakes.clock import FakeClock
from tests.fakes.examples import AN_ENDPOINT, a_delivery
from tests.unit.test_webhook_address import forbidden_4, forbidden_6, spellings_of_4, spellings_of_6

URL: Final = "https://hooks.example.com:8443/canary-token-4170"
DELIVERY: Final = a_delivery(channel=Channel.WEBHOOK, status=Status.SENDING, attempt=1)
BLOCKED: Final = Outcome(OutcomeClass.REJECTED, "address_refused")
NOT_CONNECTED: Final = Outcome(OutcomeClass.UNAVAILABLE, "not_connected")

public = (
    (st.integers(0, 2**32 - 1).map(IPv4Address) | st.integers(0x20 << 120, 0x40 << 120).map(IPv6Address))
    .map(str)
    .filter(is_public)
)
forbidden = (forbidden_4 | forbidden_6).map(str)
answers = st.lists(public | forbidden, min_size=1, max_size=5)


@dataclass
class Internet:
    """Name servers that say something else each time, and a network on which every connection is refused."""

    told: list[Sequence[str]]
    asked: list[str] = field(default_factory=list)
    called: list[tuple[str, int]] = field(default_factory=list)

    def getaddrinfo(self, host: str, *_: object, **__: object) -> list[Any]:
        self.asked.append(host)
        return [_found(one) for one in self.told.pop(0)]

    def connect(self, address: tuple[str, int], *_: object, **__: object) -> socket.socket:
        self.called.append(address[:2])
        raise ConnectionRefusedError


def _found(address: str) -> Any:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return family, socket.SOCK_STREAM, 6, "", (address, 0)


def sent_on(internet: Internet, url: str = URL) -> Outcome:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("functions.adapters.dns.socket.getaddrinfo", internet.getaddrinfo)
        patch.setattr("urllib3.util.connection.create_connection", internet.connect)
        return WebhookProvider(FakeClock(), 5, resolve=resolve).send(DELIVERY, WebhookEnvelope(url, "{}", AN_ENDPOINT))


@given(st.lists(answers, min_size=1, max_size=4))
def test_whatever_name_servers_say_next_only_what_was_judged_is_called(told: list[list[str]]) -> None:
    internet = Internet(list(told))
    for one in told:
        before = len(internet.called)
        outcome = sent_on(internet)
        may_be_called = all(is_public(address) for address in one)
        assert outcome == (NOT_CONNECTED if may_be_called else BLOCKED)
        assert len(internet.called) - before == may_be_called
    assert all(is_public(address) and port in PORTS for address, port in internet.called)
    assert internet.asked == ["hooks.example.com."] * len(told)  # nobody asks again in order to connect


@given(st.lists(public, max_size=4), forbidden, st.data())
def test_one_forbidden_answer_condemns_a_name_wherever_it_stands(
    others: list[str], bad: str, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(others)))
    internet = Internet([[*others[:place], bad, *others[place:]]])
    assert sent_on(internet) == BLOCKED
    assert internet.called == []


def _spelled() -> Iterator[st.SearchStrategy[str]]:
    yield forbidden_4.flatmap(lambda address: st.sampled_from(spellings_of_4(address)))
    yield forbidden_6.flatmap(lambda address: st.sampled_from(spellings_of_6(address)))


@given(
    st.one_of(*_spelled()),
    st.sampled_from(
        ["https://{}/", "https://{}:8443/", "HTTPS://{}", "https://me@{}/", "https://{}@{}/", "http://{}/"]
    ),
)
def test_an_address_that_got_on_record_in_any_spelling_is_neither_resolved_nor_called(spelled: str, form: str) -> None:
    internet = Internet([])
    assert sent_on(internet, form.format(spelled, spelled)) == BLOCKED
    assert (internet.asked, internet.called) == ([], [])
