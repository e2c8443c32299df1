"""Names of the variables by which contestants' processes are told what they run on; the job's own are in `job`."""

from __future__ import annotations

from typing import Final

DSN: Final = "BENCH_DSN"
HEARTBEAT_S: Final = "BENCH_HEARTBEAT_S"  # a job whose worker has been silent for so long is picked again
CLAIMS: Final = "BENCH_CLAIMS"  # "1": the row is claimed before the send

REDIS: Final = "BENCH_REDIS"
ACKS_LATE: Final = "BENCH_ACKS_LATE"  # "1": a task is acknowledged when it is done, not when it begins

VISIBILITY_S: Final = "BENCH_VISIBILITY_S"  # what is not acknowledged by then is delivered again
LEASE_S: Final = "BENCH_LEASE_S"  # what an invocation of ours has left when it begins
KNOWS_KEYS: Final = "BENCH_KNOWS_KEYS"  # "1": the provider honours idempotency keys
