"""Amazon SES v2: what each of its answers, and each way of getting none, is read as."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import boto3
import pytest
from botocore.loaders import Loader
from moto import mock_aws

from functions.adapters.providers.ses import SesOptions, SesProvider
from functions.core.outcome import Outcome, OutcomeClass
from functions.core.provider_codes import SES
from ops.local.loopback_server import RESET, SILENCE, Reply
from tests.integration.provider_contract import (
    ANY_AWS_SERVICE,
    DELIVERY,
    EMAIL,
    SENDER,
    TESTING,
    TEXT,
    TIMEOUT_S,
    UNSEEN,
    StubbedEndpoint,
    read_by,
    refusing_url,
    ses_accepted,
    ses_error,
)

ACCEPTED, AUTH, QUOTA = OutcomeClass.ACCEPTED, OutcomeClass.AUTH, OutcomeClass.QUOTA
REJECTED, THROTTLED = OutcomeClass.REJECTED, OutcomeClass.THROTTLED
UNAVAILABLE, UNKNOWN = OutcomeClass.UNAVAILABLE, OutcomeClass.UNKNOWN

# Status, code and class of every documented error of SendEmail, and of those that any AWS service may answer with.
DOCUMENTED = [
    *ANY_AWS_SERVICE,
    (400, "AccountSuspendedException", AUTH),
    (400, "BadRequestException", REJECTED),
    (400, "LimitExceededException", QUOTA),
    (400, "MailFromDomainNotVerifiedException", AUTH),
    (400, "MessageRejected", REJECTED),
    (404, "NotFoundException", AUTH),
    (400, "SendingPausedException", AUTH),
]


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[StubbedEndpoint]:
    with StubbedEndpoint() as stubbed:
        for name, value in {**TESTING, "AWS_ENDPOINT_URL_SESV2": stubbed.url}.items():
            monkeypatch.setenv(name, value)
        yield stubbed


@pytest.fixture
def provider(endpoint: StubbedEndpoint) -> Iterator[SesProvider]:  # noqa: ARG001 - sets the environment
    with_client = SesProvider.with_timeout(TIMEOUT_S)
    yield with_client
    with_client._client.close()


def answered(provider: SesProvider, endpoint: StubbedEndpoint, reply: Reply, log: pytest.LogCaptureFixture) -> Outcome:
    """What the reply is read as; whatever it is, nobody asks twice."""
    endpoint.will(reply)
    outcome = read_by(provider, EMAIL, log)
    assert len(endpoint.requests) == 1
    assert outcome.retry_at is None
    return outcome


@pytest.mark.parametrize(("status", "code", "outcome"), DOCUMENTED, ids=[code for _, code, _ in DOCUMENTED])
def test_every_documented_error_is_read_as_its_class(
    status: int,
    code: str,
    outcome: OutcomeClass,
    provider: SesProvider,
    endpoint: StubbedEndpoint,
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert answered(provider, endpoint, ses_error(code, status), caplog) == Outcome(outcome, code)


def test_no_documented_error_is_left_out() -> None:
    model = Loader().load_service_model("sesv2", "service-2")
    of_sending = {error["shape"] for error in model["operations"]["SendEmail"]["errors"]}
    assert {code for _, code, _ in DOCUMENTED} == set(SES) >= of_sending


@pytest.mark.parametrize(("status", "outcome"), UNSEEN, ids=[str(status) for status, _ in UNSEEN])
def test_a_code_that_nobody_has_seen_is_read_by_its_status(
    status: int,
    outcome: OutcomeClass,
    provider: SesProvider,
    endpoint: StubbedEndpoint,
    caplog: pytest.LogCaptureFixture,
) -> None:
    told = answered(provider, endpoint, ses_error("BrandNewException", status), caplog)
    assert told == Outcome(outcome, "BrandNewException")


@pytest.mark.parametrize("code", ["TooManyRequestsException", "ThrottlingException", "LimitExceededException"])
@pytest.mark.parametrize(
    ("text", "outcome"), [("Maximum sending rate exceeded.", THROTTLED), ("Daily message quota exceeded.", QUOTA)]
)
def test_rate_and_quota_share_their_codes_and_are_told_apart_by_their_text(
    code: str,
    text: str,
    outcome: OutcomeClass,
    provider: SesProvider,
    endpoint: StubbedEndpoint,
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert answered(provider, endpoint, ses_error(code, 429, text), caplog) == Outcome(outcome, code)


def test_a_sender_that_is_not_verified_is_nobody_s_address_s_fault(
    provider: SesProvider, endpoint: StubbedEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    text = f"Email address is not verified. The following identities failed the check in region EU-WEST-1: {SENDER}"
    refused = answered(provider, endpoint, ses_error("MessageRejected", 400, text), caplog)
    assert refused == Outcome(AUTH, "NotVerified")


def test_an_accepted_email_is_known_by_its_message_id(
    provider: SesProvider, endpoint: StubbedEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    assert answered(provider, endpoint, ses_accepted("ses-7"), caplog) == Outcome(ACCEPTED, "ok", "ses-7")


def test_the_delivery_travels_as_tags_by_which_events_name_it(
    provider: SesProvider, endpoint: StubbedEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    answered(provider, endpoint, ses_accepted(), caplog)
    tags = json.loads(endpoint.requests[0].body)["EmailTags"]
    named = {tag["Name"]: tag["Value"] for tag in tags}
    assert DELIVERY.delivery_id.from_tags(named) == DELIVERY.delivery_id


def test_an_email_goes_with_the_configuration_set_that_brings_its_events_back(endpoint: StubbedEndpoint) -> None:
    provider = SesProvider.with_timeout(TIMEOUT_S, SesOptions(configuration_set="DigestDelivery-us"))
    endpoint.will(ses_accepted(), ses_accepted())
    provider.send(DELIVERY, EMAIL)
    provider._client.close()
    plain = SesProvider.with_timeout(TIMEOUT_S)
    plain.send(DELIVERY, EMAIL)
    plain._client.close()
    named = [json.loads(request.body).get("ConfigurationSetName") for request in endpoint.requests]
    assert named == ["DigestDelivery-us", None]


@pytest.mark.parametrize(
    "reply",
    [
        Reply(200, b"<html>Welcome to the hotel's network</html>", {"Content-Type": "text/html"}),
        Reply(200, b"{}", {"Content-Type": "application/json"}),
        Reply(200, b"", {"Content-Type": "application/json"}),
    ],
    ids=["a page", "no id", "empty"],
)
def test_an_answer_that_cannot_be_read_may_stand_for_an_accepted_email(
    reply: Reply, provider: SesProvider, endpoint: StubbedEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    assert answered(provider, endpoint, reply, caplog) == Outcome(UNKNOWN, "UnreadableAnswer")


def test_a_provider_that_never_answers_is_given_up_in_time_and_may_have_sent(
    provider: SesProvider, endpoint: StubbedEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    began = time.monotonic()
    assert answered(provider, endpoint, SILENCE, caplog) == Outcome(UNKNOWN, "ReadTimeoutError")
    assert time.monotonic() - began < TIMEOUT_S + 2


def test_a_connection_that_breaks_after_the_request_leaves_it_open_whether_it_was_sent(
    provider: SesProvider, endpoint: StubbedEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    outcome = answered(provider, endpoint, RESET, caplog)
    assert outcome.outcome is UNKNOWN
    assert outcome.code in {"ConnectionClosedError", "HTTPClientError"}


def test_a_refused_connection_sent_nothing(
    endpoint: StubbedEndpoint, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with refusing_url() as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL_SESV2", url)
        refused = read_by(SesProvider.with_timeout(TIMEOUT_S), EMAIL, caplog)
    assert refused == Outcome(UNAVAILABLE, "EndpointConnectionError")
    assert not endpoint.requests


def test_a_function_without_credentials_halts_and_blames_no_address(
    provider: SesProvider, endpoint: StubbedEndpoint, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    del provider
    for name in TESTING.keys() - {"AWS_DEFAULT_REGION", "AWS_EC2_METADATA_DISABLED"}:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    session = boto3.Session()
    outcome = read_by(SesProvider(session.client("sesv2")), EMAIL, caplog)
    assert outcome == Outcome(AUTH, "NoCredentialsError")
    assert not endpoint.requests


def test_a_text_message_is_refused_before_it_reaches_ses(
    provider: SesProvider, endpoint: StubbedEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    assert read_by(provider, TEXT, caplog) == Outcome(REJECTED, "NotAnEmail")
    assert not endpoint.requests


def test_another_implementation_of_ses_is_understood_as_well(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name, value in TESTING.items():
        monkeypatch.setenv(name, value)
    with mock_aws():
        provider = SesProvider.with_timeout(TIMEOUT_S)
        assert read_by(provider, EMAIL, caplog) == Outcome(AUTH, "NotVerified")
        boto3.client("sesv2").create_email_identity(EmailIdentity=SENDER)
        accepted = read_by(provider, EMAIL, caplog)
    assert (accepted.outcome, accepted.code) == (ACCEPTED, "ok")
    assert accepted.reference
