"""Amazon SNS for text messages: what each of its answers, and each way of getting none, is read as."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import parse_qs

import pytest
from botocore.loaders import Loader
from moto import mock_aws

from functions.adapters.providers.sns import SnsProvider
from functions.core.outcome import Outcome, OutcomeClass
from functions.core.provider_codes import SNS
from ops.local.loopback_server import RESET, SILENCE, Reply
from tests.fakes.examples import PHONE_NUMBER
from tests.integration.provider_contract import (
    ANY_AWS_SERVICE,
    DELIVERY,
    EMAIL,
    TESTING,
    TEXT,
    TIMEOUT_S,
    UNSEEN,
    StubbedEndpoint,
    read_by,
    refusing_url,
    sns_accepted,
    sns_error,
)

ACCEPTED, AUTH = OutcomeClass.ACCEPTED, OutcomeClass.AUTH
REJECTED, THROTTLED = OutcomeClass.REJECTED, OutcomeClass.THROTTLED
UNAVAILABLE, UNKNOWN = OutcomeClass.UNAVAILABLE, OutcomeClass.UNKNOWN

# Status, code and class of every documented error of Publish, and of those that any AWS service may answer with.
DOCUMENTED = [
    *ANY_AWS_SERVICE,
    (400, "EndpointDisabled", REJECTED),
    (400, "EndpointDisabledException", REJECTED),
    (400, "InvalidParameter", REJECTED),
    (400, "InvalidParameterException", REJECTED),
    (403, "InvalidSecurity", AUTH),
    (400, "KMSAccessDenied", AUTH),
    (400, "KMSDisabled", AUTH),
    (400, "KMSInvalidState", AUTH),
    (400, "KMSNotFound", AUTH),
    (403, "KMSOptInRequired", AUTH),
    (400, "KMSThrottling", THROTTLED),
    (404, "NotFound", AUTH),
    (400, "OptedOut", REJECTED),
    (400, "ParameterValueInvalid", REJECTED),
    (400, "PlatformApplicationDisabled", AUTH),
]


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[StubbedEndpoint]:
    with StubbedEndpoint() as stubbed:
        for name, value in {**TESTING, "AWS_ENDPOINT_URL_SNS": stubbed.url}.items():
            monkeypatch.setenv(name, value)
        yield stubbed


@pytest.fixture
def provider(endpoint: StubbedEndpoint) -> Iterator[SnsProvider]:  # noqa: ARG001 - sets the environment
    with_client = SnsProvider.with_timeout(TIMEOUT_S)
    yield with_client
    with_client._client.close()


def answered(provider: SnsProvider, endpoint: StubbedEndpoint, reply: Reply, log: pytest.LogCaptureFixture) -> Outcome:
    """What the reply is read as; whatever it is, nobody asks twice."""
    endpoint.will(reply)
    outcome = read_by(provider, TEXT, log)
    assert len(endpoint.requests) == 1
    assert outcome.retry_at is None
    return outcome


@pytest.mark.parametrize(("status", "code", "outcome"), DOCUMENTED, ids=[code for _, code, _ in DOCUMENTED])
def test_every_documented_error_is_read_as_its_class(
    status: int,
    code: str,
    outcome: OutcomeClass,
    provider: SnsProvider,
    endpoint: StubbedEndpoint,
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert answered(provider, endpoint, sns_error(code, status), caplog) == Outcome(outcome, code)


def test_no_documented_error_is_left_out() -> None:
    model = Loader().load_service_model("sns", "service-2")
    shapes = [error["shape"] for error in model["operations"]["Publish"]["errors"]]
    of_publishing = {model["shapes"][shape]["error"]["code"] for shape in shapes}
    assert {code for _, code, _ in DOCUMENTED} == set(SNS) >= of_publishing


@pytest.mark.parametrize(("status", "outcome"), UNSEEN, ids=[str(status) for status, _ in UNSEEN])
def test_a_code_that_nobody_has_seen_is_read_by_its_status(
    status: int,
    outcome: OutcomeClass,
    provider: SnsProvider,
    endpoint: StubbedEndpoint,
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert answered(provider, endpoint, sns_error("BrandNew", status), caplog) == Outcome(outcome, "BrandNew")


def test_a_number_that_cannot_be_reached_is_this_row_s_fault_alone(
    provider: SnsProvider, endpoint: StubbedEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    text = f"Invalid parameter: PhoneNumber Reason: {PHONE_NUMBER} is not valid to publish to"
    assert answered(provider, endpoint, sns_error("InvalidParameter", 400, text), caplog) == Outcome(
        REJECTED, "InvalidParameter"
    )


@pytest.mark.parametrize("attribute", ["AWS.SNS.SMS.SenderID", "AWS.MM.SMS.OriginationNumber"])
def test_a_sender_that_is_refused_halts_the_channel_and_blames_no_number(
    attribute: str, provider: SnsProvider, endpoint: StubbedEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    text = f"Invalid parameter: MessageAttributes.{attribute} Reason: CANARY is not valid"
    refused = answered(provider, endpoint, sns_error("InvalidParameter", 400, text), caplog)
    assert refused == Outcome(AUTH, "SenderRefused")


def test_an_accepted_text_is_known_by_its_message_id(
    provider: SnsProvider, endpoint: StubbedEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    assert answered(provider, endpoint, sns_accepted("sns-7"), caplog) == Outcome(ACCEPTED, "ok", "sns-7")


@pytest.mark.parametrize(
    ("sender", "attribute"), [("SHOP", "AWS.SNS.SMS.SenderID"), ("+15550100000", "AWS.MM.SMS.OriginationNumber")]
)
def test_a_sender_is_a_name_or_a_number(
    sender: str, attribute: str, provider: SnsProvider, endpoint: StubbedEndpoint
) -> None:
    endpoint.will(sns_accepted())
    provider.send(DELIVERY, replace(TEXT, sender=sender))
    fields = {name: values[0] for name, values in parse_qs(endpoint.requests[0].body.decode()).items()}
    entries = {
        value: fields[name.replace(".Name", ".Value.StringValue")]
        for name, value in fields.items()
        if name.endswith(".Name")
    }
    assert entries == {attribute: sender, "AWS.SNS.SMS.SMSType": "Transactional"}


@pytest.mark.parametrize(
    "reply",
    [
        Reply(200, b"<html>Welcome to the hotel's network</html>", {"Content-Type": "text/html"}),
        Reply(200, b"Welcome", {"Content-Type": "text/plain"}),
        sns_accepted(message_id=""),
    ],
    ids=["a page", "plain text", "no id"],
)
def test_an_answer_that_cannot_be_read_may_stand_for_an_accepted_text(
    reply: Reply, provider: SnsProvider, endpoint: StubbedEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    assert answered(provider, endpoint, reply, caplog) == Outcome(UNKNOWN, "UnreadableAnswer")


def test_a_provider_that_never_answers_is_given_up_in_time_and_may_have_sent(
    provider: SnsProvider, endpoint: StubbedEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    began = time.monotonic()
    assert answered(provider, endpoint, SILENCE, caplog) == Outcome(UNKNOWN, "ReadTimeoutError")
    assert time.monotonic() - began < TIMEOUT_S + 2


def test_a_connection_that_breaks_after_the_request_leaves_it_open_whether_it_was_sent(
    provider: SnsProvider, endpoint: StubbedEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    outcome = answered(provider, endpoint, RESET, caplog)
    assert outcome.outcome is UNKNOWN
    assert outcome.code in {"ConnectionClosedError", "HTTPClientError"}


def test_a_refused_connection_sent_nothing(
    endpoint: StubbedEndpoint, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with refusing_url() as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL_SNS", url)
        refused = read_by(SnsProvider.with_timeout(TIMEOUT_S), TEXT, caplog)
    assert refused == Outcome(UNAVAILABLE, "EndpointConnectionError")
    assert not endpoint.requests


def test_an_email_is_refused_before_it_reaches_sns(
    provider: SnsProvider, endpoint: StubbedEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    assert read_by(provider, EMAIL, caplog) == Outcome(REJECTED, "NotAText")
    assert not endpoint.requests


def test_another_implementation_of_sns_is_understood_as_well(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name, value in TESTING.items():
        monkeypatch.setenv(name, value)
    with mock_aws():
        provider = SnsProvider.with_timeout(TIMEOUT_S)
        accepted = read_by(provider, TEXT, caplog)
        refused = read_by(provider, replace(TEXT, to="not-a-number"), caplog)
    assert (accepted.outcome, accepted.code) == (ACCEPTED, "ok")
    assert accepted.reference
    assert refused == Outcome(REJECTED, "InvalidParameter")
