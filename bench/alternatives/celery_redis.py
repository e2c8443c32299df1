"""The job on Celery: Redis is the broker, keeps the schedules by their time and a hash for each delivery.

    python -m bench.alternatives.celery_redis seed|plan|states      in the environment that `contestants` sets
    celery --app bench.alternatives.celery_redis worker

With late acknowledgement, as one sets it for work that must not be lost, or without, as Celery comes.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, Final

import celery
import redis
import typer

from bench import cast
from bench.alternatives.job import RETRY_AFTER_S, NullProvider, Task, composing
from bench.alternatives.variables import ACKS_LATE, REDIS, VISIBILITY_S

DUE: Final = "due"
PAGE: Final = 500
WEEK_S: Final = 7 * 24 * 3600


def _transport() -> dict[str, float]:
    """Return how long a dead worker's tasks are its own. Left alone, Celery looks for them every hundred seconds."""
    if VISIBILITY_S not in os.environ:
        return {}
    visibility_s = float(os.environ[VISIBILITY_S])
    return {"visibility_timeout": visibility_s, "unacked_restore_interval": 1, "unacked_restore_throttle": 1}


app = celery.Celery("bench", broker=os.environ.get(REDIS))
app.conf.update(
    task_ignore_result=True,  # what became of a delivery stands in its hash
    broker_transport_options=_transport(),
    broker_connection_retry_on_startup=True,
)


def seed(task: Task) -> None:
    """Put everybody into the schedule."""
    due_at = task.due_at.timestamp()
    _store().zadd(DUE, {cast.customer_id(number): due_at for number in range(task.deliveries)})


def plan(task: Task) -> int:
    """Turn what is due into hashes and tasks; return how many."""
    store, period, planned = _store(), next(task.delivery_ids).split(":")[2], 0
    until = task.due_at.timestamp()
    with app.producer_or_acquire() as producer:
        while due := store.zrange(DUE, "-inf", until, byscore=True, offset=0, num=PAGE):
            ids = [f"digest:{customer.decode()}:{period}:email" for customer in due]
            with store.pipeline(transaction=False) as rows:
                for delivery_id in ids:
                    rows.hsetnx(delivery_id, "status", "queued")
                new = [one for one, added in zip(ids, rows.execute(), strict=True) if added]
            for delivery_id in new:
                send.apply_async((delivery_id,), producer=producer)
            store.zadd(DUE, dict.fromkeys(due, until + WEEK_S))
            planned += len(new)
    return planned


def states(task: Task) -> dict[str, Any]:
    """Count the hashes by state, and the tasks that are in the queue or in a worker's hand."""
    store = _store()
    rows = Counter(store.hget(one, "status").decode() for one in task.delivery_ids)
    return {"rows": rows, "waiting": store.llen("celery") + store.hlen("unacked")}


def _send(self: Any, delivery_id: str) -> None:  # noqa: ANN401 - of a package without types here
    store, compose, provider = _at_work()
    if store.hget(delivery_id, "status") == b"accepted":
        return
    compose(delivery_id)
    if not provider.send(delivery_id):
        raise self.retry(countdown=RETRY_AFTER_S)
    store.hset(delivery_id, mapping={"status": "accepted", "accepted_at": time.time()})


send: Any = app.task(_send, bind=True, name="send", max_retries=5, acks_late=os.environ.get(ACKS_LATE) == "1")


def _store() -> Any:  # noqa: ANN401 - of a package without types here
    return redis.Redis.from_url(os.environ[REDIS])


@cache
def _at_work() -> tuple[Any, Callable[[str], object], NullProvider]:
    """Return what a worker's process needs, made in that process."""
    task = Task.from_environment()
    return _store(), composing(task), NullProvider(task)


def main(step: Annotated[str, typer.Argument(help="seed, plan or states")]) -> None:
    """Do one step."""
    task = Task.from_environment()
    if step == "seed":
        seed(task)
        return
    if step == "states":
        print(json.dumps(states(task)))  # noqa: T201 - read by `crash`
        return
    cpu, wall = time.process_time(), time.perf_counter()
    planned = plan(task)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    print(json.dumps({"deliveries": planned, "cpu_s": cpu, "wall_s": wall}))  # noqa: T201 - read by `race`


if __name__ == "__main__":
    typer.run(main)
