"""End User Messaging for text messages: what each of its answers, and each way of getting none, is read as."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from botocore.loaders import Loader

from functions.adapters.environment import ProviderChoice
from functions.adapters.providers import guarantee_and_witness, make_provider
from functions.adapters.providers.eum import LONGEST_LIFE_S, SHORTEST_LIFE_S, EumOptions, EumProvider
from functions.core.identity import Channel
from functions.core.outcome import Dedupe, Outcome, OutcomeClass
from functions.core.provider_codes import EUM, EUM_REASONS
from ops.local.loopback_server import RESET, SILENCE, Reply
from tests.fakes.clock import FakeClock
from tests.fakes.examples import PHONE_NUMBER, a_delivery
from tests.integration.provider_contract import (
    ANY_AWS_SERVICE,
    CHATTY,
    EMAIL,
    TESTING,
    TEXT,
    TIMEOUT_S,
    UNSEEN,
    StubbedEndpoint,
    read_by,
    refusing_url,
)

ACCEPTED, AUTH, QUOTA = OutcomeClass.ACCEPTED, OutcomeClass.AUTH, OutcomeClass.QUOTA
REJECTED, THROTTLED = OutcomeClass.REJECTED, OutcomeClass.THROTTLED
UNAVAILABLE, UNKNOWN = OutcomeClass.UNAVAILABLE, OutcomeClass.UNKNOWN
POOL = "arn:aws:sms-voice:us-east-1:123456789012:pool/pool-0a1b2c"
OPTIONS = EumOptions(origination_identity=POOL, origin="DigestDelivery-us")

# Status, code and class of every documented error of SendTextMessage, and of those that any AWS service may give.
# https://docs.aws.amazon.com/pinpoint/latest/apireference_smsvoicev2/API_SendTextMessage.html#API_SendTextMessage_Errors
DOCUMENTED = [
    *ANY_AWS_SERVICE,
    (400, "AccessDeniedException", AUTH),
    (400, "ConflictException", UNAVAILABLE),
    (500, "InternalServerException", UNKNOWN),
    (400, "ResourceNotFoundException", AUTH),
    (400, "ServiceQuotaExceededException", QUOTA),
]
# The error that gives a reason, the reason, and the class.
REASONS = [
    ("AccessDeniedException", "ACCOUNT_DISABLED", AUTH),
    ("AccessDeniedException", "INSUFFICIENT_ACCOUNT_REPUTATION", AUTH),
    ("ConflictException", "DESTINATION_COUNTRY_BLOCKED_BY_PROTECT_CONFIGURATION", REJECTED),
    ("ConflictException", "DESTINATION_PHONE_NUMBER_BLOCKED_BY_PROTECT_NUMBER_OVERRIDE", REJECTED),
    ("ConflictException", "DESTINATION_PHONE_NUMBER_NOT_VERIFIED", AUTH),
    ("ConflictException", "DESTINATION_PHONE_NUMBER_OPTED_OUT", REJECTED),
    ("ConflictException", "MESSAGE_TYPE_MISMATCH", AUTH),
    ("ConflictException", "NO_ORIGINATION_IDENTITIES_FOUND", REJECTED),
    ("ConflictException", "NUMBER_CAPABILITIES_MISMATCH", AUTH),
    ("ConflictException", "REGISTRATION_NOT_COMPLETE", AUTH),
    ("ConflictException", "RESOURCE_NOT_ACTIVE", AUTH),
    ("ServiceQuotaExceededException", "MONTHLY_SPEND_LIMIT_REACHED_FOR_TEXT", QUOTA),
    ("ValidationException", "CHANNEL_NOT_ENABLED", AUTH),
    ("ValidationException", "COUNTRY_CODE_MISMATCH", REJECTED),
    ("ValidationException", "COUNTRY_NOT_ENABLED", REJECTED),
    ("ValidationException", "DESTINATION_COUNTRY_BLOCKED", REJECTED),
    ("ValidationException", "INTERNATIONAL_SENDING_NOT_SUPPORTED", REJECTED),
    ("ValidationException", "INVALID_ARN", AUTH),
    ("ValidationException", "INVALID_IDENTITY_FOR_DESTINATION_COUNTRY", REJECTED),
    ("ValidationException", "PRICE_OVER_THRESHOLD", REJECTED),
    ("ValidationException", "RESOURCE_NOT_ACCESSIBLE", AUTH),
    ("ValidationException", "SENDER_ID_NOT_REGISTERED", REJECTED),
    ("ValidationException", "SENDER_ID_NOT_SUPPORTED", REJECTED),
    ("ValidationException", "SENDER_ID_REQUIRES_REGISTRATION", REJECTED),
]
_JSON = {"Content-Type": "application/x-amz-json-1.0"}


def eum_accepted(message_id: str = "eum-1") -> Reply:
    return Reply(200, json.dumps({"MessageId": message_id} if message_id else {}).encode(), _JSON)


def eum_error(code: str, status: int = 400, reason: str | None = None) -> Reply:
    said: dict[str, Any] = {"__type": f"com.amazonaws.pinpointsmsvoicev2#{code}", "Message": CHATTY}
    if reason is not None:
        said["Reason"] = reason
    return Reply(status, json.dumps(said).encode(), _JSON)


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[StubbedEndpoint]:
    with StubbedEndpoint() as stubbed:
        for name, value in {**TESTING, "AWS_ENDPOINT_URL_PINPOINT_SMS_VOICE_V2": stubbed.url}.items():
            monkeypatch.setenv(name, value)
        yield stubbed


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def a_provider(clock: FakeClock, options: EumOptions = OPTIONS) -> EumProvider:
    return EumProvider.with_timeout(TIMEOUT_S, options, clock=clock)


@pytest.fixture
def provider(endpoint: StubbedEndpoint, clock: FakeClock) -> Iterator[EumProvider]:  # noqa: ARG001 - sets the environment
    made = a_provider(clock)
    yield made
    made._client.close()


def answered(provider: EumProvider, endpoint: StubbedEndpoint, reply: Reply, log: pytest.LogCaptureFixture) -> Outcome:
    """What the reply is read as; whatever it is, nobody asks twice."""
    endpoint.will(reply)
    outcome = read_by(provider, TEXT, log)
    assert len(endpoint.requests) == 1
    assert outcome.retry_at is None
    return outcome


def sent(endpoint: StubbedEndpoint) -> dict[str, Any]:
    (request,) = endpoint.requests
    assert request.headers["x-amz-target"] == "PinpointSMSVoiceV2.SendTextMessage"
    told: dict[str, Any] = json.loads(request.body)
    return told


@pytest.mark.parametrize(("status", "code", "outcome"), DOCUMENTED, ids=[code for _, code, _ in DOCUMENTED])
def test_every_documented_error_is_read_as_its_class(
    status: int,
    code: str,
    outcome: OutcomeClass,
    provider: EumProvider,
    endpoint: StubbedEndpoint,
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert answered(provider, endpoint, eum_error(code, status), caplog) == Outcome(outcome, code)


@pytest.mark.parametrize(("code", "reason", "outcome"), REASONS, ids=[reason for _, reason, _ in REASONS])
def test_a_reason_says_more_than_its_error(
    code: str,
    reason: str,
    outcome: OutcomeClass,
    provider: EumProvider,
    endpoint: StubbedEndpoint,
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert answered(provider, endpoint, eum_error(code, 400, reason), caplog) == Outcome(outcome, reason)


def test_no_documented_error_is_left_out_and_no_reason_made_up() -> None:
    model = Loader().load_service_model("pinpoint-sms-voice-v2", "service-2")
    documented = {error["shape"] for error in model["operations"]["SendTextMessage"]["errors"]}
    assert {code for _, code, _ in DOCUMENTED} == set(EUM) >= documented
    known = {
        reason
        for name, shape in model["shapes"].items()
        if name.endswith("ExceptionReason")
        for reason in shape["enum"]
    }
    assert {reason for _, reason, _ in REASONS} == set(EUM_REASONS) <= known


def test_a_reason_that_says_nothing_more_leaves_the_error_s_own_class(
    provider: EumProvider, endpoint: StubbedEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    reply = eum_error("ValidationException", 400, "INVALID_PARAMETER")
    assert answered(provider, endpoint, reply, caplog) == Outcome(REJECTED, "ValidationException")


@pytest.mark.parametrize(("status", "outcome"), UNSEEN, ids=[str(status) for status, _ in UNSEEN])
def test_a_code_that_nobody_has_seen_is_read_by_its_status(
    status: int,
    outcome: OutcomeClass,
    provider: EumProvider,
    endpoint: StubbedEndpoint,
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert answered(provider, endpoint, eum_error("BrandNew", status), caplog) == Outcome(outcome, "BrandNew")


def test_an_accepted_text_is_known_by_its_message_id(
    provider: EumProvider, endpoint: StubbedEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    assert answered(provider, endpoint, eum_accepted("eum-7"), caplog) == Outcome(ACCEPTED, "ok", "eum-7")


def test_a_text_carries_our_id_where_its_events_will_show_it_and_comes_from_our_pool(
    provider: EumProvider, endpoint: StubbedEndpoint
) -> None:
    endpoint.will(eum_accepted())
    delivery = a_delivery(channel=Channel.SMS)
    provider.send(delivery, TEXT)
    request = sent(endpoint)
    assert request["Context"] == {**delivery.delivery_id.as_tags(), "origin": "DigestDelivery-us"}
    assert len(request["Context"]) <= 5  # all that the API takes
    assert (request["DestinationPhoneNumber"], request["MessageBody"]) == (PHONE_NUMBER, TEXT.body)
    assert (request["OriginationIdentity"], request["MessageType"]) == (POOL, "TRANSACTIONAL")
    assert not {"ConfigurationSetName", "MaxPrice"} & set(request)


def test_what_the_settings_say_of_price_and_configuration_set_goes_with_every_text(
    endpoint: StubbedEndpoint, clock: FakeClock
) -> None:
    endpoint.will(eum_accepted())
    provider = a_provider(clock, OPTIONS.model_copy(update={"configuration_set": "ours", "max_price": "0.50"}))
    provider.send(a_delivery(channel=Channel.SMS), TEXT)
    provider._client.close()
    assert (sent(endpoint)["ConfigurationSetName"], sent(endpoint)["MaxPrice"]) == ("ours", "0.50")


@pytest.mark.parametrize(
    ("left", "life_s"),
    [
        (timedelta(hours=2), 7200),
        (timedelta(seconds=1), SHORTEST_LIFE_S),
        (timedelta(hours=-1), SHORTEST_LIFE_S),
        (timedelta(days=6), LONGEST_LIFE_S),
    ],
)
def test_a_text_that_is_still_on_its_way_when_its_delivery_expires_is_not_brought(
    provider: EumProvider, endpoint: StubbedEndpoint, clock: FakeClock, left: timedelta, life_s: int
) -> None:
    endpoint.will(eum_accepted())
    provider.send(replace(a_delivery(channel=Channel.SMS), expires_at=clock() + left), TEXT)
    assert sent(endpoint)["TimeToLive"] == life_s


@pytest.mark.parametrize(
    "reply",
    [
        Reply(200, b"<html>Welcome to the hotel's network</html>", {"Content-Type": "text/html"}),
        Reply(200, b"Welcome", {"Content-Type": "text/plain"}),
        eum_accepted(message_id=""),
    ],
    ids=["a page", "plain text", "no id"],
)
def test_an_answer_that_cannot_be_read_may_stand_for_an_accepted_text(
    reply: Reply, provider: EumProvider, endpoint: StubbedEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    assert answered(provider, endpoint, reply, caplog) == Outcome(UNKNOWN, "UnreadableAnswer")


def test_a_provider_that_never_answers_is_given_up_in_time_and_may_have_sent(
    provider: EumProvider, endpoint: StubbedEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    began = time.monotonic()
    assert answered(provider, endpoint, SILENCE, caplog) == Outcome(UNKNOWN, "ReadTimeoutError")
    assert time.monotonic() - began < TIMEOUT_S + 0.5


def test_a_connection_that_breaks_after_the_request_leaves_it_open_whether_it_was_sent(
    provider: EumProvider, endpoint: StubbedEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    outcome = answered(provider, endpoint, RESET, caplog)
    assert outcome.outcome is UNKNOWN
    assert outcome.code in {"ConnectionClosedError", "HTTPClientError"}


def test_a_refused_connection_sent_nothing(
    endpoint: StubbedEndpoint, clock: FakeClock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with refusing_url() as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL_PINPOINT_SMS_VOICE_V2", url)
        refused = read_by(a_provider(clock), TEXT, caplog)
    assert refused == Outcome(UNAVAILABLE, "EndpointConnectionError")
    assert not endpoint.requests


def test_an_email_is_refused_before_it_reaches_the_service(
    provider: EumProvider, endpoint: StubbedEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    assert read_by(provider, EMAIL, caplog) == Outcome(REJECTED, "NotAText")
    assert not endpoint.requests


def test_the_settings_choose_it_by_name_and_it_knows_no_key(endpoint: StubbedEndpoint) -> None:  # noqa: ARG001 - sets the environment
    choice = ProviderChoice("eum", OPTIONS.model_dump_json(), TIMEOUT_S)
    made = make_provider(choice)
    assert isinstance(made, EumProvider)
    made._client.close()
    guarantee, witness = guarantee_and_witness(choice)
    assert (guarantee.dedupe, witness) == (Dedupe.NONE, None)
