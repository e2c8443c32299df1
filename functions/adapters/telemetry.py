"""One logger and one set of metrics for every function.

Metric dimensions are service, region, channel and outcome at most, or the version of a prompt where tokens are counted:
what is one of millions belongs into the log.
"""

from __future__ import annotations

import os
from typing import Final

from aws_lambda_powertools import Logger, Metrics

from functions import names

data_region: Final = os.environ.get(names.ENV_DATA_REGION, "local")

logger: Final = Logger(service=names.SERVICE, data_region=data_region)
metrics: Final = Metrics(namespace=names.METRICS_NAMESPACE, service=names.SERVICE)
metrics.set_default_dimensions(region=data_region)
