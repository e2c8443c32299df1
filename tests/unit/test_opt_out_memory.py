"""What is remembered of somebody who is erased, and that it says nothing to whoever has no key."""

from __future__ import annotations

import json

import pytest

from functions.core.customer import Consent
from functions.core.identity import Channel, Topic
from functions.core.keyring import KeyRing
from functions.core.opt_out_memory import Memory, address_mark, customer_mark, memories_of
from functions.core.receipts import SuppressionCause
from tests.conformance.opt_out_memory import OptOutMemoryConformance, Remembered
from tests.fakes.examples import ADDRESSES, CUSTOMER, EMAIL_ADDRESS, EVERYTHING_WANTED, PHONE_NUMBER, a_profile
from tests.fakes.opt_outs import InMemoryOptOutMemory


class TestInMemoryOptOutMemory(OptOutMemoryConformance):
    @pytest.fixture
    def world(self) -> Remembered:
        memory = InMemoryOptOutMemory()
        return Remembered(memory, lambda mark: (memory.held.get(mark, Memory()), memory.since.get(mark)))


KEY, OTHER = KeyRing.parse(json.dumps({"0": "k" * 40, "2026-11-01": "m" * 40}))
EMAIL_DIGEST = (Topic.DIGEST, Channel.EMAIL)


def test_somebody_who_wanted_everything_is_forgotten_altogether() -> None:
    assert memories_of(a_profile(), KEY) == {}


def test_no_answer_stays_an_open_question() -> None:
    assert memories_of(a_profile(consent={}), KEY) == {}


def test_a_topic_that_was_withdrawn_is_remembered_for_the_id_and_for_that_channels_address() -> None:
    profile = a_profile(consent={**EVERYTHING_WANTED, EMAIL_DIGEST: Consent.OPTED_OUT})
    withdrawn = Memory(frozenset({EMAIL_DIGEST}))
    assert memories_of(profile, KEY) == {
        customer_mark(CUSTOMER, KEY): withdrawn,
        address_mark(Channel.EMAIL, EMAIL_ADDRESS, KEY): withdrawn,
    }


def test_a_suppression_is_about_the_address_and_not_about_whoever_had_it() -> None:
    profile = a_profile(suppressed={Channel.SMS: "stop"})
    assert memories_of(profile, KEY) == {
        address_mark(Channel.SMS, PHONE_NUMBER, KEY): Memory(causes=frozenset({SuppressionCause.STOP}))
    }


def test_of_several_causes_the_heaviest_counts() -> None:
    memory = Memory(causes=frozenset({SuppressionCause.COMPLAINT, SuppressionCause.HARD_BOUNCE}))
    assert memory.heaviest_cause is SuppressionCause.COMPLAINT
    assert Memory().heaviest_cause is None


def test_a_mailbox_is_known_again_in_any_letter_case_and_an_endpoint_is_not() -> None:
    assert address_mark(Channel.EMAIL, EMAIL_ADDRESS.upper(), KEY) == address_mark(Channel.EMAIL, EMAIL_ADDRESS, KEY)
    path = ADDRESSES[Channel.WEBHOOK]
    assert address_mark(Channel.WEBHOOK, path.upper(), KEY) != address_mark(Channel.WEBHOOK, path, KEY)


@pytest.mark.parametrize("channel", Channel)
def test_a_mark_tells_nothing_differs_with_key_and_use_and_is_no_customer_id(channel: Channel) -> None:
    address = ADDRESSES[channel]
    mark = address_mark(channel, address, KEY)
    assert address not in mark
    assert len({mark, address_mark(channel, address, OTHER), customer_mark(address, KEY)}) == 3
    assert "." in mark  # which no customer id holds
