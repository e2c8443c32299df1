"""What all tests stand on: what `make setup` installs, and a data region."""

from __future__ import annotations

import importlib.util
import os
import sys

import pytest

from functions import names

missing = [name for name in ("aws_cdk", "boto3", "moto", "pytest_socket") if importlib.util.find_spec(name) is None]
if missing:
    pytest.exit(f"{', '.join(missing)}: not installed for {sys.executable}; run `make setup`, then `make test`", 1)

# The functions read whose metrics they write as soon as they are imported, which collecting the tests does.
os.environ[names.ENV_DATA_REGION] = "us"
