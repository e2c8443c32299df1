"""What a provider's error codes mean: a row for each that is documented, and a rule for those nobody has seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest
from botocore.loaders import Loader
from botocore.model import ServiceModel, StructureShape
from hypothesis import given
from hypothesis import strategies as st

from functions.core.outcome import RULINGS, GateMove, OutcomeClass
from functions.core.provider_codes import AWS_COMMON, HTTP_EMAIL, SES, SNS, WEBHOOK, meaning, webhook_meaning

TABLES = {"common": AWS_COMMON, "ses": SES, "sns": SNS, "http": HTTP_EMAIL}


def documented_codes(service: str, operation: str) -> Iterator[str]:
    """Error codes that botocore's model of an operation names."""
    model = ServiceModel(Loader().load_service_model(service, "service-2"), service)
    for shape in model.operation_model(operation).error_shapes:
        assert isinstance(shape, StructureShape)
        yield str(shape.error_code)


@pytest.mark.parametrize(
    ("table", "service", "operation"), [(SES, "sesv2", "SendEmail"), (SNS, "sns", "Publish")], ids=["ses", "sns"]
)
def test_every_documented_code_has_its_row(table: Mapping[str, OutcomeClass], service: str, operation: str) -> None:
    codes = set(documented_codes(service, operation))
    assert codes
    assert codes - set(table) == set()


@pytest.mark.parametrize(
    ("table", "code", "status", "outcome"),
    [
        (SES, "TooManyRequestsException", 429, OutcomeClass.THROTTLED),
        (SES, "MessageRejected", 400, OutcomeClass.REJECTED),
        (SES, "BadRequestException", 400, OutcomeClass.REJECTED),
        (SES, "AccountSuspendedException", 400, OutcomeClass.AUTH),
        (SES, "SendingPausedException", 400, OutcomeClass.AUTH),
        (SES, "MailFromDomainNotVerifiedException", 400, OutcomeClass.AUTH),
        (SES, "InternalFailure", 500, OutcomeClass.UNKNOWN),
        (SES, "ServiceUnavailable", 503, OutcomeClass.UNAVAILABLE),
        (SNS, "InvalidParameter", 400, OutcomeClass.REJECTED),
        (SNS, "OptedOut", 400, OutcomeClass.REJECTED),
        (SNS, "AuthorizationError", 403, OutcomeClass.AUTH),
        (SNS, "InternalError", 500, OutcomeClass.UNKNOWN),
        (SNS, "KMSThrottling", 400, OutcomeClass.THROTTLED),
        (HTTP_EMAIL, "invalid_idempotent_request", 409, OutcomeClass.MISMATCH),
        (HTTP_EMAIL, "concurrent_idempotent_requests", 409, OutcomeClass.RUNNING),
        (HTTP_EMAIL, "daily_quota_exceeded", 429, OutcomeClass.QUOTA),
        (HTTP_EMAIL, "rate_limit_exceeded", 429, OutcomeClass.THROTTLED),
        (HTTP_EMAIL, "validation_error", 400, OutcomeClass.REJECTED),
        (HTTP_EMAIL, "validation_error", 401, OutcomeClass.AUTH),
    ],
)
def test_a_code_means_what_its_provider_documents(
    table: Mapping[str, OutcomeClass], code: str, status: int, outcome: OutcomeClass
) -> None:
    assert meaning(table, code, status) is outcome


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (400, OutcomeClass.UNAVAILABLE),
        (404, OutcomeClass.UNAVAILABLE),
        (401, OutcomeClass.AUTH),
        (403, OutcomeClass.AUTH),
        (429, OutcomeClass.THROTTLED),
        (500, OutcomeClass.UNKNOWN),
        (502, OutcomeClass.UNKNOWN),
        (503, OutcomeClass.UNAVAILABLE),
        (504, OutcomeClass.UNKNOWN),
        (599, OutcomeClass.UNKNOWN),
    ],
)
@pytest.mark.parametrize("table", TABLES.values(), ids=list(TABLES))
def test_a_code_that_nobody_has_seen_is_judged_by_its_status(
    table: Mapping[str, OutcomeClass], status: int, outcome: OutcomeClass
) -> None:
    assert meaning(table, "NeverSeenBefore", status) is outcome


@given(st.sampled_from(sorted(TABLES)), st.text(max_size=40), st.integers(0, 999))
def test_no_unknown_answer_gives_a_delivery_up_or_counts_as_accepted(name: str, code: str, status: int) -> None:
    outcome = meaning(TABLES[name], code, status)
    if code not in TABLES[name]:
        assert outcome not in {OutcomeClass.REJECTED, OutcomeClass.ACCEPTED, OutcomeClass.MISMATCH}


@pytest.mark.parametrize("table", TABLES.values(), ids=list(TABLES))
def test_no_error_code_counts_as_accepted(table: Mapping[str, OutcomeClass]) -> None:
    assert OutcomeClass.ACCEPTED not in table.values()


@pytest.mark.parametrize(
    ("status", "asked_to_wait", "outcome"),
    [
        (200, False, OutcomeClass.ACCEPTED),
        (202, False, OutcomeClass.ACCEPTED),
        (204, True, OutcomeClass.ACCEPTED),
        (301, False, OutcomeClass.REJECTED),
        (302, False, OutcomeClass.REJECTED),
        (308, True, OutcomeClass.REJECTED),
        (400, False, OutcomeClass.REJECTED),
        (401, False, OutcomeClass.REJECTED),
        (403, False, OutcomeClass.REJECTED),
        (404, False, OutcomeClass.REJECTED),
        (408, False, OutcomeClass.UNKNOWN),
        (409, False, OutcomeClass.REJECTED),
        (410, False, OutcomeClass.REJECTED),
        (425, False, OutcomeClass.UNAVAILABLE),
        (429, True, OutcomeClass.DEFERRED),
        (429, False, OutcomeClass.DEFERRED),
        (500, True, OutcomeClass.UNKNOWN),
        (502, False, OutcomeClass.UNKNOWN),
        (503, True, OutcomeClass.DEFERRED),
        (503, False, OutcomeClass.UNAVAILABLE),
        (504, False, OutcomeClass.UNKNOWN),
    ],
)
def test_an_endpoints_answer_means_what_the_documentation_says(
    status: int, *, asked_to_wait: bool, outcome: OutcomeClass
) -> None:
    assert webhook_meaning(status, asked_to_wait=asked_to_wait) is outcome


@given(st.integers(100, 999), st.booleans())
def test_no_endpoint_holds_anybody_elses_messages_back(status: int, asked_to_wait: bool) -> None:  # noqa: FBT001
    meant = webhook_meaning(status, asked_to_wait=asked_to_wait)
    assert RULINGS[meant].gate is GateMove.NONE
    assert (meant is OutcomeClass.ACCEPTED) is (200 <= status < 300)


@pytest.mark.parametrize("code", WEBHOOK)
def test_no_failed_call_of_an_endpoint_holds_anybody_elses_messages_back(code: str) -> None:
    assert RULINGS[WEBHOOK[code]].gate is GateMove.NONE
