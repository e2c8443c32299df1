"""Says what to do where the tests are run without what `make setup` installs."""

from __future__ import annotations

import importlib.util
import sys

import pytest

missing = [name for name in ("aws_cdk", "boto3", "moto", "pytest_socket") if importlib.util.find_spec(name) is None]
if missing:
    pytest.exit(f"{', '.join(missing)}: not installed for {sys.executable}; run `make setup`, then `make test`", 1)
