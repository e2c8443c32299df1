"""What the record of webhook endpoints must do, whatever it stands on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from datetime import timedelta

import pytest

from functions.core.ports import Endpoints
from functions.core.webhook_endpoint import DisabledBecause, Health, SigningSecret, WebhookEndpoint, rotated
from tests.fakes.clock import SUNDAY_EVENING
from tests.fakes.examples import AN_ENDPOINT, CUSTOMER

DISABLED = Health(
    "mark",
    failures=7,
    failing_since=SUNDAY_EVENING - timedelta(days=6),
    last_failure_at=SUNDAY_EVENING,
    last_code="timed_out",
    disabled_at=SUNDAY_EVENING,
    disabled_because=DisabledBecause.FAILING,
)


class EndpointsConformance(ABC):
    """`endpoints` holds AN_ENDPOINT of CUSTOMER, and nobody else's."""

    @pytest.fixture
    @abstractmethod
    def endpoints(self) -> Endpoints: ...

    def test_what_was_imported_is_read(self, endpoints: Endpoints) -> None:
        assert endpoints.read(CUSTOMER) == AN_ENDPOINT

    def test_a_customer_without_an_endpoint_has_none(self, endpoints: Endpoints) -> None:
        assert endpoints.read("c-404") is None

    def test_health_is_read_as_it_was_noted(self, endpoints: Endpoints) -> None:
        assert endpoints.note(CUSTOMER, DISABLED, version=0)
        assert endpoints.read(CUSTOMER) == replace(AN_ENDPOINT, health=DISABLED, version=1)
        assert endpoints.note(CUSTOMER, Health("mark"), version=1)
        assert endpoints.read(CUSTOMER) == replace(AN_ENDPOINT, health=Health("mark"), version=2)

    def test_secrets_are_read_as_they_were_kept_and_leave_the_health_alone(self, endpoints: Endpoints) -> None:
        endpoints.note(CUSTOMER, DISABLED, version=0)
        secrets = rotated(AN_ENDPOINT.secrets, "whsec_bmV3", at=SUNDAY_EVENING)
        assert endpoints.keep_secrets(CUSTOMER, secrets, version=1)
        assert endpoints.read(CUSTOMER) == WebhookEndpoint(secrets, DISABLED, version=2)

    def test_of_two_who_write_at_once_the_second_is_told(self, endpoints: Endpoints) -> None:
        assert endpoints.note(CUSTOMER, DISABLED, version=0)
        assert not endpoints.note(CUSTOMER, Health("mark"), version=0)
        assert not endpoints.keep_secrets(CUSTOMER, [SigningSecret("whsec_bmV3")], version=0)
        assert endpoints.read(CUSTOMER) == replace(AN_ENDPOINT, health=DISABLED, version=1)

    def test_nothing_is_written_about_somebody_who_was_erased(self, endpoints: Endpoints) -> None:
        assert not endpoints.note("c-404", DISABLED, version=0)
        assert not endpoints.keep_secrets("c-404", [SigningSecret("whsec_bmV3")], version=0)
        assert endpoints.read("c-404") is None
