"""The job on PostgreSQL: pgqueuer's table is the queue, and a row for each delivery says what became of it.

    python -m bench.alternatives.postgres_queue seed|plan|work|states      in the environment that `contestants` sets

Planning is one transaction a page: rows, jobs and the schedules' next run, all or none. A worker's task is what
guides call idempotent: look whether it was sent, send, mark it sent. The pick of the job is the only claim. Or else it
claims the row before it sends, as ours do, which is for the application to write: a row that was claimed by a worker
of whom nothing was heard is then in doubt, and not sent again.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Annotated, Any, Final

import asyncpg
import typer
from pgqueuer import AsyncpgDriver, AsyncpgPoolDriver, Job, Queries, QueueManager, RetryRequested

from bench import cast
from bench.alternatives.job import RETRY_AFTER_S, NullProvider, Task, composing
from bench.alternatives.variables import CLAIMS, DSN, HEARTBEAT_S

ENTRYPOINT: Final = "send"
PAGE: Final = 500
CONNECTIONS: Final = 5
BATCH: Final = 10

TABLES: Final = """
CREATE TABLE schedules (customer_id text PRIMARY KEY, next_run_at timestamptz NOT NULL);
CREATE INDEX due ON schedules (next_run_at);
CREATE TABLE deliveries (
    delivery_id text PRIMARY KEY,
    status text NOT NULL,
    selected_at timestamptz NOT NULL,
    attempt int NOT NULL DEFAULT 0,
    accepted_at timestamptz
);
"""
PLAN: Final = """
WITH due AS (
    SELECT customer_id FROM schedules WHERE next_run_at <= $1 ORDER BY next_run_at LIMIT $2 FOR UPDATE SKIP LOCKED
), moved AS (
    UPDATE schedules SET next_run_at = next_run_at + interval '7 days'
    FROM due WHERE schedules.customer_id = due.customer_id RETURNING schedules.customer_id
)
INSERT INTO deliveries (delivery_id, status, selected_at)
SELECT 'digest:' || customer_id || ':' || $3 || ':email', 'queued', now() FROM moved
ON CONFLICT DO NOTHING RETURNING delivery_id
"""
LOOK: Final = "SELECT status FROM deliveries WHERE delivery_id = $1"
CLAIM: Final = """
UPDATE deliveries SET status = 'sending', attempt = attempt + 1
WHERE delivery_id = $1 AND status IN ('queued', 'retryable') RETURNING attempt
"""
DOUBT: Final = "UPDATE deliveries SET status = 'uncertain' WHERE delivery_id = $1 AND status = 'sending'"
RETRYABLE: Final = "UPDATE deliveries SET status = 'retryable' WHERE delivery_id = $1 AND attempt = $2"
SETTLED: Final = """
UPDATE deliveries SET status = 'accepted', accepted_at = now() WHERE delivery_id = $1 AND attempt = $2
"""
ACCEPTED: Final = """
UPDATE deliveries SET status = 'accepted', accepted_at = now(), attempt = attempt + 1 WHERE delivery_id = $1
"""


async def seed(task: Task) -> None:
    """Make the tables, and everybody's schedule."""
    connection = await asyncpg.connect(os.environ[DSN])
    await Queries(AsyncpgDriver(connection)).install()
    await connection.execute(TABLES)
    rows = [(cast.customer_id(number), task.due_at) for number in range(task.deliveries)]
    await connection.copy_records_to_table("schedules", records=rows)
    await connection.execute("ANALYZE")
    await connection.close()


async def plan(task: Task) -> int:
    """Turn what is due into rows and jobs; return how many."""
    connection = await asyncpg.connect(os.environ[DSN])
    queries = Queries(AsyncpgDriver(connection))
    period = next(task.delivery_ids).split(":")[2]
    planned = 0
    while True:
        async with connection.transaction():
            rows = await connection.fetch(PLAN, task.due_at, PAGE, period)
            if not rows:
                break
            payloads = [row["delivery_id"].encode() for row in rows]
            await queries.enqueue([ENTRYPOINT] * len(rows), payloads, [0] * len(rows))
        planned += len(rows)
    await connection.close()
    return planned


async def states() -> dict[str, Any]:
    """Count the rows by state, and the jobs."""
    connection = await asyncpg.connect(os.environ[DSN])
    rows = await connection.fetch("SELECT status, count(*) AS rows FROM deliveries GROUP BY status")
    waiting = await connection.fetchval("SELECT count(*) FROM pgqueuer")
    await connection.close()
    return {"rows": {row["status"]: row["rows"] for row in rows}, "waiting": waiting}


async def work(task: Task) -> None:
    """Take jobs until this process is ended."""
    async with asyncpg.create_pool(os.environ[DSN], min_size=CONNECTIONS, max_size=CONNECTIONS) as pool:
        manager = QueueManager(Queries(AsyncpgPoolDriver(pool)))
        sender = _claiming_sender if os.environ[CLAIMS] == "1" else _sender
        manager.entrypoint(ENTRYPOINT)(sender(pool, task))
        heartbeat = timedelta(seconds=float(os.environ[HEARTBEAT_S]))
        await manager.run(batch_size=BATCH, heartbeat_timeout=heartbeat, dequeue_timeout=timedelta(seconds=1))


def _sender(pool: Any, task: Task) -> Callable[[Job], Awaitable[None]]:  # noqa: ANN401 - of a package without types here
    compose, provider = composing(task), NullProvider(task)

    async def send(job: Job) -> None:
        delivery_id = job.payload.decode()
        if await pool.fetchval(LOOK, delivery_id) == "accepted":
            return
        compose(delivery_id)
        if not provider.send(delivery_id):
            raise RetryRequested(delay=timedelta(seconds=RETRY_AFTER_S))
        await pool.execute(ACCEPTED, delivery_id)

    return send


def _claiming_sender(pool: Any, task: Task) -> Callable[[Job], Awaitable[None]]:  # noqa: ANN401 - as above
    compose, provider = composing(task), NullProvider(task)

    async def send(job: Job) -> None:
        delivery_id = job.payload.decode()
        compose(delivery_id)
        attempt = await pool.fetchval(CLAIM, delivery_id)
        if attempt is None:
            await pool.execute(DOUBT, delivery_id)
        elif provider.send(delivery_id):
            await pool.execute(SETTLED, delivery_id, attempt)
        else:
            await pool.execute(RETRYABLE, delivery_id, attempt)
            raise RetryRequested(delay=timedelta(seconds=RETRY_AFTER_S))

    return send


def main(step: Annotated[str, typer.Argument(help="seed, plan, work or states")]) -> None:
    """Do one step."""
    task = Task.from_environment()
    if step == "seed":
        asyncio.run(seed(task))
    elif step == "plan":
        cpu, wall = time.process_time(), time.perf_counter()
        planned = asyncio.run(plan(task))
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        print(json.dumps({"deliveries": planned, "cpu_s": cpu, "wall_s": wall}))  # noqa: T201 - read by `race`
    elif step == "states":
        print(json.dumps(asyncio.run(states())))  # noqa: T201 - read by `crash`
    else:
        asyncio.run(work(task))


if __name__ == "__main__":
    typer.run(main)
