"""The name that our clients go by, as CloudTrail shows it."""

from __future__ import annotations

from typing import Final

import botocore

from functions import names

# Spelt once: the SDK puts its own together anew for every request.
USER_AGENT: Final = f"{names.SERVICE} Botocore/{botocore.__version__}"
