"""Unit tests reach nothing outside their process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import pytest_socket
from hypothesis import HealthCheck, settings

# How fast a machine is says nothing about the code: speed is measured in benchmarks, never asserted.
settings.register_profile("no-hurry", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("no-hurry")


@pytest.fixture(autouse=True)
def no_sockets() -> Iterator[None]:
    pytest_socket.disable_socket(allow_unix_socket=True)
    yield
    pytest_socket.enable_socket()
