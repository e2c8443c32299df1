"""Whether a delivery may be sent to this person, at the last moment."""

from __future__ import annotations

from typing import Any

import pytest

from functions.core.customer import Consent, Profile
from functions.core.delivery import SkipReason
from functions.core.eligibility import reason_to_skip
from functions.core.identity import Channel, Topic
from tests.fakes.examples import ADDRESSES, EMAIL_ADDRESS, EVERYTHING_WANTED, PHONE_NUMBER, a_delivery, a_profile

EMAIL_DIGEST = a_delivery().delivery_id
DIGEST_BY_EMAIL = (Topic.DIGEST, Channel.EMAIL)


def without_email_digest() -> dict[tuple[Topic, Channel], Consent]:
    return {asked: held for asked, held in EVERYTHING_WANTED.items() if asked != DIGEST_BY_EMAIL}


@pytest.mark.parametrize(
    ("held", "reason"),
    [
        (None, SkipReason.INACTIVE),
        (a_profile(active=False), SkipReason.INACTIVE),
        (a_profile(addresses={Channel.SMS: PHONE_NUMBER}), SkipReason.NO_ADDRESS),
        (a_profile(suppressed={Channel.EMAIL: "hard_bounce"}), SkipReason.SUPPRESSED),
        (a_profile(consent=EVERYTHING_WANTED | {DIGEST_BY_EMAIL: Consent.OPTED_OUT}), SkipReason.OPTED_OUT),
        (a_profile(consent=without_email_digest()), SkipReason.OPTED_OUT),
        (a_profile(consent={}), SkipReason.OPTED_OUT),
        (a_profile(), None),
        (a_profile(suppressed={Channel.SMS: "stop"}), None),
    ],
    ids=[
        "erased",
        "left the marketplace",
        "no address",
        "bounced before",
        "opted out",
        "never asked",
        "no consent to anything",
        "wants it",
        "only the other channel is suppressed",
    ],
)
def test_a_person_gets_only_what_may_be_sent(held: Profile | None, reason: SkipReason | None) -> None:
    assert reason_to_skip(EMAIL_DIGEST, held) is reason


@pytest.mark.parametrize("topic", Topic)
@pytest.mark.parametrize("channel", Channel)
def test_an_opt_out_holds_for_one_topic_on_one_channel(topic: Topic, channel: Channel) -> None:
    profile = a_profile(consent=EVERYTHING_WANTED | {(topic, channel): Consent.OPTED_OUT})
    for other_topic in Topic:
        for other_channel in Channel:
            delivery_id = a_delivery(topic=other_topic, channel=other_channel).delivery_id
            refused = reason_to_skip(delivery_id, profile) is SkipReason.OPTED_OUT
            assert refused is ((other_topic, other_channel) == (topic, channel))


def test_a_suppressed_address_counts_before_consent() -> None:
    differing: dict[str, Any] = {"suppressed": {Channel.EMAIL: "complaint"}, "consent": {}}
    assert reason_to_skip(EMAIL_DIGEST, a_profile(**differing)) is SkipReason.SUPPRESSED


def test_a_profile_that_lands_in_a_log_shows_no_address() -> None:
    shown = repr(a_profile(addresses=ADDRESSES))
    assert EMAIL_ADDRESS not in shown
    assert PHONE_NUMBER not in shown
